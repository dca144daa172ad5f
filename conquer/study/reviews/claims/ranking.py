"""Claims about which algorithm is better, and how large its error is."""

import itertools
from typing import Any

from conquer.study.reviews.claims.advantage import RELATED, THEIRS
from conquer.study.reviews.claims.facts import FAILS, HOLDS, OPEN, PARTLY, Claim, Facts, clear, over, spread
from conquer.study.reviews.spec import CEILING
from conquer.study.reviews.tables import equal_pairs

_UCB, _GREEDY = ("gnu", "gnc", "ttu", "unr"), ("ttg", "gnr")
_DUELLING = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr", "gnt", "gnw")
_BAD = 0.3
_RANDOM = {5: 0.40, 10: 0.47, 15: 0.49, 20: 0.50}


def banditron(facts: Facts) -> Claim | None:
    """Whether Banditron is worst of the paper's algorithms, and how bad."""
    claim = "Banditron is the worst algorithm, with an error above 0.3."
    if not facts.has("banditron"):
        return None
    others = {name: facts.mean[name] for name in (*THEIRS, *RELATED) if facts.has(name) and name != "banditron"}
    own = facts.mean["banditron"]
    worst = all(own > mean for mean in others.values())
    above = [items for items in facts.sizes if facts.at["banditron", items] > _BAD]
    values = ", ".join(f"{apart(facts.at['banditron', items], _BAD)} at K = {items}" for items in facts.sizes)
    verdict = HOLDS if worst and len(above) == len(facts.sizes) else PARTLY if worst or above else FAILS
    nearest = max(others, key=lambda name: others[name], default=None)
    beside = f" ({apart(own, others[nearest])}; {nearest} {apart(others[nearest], own)})" if nearest else ""
    place = f"{'' if worst else 'not '}the worst of the paper's algorithms{beside}"
    return Claim(claim, verdict, f"Its error is {values}; it is {place}.", ("banditron",))


def apart(value: float, other: float) -> str:
    """A number with three digits, or with as many as tell it from another one, nine at most.

    >>> apart(0.29996, 0.3), apart(0.35, 0.3), apart(0.3, 0.3)
    ('0.29996', '0.350', '0.300')
    """
    digits = next((n for n in range(3, 10) if value != other and f"{value:.{n}f}" != f"{other:.{n}f}"), 3)
    return f"{value:.{digits}f}"


def order(facts: Facts) -> Claim | None:
    """Whether the algorithms rank as in the paper; only pairs that are clearly one way or the other count."""
    paper = [name for name in ("ttg", "gnr", "gnc", "confidit", "gnu") if facts.has(name)]
    if len(paper) < 3:
        return None
    pairs = [*itertools.combinations(paper, 2)]
    gaps = {pair: facts.difference([pair[0]], [pair[1]], looks=len(pairs)) for pair in pairs}
    held, turned = ([p for p, gap in gaps.items() if clear(gap) and (gap.mean < 0) == way] for way in (True, False))
    if not held and not turned:
        verdict = OPEN
    elif len(held) == len(pairs):
        verdict = HOLDS
    else:
        verdict = FAILS if 3 * len(turned) > len(held) + len(turned) else PARTLY
    order = ", ".join(f"{name} {facts.mean[name]:.3f}" for name in sorted(paper, key=lambda name: facts.mean[name]))
    ours = [name for name in ("gnt", "gnw") if facts.has(name)]
    extra = " Ours beside them: " + ", ".join(f"{name} {facts.mean[name]:.3f}" for name in ours) + "." if ours else ""
    wrong = "; ".join(f"{one} less {two} {spread(gaps[one, two])}" for one, two in turned)
    level = f"{100 * gaps[pairs[0]].level:.3g} % intervals {over(gaps[pairs[0]])}"
    evidence = (
        f"From best to worst here: {order}. Of {len(pairs)} pairs {len(held)} are clearly the paper's way round and "
        f"{len(turned)} clearly the other ({level}){f': {wrong}' if wrong else ''}.{extra}"
    )
    claim = "Top Two Greedy is best, Greedy + Random second, GNC third, then Confidit and GNU."
    return Claim(claim, verdict, evidence, (*paper,))


def degrading(facts: Facts) -> Claim | None:
    """Whether algorithms with bounds suffer more from large sets: clearly so on average, and each of them."""
    ucb, greedy = [n for n in _UCB if facts.has(n)], [n for n in _GREEDY if facts.has(n)]
    if not ucb or not greedy or len(facts.sizes) < 2:
        return None
    low, high = facts.sizes[0], facts.sizes[-1]
    rise = {name: facts.at[name, high] - facts.at[name, low] for name in (*ucb, *greedy)}
    each = min(rise[n] for n in ucb) > max(rise[n] for n in greedy)
    gap = facts.faster(ucb, greedy)
    verdict = OPEN if not clear(gap) else FAILS if gap.mean < 0 else HOLDS if each else PARTLY
    equal = equal_pairs(facts.results)
    asked = [name for name in ("gnu", "ttg", "in sets") if name in equal["algorithm"].to_list()]
    rates = "; ".join(_rates(equal, name, low, high) for name in asked)
    changes = ", ".join(f"{name} {value:+.3f}" for name, value in rise.items())
    evidence = (
        f"From K = {low} to K = {high} the error changes by {changes}; the mean of the former "
        f"{len(ucb)} less that of the others: {spread(gap)}. Questions between equally good items "
        f"(the paper's explanation), K = {low} to {high}: {rates}."
    )
    claim = "Algorithms with upper bounds get worse faster as K grows than greedy ones."
    return Claim(claim, verdict, evidence, (*ucb, *greedy), f"questions between equally good items: {rates}")


def _rates(equal: Any, name: str, low: int, high: int) -> str:
    import polars as pl

    row = equal.filter(pl.col("algorithm") == name).row(0, named=True)
    return f"{name} {row[f'K={low}']:.1f} % to {row[f'K={high}']:.1f} %"


def ucb_first(facts: Facts) -> Claim | None:
    """Whether a first item by upper bound does harm. Harm to one rule and good to the other decide nothing."""
    if not facts.has("ttu", "unr", "ttg", "gnr"):
        return None
    top, random = facts.versus("ttu", "ttg", looks=2), facts.versus("unr", "gnr", looks=2)
    poor = [not better and sure for _, better, sure in (top, random)]
    good = [better and sure for _, better, sure in (top, random)]
    verdict = OPEN if any(poor) == any(good) else HOLDS if all(poor) else PARTLY if any(poor) else FAILS
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
