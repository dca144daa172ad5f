"""Tables as programs write them: semicolons, tabs, decimal commas, Latin-1, a byte order mark."""

import json
from pathlib import Path

import pytest

from conquer.data.columns import PROMPT, RATING, TEXT, column
from conquer.data.reviews import NoReviewsError, Review, columns_of, read
from conquer.data.scales import read_scale

WANTED = [Review("Größe passt; sehr schön", 4.5), Review("nie wieder", 1.0)]
HEADER = ["Id", "Text", "Score"]


def table(delimiter: str) -> str:
    quote = '"' if delimiter != "\t" else ""
    rows = [["1", f"{quote}{WANTED[0].text}{quote}", "4,5" if delimiter != "," else "4.5"], ["2", WANTED[1].text, "1"]]
    return "".join(delimiter.join(row) + "\r\n" for row in [HEADER, *rows])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_tables_of_every_dialect(tmp_path: Path, delimiter: str, encoding: str) -> None:
    path = tmp_path / "shop.csv"
    path.write_bytes(table(delimiter).encode(encoding))
    reading = read(path)
    assert list(reading) == WANTED
    assert reading.unreadable == 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("array", [True, False])
def test_json_of_every_encoding(tmp_path: Path, encoding: str, array: bool) -> None:
    rows = [json.dumps({"text": r.text, "stars": r.stars}, ensure_ascii=False) for r in WANTED]
    path = tmp_path / "shop.json"
    path.write_bytes((f"[{', '.join(rows)}]" if array else "\n".join(rows)).encode(encoding))
    assert list(read(path)) == WANTED


def test_a_quoted_header_after_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_bytes('"Text","Stars"\n"fine",4\n'.encode("utf-8-sig"))
    assert list(read(tmp_path / "shop.csv")) == [Review("fine", 4.0)]


def test_one_damaged_line_of_utf8_does_not_make_it_latin(tmp_path: Path) -> None:
    lines = ["text;stars", *(f"schön {k};4" for k in range(3))]
    (tmp_path / "shop.csv").write_bytes("\n".join(lines).encode() + b"\nkaputt \xff;2\nschluss;1\n")
    reading = read(tmp_path / "shop.csv")
    assert [review.text for review in reading] == ["schön 0", "schön 1", "schön 2", "schluss"]
    assert "line 5: column 'text' is not UTF-8 at character 7" in reading.problems[0]


def test_sixteen_bits_are_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "excel.txt").write_bytes(table("\t").encode("utf-16"))
    with pytest.raises(NoReviewsError, match=r"excel.txt is UTF-16 or not a text: save it as UTF-8"):
        list(read(tmp_path / "excel.txt"))


def test_ratings_on_another_scale(tmp_path: Path) -> None:
    (tmp_path / "ten.csv").write_text("text,score\na,1\nb,10\nc,5.5\nd,11\n")
    reading = read(tmp_path / "ten.csv", scale=read_scale("1:10"))
    assert [review.stars for review in reading] == [1.0, 5.0, 3.0]
    assert reading.problems == [f"{tmp_path}/ten.csv, line 5: expected a rating from 1 to 10, got '11'"]


def test_columns_are_found_alike_for_reviews_and_items(tmp_path: Path) -> None:
    assert column(["ID", "REVIEW", "Score"], TEXT) == "REVIEW"
    assert column(["review_text", "Text"], TEXT) == "Text"
    assert column(["Question"], PROMPT) == "Question"
    assert column(["opinion"], RATING) is None
    assert column(["Grade", "grade"], RATING, "grade") == "grade"
    (tmp_path / "shop.csv").write_text("Id,Review,Score,Date\n1,fine,4,today\n")
    assert columns_of(tmp_path / "shop.csv") == ("Review", "Score", ["Id", "Date"])
