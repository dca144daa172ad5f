"""The items of the next question from a pool: at random, and such that a pair of them may be asked about."""

import random
from collections.abc import Callable, Sequence, Set
from itertools import combinations
from typing import Any

import msgspec

from conquer.service.model.learner_protocol import Draw, May
from conquer.service.model.schemas import Group, Item
from conquer.types import Choice

_TRIES = 8
_json = msgspec.json.Encoder().encode
Look = Callable[[bytes, bytes], tuple[Any, tuple[str, ...]]]
"""Items and context to what was read of them and the names of what would be shown."""


def draw_items(
    rng: random.Random, pool: Sequence[Group], taken: Set[str], count: int, may: May | None = None
) -> Draw | None:
    """Up to `count` items of one group, none of them `taken`, two of which `may` be asked about; None: there are none.

    >>> pool = [Group([Item("a", text="x"), Item("b", text="y")])]
    >>> [item.id for item in draw_items(random.Random(0), pool, set(), 5).items]
    ['b', 'a']
    >>> draw_items(random.Random(0), pool, set(), 5, lambda one, other: False) is None
    True
    """
    for _ in range(1 if may is None else _TRIES):
        group = pool[rng.randrange(len(pool))]
        free = _free(group, taken)
        if len(free) < 2:
            open_groups = [one for one in pool if sum(item.id not in taken for item in one.items) >= 2]
            if not open_groups:
                return None
            group = open_groups[rng.randrange(len(open_groups))]
            free = _free(group, taken)
        drawn = rng.sample(free, min(count, len(free)))
        if may is None or _open_pair(drawn, may) is not None:
            return Draw(drawn, group.context)
    # Few pairs are left: as soon as one is found, it is the round.
    first = rng.randrange(len(pool))
    for group in (*pool[first:], *pool[:first]):
        pair = _open_pair(_free(group, taken), may)
        if pair is not None:
            return Draw(pair, group.context)
    return None


def narrowed(drawn: Draw, may: May | None, look: Look) -> tuple[bytes, bytes, Any]:
    """The drawn items, as few of them as it takes for the learner to show a pair that `may` be asked about.

    Returns the items and the context as bytes, and what was read of them. `look` is pure: what it would show is asked
    again of fewer items, those that may stand against the learner's first, then any two that may.
    """
    items, context = list(drawn.items), _json(drawn.context)
    while True:
        raw = _json(items)
        read, shown = look(raw, context)
        if may is None or len(shown) != 2 or len(items) == 2 or may(*shown):
            return raw, context, read
        beside = [one for one in items if one.id == shown[0] or may(shown[0], one.id)]
        if len(beside) < 2:
            beside = _open_pair(items, may) or items[:2]
        items = beside


def looking(learner: Any, ticket: int, may: May | None) -> Look:
    """How a learner looks at a round before it is decided; without `may` it need not say what it would show."""

    def look(raw: bytes, context: bytes) -> tuple[Any, tuple[str, ...]]:
        read = learner.read(raw, context)
        if may is None:
            return read, ()
        choice: Choice = learner.choose(read, ticket)[0]
        return read, learner.names(read, choice)

    return look


def _free(group: Group, taken: Set[str]) -> list[Item]:
    return [item for item in group.items if item.id not in taken]


def _open_pair(items: Sequence[Item], may: May | None) -> list[Item] | None:
    """The first two items that may be asked about together."""
    pairs = combinations(items, 2)
    return next(([one, other] for one, other in pairs if may is None or may(one.id, other.id)), None)
