"""Broken, cut and foreign files: whatever the bytes, reviews, counts or one error that names the file."""

import contextlib
import gzip
import json
import lzma
import re
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conquer.data.compression import DataError, first_bytes, lines
from conquer.data.reviews import NoReviewsError, read


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.ZstdCompressor().compress])
def test_cut_files_are_an_error_not_an_end(tmp_path: Path, pack) -> None:
    path = tmp_path / "cut.jsonl"
    body = "".join(json.dumps({"text": f"{i * 7919 % 10007} words", "stars": 3}) + "\n" for i in range(5000))
    whole = pack(body.encode())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"cut.jsonl, line \d+: the compressed data is broken or cut short"):
        list(lines(path))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.ZstdCompressor().compress])
def test_files_broken_at_any_byte_are_named(tmp_path: Path, pack) -> None:
    path = tmp_path / "broken.csv"
    whole = pack(b"text,stars\nfine,4\n" * 20)
    for size in range(6, len(whole) - 1):
        path.write_bytes(whole[:size])
        for look in (first_bytes, lambda p: list(lines(p)), lambda p: list(read(p))):
            with pytest.raises(DataError, match=r"broken.csv, line \d+: the compressed data is broken"):
                look(path)
    for place in range(6, len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        for look in (first_bytes, lambda p: list(lines(p)), lambda p: list(read(p))):
            with contextlib.suppress(DataError):
                look(path)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"text,stars\rfine,4\r", r"line 1: the header cannot be read (lines must end in \n or \r\n, not in \r alone)"),
        (b'"abc"x,stars\nfine,4\n', "line 1: the header cannot be read ('"),
        (b'\n\n"text,stars\nfine,4\n', "line 4: the header cannot be read (unexpected end of data)"),
    ],
)
def test_headers_that_are_none(tmp_path: Path, body: bytes, place: str) -> None:
    (tmp_path / "odd.csv").write_bytes(body)
    with pytest.raises(NoReviewsError, match=re.escape(f"odd.csv, {place}")):
        list(read(tmp_path / "odd.csv"))


def test_lines_lost_to_an_unclosed_quote_are_all_counted(tmp_path: Path) -> None:
    path = tmp_path / "quote.csv"
    path.write_text('text,stars\nfine,4\n"open,1\nlost,2\nlost,3\nlost "too",5\nfine,3\n"open,1\nlost,4\n')
    reading = read(path)
    assert [review.stars for review in reading] == [4.0, 3.0]
    assert reading.unreadable == 6
    problems = [problem.partition("quote.csv, ")[2] for problem in reading.problems]
    assert problems[::4] == ["line 3: ',' expected after '\"'", "line 8: unexpected end of data"]
    assert problems[1:4] == [f"line {3 + k}: part of the broken row {k} lines above" for k in (1, 2, 3)]


@pytest.mark.parametrize("place", [56, 91])
def test_parquet_that_makes_its_reader_panic(tmp_path: Path, place: int) -> None:
    path = tmp_path / "panic.parquet"
    pl.DataFrame({"text": ["a b c", "d", "e"] * 30, "stars": [1, 2, 5] * 30}).write_parquet(path)
    damaged = bytearray(path.read_bytes())
    damaged[place] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(DataError, match="panic.parquet: not a readable Parquet file"):
        list(read(path))


def test_a_character_reference_without_end(tmp_path: Path) -> None:
    path = tmp_path / "all.review"
    body = "<review>\n<rating>\n2.0\n</rating>\n<review_text>\n{}\n</review_text>\n</review>\n"
    path.write_text(body.format(f"&#{'9' * 5000};") + body.format("fine"))
    assert [review.text[:4] for review in read(path)] == ["&#99", "fine"]


@given(st.binary(max_size=300))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_bytes_are_read_counted_or_refused(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "junk"
    path.write_bytes(b'{"text": "x", "stars": 1}\n' + junk)
    reading = read(path)
    with contextlib.suppress(DataError):
        assert len(list(reading)) >= 1
    assert reading.unreadable >= len(reading.problems)


@given(
    st.sampled_from([b"", b"[{", b"<review>\n", b"text,stars\n", b'"', b"\x1f\x8b\x08", b"PAR1"]),
    st.binary(max_size=300),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_file_is_read_or_refused(tmp_path: Path, start: bytes, junk: bytes) -> None:
    path = tmp_path / "junk"
    path.write_bytes(start + junk)
    with contextlib.suppress(DataError):
        assert all(1.0 <= review.stars <= 5.0 for review in read(path))


def test_files_that_are_no_review_files(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    (tmp_path / "meta.jsonl").write_text('{"asin": "B0", "title": "Tea"}\n' * 3)
    with pytest.raises(NoReviewsError, match=r"meta.jsonl: no text column \(text, .* among 'asin, title'"):
        list(read(tmp_path / "meta.jsonl"))
    with pytest.raises(NoReviewsError, match=r"empty.csv is empty"):
        list(read(tmp_path / "empty.csv"))
    with pytest.raises(NoReviewsError, match=r"other.csv: no text column \(text, .* among 'a, b'"):
        list(read(tmp_path / "other.csv"))
    with pytest.raises(DataError, match="no file"):
        read(tmp_path / "absent")
