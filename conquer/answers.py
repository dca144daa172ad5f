"""Answers to an offer: words, item ids and strengths become the number that a learner takes.

Session, service and parser pages read answers here, and the judges of a simulation answer on the same scale, so all of
them learn the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from conquer.checks import is_real
from conquer.tickets import COUNTERS, uniform, words
from conquer.types import Floats, ItemId, Query

Word = Literal["first", "second", "left", "right", "tie", "skip", "both_bad", "yes", "no"]
"""The words that answer an offer."""
RESERVED = frozenset(get_args(Word))
"""Words with a meaning as answers, so never item ids."""
NONE_OF_THESE = -1.0
"""The answer "none of these" where more than two items are shown; every other answer is the position picked."""

_SIDE = COUNTERS["side"].start
_NONE, _DUEL, _BEST = Query.NONE, Query.DUEL, Query.BEST  # looking up an enum's member costs 0.1 us


class AnswerError(ValueError):
    """An answer that cannot be used: unknown, cancelled or expired offer, unknown item, or another answer before."""


def leftmost(ticket: int, count: int) -> int:
    """Which of `count` shown items goes on the left-hand side; the others follow in their order.

    One draw of the round's ticket, so every item is in every position equally often.

    >>> sorted({leftmost(ticket, 3) for ticket in range(20)})
    [0, 1, 2]
    """
    return count - 1 - min(int(uniform(ticket, _SIDE) * count), count - 1)


def leftmost_of_two(tickets: NDArray[np.uint64]) -> list[int]:
    """`leftmost` of two shown items for each of many tickets.

    >>> leftmost_of_two(np.arange(4, dtype=np.uint64)) == [leftmost(ticket, 2) for ticket in range(4)]
    True
    """
    # The top bit of the draw selects the half of [0, 1).
    found: list[int] = (1 - (words(tickets, _SIDE) >> np.uint64(63)).astype(np.int64)).tolist()
    return found


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def checked_ids(ids: Sequence[Any]) -> list[ItemId]:
    """These ids, or a ValueError: each is a non-empty string or a whole number, no reserved word, and unique as text.

    >>> checked_ids(["tea", 7, np.int64(8)])
    ['tea', 7, 8]
    """
    found: list[ItemId] = []
    for name in ids:
        if type(name) is not str and not (isinstance(name, str) or _is_whole(name)):
            raise ValueError(f"an item id must be a non-empty string or a whole number, got {name!r:.80}")
        if name == "":
            raise ValueError("an item id must be a non-empty string or a whole number, got ''")
        if name in RESERVED:
            raise ValueError(f"{name!r} is a reserved word and cannot be an item id")
        found.append(name if isinstance(name, str) else int(name))
    if len(set(map(str, found))) != len(found):
        raise ValueError(f"item ids must be unique as strings, got {found!r:.200}")
    return found


def answer_of(position: int | None, count: int) -> float:
    """The answer that picks the shown item at `position`, or none of them (None).

    Of two: +1 the first, -1 the second, 0 none. Of one: +1 yes, -1 no. Of more: the position, or `NONE_OF_THESE`.

    >>> [answer_of(p, 3) for p in (0, 1, 2, None)], [answer_of(p, 2) for p in (0, 1, None)]
    ([0.0, 1.0, 2.0, -1.0], [1.0, -1.0, 0.0])
    """
    if position is not None and not 0 <= position < count:
        raise ValueError(f"position must be in [0, {count}), got {position}")
    if count > 2:
        return NONE_OF_THESE if position is None else float(position)
    return 1.0 if position == 0 else 0.0 if position is None and count == 2 else -1.0


def shares_of(answer: float, count: int) -> Floats:
    """(count + 1,): the share of the answer that picks each shown item; the last entry is none of them.

    Of two items a strength y in [-1, 1] counts |y| for the preferred one and the rest for none.

    >>> shares_of(2, 3).tolist(), shares_of(-0.25, 2).tolist()
    ([0.0, 0.0, 1.0, 0.0], [0.0, 0.25, 0.75])
    """
    shares = np.zeros(count + 1)
    if count == 2:
        shares[0 if answer > 0 else 1] = abs(answer)
        shares[2] = 1.0 - abs(answer)
        return shares
    for position in (*range(count), None):
        if answer == answer_of(position, count):
            shares[count if position is None else position] = 1.0
            return shares
    raise ValueError(
        f"of {count} shown items the answer must be a position in [0, {count}) or {NONE_OF_THESE:g} for none of them, "
        f"got {answer!r}"
    )


def read_answer(
    answer: Any,
    query: Query,
    shown: Sequence[ItemId],
    *,
    outside: bool = False,
    ties: bool = True,
    strength: float | None = None,
    items: Sequence[ItemId] = (),
    left: ItemId | None = None,
) -> float | None:
    """The number to learn from an answer, or None if nothing is learnt from it.

    An item id is read as `answer_of` its position. Of two, `strength` in [0, 1] says how much better the named one is;
    of more there is neither tie nor strength. `left`: the item on the left of two, for the words "left" and "right". To
    BEST, the shown item's id is yes; "both_bad" and any other of the round's `items` are no. In a duel "both_bad" means
    none of these if `outside`, and is otherwise not learnt. Without `ties` (a parser: one of two heads is right or none
    is) "tie" is "both_bad".

    A whole number names the item with that id. Where ids are numbers, every other whole number is refused; strengths
    are floats there.

    >>> read_answer("second", Query.DUEL, ("a", "b")), read_answer("b", Query.DUEL, ("a", "b"), strength=0.5)
    (-1.0, -0.5)
    >>> [read_answer(word, Query.DUEL, ("a", "b", "c"), outside=True) for word in ("a", "b", "c", "both_bad")]
    [0.0, 1.0, 2.0, -1.0]
    >>> read_answer(7, Query.DUEL, (5, 7)), read_answer(1.0, Query.DUEL, (5, 7))
    (-1.0, 1.0)
    """
    common = type(answer) is str and query is _DUEL and strength is None and len(shown) == 2
    if common and answer in shown:
        return 1.0 if answer == shown[0] else -1.0
    if common and answer in ("first", "second"):
        return 1.0 if answer == "first" else -1.0
    if strength is not None and not (is_real(strength) and 0.0 <= strength <= 1.0):
        raise AnswerError(f"a strength must be a number in [0, 1], got {strength!r}")
    if answer is None or (isinstance(answer, str) and answer == "skip"):
        return None
    neither = isinstance(answer, str) and (answer == "both_bad" or (answer == "tie" and not ties))
    if neither and query != _BEST:
        return answer_of(None, len(shown)) if outside and query == _DUEL else None
    values = _meanings(query, shown, items, left)
    several = len(shown) > 2
    named = answer if isinstance(answer, str) else int(answer) if _is_whole(answer) else None
    if named is not None and named in values:
        if query == _BEST and strength not in (None, 1.0):
            raise AnswerError(f"strength is not allowed in answers to BEST, got {strength!r}")
        return values[named] * (1.0 if strength is None or several else strength)
    if query == _NONE:
        raise AnswerError(f"this offer asks nothing and takes only 'skip', got {answer!r}")
    if _is_whole(answer) and _are_numbers(shown):
        raise AnswerError(
            f"the answer must be one of {_listed(values)}, 'skip' or a strength as a float, got the whole number "
            f"{answer!r}, which names no shown item where ids are numbers"
        )
    if not several and is_real(answer) and (abs(answer) == 1 if query == _BEST else -1 <= answer <= 1):
        return float(answer)
    rest = "" if several or query == _BEST else " or a strength in [-1, 1]"
    raise AnswerError(f"the answer must be one of {_listed(values)}, 'skip'{rest}, got {answer!r}")


def _listed(values: Mapping[ItemId, float]) -> str:
    return f"{sorted(values, key=str)!r:.300}"


def _are_numbers(shown: Sequence[ItemId]) -> bool:
    """Whether a whole number could name an item: some id is one, or all are written as numbers."""
    return any(type(name) is int for name in shown) or all(str(name).isdecimal() for name in shown)


def _meanings(
    query: Query, shown: Sequence[ItemId], items: Sequence[ItemId], left: ItemId | None
) -> dict[ItemId, float]:
    """The number of every word and id that answers this query."""
    if query == _NONE:
        return {}
    by_id = {name: answer_of(position, len(shown)) for position, name in enumerate(shown)}
    if query == _BEST:
        return {"yes": 1.0, "no": -1.0, "both_bad": -1.0, **dict.fromkeys(items, -1.0), **by_id}
    if len(shown) == 2:
        sides: dict[ItemId, float] = {} if left is None else {"left": by_id[left], "right": -by_id[left]}
        return {"first": 1.0, "second": -1.0, "tie": 0.0, **sides, **by_id}
    return {**dict(zip(("first", "second"), by_id.values(), strict=False)), **by_id}
