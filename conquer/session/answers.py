"""What people say to an offer, as the number that a learner takes."""

from collections.abc import Sequence

import numpy as np

from conquer.kernels.core import tickets
from conquer.rivals.picks import encode
from conquer.types import Query

RESERVED = frozenset({"first", "second", "left", "right", "tie", "skip", "both_bad", "yes", "no"})
"""Words with a meaning as answers, so never item ids."""


class AnswerError(ValueError):
    """An answer that cannot be taken: unknown offer, unknown winner, or another answer than the one given before."""


def left_is_second(ticket: int) -> bool:
    """Whether the second choice goes on the left-hand side: a fair coin of the round's ticket."""
    return leftmost(ticket, 2) == 1


def leftmost(ticket: int, count: int) -> int:
    """Which of `count` shown items goes on the left-hand side; the others follow it in turn.

    One draw of the round's ticket, so every item is in every place equally often.

    >>> sorted({leftmost(ticket, 3) for ticket in range(20)})
    [0, 1, 2]
    """
    out = np.empty(1)
    tickets.ticket_uniforms(np.uint64(ticket), np.array([tickets.SIDE]), out)
    return count - 1 - min(int(out[0] * count), count - 1)


def checked_ids(ids: Sequence[str]) -> list[str]:
    """These ids, or a ValueError where one is no string, empty, a reserved word or there twice."""
    for name in ids:
        if not isinstance(name, str) or not name:
            raise ValueError(f"an item id must be a non-empty string, got {name!r}")
        if name in RESERVED:
            raise ValueError(f"{name!r} is a reserved word and cannot be an item id")
    if len(set(ids)) != len(ids):
        raise ValueError(f"item ids must differ, got {list(ids)!r}")
    return list(ids)


def read_answer(answer: str | float | None, query: Query, shown: Sequence[str], outside: bool = False) -> float | None:
    """What an answer says: a number in [-1, 1] to learn, or None for a skip.

    Of more than two, an item's id is its number of `picks.encode`, and there is neither tie nor strength. "both_bad"
    is none of these where the learner has an answer for that (`outside`), else a skip.

    >>> read_answer("second", Query.DUEL, ("a", "b")), read_answer("b", Query.DUEL, ("a", "b"))
    (-1.0, -1.0)
    >>> [read_answer(word, Query.DUEL, ("a", "b", "c"), outside=True) for word in ("a", "b", "c", "both_bad")]
    [1.0, 0.0, -1.0, 0.5]
    """
    several, none = len(shown) > 2, encode(None, len(shown))
    if answer is None or (isinstance(answer, str) and answer == "skip"):
        return None
    if isinstance(answer, str) and answer == "both_bad":
        return none if outside and query == Query.DUEL else None
    values = _words(query, shown)
    if isinstance(answer, str) and answer in values:
        return values[answer]
    number = isinstance(answer, int | float | np.integer | np.floating) and not isinstance(answer, bool)
    if query != Query.NONE and number and not isinstance(answer, str):
        whole = query == Query.BEST or several  # only a duel of two has strengths
        named = answer in values.values() or (several and outside and answer == none)
        if named or (not whole and abs(answer) < 1):
            return float(answer)
    if query == Query.NONE:
        expected = "nothing but 'skip', for nothing was asked"
    else:
        expected = f"one of {sorted(values)}, 'skip'" + ("" if several else " or a strength in [-1, 1]")
    raise AnswerError(f"the answer must be {expected}, got {answer!r}")


def _words(query: Query, shown: Sequence[str]) -> dict[str, float]:
    if query == Query.NONE:
        return {}
    places = [encode(place, len(shown)) for place in range(len(shown))]
    words = dict(zip(shown, places, strict=True))
    if query == Query.BEST:
        return {"yes": 1.0, "no": -1.0, **words}
    return {
        **dict(zip(("first", "second"), places, strict=False)),
        **({"tie": 0.0} if len(shown) == 2 else {}),
        **words,
    }
