"""The paper's 33 domains: their names, its table of silent rounds, and the sizes solved from that table."""

from collections.abc import Sequence

import numpy as np

_SILENT = {
    "android": (0.53, 0.79, 0.53, 0.26),
    "arts": (0.26, 0.00, 0.00, 0.00),
    "automotive": (0.64, 0.21, 0.00, 0.00),
    "baby products": (1.73, 0.11, 0.05, 0.05),
    "beauty": (2.00, 0.16, 0.11, 0.05),
    "books": (0.07, 0.01, 0.01, 0.00),
    "camera": (0.59, 0.29, 0.03, 0.08),
    "cell phones": (1.17, 0.11, 0.05, 0.03),
    "clothing": (4.56, 0.83, 0.32, 0.16),
    "computers": (0.27, 0.00, 0.05, 0.00),
    "electronics": (0.76, 0.19, 0.13, 0.07),
    "food": (1.41, 0.37, 0.11, 0.13),
    "garden & pets": (1.23, 0.16, 0.05, 0.00),
    "health": (2.01, 0.41, 0.12, 0.08),
    "home": (0.59, 0.21, 0.03, 0.00),
    "industrial": (0.00, 0.00, 0.00, 0.00),
    "jewelry": (0.53, 0.26, 0.26, 0.00),
    "kindle": (0.24, 0.05, 0.00, 0.01),
    "kitchen": (1.96, 0.43, 0.08, 0.01),
    "magazines": (0.00, 0.00, 0.00, 0.00),
    "movies & TV": (0.48, 0.21, 0.12, 0.01),
    "MP3": (0.40, 0.12, 0.04, 0.11),
    "music": (1.21, 0.59, 0.41, 0.12),
    "musical instruments": (0.00, 0.00, 0.00, 0.00),
    "office": (1.01, 0.16, 0.16, 0.00),
    "patio": (0.80, 0.19, 0.08, 0.00),
    "shoes": (8.27, 1.44, 0.75, 0.51),
    "software": (0.48, 0.05, 0.03, 0.00),
    "sports": (0.51, 0.19, 0.11, 0.05),
    "toys": (1.65, 0.43, 0.69, 0.43),
    "video games": (0.48, 0.00, 0.16, 0.05),
    "videos": (0.12, 0.01, 0.00, 0.01),
    "watches": (0.00, 0.00, 0.00, 0.00),
}  # fmt: skip

SILENCE = {name: dict(zip((5, 10, 15, 20), rates, strict=True)) for name, rates in _SILENT.items()}
"""{domain: {K: percent}}: rounds in which GNC asked nothing, from the paper's supplement, averages of ten runs."""

CANDIDATES = (38, 47, 187, 188, 375, 750)
"""Numbers of rounds that one rule explains: training reviews / 20 of 1,000 to 20,000 reviews."""


def fits(rounds: int, rates: Sequence[float], runs: int = 10) -> bool:
    """Whether all these percentages, of two decimals, can be averages of `runs` runs of this many rounds.

    >>> fits(38, [0.53, 0.79, 0.53, 0.26]), fits(750, [0.53, 0.79, 0.53, 0.26])
    (True, False)
    """
    total = runs * rounds
    return all(abs(100.0 * round(rate * total / 100.0) / total - rate) <= 0.005 + 1e-9 for rate in rates)


ROUNDS = {
    name: next(rounds for rounds in CANDIDATES if fits(rounds, rates))
    for name, rates in _SILENT.items() if any(rates)
}  # fmt: skip
"""{domain: T}: the least candidate that fits the domain's rates; multiples of it fit as well."""

_REVIEWS_OF = {38: 1015, 47: 1260, 187: 5000, 188: 5020, 375: 10_000, 750: 20_000}
"""Reviews of which 75 %, divided by 20, are these rounds."""
_ZERO = {"industrial": 5515, "magazines": 5515, "musical instruments": 5515, "watches": 5510}
"""Domains without a silent round, whose rates say nothing: they share what is left of the paper's total."""
_REVIEWS = {name: _REVIEWS_OF[ROUNDS[name]] if name in ROUNDS else _ZERO[name] for name in _SILENT}

DOMAINS = tuple(_REVIEWS)
"""The names in the paper's order."""

LARGEST = sum(_REVIEWS.values())
"""Reviews in all domains together at the paper's size: 341,400."""

_LEAST = 3


def sizes(total: int = LARGEST) -> dict[str, int]:
    """{domain: reviews}, multiples of 5 that sum to `total`.

    Smaller totals keep the order and shrink large domains more. No domain falls below a third of an even share, unless
    it has fewer reviews at the paper's size, so that small studies run on all domains.

    >>> plan = sizes(); len(plan), sum(plan.values()), plan["android"], max(plan.values())
    (33, 341400, 1015, 20000)
    >>> sizes(8_250)["android"]
    95
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
