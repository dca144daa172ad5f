"""Files of reviews: every row is a text with stars, or is counted as unreadable."""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from conquer import plugins
from conquer.data.columns import RATING, STARS, TEXT, column, columns
from conquer.data.compression import COMPRESSED, DataError, first_bytes, lines
from conquer.data.scales import STARS as FIVE_STARS
from conquer.data.scales import Scale
from conquer.data.tables import Chunk, FilePart, FormatError, Row, chunks, from_rows, point, sniff

_SUFFIXES = (".json", ".jsonl", ".ndjson", ".tsv", ".csv", ".txt", ".parquet", ".review")
_LISTED_PROBLEMS = 20
_SEVERAL_RATERS = Scale(-4.0, 4.0)
"""The scale of lists of ratings without stars: -4 to 4, as in VADER (Hutto and Gilbert)."""


class NoReviewsError(DataError):
    """A file without a single review: another kind of file, or its columns have other names."""


@dataclass(frozen=True, slots=True)
class Review:
    """A text, its stars in [1, 5], and the stars of each rater where there were several."""

    text: str
    stars: float
    ratings: tuple[float, ...] = ()


@dataclass(slots=True)
class Reading:
    """An iterator over the reviews of one file; `unreadable` counts the other rows, `problems` lists the first."""

    path: Path
    text: str | None = None
    rating: str | None = None
    scale: Scale | None = None
    read: int = 0
    unreadable: int = 0
    problems: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Review]:
        for place, row in _rows(self.path, self.text, self.rating):
            try:
                review = _review(row, self.scale)
            except ValueError as error:
                self.unreadable += 1
                if len(self.problems) < _LISTED_PROBLEMS:
                    self.problems.append(f"{place}: {error}")
            else:
                self.read += 1
                yield review
        if not self.read:
            first = "".join(self.problems[:1]) or "there are no rows"
            raise NoReviewsError(f"{self.path}: no readable review, {self.unreadable} rows unreadable: {first}")


