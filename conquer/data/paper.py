"""The paper's 33 domains: their names, and how many reviews each has here."""

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
"""{domain: T}: the rounds of a run, where the paper's table of optional queries implies them.

T is 75 % of the reviews of these two. The sizes of the other 31 are assumed: uneven, in a fixed order.
"""

_LEAST = 3


def sizes(total: int = LARGEST) -> dict[str, int]:
    """{domain: reviews}, uneven multiples of 5 that sum to `total`.

    Smaller totals keep the order and shrink large domains more. No domain falls below a third of an even share, unless
    it has fewer reviews at the paper's size, so that small studies run on all domains.

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
