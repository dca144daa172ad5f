"""What people say to an offer: words, ids and strengths, the side each item is on, and the number a learner takes.

Everyone who hears a person (Session, service, parser pages) reads the answer here, and judges of a simulation answer on
the same scale, so that all of them learn the same.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conquer.checks import is_real
from conquer.tickets import COUNTERS, uniform, words
from conquer.types import Floats, Query

RESERVED = frozenset({"first", "second", "left", "right", "tie", "skip", "both_bad", "yes", "no"})
"""Words with a meaning as answers, so never item ids."""

_SIDE = COUNTERS["side"].start
_NONE, _DUEL, _BEST = Query.NONE, Query.DUEL, Query.BEST  # an enum's member costs a tenth of a microsecond to look up


class AnswerError(ValueError):
    """An answer that cannot be taken: unknown offer, unknown winner, or another answer than the one given before."""


def leftmost(ticket: int, count: int) -> int:
    """Which of `count` shown items goes on the left-hand side; the others follow it in turn.

    One draw of the round's ticket, so every item is in every place equally often.

    >>> sorted({leftmost(ticket, 3) for ticket in range(20)})
    [0, 1, 2]
    """
    return count - 1 - min(int(uniform(ticket, _SIDE) * count), count - 1)


def leftmost_of_two(tickets: NDArray[np.uint64]) -> list[int]:
    """`leftmost` of two shown items for each of many tickets.

    >>> leftmost_of_two(np.arange(4, dtype=np.uint64)) == [leftmost(ticket, 2) for ticket in range(4)]
    True
    """
    # Half of the unit interval is the first bit of the draw.
    found: list[int] = (1 - (words(tickets, _SIDE) >> np.uint64(63)).astype(np.int64)).tolist()
    return found


def left_is_second(ticket: int) -> bool:
    """Whether the second choice of two goes on the left-hand side: a fair coin of the round's ticket."""
    return leftmost(ticket, 2) == 1


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


def encode(position: int | None, count: int) -> float:
    """The answer that names the shown item at `position`, or none of them: +1 the first, -1 the last, even between.

    None lies halfway between the first two, where no item is; of two items that is 0, of one -1.

    >>> [encode(p, 3) for p in (0, 1, 2, None)], [encode(p, 2) for p in (0, 1, None)]
    ([1.0, 0.0, -1.0, 0.5], [1.0, -1.0, 0.0])
    """
    if position is not None and not 0 <= position < count:
        raise ValueError(f"position must be in [0, {count}), got {position}")
    if count == 1:
        return 1.0 if position == 0 else -1.0
    return 1.0 - 2.0 * (0.5 if position is None else position) / (count - 1)


def decode(answer: float, count: int) -> Floats:
    """(count + 1,): the share of the answer that names each shown item, the last entry being none of them.

    Of two items a strength y in [-1, 1] counts |y| for the preferred one and the rest for none.

    >>> decode(0.5, 3).tolist(), decode(-0.25, 2).tolist()
    ([0.0, 0.0, 0.0, 1.0], [0.0, 0.25, 0.75])
    """
    shares = np.zeros(count + 1)
    if count == 2:
        shares[0 if answer > 0 else 1] = abs(answer)
        shares[2] = 1.0 - abs(answer)
        return shares
    for position in (*range(count), None):
        if abs(answer - encode(position, count)) < 1e-9:
            shares[count if position is None else position] = 1.0
            return shares
    names = [round(encode(position, count), 6) for position in (*range(count), None)]
    raise ValueError(f"of {count} shown items the answer must be one of {names}, got {answer!r}")


def read_answer(
    answer: str | float | None,
    query: Query,
    shown: Sequence[str],
    *,
    outside: bool = False,
    ties: bool = True,
    strength: float | None = None,
    items: Sequence[str] = (),
) -> float | None:
    """What an answer says: a number in [-1, 1] to learn, or None where nothing is to be learnt.

    An item's id is its number of `encode`. Of two, `strength` in [0, 1] says how much better the named one is; of more
    there is neither tie nor strength. To BEST, the shown item's id is yes; "both_bad" and any other of the round's
    `items` are no. In a duel "both_bad" is none of these where the learner has an answer for that (`outside`), else
    not learnt. Without `ties` (a parser: one of two heads is right or none is) "tie" is "both_bad".

    >>> read_answer("second", Query.DUEL, ("a", "b")), read_answer("b", Query.DUEL, ("a", "b"), strength=0.5)
    (-1.0, -0.5)
    >>> [read_answer(word, Query.DUEL, ("a", "b", "c"), outside=True) for word in ("a", "b", "c", "both_bad")]
    [1.0, 0.0, -1.0, 0.5]
    """
    if type(answer) is str and query is _DUEL and strength is None and len(shown) == 2 and answer in shown:
        # The everyday answer: one of two. No word can be an id, so none is meant.
        return 1.0 if answer == shown[0] else -1.0
    several = len(shown) > 2
    named_only = several or query == _BEST
    if answer is None or (isinstance(answer, str) and answer == "skip"):
        return None
    neither = isinstance(answer, str) and (answer == "both_bad" or (answer == "tie" and not ties))
    if neither and query != _BEST:
        return encode(None, len(shown)) if outside and query == _DUEL else None
    values = _words(query, shown, items)
    if strength is not None and not is_real(strength):
        raise AnswerError(f"a strength must be a number in [0, 1], got {strength!r}")
    if isinstance(answer, str) and answer in values:
        if query == _BEST and strength not in (None, 1.0):
            raise AnswerError(f"whether an item is the best has no strength, got {strength!r}")
        return values[answer] * (1.0 if strength is None or several else strength)
    if query != _NONE and is_real(answer) and not isinstance(answer, str):
        named = answer in values.values() or (several and outside and answer == encode(None, len(shown)))
        if named or (not named_only and abs(answer) < 1):
            return float(answer)
    if query == _NONE:
        expected = "only 'skip': this offer asked nothing"
    else:
        expected = f"one of {sorted(values)}, 'skip'" + ("" if named_only else " or a strength in [-1, 1]")
    raise AnswerError(f"the answer must be {expected}, got {answer!r}")


def _words(query: Query, shown: Sequence[str], items: Sequence[str]) -> dict[str, float]:
    """The number of every word that answers this query."""
    if query == _NONE:
        return {}
    if len(shown) == 2 and query == _DUEL:
        return {"first": 1.0, "second": -1.0, "tie": 0.0, shown[0]: 1.0, shown[1]: -1.0}
    places = [encode(place, len(shown)) for place in range(len(shown))]
    words = dict(zip(shown, places, strict=True))
    if query == _BEST:
        return {"yes": 1.0, "no": -1.0, "both_bad": -1.0, **dict.fromkeys(items, -1.0), **words}
    return {
        **dict(zip(("first", "second"), places, strict=False)),
        **({"tie": 0.0} if len(shown) == 2 else {}),
        **words,
    }
