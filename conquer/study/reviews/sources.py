"""Where a study's domains come from: which files there are, whether they can be studied, on which scale they rate."""

import contextlib
import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from conquer.data import reviews
from conquer.data.compression import DataError
from conquer.data.reviews import NoReviewsError
from conquer.data.scales import STARS, Scale, read_scale, recognised
from conquer.study.reviews.spec import EMBEDDED, PROTOCOL, Spec

T = TypeVar("T")
_LOOKED_AT = 20_000
"""Rows of a file that tell the scale of its ratings."""
_ANY = Scale(-1e100, 1e100)
"""For the first look a rating may be any number."""


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
    """What its ratings run from and to; None: stars from 1 to 5, lists of ratings from -4 to 4."""

    @property
    def key(self) -> str:
        """The name of the domain's content, the same wherever its files lie."""
        from conquer.study.cells.store import key  # brings numpy, which refusals do without

        columns = [name for name in (self.text, self.rating) if name is not None]
        columns += [] if self.scale in (None, STARS) else [f"scale {self.scale}"]
        content = self.kind, self.name, self.reviews, self.seed, self.balance, self.fingerprint, self.ngrams, *columns
        return key("domain", PROTOCOL, *content)


def chosen(found: Mapping[str, T], names: Sequence[str] | None, data: str) -> dict[str, T]:
    """The domains of these names, in their order; all without names.

    >>> chosen({"a": 1, "b": 2}, ["b"], "here")
    {'b': 2}
    """
    unknown = [name for name in names or () if name not in found]
    if unknown:
        raise ValueError(f"no domain {', '.join(unknown)} in {data}; there are {', '.join(found)}")
    return {name: found[name] for name in (names or found)}


def files(data: str, names: Sequence[str] | None = None) -> dict[str, tuple[Path, ...]]:
    """{domain: its files} of a folder or a file of reviews."""
    path = Path(data)
    if not path.exists():
        raise FileNotFoundError(f"no such file or folder {data}; data may be {', '.join(EMBEDDED)}, a folder or a file")
    found = reviews.find(path)[0] if path.is_dir() else {reviews.domain_name(path): (path,)}
    return chosen(found, names, data)


def check(data: str, names: Sequence[str] | None, *, text: str | None = None, rating: str | None = None) -> None:
    """Refuse what cannot be studied: a place that is not there, unknown domains, files without a single review."""
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
    """The domains a specification names, before anything is read."""
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
    """The scale of a domain's ratings: the one that is given, or else the one seen in the first rows of each file.

    None where there are no numbers, because its ratings are lists or nothing can be read. `content` tells one state
    of the files from another.
    """
    if given is not None:
        return read_scale(given)
    numbers: list[float] = []
    for path in paths:
        with contextlib.suppress(DataError):
            numbers += reviews.ratings_of(Path(path), _LOOKED_AT, text=text, rating=rating)
    scale = recognised(numbers)
    if numbers and scale is None:
        ends = f"{min(numbers):g} to {max(numbers):g}"
        raise DataError(f"{paths[0]}: ratings from {ends} are on no usual scale; say which: --scale LOW:HIGH")
    return scale


def ignored(spec: Spec) -> tuple[str, ...]:
    """Names of what lies in the data folder and is no review file."""
    path = Path(spec.data)
    if spec.data in EMBEDDED or not path.is_dir():
        return ()
    return tuple(str(p.relative_to(path)) for p in reviews.find(path)[1])


def fingerprint(paths: tuple[Path, ...]) -> str:
    """What these files hold, in 32 letters."""
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()
