"""The paper's 33 domains: their names, how many reviews each has here, and what its percentages say about that."""

from collections.abc import Sequence

import numpy as np

_REVIEWS = {
    "android": 505, "arts": 9195, "automotive": 625, "baby products": 9945, "beauty": 27700, "books": 14745,
    "camera": 12600, "cell phones": 6705, "clothing": 8495, "computers": 4890, "electronics": 30140, "food": 15960,
    "garden & pets": 10760, "health": 5725, "home": 6195, "industrial": 3045, "jewelry": 17265, "kindle": 23665,
    "kitchen": 3565, "magazines": 3295, "movies & TV": 18685, "MP3": 5295, "music": 4520,
    "musical instruments": 11645, "office": 2815, "patio": 7850, "shoes": 25605, "software": 3860, "sports": 13630,
    "toys": 7255, "video games": 2405, "videos": 2600, "watches": 20215,
}  # fmt: skip

DOMAINS = tuple(_REVIEWS)
"""The names as the paper writes them, in its order."""

LARGEST = sum(_REVIEWS.values())
"""Reviews in all domains together at the paper's size: 341,400."""

SOLVED = {"android": 379, "automotive": 469}
"""{domain: T}: the rounds of a run, where the paper's table of optional queries gives them away.

T is 75 % of the reviews of these two. The sizes of the other 31 are assumed: uneven, in a fixed order.
"""

_LEAST = 3


def sizes(total: int = LARGEST) -> dict[str, int]:
    """How many reviews each domain has when all have `total`: uneven, multiples of 5, summing to it.

    Smaller totals keep the order and shrink the large domains more: none falls below a third of an even share that has
    as many at the paper's size, so that small studies can be run on all of them.

    >>> plan = sizes(); len(plan), sum(plan.values()), plan["android"], max(plan.values())
    (33, 341400, 505, 30140)
    >>> sizes(8_250)["android"]
    85
    """
    if total % 5 or not 5 * len(DOMAINS) <= total <= LARGEST:
        raise ValueError(f"total must be a multiple of 5 in [{5 * len(DOMAINS)}, {LARGEST}], got {total}")
    full = np.array(list(_REVIEWS.values())) // 5
    least = np.minimum(full, max(1, total // 5 // (_LEAST * len(DOMAINS))))
    above = full - least
    made, rest = divmod((total // 5 - least.sum()) * above, above.sum())
    made += least
    made[np.argsort(-rest, kind="stable")[: total // 5 - made.sum()]] += 1
    return dict(zip(DOMAINS, (5 * made).tolist(), strict=True))


def granularity(percentages: Sequence[float], digits: int, most: int = 2000) -> tuple[int, ...]:
    """Every T up to `most` of which all these percentages, printed with so many digits, can be multiples of 1/T.

    The first is the smallest number of rounds that explains them; its multiples fit as well, and from 10^(digits + 2)
    on everything does. Few or round percentages say little.

    >>> granularity([0.79, 2.11, 3.43, 7.92], digits=2)[0]
    379
    >>> granularity([50.0], digits=2)[:3]
    (2, 4, 6)
    """
    if not percentages or not all(0 <= value <= 100 for value in percentages):
        raise ValueError(f"percentages must be numbers from 0 to 100, got {list(percentages)}")
    half = 0.5 * 10.0**-digits * (1 + 1e-9)
    return tuple(
        T for T in range(1, most + 1) if all(abs(100 * round(p * T / 100) / T - p) <= half for p in percentages)
    )
