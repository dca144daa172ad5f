"""Where the domains of a study come from: which files, on which rating scale, and whether they can be read."""

import contextlib
import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from conquer.data import reviews
from conquer.data.compression import DataError
from conquer.data.reviews import NoReviewsError
from conquer.data.scales import STARS, Scale, read_scale, recognised
from conquer.study.reviews.spec import EMBEDDED, PROTOCOL, Spec

T = TypeVar("T")
_SCALE_ROWS, _FIRST_ROWS = 20_000, 2_000
"""Rows of a file that the scale of its ratings is inferred from, and rows that are read before a study starts."""
_ANY = Scale(-1e100, 1e100)
"""Any number is a rating."""
_MOST_UNREADABLE = 0.05
"""If more of the rows cannot be read, they are probably read in a wrong way."""
_LISTED = 12


@dataclass(frozen=True, slots=True)
class DomainSource:
    """Where a domain comes from, small enough to send to any worker; `fingerprint` identifies its content."""

    kind: str
    name: str
    files: tuple[str, ...]
    reviews: int
    seed: int
    balance: str
    fingerprint: str
    text: str | None = None
    rating: str | None = None
    ngrams: tuple[int, int] = (1, 2)
    scale: Scale | None = None
    """The lowest and highest rating; None: stars from 1 to 5, lists of ratings from -4 to 4."""

    @property
    def key(self) -> str:
        """A hash of the domain's content, independent of where its files are."""
        from conquer.study.runner import key  # imports numpy, which is not needed to refuse a mistake

        columns = [name for name in (self.text, self.rating) if name is not None]
        columns += [] if self.scale in (None, STARS) else [f"scale {self.scale}"]
        content = self.kind, self.name, self.reviews, self.seed, self.balance, self.fingerprint, self.ngrams, *columns
        return key("domain", PROTOCOL, *content)


def chosen(found: Mapping[str, T], names: Sequence[str] | None, data: str) -> dict[str, T]:
    """The domains of these names, in their order; all domains without names.

    >>> chosen({"a": 1, "b": 2}, ["b"], "here")
    {'b': 2}
    """
    unknown = [name for name in names or () if name not in found]
    if unknown:
        raise ValueError(f"unknown domain {', '.join(unknown)} in {data}; domains are {', '.join(found)}")
    return {name: found[name] for name in (names or found)}


def files(data: str, names: Sequence[str] | None = None) -> dict[str, tuple[Path, ...]]:
    """{domain: its files} of a folder or a file of reviews."""
    path = Path(data)
    if not path.exists():
        raise FileNotFoundError(f"no such file or folder {data}; data may be {', '.join(EMBEDDED)}, a folder or a file")
    found = reviews.find(path)[0] if path.is_dir() else {reviews.domain_name(path): (path,)}
    return chosen(found, names, data)


def check(data: str, names: Sequence[str] | None, *, text: str | None = None, rating: str | None = None) -> None:
    """Raise an error if the data does not exist, lacks a named domain, or contains no reviews."""
    if data in EMBEDDED:
        return
    problems = []
    for path in (path for paths in files(data, names).values() for path in paths):
        try:
            next(iter(reviews.read(path, text=text, rating=rating, scale=_ANY)))
        except NoReviewsError as error:
            problems.append(str(error))
        else:
            return
    raise NoReviewsError("; ".join(problems))


def sources(spec: Spec) -> tuple[DomainSource, ...]:
    """The domains of a specification, before their texts are read."""
    if spec.data == "synthetic":
        from conquer.data import paper

        plan = paper.sizes(spec.reviews)
        made = "synthetic-2"
        found = [
            DomainSource("synthetic", name, (), size, spec.seed, spec.balance, made) for name, size in plan.items()
        ]
    elif spec.data == "digits":
        found = [DomainSource("digits", "digits", (), 1797, 0, "none", "scikit-learn, 1 and 0")]
    else:
        found = []
        for name, paths in files(spec.data, spec.domains).items():
            places = tuple(str(path.resolve()) for path in paths)
            content = fingerprint(paths)
            scale = scale_of(places, content, spec.text, spec.rating, spec.scale)
            found.append(
                DomainSource("files", name, places, 0, 0, spec.balance, content, spec.text, spec.rating, scale=scale)
            )
    every = {source.name: replace(source, ngrams=(spec.ngrams[0], spec.ngrams[-1])) for source in found}
    return tuple(chosen(every, spec.domains, spec.data).values())


