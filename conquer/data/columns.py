"""Which column of a table holds what, by the usual names: reviews of a study and items to ask about are read alike."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

# The usual names, most telling first, as `plain` writes them: `Review Text` and review/text are both reviewtext.
TEXT = ("text", "reviewtext", "reviewstext", "reviewbody", "reviewcontent", "content", "body", "review", "comment")
STARS = ("stars", "overall", "rating", "starrating", "reviewrating", "reviewsrating", "reviewscore", "score")
RATING = (*STARS, "mean", "ratings")
ID = ("id",)
_LONGEST = 100
PROMPT = ("prompt", "context", "question", "group")


def plain(name: str) -> str:
    """A name as it is compared.

    >>> plain("Review Text"), plain("reviewText"), plain("review/text")
    ('reviewtext', 'reviewtext', 'reviewtext')
    """
    # What is remembered is bounded in letters too: files come from anyone.
    return _remembered(name) if len(name) <= _LONGEST else _plain(name)


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


_remembered = lru_cache(maxsize=4096)(_plain)


def column(names: Iterable[str], usual: tuple[str, ...], named: str | None = None) -> str | None:
    """The one of `names` that is wanted: `named` where that is given, or else the most usual one; None: there is none.

    A name as it stands comes before one that differs in case, spaces or punctuation, and the first of two equal ones.

    >>> column(["Id", "Review Text", "body"], TEXT), column(["Id", "Opinion"], TEXT, "opinion")
    ('Review Text', 'Opinion')
    """
    listed = list(names)
    if named is not None:
        if named in listed:
            return named
        usual = (plain(named),)
    found: dict[str, str] = {}
    for name in listed:
        found.setdefault(plain(name), name)
    return next((found[each] for each in usual if each in found), None)


def value(row: Mapping[Any, Any], fields: Mapping[str, Any], usual: tuple[str, ...], named: str | None = None) -> Any:
    """What a row holds in the column that is wanted, empty ones passed over; `fields` is the row by plain names."""
    if named is not None:
        return row[named] if named in row else fields.get(plain(named))
    return next((fields[each] for each in usual if each in fields), None)


def by_plain_name(row: Mapping[Any, Any]) -> dict[str, Any]:
    """The row's values by plain name; the first of two equal names counts, and None is nothing.

    >>> by_plain_name({"Text": None, "text": "a", "TEXT": "b"})
    {'text': 'a'}
    """
    fields: dict[str, Any] = {}
    for name, each in row.items():
        if each is not None:
            fields.setdefault(plain(str(name)), each)
    return fields
