"""The items of the next question from a pool: at random, and such that a pair of them may be asked about."""

import random
from collections.abc import Sequence, Set
from itertools import combinations

from conquer.service.model.learner_protocol import Draw, May
from conquer.service.model.schemas import Group, Item

_TRIES = 8


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
        if may is None or open_pair(drawn, may) is not None:
            return Draw(drawn, group.context)
    # Few pairs are left: as soon as one is found, it is the round.
    first = rng.randrange(len(pool))
    for group in (*pool[first:], *pool[:first]):
        pair = open_pair(_free(group, taken), may)
        if pair is not None:
            return Draw(pair, group.context)
    return None


def _free(group: Group, taken: Set[str]) -> list[Item]:
    return [item for item in group.items if item.id not in taken]


def open_pair(items: Sequence[Item], may: May | None) -> list[Item] | None:
    """The first two items that may be asked about together."""
    pairs = combinations(items, 2)
    return next(([one, other] for one, other in pairs if may is None or may(one.id, other.id)), None)