def read(
    path: str | Path, *, text: str | None = None, rating: str | None = None, scale: Scale | None = None
) -> Reading:
    """A reading of one file of reviews, plain or compressed with gzip, xz or zstandard.

    Supported formats: JSON lines (UCSD/McAuley of 2014 to 2023, Yelp, anything with a text and a rating), JSON arrays,
    SNAP's `key: value` blocks of 2013, amazon_reviews_us TSV, the Multi-Domain Sentiment Dataset (Blitzer), CSV (with
    commas, semicolons, tabs or bars; UTF-8 or Latin-1) and Parquet; others by readers of installed packages.

    Parameters
    ----------
    text, rating: the names of the two columns where the usual names do not fit.
    scale: the ends of the ratings; by default stars are 1 to 5, and lists of several raters' ratings -4 to 4.

    Raises
    ------
    DataError: the file cannot be read; while iterating, NoReviewsError: it has no review.

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
        raise DataError(f"no file {path}")
    return Reading(path, text, rating, scale)


def find(folder: str | Path) -> tuple[dict[str, tuple[Path, ...]], tuple[Path, ...]]:
    """({domain: files}, ignored): a review file is a domain, and so is a folder of them; equal names are one domain.

    Blitzer's folders hold the same reviews twice; then `all.review` alone is read.
    """
    root = Path(folder)
    if not root.is_dir():
        raise DataError(f"no folder {root}")
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
        raise DataError(f"no review files in {root}: expected names ending in {', '.join(_SUFFIXES)}")
    return found, tuple(ignored)


def domain_name(path: str | Path) -> str:
    """The name of a file without its endings."""
    name = Path(path).name
    if not _is_ours(name):
        return Path(name).stem if name.lower().endswith(_plugin_suffixes()) else name
    for suffix in (*COMPRESSED, *_SUFFIXES):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return name


def _is_ours(name: str) -> bool:
    """Whether our own readers take files of this name, compressed or not."""
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
    return _is_ours(name) or name.endswith(_plugin_suffixes())


def _plugin_suffixes() -> tuple[str, ...]:
    return tuple(f".{name}" for name in plugins.names("readers"))


def _plugin_rows(plugin: plugins.Plugin, path: Path) -> Iterator[tuple[int, Row]]:
    """The rows of a reader of another package; an error names the package."""
    try:
        for number, row in enumerate(plugin.value(path), 1):
            if not isinstance(row, Mapping):
                raise TypeError(f"a row must be a mapping with a text and stars, got {row!r:.60}")
            yield number, dict(row)
    except Exception as error:
        raise plugin.error(f"cannot read {path}: {type(error).__name__}: {error}") from error


def _chunks(path: Path) -> tuple[FilePart, Iterator[Chunk]]:
    """The file's form and its rows."""
    part = FilePart(path, "table")
    suffix = path.suffix.lower().removeprefix(".")
    plugin = None if _is_ours(path.name) or not suffix else plugins.find("readers", suffix)
    if plugin is not None:
        return part, from_rows(_plugin_rows(plugin, path))
    start = first_bytes(path).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<review>"):
        return part, from_rows(_pseudo_xml(path))
    if start.startswith(b"product/productId:"):
        return part, from_rows(_blocks(path))
    part = sniff(path)
    return part, chunks(part)


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of a row that make a review: the text, the rating, and the list of several raters' ratings.

    Where the list is all there is, it is the rating too.
    """

    text: Any
    rating: Any
    ratings: Any


def _rows(path: Path, text: str | None, rating: str | None) -> Iterator[tuple[str, _Cells | ValueError]]:
    """(its place for messages, the cells) of every row."""
    try:
        part, several = _chunks(path)
        first = next(several, None)
    except FormatError as error:
        raise NoReviewsError(str(error)) from None
    for chunk in () if first is None else chain([first], several):
        names = chunk.names
        if chunk is first and names:
            _check_columns(path, names, text, rating)
        bodies = _first_values(chunk, columns(names, TEXT, text))
        given = _first_values(chunk, columns(names, RATING, rating))
        stars = given if rating is not None else _first_values(chunk, columns(names, STARS))
        lists = _first_values(chunk, columns(names, ("ratings",)))
        for k, line in enumerate(chunk.lines):
            if k in chunk.bad:
                yield part.at(line), ValueError(chunk.bad[k])
            else:
                alone = isinstance(lists[k], list) and stars[k] is None
                yield part.at(line), _Cells(bodies[k], lists[k] if alone else given[k], lists[k])


def _first_values(chunk: Chunk, names: Sequence[str]) -> list[Any]:
    """For every row the first cell of these columns that is not None."""
    cells = [chunk.column(name) for name in names]
    if len(cells) == 1:
        return cells[0]
    if not cells:
        return [None] * len(chunk.lines)
    return [next((cell for cell in row if cell is not None), None) for row in zip(*cells, strict=True)]


def _check_columns(path: Path, names: Iterable[str], text: str | None, rating: str | None) -> None:
    header = [str(name) for name in names]
    for what, name, usual in (("text", text, TEXT), ("rating", rating, RATING)):
        if column(header, usual, name) is None:
            raise NoReviewsError(
                f"{path}: no {what} column ({name or ', '.join(usual)}) among {', '.join(header)!r:.200}; "
                "name the text and the rating column"
            )


def ratings_of(path: Path, most: int, *, text: str | None = None, rating: str | None = None) -> list[float]:
    """The numbers in the rating column of the first `most` rows, on any scale."""
    found = []
    for number, (_, row) in enumerate(_rows(path, text, rating)):
        if number >= most:
            break
        if not isinstance(row, ValueError) and (value := _number(row.rating)) is not None:
            found.append(value)
    return found


def columns_of(
    path: Path, *, text: str | None = None, rating: str | None = None
) -> tuple[str | None, str | None, list[str]]:
    """The names of the text and the rating column, and of those that are not used."""
    first = next(_chunks(path)[1], None)
    names = [] if first is None else [str(name) for name in first.names]
    found = column(names, TEXT, text), column(names, RATING, rating)
    return *found, [name for name in names if name not in found and name.lower() != "ratings"]


def _review(row: _Cells | ValueError, scale: Scale | None) -> Review:
    if isinstance(row, ValueError):
        raise row
    body = row.text
    if not isinstance(body, str) or not body.strip():
        raise ValueError(f"no text: expected a non-empty string, got {body!r:.60}")
    try:
        body.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the text is not UTF-8 at character {error.start}") from None
    if not isinstance(row.ratings, list):
        return Review(body, _stars(row.rating, scale or FIVE_STARS))
    if not row.ratings:
        raise ValueError(f"expected a list of ratings, got {row.ratings!r:.60}")
    if row.rating is row.ratings:
        ratings = tuple(_stars(given, scale or _SEVERAL_RATERS) for given in row.ratings)
        return Review(body, sum(ratings) / len(ratings), ratings)
    scale = scale or FIVE_STARS
    return Review(body, _stars(row.rating, scale), tuple(_stars(given, scale) for given in row.ratings))


def _number(given: Any) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    try:
        # Tables with semicolons write 4,5 where others write 4.5.
        return float(point(given) if isinstance(given, str) else given)
    except (ValueError, OverflowError):
        return None


def _stars(given: Any, scale: Scale) -> float:
    number = _number(given)
    if number is None or number not in scale:
        raise ValueError(f"expected a rating from {scale.low:g} to {scale.high:g}, got {given!r:.60}")
    return scale.stars(number)


_TAG = re.compile(r"<(/?)([a-z_]+)>\s*$")


def _pseudo_xml(path: Path) -> Iterator[tuple[int, Row]]:
    """(line, row) of Blitzer's files: <review> blocks of <name>, text, </name> lines; not real XML."""
    row: dict[str, Any] | None = None
    name, start = None, 0
    body: list[str] = []
    for number, raw in enumerate(lines(path), 1):
        line = _utf8_or_latin(raw)
        tag = _TAG.fullmatch(line.strip())
        if tag and tag.group(2) == "review":
            if row is not None and (name is not None or not tag.group(1)):
                yield start, ValueError(f"the review is not closed before line {number}")
            elif row is not None:
                yield start, row
            row, name, start = (None if tag.group(1) else {}), None, number
        elif row is None:
            if line.strip():
                yield number, ValueError(f"expected <review>, got {line.strip()!r:.60}")
        elif tag and name is None and not tag.group(1):
            name, body = tag.group(2), []
        elif tag and tag.group(1) and tag.group(2) == name:
            row.setdefault(name, _unescaped("".join(body)).strip())
            name = None
        elif name is not None:
            body.append(line)
    if row is not None:
        yield start, ValueError("the file ends inside this review")


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:
        return text  # a character reference of more than 4,300 digits


def _blocks(path: Path) -> Iterator[tuple[int, Row]]:
    """(line, row) of the collection of 2013: `key: value` lines, an empty line after each review."""
    row: dict[str, Any] = {}
    start = 1
    for number, raw in enumerate(lines(path), 1):
        line = _utf8_or_latin(raw).strip()
        if not line:
            if row:
                yield start, row
            row, start = {}, number + 1
            continue
        key, colon, value = line.partition(": ")
        if colon:
            row[key] = value
        elif not line.endswith(":"):
            yield number, ValueError(f"expected 'key: value', got {line!r:.60}")
    if row:
        yield start, row


def _utf8_or_latin(raw: bytes) -> str:
    """Both old formats exist in both encodings, sometimes in one file."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
