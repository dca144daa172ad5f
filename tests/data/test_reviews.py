"""Every kind of review file reads to the same reviews; what cannot be read is counted and located."""

import gzip
import json
import lzma
from pathlib import Path

import polars as pl
import pytest
import zstandard

from conquer.data.compression import DataError
from conquer.data.reviews import NoReviewsError, Review, domain_name, find, read

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
    with pytest.raises(NoReviewsError, match=r"p.parquet: no text column \(text, .* among 'words, grade'"):
        list(read(path))
    (tmp_path / "cut.parquet").write_bytes(path.read_bytes()[:50])
    with pytest.raises(DataError, match=r"cut.parquet: not a readable Parquet"):
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
        ('{"text": "a", "stars"', "not a JSON object"),
        ("{'text': open('x')}", "not a JSON object"),
        ('{"text": "a", "stars": 2, "ratings": []}', "list of ratings"),
        ('{"text": "a \\ud83d", "stars": 2}', "not UTF-8 at character 2"),
        ('{"text": "\\udc80", "stars": 2}', "not UTF-8"),
        ('{"text": "a", "stars": ' + "9" * 400 + "}", "1 to 5, got 999"),
        ("{'text': 'a', 'stars': -" + "9" * 400 + "}", "1 to 5, got -999"),
        ('{"text": "a", "stars": ' + "9" * 5000 + "}", "not a JSON object"),
        ('{"text": "a", "stars": 2, "ratings": [' + "9" * 400 + "]}", "1 to 5, got 999"),
        ("{'text': {[]: 1}}", "not a JSON object"),
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


def test_problems_of_an_array_name_the_row(tmp_path: Path) -> None:
    path = tmp_path / "mixed.json"
    path.write_text('[\n\n{"text": "fine", "stars": 4},\n{"text": "odd", "stars": 9}]')
    reading = read(path)
    assert len(list(reading)) == 1
    assert reading.problems == [f"{path}, row 2: expected a rating from 1 to 5, got 9"]


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_arrays_of_objects(tmp_path: Path, indent: int | None, pack) -> None:
    rows = [{"text": r.text, "stars": r.stars} for r in PLAIN]
    odd = [[], {"text": "a \ud83d", "stars": 1}, {"text": "x", "stars": "huge"}]
    path = tmp_path / "array.json"
    body = json.dumps(rows[:2] + odd + rows[2:], indent=indent)
    path.write_bytes(pack(("\ufeff " + body + "\n").replace('"huge"', "9" * 5000).encode()))
    reading = read(path)
    assert list(reading) == PLAIN
    assert reading.unreadable == 3
    path.write_text(json.dumps(rows, indent=0)[:-30])
    with pytest.raises(DataError, match=r"array.json: the JSON array is broken"):
        list(read(path))
    path.write_text("[]")
    with pytest.raises(NoReviewsError, match="there are no rows"):
        list(read(path))


@pytest.mark.parametrize(
    ("text", "rating"),
    [
        ("Review Text", "Rating"),
        ("TEXT", "Score"),
        ("review_text", "SCORE"),
        ("Review", "Star Rating"),
        ("reviews.text", "reviews.rating"),
        ("Comment", "Ratings"),
    ],
)
def test_the_usual_headers(tmp_path: Path, text: str, rating: str) -> None:
    table = pl.DataFrame({"Id": [1, 2, 3], text: [r.text for r in PLAIN], rating: [r.stars for r in PLAIN]})
    table.write_csv(tmp_path / "usual.csv")
    table.write_parquet(tmp_path / "usual.parquet")
    table.write_ndjson(tmp_path / "usual.jsonl")
    for path in sorted(tmp_path.iterdir()):
        assert list(read(path)) == PLAIN
        assert list(read(path, text=text.lower(), rating=rating)) == PLAIN


def test_exact_names_come_first(tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    path.write_text('{"grade": 1, "Grade": 2, "text": "a", "words": "b", "ratings": [3]}\n')
    assert list(read(path, text="words", rating="Grade")) == [Review("b", 2.0, (3.0,))]
    assert list(read(path, text="WORDS", rating="GRADE")) == [Review("b", 1.0, (3.0,))]


def test_ratings_count_only_as_a_list(tmp_path: Path) -> None:
    path = tmp_path / "ratings.jsonl"
    path.write_text(
        '{"text": "a", "rating": 4, "ratings": 12}\n{"text": "b", "rating": 5, "ratings": {"food": 1}}\n'
        '{"text": "c", "rating": 5, "ratings": [5, 4]}\n{"text": "d", "Ratings": 2}\n'
    )
    reading = read(path)
    assert list(reading) == [Review("a", 4.0), Review("b", 5.0), Review("c", 5.0, (5.0, 4.0)), Review("d", 2.0)]
    assert reading.unreadable == 0


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
    assert domain_name("x/Apps.JSON.GZ") == "Apps"


def test_files_of_one_name_are_one_domain(tmp_path: Path) -> None:
    for name in ("books.csv", "books.jsonl.gz", "books/more.csv", "books/notes.md", "books/.old.csv", "empty/a.pdf"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found, ignored = find(tmp_path)
    assert {name: [str(path.relative_to(tmp_path)) for path in paths] for name, paths in found.items()} == {
        "books": ["books/more.csv", "books.csv", "books.jsonl.gz"]
    }
    assert [str(path.relative_to(tmp_path)) for path in ignored] == ["books/notes.md", "empty"]
