"""Which files a study would read, known before anything is imported or compiled that takes time."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from conquer.data import reviews
from conquer.data.compression import NoReviewsError
from conquer.data.scales import Scale
from conquer.study.reviews.spec import EMBEDDED

T = TypeVar("T")
_ANY = Scale(-1e100, 1e100)
"""Here a rating may be any number: what scale it is on is seen later."""


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
