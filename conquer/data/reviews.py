"""Readers for the review files people have: every row becomes a text with stars, or is counted as unreadable."""

import contextlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from conquer.data import columns, json_rows, plugged, tabular
from conquer.data.columns import RATING, TEXT, by_plain_name, column, value
from conquer.data.compression import COMPRESSED, NoReviewsError, ReviewFileError, UnreadableError, first_bytes
from conquer.data.scales import STARS, Scale

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".tsv", ".csv", ".txt", ".parquet", ".review")
_REMEMBERED = 20
_LISTED = Scale(-4.0, 4.0)
_COMMA = re.compile(r"^\s*(-?\d+),(\d+)\s*$")


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
    scale: Scale | None = None
    read: int = 0
    unreadable: int = 0
    problems: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Review]:
        for line, row in _rows(self.path, partial(_missing, text=self.text, rating=self.rating)):
            try:
                review = _review(row, self.text, self.rating, self.scale)
            except ValueError as error:
                self.unreadable += error.lines if isinstance(error, UnreadableError) else 1
                if len(self.problems) < _REMEMBERED:
                    self.problems.append(f"{self.path}, line {line}: {error}")
            else:
                self.read += 1
                yield review
        if not self.read:
            first = "".join(self.problems[:1]) or "there are no rows"
            raise NoReviewsError(f"{self.path}: no readable review, {self.unreadable} rows unreadable: {first}")


def read(
    path: str | Path, *, text: str | None = None, rating: str | None = None, scale: Scale | None = None
) -> Reading:
    """A reading of one file of reviews, of any of these kinds, plain or compressed with gzip, xz or zstandard:
    JSON lines (UCSD/McAuley of 2014 to 2023 with their Python-like lines, Yelp, anything with a text and a rating),
    an array of JSON objects, the blocks of 2013, amazon_reviews_us TSV, Blitzer's pseudo-XML, CSV (with commas,
    semicolons or tabs; UTF-8 or Latin-1), Parquet. A file whose name ends otherwise is read by the reader that an
    installed package offers for it, if there is one.

    `text` and `rating` name the fields or columns where the usual names do not fit; case, spaces and punctuation of
    names do not count. `scale`: what ratings run from and to; without it stars are 1 to 5, and lists of several
    people's ratings -4 to 4. Iterating raises `NoReviewsError` for a file without a single review.

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
    return Reading(path, text, rating, scale)


def find(folder: str | Path) -> tuple[dict[str, tuple[Path, ...]], tuple[Path, ...]]:
    """({domain: files}, ignored): a review file is a domain, and so is a folder of them; equal names are one domain.

    Blitzer's folders keep the same reviews twice; `all.review` is then the one that counts.
    """
    root = Path(folder)
    if not root.is_dir():
        raise ReviewFileError(f"no folder {root}")
    found: dict[str, tuple[Path, ...]] = {}
    ignored: list[Path] = []
    for path in _visible(root):
        name, inside = (path.name, _visible(path)) if path.is_dir() else (domain_name(path), [path])
        files = [inner for inner in inside if _is_review_file(inner)]
        whole = [inner for inner in files if inner.name.startswith("all.review")]
        if files:
            found[name] = found.get(name, ()) + tuple(whole or files)
        ignored += [inner for inner in inside if not _is_review_file(inner)] if files else [path]
    if not found:
        raise ReviewFileError(f"no review files in {root}: expected names ending in {', '.join(_SUFFIXES)}")
    return found, tuple(ignored)


def domain_name(path: str | Path) -> str:
    """The file's name without what says how it is stored.

    >>> domain_name("data/books.jsonl.gz")
    'books'
    """
    name = Path(path).name
    if not _is_ours(name):
        return Path(name).stem if name.lower().endswith(plugged.endings()) else name
    for suffix in (*COMPRESSED, *_SUFFIXES):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return name


def _is_ours(name: str) -> bool:
    """Whether a file's name ends as those of our readers do, compressed or not."""
    name = name.lower()
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return name.endswith(_SUFFIXES)


def _visible(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]


def _is_review_file(path: Path) -> bool:
    name = path.name.lower()
    if name.startswith(("readme", "license", "licence")) or path.is_dir():
        return False
    return _is_ours(name) or name.endswith(plugged.endings())


