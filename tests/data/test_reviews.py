"""Every kind of review file reads to the same reviews; what cannot be read is counted and located."""

import contextlib
import gzip
import json
import lzma
from pathlib import Path

import polars as pl
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conquer.data.opening import ReviewFileError, lines
from conquer.data.reviews import Review, domain_name, find, read

PLAIN = [Review('Works, and "well".\n  Twice', 5.0), Review("Broke - it's bad", 1.0), Review("é 漢字", 3.0)]
FLAT = [Review(" ".join(review.text.split()), review.stars) for review in PLAIN]


def ucsd_2014(reviews: list[Review]) -> str:
    return "".join(
        f"{ {'reviewerID': 'A1', 'reviewText': r.text, 'overall': r.stars, 'helpful': [0, 1], 'x': None} }\n"
        for r in reviews
    )


def ucsd_2018(reviews: list[Review]) -> str:
    return "".join(json.dumps({"overall": r.stars, "verified": True, "reviewText": r.text}) + "\n" for r in reviews)


def ucsd_2023(reviews: list[Review]) -> str:
    return "".join(json.dumps({"rating": r.stars, "title": "t", "text": r.text}) + "\n" for r in reviews)


def yelp(reviews: list[Review]) -> str:
    return "".join(json.dumps({"review_id": "q", "stars": r.stars, "text": r.text}) + "\n\n" for r in reviews)


def csv_table(reviews: list[Review]) -> str:
    return pl.DataFrame(
        {"id": [1, 2, 3], "rating": [r.stars for r in reviews], "text": [r.text for r in reviews]}
    ).write_csv()


@pytest.mark.parametrize("form", [ucsd_2014, ucsd_2018, ucsd_2023, yelp, csv_table])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, zstandard.ZstdCompressor().compress])
def test_forms_and_compressions(tmp_path: Path, form, pack) -> None:
    path = tmp_path / "domain.jsonl"
    path.write_bytes(pack(form(PLAIN).encode()))
    reading = read(path)
    assert list(reading) == PLAIN
    assert (reading.read, reading.unreadable, reading.problems) == (3, 0, [])


def test_amazon_tsv_quotes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "us.tsv"
    body = "marketplace\treview_id\tstar_rating\treview_body\n" + "".join(
        f"US\tR\t{r.stars:.0f}\t{r.text}\n" for r in FLAT
    )
    path.write_text(body + "US\tR\t4\n", encoding="utf-8")
    reading = read(path)
    assert list(reading) == FLAT
    assert reading.unreadable == 1
    assert "line 5: expected 4 columns, got 3" in reading.problems[0]


def test_blitzer_and_the_blocks_of_2013(tmp_path: Path) -> None:
    blitzer = tmp_path / "all.review"
    text = "".join(
        f"<review>\n<unique_id>\n7\n</unique_id>\n<unique_id>\n8\n</unique_id>\n<rating>\n{r.stars}\n</rating>\n"
        f"<review_text>\n{r.text}\n</review_text>\n</review>\n"
        for r in FLAT[:2]
    )
    blitzer.write_bytes(
        (
            text + "<review>\n<rating>\n2.0\n</rating>\n<review_text>\ncaf\xe9 &amp; bar\n</review_text>\n"
            "</review>\n<review>\n"
        ).encode("latin-1")
    )
    reading = read(blitzer)
    assert list(reading) == [*FLAT[:2], Review("café & bar", 2.0)]
    assert reading.unreadable == 1
    assert "ends inside" in reading.problems[0]
    blocks = tmp_path / "Arts.txt.gz"
    blocks.write_bytes(
        gzip.compress(
            "".join(
                f"product/productId: B0\nproduct/title:\nreview/score: {r.stars}\nreview/text: {r.text}\n\n"
                for r in FLAT
            ).encode()
        )
    )
    assert list(read(blocks)) == FLAT


