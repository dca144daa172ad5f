"""Claims about which algorithm is better, and how large its error is."""

from typing import Any

import numpy as np

from conquer.study.reviews.claims.facts import FAILS, HOLDS, OPEN, PARTLY, Claim, Facts
from conquer.study.reviews.spec import CEILING
from conquer.study.reviews.tables import equal_pairs

_UCB, _GREEDY = ("gnu", "gnc", "ttu", "unr"), ("ttg", "gnr")
_DUELLING = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr", "gnt", "gnw")
_RANDOM = {5: 0.40, 10: 0.47, 15: 0.49, 20: 0.50}


def banditron(facts: Facts) -> Claim | None:
    """Whether Banditron is worst, and how bad."""
    claim = "Banditron is the worst algorithm, with an error above 0.3."
    if not facts.has("banditron"):
        return None
    others = {name: mean for name, mean in facts.mean.items() if name not in ("banditron", "random", CEILING)}
    worst = all(facts.mean["banditron"] > mean for mean in others.values())
    above = [items for items in facts.sizes if facts.at["banditron", items] > 0.3]
    values = ", ".join(f"{facts.at['banditron', items]:.3f} at K = {items}" for items in facts.sizes)
    verdict = HOLDS if worst and len(above) == len(facts.sizes) else PARTLY if worst or above else FAILS
    return Claim(claim, verdict, f"Its error is {values}; it is {'' if worst else 'not '}the worst.", ("banditron",))


def order(facts: Facts) -> Claim | None:
    """Whether the algorithms rank as in the paper."""
    paper = [name for name in ("ttg", "gnr", "gnc", "confidit", "gnu") if facts.has(name)]
    if len(paper) < 3:
        return None
    here = sorted(paper, key=lambda name: facts.mean[name])
    agree = [h == p for h, p in zip(here, paper, strict=True)]
    swapped = sum(facts.mean[a] > facts.mean[b] for i, a in enumerate(paper) for b in paper[i + 1 :])
    pairs = len(paper) * (len(paper) - 1) // 2
    verdict = HOLDS if all(agree) else PARTLY if swapped <= pairs // 3 else FAILS
    order = ", ".join(f"{name} {facts.mean[name]:.3f}" for name in here)
    ours = [name for name in ("gnt", "gnw") if facts.has(name)]
    extra = " Ours beside them: " + ", ".join(f"{name} {facts.mean[name]:.3f}" for name in ours) + "." if ours else ""
    evidence = f"From best to worst here: {order}; {swapped} of {pairs} pairs are the other way round.{extra}"
    claim = "Top Two Greedy is best, Greedy + Random second, GNC third, then Confidit and GNU."
    return Claim(claim, verdict, evidence, (*paper,))


def degrading(facts: Facts) -> Claim | None:
    """Whether algorithms with bounds suffer more from large sets."""
    ucb, greedy = [n for n in _UCB if facts.has(n)], [n for n in _GREEDY if facts.has(n)]
    if not ucb or not greedy or len(facts.sizes) < 2:
        return None
    low, high = facts.sizes[0], facts.sizes[-1]
    rise = {name: facts.at[name, high] - facts.at[name, low] for name in (*ucb, *greedy)}
    slowest, fastest = min(rise[n] for n in ucb), max(rise[n] for n in greedy)
    averages = float(np.mean([rise[n] for n in ucb])), float(np.mean([rise[n] for n in greedy]))
    verdict = HOLDS if slowest > fastest else PARTLY if averages[0] > averages[1] else FAILS
    equal = equal_pairs(facts.results)
    asked = [name for name in ("gnu", "ttg", "in sets") if name in equal["algorithm"].to_list()]
    rates = "; ".join(_rates(equal, name, low, high) for name in asked)
    changes = ", ".join(f"{name} {value:+.3f}" for name, value in rise.items())
    evidence = (
        f"From K = {low} to K = {high} the error changes by {changes}. Questions between equally good items "
        f"(the paper's explanation), K = {low} to {high}: {rates}."
    )
    claim = "Algorithms with upper bounds get worse faster as K grows than greedy ones."
    return Claim(claim, verdict, evidence, (*ucb, *greedy), f"questions between equally good items: {rates}")


def _rates(equal: Any, name: str, low: int, high: int) -> str:
    import polars as pl

    row = equal.filter(pl.col("algorithm") == name).row(0, named=True)
    return f"{name} {row[f'K={low}']:.1f} % to {row[f'K={high}']:.1f} %"


def ucb_first(facts: Facts) -> Claim | None:
    """Whether a first item by upper bound does harm."""
    if not facts.has("ttu", "unr", "ttg", "gnr"):
        return None
    top, random = facts.versus("ttu", "ttg"), facts.versus("unr", "gnr")
    poor = [not better and clear for _, better, clear in (top, random)]
    good = [better and clear for _, better, clear in (top, random)]
    verdict = HOLDS if all(poor) else PARTLY if any(poor) else FAILS if any(good) else OPEN
    claim = "Choosing the first item by upper bound (TTU, UNR) does poorly."
    return Claim(claim, verdict, f"{top[0]}; {random[0]}.", ("ttu", "ttg", "unr", "gnr"), facts.etas("ttu", "unr"))


def random(facts: Facts) -> Claim | None:
    """Whether choosing at random costs what the paper says."""
    if not facts.has("random"):
        return None
    values = ", ".join(f"{facts.at['random', items]:.3f} at K = {items}" for items in facts.sizes)
    near = all(abs(facts.at["random", items] - 0.5) < 0.02 for items in facts.sizes)
    expected = ", ".join(f"{value:.2f}" for items, value in _RANDOM.items() if items in facts.sizes)
    return Claim(
        "Choosing at random has an error of 0.5.",
        HOLDS if near else PARTLY if abs(facts.at["random", facts.sizes[-1]] - 0.5) < 0.02 else FAILS,
        f"It is {values}; balanced stars give {expected or 'other values at these K'}.",
    )


def ceiling(facts: Facts) -> Claim:
    """How near the best duelling algorithm comes, and the best of the others where it is nearer."""
    duelling = [name for name in _DUELLING if facts.has(name)]
    others = [name for name in facts.names if name not in (*_DUELLING, "random", CEILING)]
    words = []
    for items in facts.sizes:
        top = facts.at[CEILING, items]
        best = [min(group, key=lambda name: facts.at[name, items]) for group in (duelling, others) if group]
        best.sort(key=lambda name: name not in _DUELLING)
        if len(best) == 2 and facts.at[best[1], items] >= facts.at[best[0], items]:
            best.pop()
        ratios = [f"{n} {facts.at[n, items]:.3f}/{top:.3f} = {facts.at[n, items] / top:.2f}" for n in best if top > 0]
        words.append(f"K = {items}: {', '.join(ratios) or f'the ceiling has {top:.3f}'}")
    return Claim(
        "(Ours, not the paper's) one bit per round comes near to knowing all stars.", "measured", "; ".join(words) + "."
    )