_READERS: tuple[tuple[bytes, Callable[[Path, tabular.Wanted], json_rows.Rows]], ...] = (
    (rb"\{", lambda path, missing: json_rows.json_lines(path)),
    (rb"\[\s*[{\]]", lambda path, missing: json_rows.json_array(path)),
    (rb"PAR1", tabular.parquet),
    (rb"<review>", lambda path, missing: tabular.pseudo_xml(path)),
    (rb"product/productId:", lambda path, missing: tabular.blocks(path)),
    (rb".", tabular.delimited),
)


def _rows(path: Path, missing: tabular.Wanted) -> json_rows.Rows:
    """(line, row): a row is a mapping of fields, or an UnreadableError where the line is none."""
    if not _is_ours(path.name) and (plugin := plugged.reader_of(path)):
        return plugged.rows_of(plugin, path)
    start = first_bytes(path).lstrip(b"\xef\xbb\xbf \t\r\n")
    for begins, reader in _READERS:
        if re.match(begins, start):
            return reader(path, missing)
    raise NoReviewsError(f"{path} is empty")


def _missing(names: Iterable[str], text: str | None, rating: str | None) -> str | None:
    header = list(names)
    for what, name, usual in (("text", text, TEXT), ("rating", rating, RATING)):
        if column(header, usual, name) is None:
            return f"no {what} column ({name or ', '.join(usual)}); name the text and the rating column"
    return None


def ratings_of(path: Path, most: int, *, text: str | None = None, rating: str | None = None) -> list[float]:
    """The numbers in the rating column of the first `most` rows, whatever scale they are on."""
    found = []
    for _, row in itertools.islice(_rows(path, partial(_missing, text=text, rating=rating)), most):
        if isinstance(row, UnreadableError):
            continue
        with contextlib.suppress(ValueError):
            found.append(_number(value(row, by_plain_name(row), RATING, rating), STARS))
    return found


def columns_of(
    path: Path, *, text: str | None = None, rating: str | None = None
) -> tuple[str | None, str | None, list[str]]:
    """The names of the text and the rating column in the first row, and of those that are not used."""
    first: Any = next((row for _, row in _rows(path, lambda names: None) if not isinstance(row, UnreadableError)), {})
    names = [str(name) for name in first]
    found = column(names, TEXT, text), column(names, RATING, rating)
    return *found, [name for name in names if name not in found and name.lower() != "ratings"]


def _review(row: Any, text: str | None, rating: str | None, scale: Scale | None) -> Review:
    if isinstance(row, UnreadableError):
        raise row
    fields = by_plain_name(row)
    body = value(row, fields, TEXT, text)
    if not isinstance(body, str) or not body.strip():
        raise ValueError(f"no text: expected a non-empty {text or ' or '.join(TEXT)}, got {body!r:.60}")
    try:
        body.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the text is not UTF-8 at character {error.start}") from None
    people = fields.get("ratings")
    if not isinstance(people, list):
        people = None
    elif rating is None and not any(name in fields for name in columns.STARS):
        return _rated(body, people, scale or _LISTED)
    given = value(row, fields, RATING, rating)
    return Review(body, _stars(given, scale or STARS), _several(people, scale or STARS) if people is not None else ())


def _number(given: Any, scale: Scale) -> float:
    expected = f"expected a number of stars from {scale.low:g} to {scale.high:g}, got {given!r:.60}"
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        raise ValueError(expected)
    try:
        # Tables with semicolons write 4,5 where others write 4.5.
        return float(_COMMA.sub(r"\1.\2", given) if isinstance(given, str) else given)
    except (ValueError, OverflowError):
        raise ValueError(expected) from None


def _stars(given: Any, scale: Scale) -> float:
    number = _number(given, scale)
    if number not in scale:
        raise ValueError(f"expected a number of stars from {scale.low:g} to {scale.high:g}, got {given!r:.60}")
    return scale.stars(number)


def _several(people: list[Any], scale: Scale) -> tuple[float, ...]:
    if not people:
        raise ValueError(f"expected a list of ratings, got {people!r:.60}")
    return tuple(_stars(given, scale) for given in people)


def _rated(body: str, people: list[Any], scale: Scale) -> Review:
    """Ratings without stars, usually on the scale of -4 to 4 of Hutto and Gilbert: 0 is 3 stars, the ends 1 and 5"""
    if not people:
        raise ValueError(f"expected a list of ratings, got {people!r:.60}")
    if not all(_number(given, scale) in scale for given in people):
        raise ValueError(f"expected ratings from {scale.low:g} to {scale.high:g}, got {people!r:.60}")
    ratings = tuple(scale.stars(_number(given, scale)) for given in people)
    return Review(body, sum(ratings) / len(ratings), ratings)