def test_parquet_with_named_columns(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pl.DataFrame({"words": [r.text for r in PLAIN], "grade": [int(r.stars) for r in PLAIN]}).write_parquet(path)
    assert list(read(path, text="words", rating="grade")) == PLAIN
    reading = read(path)
    assert list(reading) == []
    assert reading.unreadable == 3
    (tmp_path / "cut.parquet").write_bytes(path.read_bytes()[:50])
    with pytest.raises(ReviewFileError, match=r"cut.parquet: not a readable Parquet"):
        list(read(tmp_path / "cut.parquet"))


def test_human_ratings(tmp_path: Path) -> None:
    path = tmp_path / "vader.jsonl"
    path.write_text('{"text": "meh", "mean": -1.0, "ratings": [-4, 2]}\n{"text": "meh", "ratings": [7]}\n')
    reading = read(path)
    assert list(reading) == [Review("meh", 2.5, (1.0, 4.0))]
    assert reading.unreadable == 1


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('{"text": "a", "stars": 6}', "1 to 5, got 6"),
        ('{"text": "a", "stars": NaN}', "got nan"),
        ('{"text": "a", "stars": true}', "got True"),
        ('{"text": "a"}', "got None"),
        ('{"text": " ", "stars": 1}', "no text"),
        ('{"text": 3, "stars": 1}', "no text"),
        ('{"stars": 1}', "no text"),
        ("[1]", "expected an object"),
        ('{"text": "a", "stars"', "neither JSON nor"),
        ("{'text': open('x')}", "neither JSON nor"),
        ('{"text": "a", "stars": 2, "ratings": []}', "list of ratings"),
    ],
)
def test_unreadable_rows_are_counted_with_their_place(tmp_path: Path, row: str, reason: str) -> None:
    path = tmp_path / "mixed.jsonl"
    path.write_text('{"text": "fine", "stars": 4}\n' + row + '\n{"text": "fine too", "stars": 5}\n')
    reading = read(path)
    assert [review.stars for review in reading] == [4.0, 5.0]
    assert reading.unreadable == 1
    assert "mixed.jsonl, line 2: " in reading.problems[0]
    assert reason in reading.problems[0]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.ZstdCompressor().compress])
def test_cut_files_are_an_error_not_an_end(tmp_path: Path, pack) -> None:
    path = tmp_path / "cut.jsonl"
    body = "".join(json.dumps({"text": f"{i * 7919 % 10007} words", "stars": 3}) + "\n" for i in range(5000))
    whole = pack(body.encode())
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReviewFileError, match=r"cut.jsonl, line \d+: the compressed data is broken or cut short"):
        list(lines(path))


def test_files_that_are_no_review_files(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ReviewFileError, match=r"empty.csv is empty"):
        list(read(tmp_path / "empty.csv"))
    with pytest.raises(ReviewFileError, match=r"other.csv, line 1: no column text or .* in the header a, b"):
        list(read(tmp_path / "other.csv"))
    with pytest.raises(ReviewFileError, match="no file"):
        read(tmp_path / "absent")


@given(st.binary(max_size=300))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_bytes_are_read_counted_or_refused(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "junk"
    path.write_bytes(b'{"text": "x", "stars": 1}\n' + junk)
    reading = read(path)
    with contextlib.suppress(ReviewFileError):
        assert len(list(reading)) >= 1
    assert reading.unreadable >= len(reading.problems)


def test_folders(tmp_path: Path) -> None:
    for name in (
        "books.jsonl.gz",
        "README.md",
        "toys.csv",
        "blitzer/all.review",
        "blitzer/positive.review",
        ".hidden.csv",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found, ignored = find(tmp_path)
    assert {name: [path.name for path in paths] for name, paths in found.items()} == {
        "blitzer": ["all.review"],
        "books": ["books.jsonl.gz"],
        "toys": ["toys.csv"],
    }
    assert [path.name for path in ignored] == ["README.md"]
    assert domain_name("x/Apps.json.gz") == "Apps"
