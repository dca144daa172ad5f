"""Claims of the paper's abstract and conclusions: its methods against others', one kind of rule against another."""

from collections.abc import Mapping

from conquer.study.reviews.claims.facts import FAILS, HOLDS, OPEN, PARTLY, Claim, Facts, Gap, clear, over, spread

THEIRS = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr")
"""The paper's duelling rules."""
RELATED = ("confidit", "banditron")
"""Those it compares them with."""
_OURS = ("gnt", "gnw")
_BOUNDS, _OTHERS = ("gnu", "gnc", "ttu", "unr"), ("ttg", "gnr")


def abstract(facts: Facts) -> Claim | None:
    """Whether the duelling rules err less than every algorithm for a related setting, at every K.

    It holds where the mean of the rules is clearly less than each rival's error at every K, and so is no rule's larger;
    it does not where a rival is clearly ahead at more K than behind. How each rule fares by itself is told beside it.
    """
    rules, rivals = [n for n in THEIRS if facts.has(n)], [n for n in RELATED if facts.has(n)]
    if not rules or not rivals:
        return None
    places = [(rival, items) for items in facts.sizes for rival in rivals]
    gaps = {(rival, items): facts.difference(rules, [rival], items, looks=len(places)) for rival, items in places}
    below = all(facts.at[rule, items] < facts.at[rival, items] for rival, items in places for rule in rules)
    held = {rival: sum(gaps[rival, items].high < 0 for items in facts.sizes) for rival in rivals}
    lost = {rival: sum(gaps[rival, items].low > 0 for items in facts.sizes) for rival in rivals}
    if any(lost[rival] > held[rival] for rival in rivals):
        verdict = FAILS
    elif sum(held.values()) == len(places) and below:
        verdict = HOLDS
    else:
        verdict = PARTLY if any(held.values()) else OPEN
    words = "".join(f" {_at(facts, rules, rivals, gaps, items)}." for items in facts.sizes)
    single = "; ".join(_single(facts, rules, rival) for rival in rivals)
    evidence = f"The mean of {', '.join(rules)} less a rival's error.{words} One rule at one K, clearly less: {single}."
    claim = "The paper's methods have an advantage over algorithms designed for related settings (the abstract)."
    return Claim(claim, verdict, evidence, (*rules, *rivals))


def _at(facts: Facts, rules: list[str], rivals: list[str], gaps: Mapping[tuple[str, int], Gap], items: int) -> str:
    low, high = (end(rules, key=lambda name: facts.at[name, items]) for end in (min, max))
    less = "; ".join(f"less {name} {facts.at[name, items]:.3f}: {spread(gaps[name, items])}" for name in rivals)
    own = ", ".join(f"{name} {facts.at[name, items]:.3f}" for name in _OURS if facts.has(name))
    ours = f"; ours beside them {own}" if own else ""
    return f"K = {items}, {low} {facts.at[low, items]:.3f} to {high} {facts.at[high, items]:.3f}: {less}{ours}"


def _single(facts: Facts, rules: list[str], rival: str) -> str:
    """How often one rule at one K is clearly better and worse than the rival, each by an interval of its own."""
    found = [facts.difference([rule], [rival], items) for items in facts.sizes for rule in rules]
    held, lost = sum(each.high < 0 for each in found), sum(each.low > 0 for each in found)
    return f"than {rival} {held} of {len(found)}, the other way round {lost} (95 % intervals {over(found[0])})"


def relative(facts: Facts) -> Claim | None:
    """Whether bounds on differences beat bounds on scores, at every K."""
    if not facts.has("gnc", "gnu"):
        return None
    found = {items: facts.difference(["gnc"], ["gnu"], items, looks=len(facts.sizes)) for items in facts.sizes}
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
