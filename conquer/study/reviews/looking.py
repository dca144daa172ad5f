"""A look at a study's files before anything starts: which columns count, the scale, and whether rows can be read."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conquer.data import reviews
from conquer.data.compression import DataError
from conquer.data.reviews import NoReviewsError
from conquer.study.reviews.sources import DomainSource, sources
from conquer.study.reviews.spec import EMBEDDED, Spec

_LOOKED_AT = 2_000
_MOST = 0.05
"""Of the rows: where more cannot be read, something is wrong with how they are read."""
_SHOWN = 12


def look(spec: Spec) -> list[str]:
    """What will be read of the files, a line for the domains that are alike; too many unreadable rows are an error."""
    if spec.data in EMBEDDED:
        return []
    alike: dict[str, list[str]] = {}
    for source in sources(spec):
        try:
            facts = _begun(source)
        except NoReviewsError:
            continue  # it will be left out, and named
        if not spec.allow_unreadable:
            refuse_unreadable({source.name: facts})
        alike.setdefault(_said(source, spec), []).append(source.name)
    return [f"{_listed(names)}: {said}" for said, names in alike.items()]


def refuse_unreadable(facts: Mapping[str, Mapping[str, Any]]) -> None:
    """A DataError where more than 5 % of a domain's rows could not be read."""
    for name, about in facts.items():
        count, total = about.get("unreadable", 0), about.get("unreadable", 0) + about.get("read", 0)
        if count > _MOST * total:
            raise DataError(
                f"{name}: {count} of {total} rows cannot be read, the first in {about['problems'][0]}. If the ratings "
                f"are on another scale, say --scale LOW:HIGH; if other columns are meant, --text and --rating; "
                f"--allow-unreadable goes on without these rows"
            )


def _begun(source: DomainSource) -> dict[str, Any]:
    """What is known of a domain from the first rows of its files."""
    read = unreadable = 0
    problems: list[str] = []
    nothing = ""
    for path in source.files:
        reading = reviews.read(path, text=source.text, rating=source.rating, scale=source.scale)
        try:
            for _ in reading:
                if reading.read + reading.unreadable >= _LOOKED_AT:
                    break
        except NoReviewsError as error:
            nothing = nothing or str(error)
            continue
        read, unreadable = read + reading.read, unreadable + reading.unreadable
        problems += reading.problems
    if not read:
        raise NoReviewsError(nothing)
    return {"read": read, "unreadable": unreadable, "problems": problems}


def _said(source: DomainSource, spec: Spec) -> str:
    text, rating, unused = reviews.columns_of(Path(source.files[0]), text=spec.text, rating=spec.rating)
    scale = "" if source.scale is None else f" on the scale {source.scale}"
    scale += " (seen in the ratings; --scale says otherwise)" if scale and spec.scale is None else ""
    rest = f"; not used: {_listed(unused)}" if unused else ""
    return f"text from {text!r}, rating from {rating!r}{scale}{rest}"


def _listed(names: Iterable[str]) -> str:
    """Names with commas, the first few.

    >>> _listed(map(str, range(20)))
    '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 8 more'
    """
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more
