"""Claims of the paper's abstract and conclusions: its methods against others', one kind of rule against another."""

from conquer.study.reviews.claims.facts import FAILS, HOLDS, OPEN, PARTLY, Claim, Facts, clear, spread

THEIRS = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr")
"""The paper's duelling rules."""
_RELATED = ("confidit", "banditron")
_OURS = ("gnt", "gnw")
_BOUNDS, _OTHERS = ("gnu", "gnc", "ttu", "unr"), ("ttg", "gnr")


def abstract(facts: Facts) -> Claim | None:
    """Whether every duelling rule errs less than every algorithm for a related setting, at every K."""
    rules, rivals = [n for n in THEIRS if facts.has(n)], [n for n in _RELATED if facts.has(n)]
    if not rules or not rivals:
        return None
    held, lost, words = dict.fromkeys(rivals, 0), dict.fromkeys(rivals, 0), []
    for items in facts.sizes:
        found = {(a, b): facts.difference([a], [b], items) for a in rules for b in rivals}
        for (_, rival), result in found.items():
            held[rival] += result.high < 0
            lost[rival] += result.low > 0
        low, high = (end(rules, key=lambda name: facts.at[name, items]) for end in (min, max))
        nearest = max(found, key=lambda pair: found[pair].mean)
        others = ", ".join(f"{name} {facts.at[name, items]:.3f}" for name in (*rivals, *filter(facts.has, _OURS)))
        words.append(
            f"K = {items}: {low} {facts.at[low, items]:.3f} to {high} {facts.at[high, items]:.3f}; {others}; "
            f"the least advantage, {nearest[0]} less {nearest[1]}: {spread(found[nearest])}"
        )
    pairs = len(facts.sizes) * len(rules)
    beaten = any(lost[name] > held[name] for name in rivals)
    verdict = FAILS if beaten else HOLDS if min(held.values()) == pairs else PARTLY if any(held.values()) else OPEN
    counts = "; ".join(f"{name}: {held[name]} of {pairs}, the other way round {lost[name]}" for name in rivals)
    evidence = f"A rule at one K errs less, the interval leaving out 0, than {counts}. {'. '.join(words)}."
    claim = "The paper's methods have an advantage over algorithms designed for related settings (the abstract)."
    return Claim(claim, verdict, evidence, (*rules, *rivals))


def relative(facts: Facts) -> Claim | None:
    """Whether bounds on differences beat bounds on scores, at every K."""
    if not facts.has("gnc", "gnu"):
        return None
    found = {items: facts.difference(["gnc"], ["gnu"], items) for items in facts.sizes}
    better, worse = ([k for k, r in found.items() if clear(r) and (r.mean < 0) == sign] for sign in (True, False))
    verdict = HOLDS if len(better) == len(found) else FAILS if worse and not better else PARTLY if better else OPEN
    words = "; ".join(
        f"K = {items}: {facts.at['gnc', items]:.3f} against {facts.at['gnu', items]:.3f} ({spread(result)})"
        for items, result in found.items()
    )
    claim = "Relative upper bounds (GNC) beat absolute ones (GNU) at every K."
    return Claim(claim, verdict, words + ".", ("gnc", "gnu"), facts.etas("gnc", "gnu"))


def bounds(facts: Facts) -> Claim | None:
    """Whether rules with upper bounds are worse than greedy and sampling ones."""
    one, two = [n for n in _BOUNDS if facts.has(n)], [n for n in _OTHERS if facts.has(n)]
    if not one or not two:
        return None
    result = facts.difference(one, two)
    verdict = OPEN if not clear(result) else HOLDS if result.mean > 0 else FAILS
    means = ", ".join(f"{name} {facts.mean[name]:.3f}" for name in (*one, *two))
    evidence = f"The mean of {', '.join(one)} less that of {', '.join(two)}: {spread(result)}. {means}."
    claim = "Rules with upper bounds are inferior to greedy or sampling ones."
    return Claim(claim, verdict, evidence, (*one, *two), facts.etas(*one))
