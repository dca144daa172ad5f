"""Readers for the review files people have: every row becomes a text with stars, or is counted as unreadable."""

import ast
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conquer.data import tables
from conquer.data.opening import COMPRESSED, ReviewFileError, first_bytes, lines

TEXT = ("text", "reviewText", "review_text", "review_body", "review/text", "content", "body", "review")
RATING = ("stars", "overall", "rating", "star_rating", "review/score", "score", "mean")
_SUFFIXES = (".json", ".jsonl", ".ndjson", ".tsv", ".csv", ".txt", ".parquet", ".review")
_REMEMBERED = 20


@dataclass(frozen=True, slots=True)
class Review:
    """A text, its stars in [1, 5], and where several people rated it, each one's stars."""

    text: str
    stars: float
    ratings: tuple[float, ...] = ()


@dataclass(slots=True)
class Reading:
    """An iterator over the reviews of one file; `unreadable` counts the rest, `problems` says where the first were."""

    path: Path
    text: str | None = None
    rating: str | None = None
    read: int = 0
    unreadable: int = 0
    problems: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Review]:
        for line, row in _rows(self.path, (self.text, self.rating)):
            try:
                review = _review(row, self.text, self.rating)
            except ValueError as error:
                self.unreadable += 1
                if len(self.problems) < _REMEMBERED:
                    self.problems.append(f"{self.path}, line {line}: {error}")
            else:
                self.read += 1
                yield review


def read(path: str | Path, *, text: str | None = None, rating: str | None = None) -> Reading:
    """A reading of one file of reviews, of any of these kinds, plain or compressed with gzip, xz or zstandard:
    JSON lines (UCSD/McAuley of 2014 to 2023 with their Python-like lines, Yelp, anything with a text and a rating),
    the blocks of 2013, amazon_reviews_us TSV, Blitzer's pseudo-XML, CSV, Parquet.

    `text` and `rating` name the fields or columns where the usual names do not fit.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.jsonl"
    ...     _ = path.write_text('{"text": "Fine", "stars": 4}\\n{"text": "Odd", "stars": 9}\\n')
    ...     reading = read(path)
    ...     [review.stars for review in reading], reading.unreadable
    ([4.0], 1)
    """
    path = Path(path)
    if not path.is_file():
        raise ReviewFileError(f"no file {path}")
    return Reading(path, text, rating)


def find(folder: str | Path) -> tuple[dict[str, tuple[Path, ...]], tuple[Path, ...]]:
    """({domain: files}, ignored): a review file is a domain, and so is a folder of them.

    Blitzer's folders keep the same reviews twice; `all.review` is then the one that counts.
    """
    root = Path(folder)
    if not root.is_dir():
        raise ReviewFileError(f"no folder {root}")
    found: dict[str, tuple[Path, ...]] = {}
    ignored: list[Path] = []
    for path in sorted(root.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            inside = [inner for inner in sorted(path.iterdir()) if inner.is_file() and _is_review_file(inner)]
            whole = [inner for inner in inside if inner.name.startswith("all.review")]
            if inside:
                found[path.name] = tuple(whole or inside)
        elif _is_review_file(path):
            found[domain_name(path)] = (path,)
        else:
            ignored.append(path)
    if not found:
        raise ReviewFileError(f"no review files in {root}: expected names ending in {', '.join(_SUFFIXES)}")
    return found, tuple(ignored)


def domain_name(path: str | Path) -> str:
    """The file's name without what says how it is stored.

    >>> domain_name("data/books.jsonl.gz")
    'books'
    """
    name = Path(path).name
    for suffix in (*COMPRESSED, *_SUFFIXES):
        name = name.removesuffix(suffix)
    return name


def _is_review_file(path: Path) -> bool:
    name = path.name.lower()
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    readme = name.startswith(("readme", "license", "licence"))
    return name.endswith(_SUFFIXES) and not readme


def _rows(path: Path, columns: tuple[str | None, str | None]) -> Iterator[tuple[int, Any]]:
    """(line, row): a row is a mapping of fields, or a ValueError where the line is none."""
    head = first_bytes(path)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    for begins, reader in _READERS:
        if start.startswith(begins):
            return reader(path)
    if not start:
        raise ReviewFileError(f"{path} is empty")
    delimiter = "\t" if b"\t" in start.split(b"\n", 1)[0] else ","
    wanted = (columns[0] or TEXT, columns[1] or RATING)
    return tables.delimited(path, delimiter, wanted)


def _json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    for number, line in enumerate(lines(path), 1):
        if line.strip():
            yield number, _object(line)


def _object(line: bytes) -> Any:
    try:
        value = json.loads(line)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        # The files of 2014 and before are lines of Python: single quotes, True and None.
        try:
            value = ast.literal_eval(line.decode("utf-8").strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return ValueError(f"neither JSON nor a Python dictionary ({error})")
    return (
        value if isinstance(value, dict) else ValueError(f"expected an object with fields, got {type(value).__name__}")
    )


_READERS: tuple[tuple[bytes | tuple[bytes, ...], Callable[[Path], Iterator[tuple[int, Any]]]], ...] = (
    (b"{", _json_lines),
    (b"PAR1", tables.parquet),
    (b"<review>", tables.pseudo_xml),
    (b"product/productId:", tables.blocks),
)


def _review(row: Any, text: str | None, rating: str | None) -> Review:
    if isinstance(row, ValueError):
        raise row
    body = _field(row, (text,) if text else TEXT)
    if not isinstance(body, str) or not body.strip():
        raise ValueError(f"no text: expected a non-empty {text or ' or '.join(TEXT)}, got {body!r:.60}")
    if any("\udc80" <= letter <= "\udcff" for letter in body):
        raise ValueError("the text is not UTF-8")
    people = row.get("ratings")
    if people is not None and "stars" not in row and rating is None:
        return _rated(body, people)
    given = _field(row, (rating,) if rating else RATING)
    return Review(body, _stars(given), _several(people) if people is not None else ())


def _field(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if row.get(name) is not None:
            return row[name]
    return None


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"expected a number of stars from 1 to 5, got {value!r:.60}")
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"expected a number of stars from 1 to 5, got {value!r:.60}") from None


def _stars(value: Any) -> float:
    stars = _number(value)
    if not 1.0 <= stars <= 5.0:
        raise ValueError(f"expected a number of stars from 1 to 5, got {value!r:.60}")
    return stars


def _several(people: Any) -> tuple[float, ...]:
    if not isinstance(people, list) or not people:
        raise ValueError(f"expected a list of ratings, got {people!r:.60}")
    return tuple(_stars(value) for value in people)


def _rated(body: str, people: Any) -> Review:
    """Ratings without stars are on the scale of -4 to 4 of Hutto and Gilbert; 0 is 3 stars, the ends 1 and 5."""
    if not isinstance(people, list) or not people:
        raise ValueError(f"expected a list of ratings, got {people!r:.60}")
    ratings = tuple(3.0 + _number(value) / 2.0 for value in people)
    if not all(1.0 <= value <= 5.0 for value in ratings):
        raise ValueError(f"expected ratings from -4 to 4, got {people!r:.60}")
    return Review(body, sum(ratings) / len(ratings), ratings)