@functools.lru_cache(maxsize=1000)
def scale_of(
    paths: tuple[str, ...], content: str, text: str | None = None, rating: str | None = None, given: str | None = None
) -> Scale | None:
    """The scale of a domain's ratings: `given`, or inferred from the first rows of each file.

    None where there are no numbers, because the ratings are lists or nothing can be read. `content` is the files'
    fingerprint, part of the cache's key.
    """
    if given is not None:
        return read_scale(given)
    numbers: list[float] = []
    for path in paths:
        with contextlib.suppress(DataError):
            numbers += reviews.ratings_of(Path(path), _SCALE_ROWS, text=text, rating=rating)
    scale = recognised(numbers)
    if numbers and scale is None:
        ends = f"{min(numbers):g} to {max(numbers):g}"
        raise DataError(f"{paths[0]}: ratings from {ends} fit no usual scale; give it with --scale LOW:HIGH")
    return scale


def ignored(spec: Spec) -> tuple[str, ...]:
    """Names of the files in the data folder that are not reviews."""
    path = Path(spec.data)
    if spec.data in EMBEDDED or not path.is_dir():
        return ()
    return tuple(str(p.relative_to(path)) for p in reviews.find(path)[1])


def fingerprint(paths: tuple[Path, ...]) -> str:
    """A hash of the content of these files, 32 characters."""
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()


def preview(spec: Spec) -> list[str]:
    """What will be read of the files, one line for domains that are alike; too many unreadable rows are an error."""
    if spec.data in EMBEDDED:
        return []
    alike: dict[str, list[str]] = {}
    for source in sources(spec):
        try:
            facts = _first_rows(source)
        except NoReviewsError:
            continue  # the report names it among the domains left out
        if not spec.allow_unreadable:
            refuse_unreadable({source.name: facts})
        alike.setdefault(_columns(source, spec), []).append(source.name)
    return [f"{_listed(names)}: {columns}" for columns, names in alike.items()]


def refuse_unreadable(facts: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise a DataError if more than 5 % of a domain's rows could not be read."""
    for name, about in facts.items():
        count, total = about.get("unreadable", 0), about.get("unreadable", 0) + about.get("read", 0)
        if count > _MOST_UNREADABLE * total:
            raise DataError(
                f"{name}: {count} of {total} rows cannot be read, the first in {about['problems'][0]}. If the ratings "
                f"are on another scale, give --scale LOW:HIGH; to use other columns, --text and --rating; "
                f"--allow-unreadable continues without these rows"
            )


def _first_rows(source: DomainSource) -> dict[str, Any]:
    """How many of the first rows of a domain's files can be read."""
    read = unreadable = 0
    problems: list[str] = []
    nothing = ""
    for path in source.files:
        reading = reviews.read(path, text=source.text, rating=source.rating, scale=source.scale)
        try:
            for _ in reading:
                if reading.read + reading.unreadable >= _FIRST_ROWS:
                    break
        except NoReviewsError as error:
            nothing = nothing or str(error)
            continue
        read, unreadable = read + reading.read, unreadable + reading.unreadable
        problems += reading.problems
    if not read:
        raise NoReviewsError(nothing)
    return {"read": read, "unreadable": unreadable, "problems": problems}


def _columns(source: DomainSource, spec: Spec) -> str:
    text, rating, unused = reviews.columns_of(Path(source.files[0]), text=spec.text, rating=spec.rating)
    scale = "" if source.scale is None else f" on the scale {source.scale}"
    scale += " (inferred from the ratings; --scale sets it)" if scale and spec.scale is None else ""
    rest = f"; not used: {_listed(unused)}" if unused else ""
    return f"text from {text!r}, rating from {rating!r}{scale}{rest}"


def _listed(names: Iterable[str]) -> str:
    """The first few names, separated by commas.

    >>> _listed(map(str, range(20)))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 8 more'
    """
    every = list(names)
    more = f" and {len(every) - _LISTED} more" if len(every) > _LISTED else ""
    return ", ".join(every[:_LISTED]) + more
