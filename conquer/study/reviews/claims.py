"""The paper's claims, tested on the results of a study: every verdict and sentence is made from the numbers.

Each claim is a function of the `Facts` of one reading that returns a `Claim`, or None where the study lacks the
algorithms it speaks of; `CLAIMS` lists them. `compared` tests all of them under several readings, and `deciding` finds
the smallest sets of axes that determine a verdict.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conquer.data.paper import SILENCE
from conquer.study.output import markdown
from conquer.study.reviews.comparison import Facts, Gap, one_versus_one
from conquer.study.reviews.spec import AXES, CEILING, in_order
from conquer.study.reviews.tables import RULES, by_pass, equal_pairs

if TYPE_CHECKING:
    from polars import DataFrame

HOLDS, FAILS, PARTLY, OPEN = "holds", "does not hold", "holds in part", "undecided"
RELATED = ("confidit", "banditron")
"""The algorithms that the paper compares them with."""
_OURS = ("gnt", "gnw")
_BOUNDS, _GREEDY = ("gnu", "gnc", "ttu", "unr"), ("ttg", "gnr")
_BAD = 0.3
_HARM = 0.01
"""A difference of test errors below this counts as none."""
_MOST, _COMMON = 8.27, 1.0
"""Percent of rounds without a question: the paper's largest rate, and the end of its common range of 0.5 to 1."""
_OFTEN = 40.0
_RANDOM = {5: 0.40, 10: 0.47, 15: 0.49, 20: 0.50}


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper, whether it holds here, and the numbers."""

    claim: str
    verdict: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Compared:
    """A claim under every reading it could be tested under, and the axes that decide its verdict."""

    claim: str
    views: dict[str, Claim]
    decided: str


def _percents(rates: Mapping[int, float]) -> str:
    return ", ".join(f"{rate:.2f} % at K = {items}" for items, rate in rates.items())


def abstract(facts: Facts) -> Claim | None:
    """Whether the duelling rules err less than every algorithm for a related setting, at every K.

    It holds if the mean of the rules is clearly below each rival's error at every K, and every single rule's is below
    it; it does not hold if a rival is clearly ahead at more K than behind. The evidence also has each rule by itself.
    """
    rules, rivals = [n for n in RULES if facts.has(n)], [n for n in RELATED if facts.has(n)]
    if not rules or not rivals:
        return None
    places = [(rival, items) for items in facts.sizes for rival in rivals]
    gaps = {(rival, items): facts.difference(rules, [rival], items, looks=len(places)) for rival, items in places}
    below = all(facts.at[rule, items] < facts.at[rival, items] for rival, items in places for rule in rules)
    won = {rival: sum(gaps[rival, items].high < 0 for items in facts.sizes) for rival in rivals}
    lost = {rival: sum(gaps[rival, items].low > 0 for items in facts.sizes) for rival in rivals}
    if any(lost[rival] > won[rival] for rival in rivals):
        verdict = FAILS
    elif sum(won.values()) == len(places) and below:
        verdict = HOLDS
    else:
        verdict = PARTLY if any(won.values()) else OPEN
    words = "".join(f" {_at(facts, rules, rivals, gaps, items)}." for items in facts.sizes)
    single = "; ".join(_single(facts, rules, rival) for rival in rivals)
    evidence = f"The mean of {', '.join(rules)} less a rival's error.{words} Single comparisons won: {single}."
    claim = "The paper's methods have an advantage over algorithms designed for related settings (the abstract)."
    return Claim(claim, verdict, evidence)


def _at(facts: Facts, rules: list[str], rivals: list[str], gaps: Mapping[tuple[str, int], Gap], items: int) -> str:
    low, high = (end(rules, key=lambda name: facts.at[name, items]) for end in (min, max))
    less = "; ".join(f"less {name} {facts.at[name, items]:.3f}: {gaps[name, items]}" for name in rivals)
    own = ", ".join(f"{name} {facts.at[name, items]:.3f}" for name in _OURS if facts.has(name))
    ours = f"; our rules {own}" if own else ""
    return f"K = {items}, {low} {facts.at[low, items]:.3f} to {high} {facts.at[high, items]:.3f}: {less}{ours}"


def _single(facts: Facts, rules: list[str], rival: str) -> str:
    """How often one rule at one K is clearly better and worse than the rival, each by its own interval."""
    found = [facts.difference([rule], [rival], items) for items in facts.sizes for rule in rules]
    won, lost = sum(each.high < 0 for each in found), sum(each.low > 0 for each in found)
    return f"against {rival} {won} of {len(found)}, lost {lost} (95 % intervals {found[0].over})"


def banditron(facts: Facts) -> Claim | None:
    """Whether Banditron is the worst of the paper's algorithms, and how bad."""
    claim = "Banditron is the worst algorithm, with an error above 0.3."
    if not facts.has("banditron"):
        return None
    others = {name: facts.mean[name] for name in (*RULES, *RELATED) if facts.has(name) and name != "banditron"}
    own = facts.mean["banditron"]
    worst = all(own > mean for mean in others.values())
    above = [items for items in facts.sizes if facts.at["banditron", items] > _BAD]
    values = ", ".join(f"{apart(facts.at['banditron', items], _BAD)} at K = {items}" for items in facts.sizes)
    verdict = HOLDS if worst and len(above) == len(facts.sizes) else PARTLY if worst or above else FAILS
    nearest = max(others, key=lambda name: others[name], default=None)
    beside = f" ({apart(own, others[nearest])}; {nearest} {apart(others[nearest], own)})" if nearest else ""
    place = f"{'' if worst else 'not '}the worst of the paper's algorithms{beside}"
    return Claim(claim, verdict, f"Its error is {values}; it is {place}.")


def apart(value: float, other: float) -> str:
    """A number with three digits, or as many as distinguish it from another one, at most nine.

    >>> apart(0.29996, 0.3), apart(0.35, 0.3), apart(0.3, 0.3)
    ('0.29996', '0.350', '0.300')
    """
    digits = next((n for n in range(3, 10) if value != other and f"{value:.{n}f}" != f"{other:.{n}f}"), 3)
    return f"{value:.{digits}f}"


def order(facts: Facts) -> Claim | None:
    """Whether the algorithms rank as in the paper; only pairs with a clear difference count."""
    paper = [name for name in ("ttg", "gnr", "gnc", "confidit", "gnu") if facts.has(name)]
    if len(paper) < 3:
        return None
    pairs = [*itertools.combinations(paper, 2)]
    gaps = {pair: facts.difference([pair[0]], [pair[1]], looks=len(pairs)) for pair in pairs}
    agreeing, turned = ([p for p, gap in gaps.items() if gap.clear and (gap.mean < 0) == way] for way in (True, False))
    if not agreeing and not turned:
        verdict = OPEN
    elif len(agreeing) == len(pairs):
        verdict = HOLDS
    else:
        verdict = FAILS if 3 * len(turned) > len(agreeing) + len(turned) else PARTLY
    order = ", ".join(f"{name} {facts.mean[name]:.3f}" for name in sorted(paper, key=lambda name: facts.mean[name]))
    ours = [name for name in _OURS if facts.has(name)]
    extra = " Our rules: " + ", ".join(f"{name} {facts.mean[name]:.3f}" for name in ours) + "." if ours else ""
    wrong = "; ".join(f"{one} less {two} {gaps[one, two]}" for one, two in turned)
    level = f"{100 * gaps[pairs[0]].level:.3g} % intervals {gaps[pairs[0]].over}"
    evidence = (
        f"From best to worst here: {order}. Of {len(pairs)} pairs {len(agreeing)} clearly agree with the paper "
        f"and {len(turned)} clearly disagree ({level}){f': {wrong}' if wrong else ''}.{extra}"
    )
    claim = "Top Two Greedy is best, Greedy + Random second, GNC third, then Confidit and GNU."
    return Claim(claim, verdict, evidence)


def relative(facts: Facts) -> Claim | None:
    """Whether bounds on differences beat bounds on scores, at every K."""
    if not facts.has("gnc", "gnu"):
        return None
    found = {items: facts.difference(["gnc"], ["gnu"], items, looks=len(facts.sizes)) for items in facts.sizes}
    better, worse = ([k for k, r in found.items() if r.clear and (r.mean < 0) == sign] for sign in (True, False))
    verdict = HOLDS if len(better) == len(found) else FAILS if worse and not better else PARTLY if better else OPEN
    words = "; ".join(
        f"K = {items}: {facts.at['gnc', items]:.3f} against {facts.at['gnu', items]:.3f} ({result})"
        for items, result in found.items()
    )
    claim = "Relative upper bounds (GNC) beat absolute ones (GNU) at every K."
    return Claim(claim, verdict, f"{words}. {facts.etas('gnc', 'gnu')}.")


def bounds(facts: Facts) -> Claim | None:
    """Whether rules with upper bounds are worse than greedy and sampling ones, also where the second item is alike.

    gnr and unr draw their second item at random, which is a matter of its own: the mean of all rules decides only
    together with two comparisons of rules whose second item is chosen alike.
    """
    one, two = [n for n in _BOUNDS if facts.has(n)], [n for n in _GREEDY if facts.has(n)]
    if not one or not two:
        return None
    result = facts.difference(one, two)
    alike = [pair for pair in ((["gnu", "gnc", "ttu"], ["ttg"]), (["unr"], ["gnr"])) if facts.has(*pair[0], *pair[1])]
    like = [facts.difference(*pair, looks=len(alike)) for pair in alike]
    poor, good = (any(gap.clear and (gap.mean > 0) == way for gap in like) for way in (True, False))
    if not result.clear:
        verdict = OPEN
    elif result.mean > 0:
        verdict = PARTLY if good or not poor else HOLDS
    else:
        verdict = FAILS
    means = ", ".join(f"{name} {facts.mean[name]:.3f}" for name in (*one, *two))
    words = "".join(
        f" {', '.join(first)} less {', '.join(second)}: {gap}."
        for (first, second), gap in zip(alike, like, strict=True)
    )
    evidence = f"The mean of {', '.join(one)} less that of {', '.join(two)}: {result}.{words} {means}."
    return Claim("Rules with upper bounds are inferior to greedy or sampling ones.", verdict, evidence)


def growth(facts: Facts) -> Claim | None:
    """Whether algorithms with bounds suffer more from large sets: clearly so on average, and each of them."""
    ucb, greedy = [n for n in _BOUNDS if facts.has(n)], [n for n in _GREEDY if facts.has(n)]
    if not ucb or not greedy or len(facts.sizes) < 2:
        return None
    low, high = facts.sizes[0], facts.sizes[-1]
    rise = {name: facts.at[name, high] - facts.at[name, low] for name in (*ucb, *greedy)}
    each = min(rise[n] for n in ucb) > max(rise[n] for n in greedy)
    gap = facts.faster(ucb, greedy)
    verdict = OPEN if not gap.clear else FAILS if gap.mean < 0 else HOLDS if each else PARTLY
    equal = {row["algorithm"]: row for row in equal_pairs(facts.results).iter_rows(named=True)}
    rates = "; ".join(
        f"{name} {equal[name][f'K={low}']:.1f} % to {equal[name][f'K={high}']:.1f} %"
        for name in ("gnu", "ttg", "in sets")
        if name in equal
    )
    changes = ", ".join(f"{name} {value:+.3f}" for name, value in rise.items())
    evidence = (
        f"From K = {low} to K = {high} the error changes by {changes}; the mean of the former "
        f"{len(ucb)} less that of the others: {gap}. Questions between equally good items "
        f"(the paper's explanation), K = {low} to {high}: {rates}."
    )
    claim = "Algorithms with upper bounds get worse faster as K grows than greedy ones."
    return Claim(claim, verdict, evidence)


def ucb_first(facts: Facts) -> Claim | None:
    """Whether a first item by upper bound does harm. Harm to one rule and benefit to the other decide nothing."""
    if not facts.has("ttu", "unr", "ttg", "gnr"):
        return None
    top, random = facts.versus("ttu", "ttg", looks=2), facts.versus("unr", "gnr", looks=2)
    poor = [gap.clear and gap.mean >= 0 for _, gap in (top, random)]
    good = [gap.clear and gap.mean < 0 for _, gap in (top, random)]
    verdict = OPEN if any(poor) == any(good) else HOLDS if all(poor) else PARTLY if any(poor) else FAILS
    claim = "Choosing the first item by upper bound (TTU, UNR) does poorly."
    return Claim(claim, verdict, f"{top[0]}; {random[0]}. {facts.etas('ttu', 'unr')}.")


def silence(facts: Facts) -> Claim | None:
    """Whether GNC loses by not asking: beside its control, the same rule at the same parameters with its gate off."""
    import polars as pl

    claim = "Staying silent does not hurt."
    if not facts.has("gnc", "gnc-always"):
        return None
    part = facts.results.filter((pl.col("algorithm") == "gnc") & pl.col("query_rate").is_not_null())
    rates = _percents(_silent(part))
    if not any(_silent(part).values()):
        return Claim(claim, OPEN, f"GNC as tuned was never silent ({rates or 'it always diverged'}).")
    words, gap = facts.versus("gnc", "gnc-always")
    verdict = FAILS if gap.low > 0 else HOLDS if gap.high < _HARM else OPEN
    cells = part.group_by("domain", "items").agg((100 * (1 - pl.col("query_rate").mean())).alias("silent"))
    often = cells.filter(pl.col("silent") > _OFTEN)
    joined = facts.trials.join(often, on=["domain", "items"])
    more = f" Of {cells.height} cells {often.height} are silent in over {_OFTEN:.0f} % of the rounds"
    more += (
        f": there the difference is {float((joined['gnc'] - joined['gnc-always']).to_numpy().mean()):+.4f}."
        if (often.height)
        else "."
    )
    return Claim(claim, verdict, f"With its gate off, at the same parameters: {words}.{more} GNC is silent in {rates}.")


def silence_by_items(facts: Facts) -> Claim | None:
    """Whether GNC's rate of silence falls with K."""
    import polars as pl

    claim = "The rate of silence falls with K."
    if not facts.has("gnc") or len(facts.sizes) < 2:
        return None
    part = facts.results.filter((pl.col("algorithm") == "gnc") & pl.col("query_rate").is_not_null())
    silent = _silent(part)
    if not any(silent.values()):
        return Claim(claim, OPEN, "GNC as tuned was never silent.")
    trend = _trend(list(silent.values()))
    evidence = f"GNC is silent in {_percents(silent)}: the rate {trend} with K. {_silence_ceiling(part, silent)}"
    chosen = part["parameters"].mode().sort()[0]
    fixed = _silent(part.filter(pl.col("parameters") == chosen))
    if len(fixed) == len(facts.sizes) and any(fixed.values()):
        # The mean above also depends on the point that tuning chose for each K.
        evidence += (
            f"Where tuning chose {chosen}, most often, it is {_percents(fixed)}: it {_trend(list(fixed.values()))}. "
        )
    verdict = {"falls": HOLDS, "shows no clear trend": OPEN}.get(trend, FAILS)
    return Claim(claim, verdict, f"{evidence}{facts.etas('gnc')}.")


def silence_rates(facts: Facts) -> Claim | None:
    """Whether GNC is as seldom silent as in the paper: at most 8.27 % in every domain, and at most 1 % in the median.

    Few cells are within "0.5 to 1 %", here as in the paper's own table; the evidence has their number.
    """
    import polars as pl

    claim = "GNC is silent in at most 8.27 % of the rounds of any domain, commonly in 0.5 to 1 %."
    if not facts.has("gnc"):
        return None
    part = facts.results.filter((pl.col("algorithm") == "gnc") & pl.col("query_rate").is_not_null())
    cells = part.group_by("domain", "items").agg((100 * (1 - pl.col("query_rate").mean())).alias("silent"))
    if cells.is_empty():
        return Claim(claim, OPEN, "GNC always diverged.")
    middle = dict(cells.group_by("items").agg(pl.col("silent").median()).sort("items").iter_rows())
    top = cells.sort("silent").row(-1, named=True)
    seldom, common = top["silent"] <= _MOST, max(middle.values()) <= _COMMON
    above = cells.filter(pl.col("silent") > _MOST).height
    within = cells.filter(pl.col("silent").is_between(0.5, _COMMON)).height
    never = cells.filter(pl.col("silent") == 0).height
    own = [rate for rates in SILENCE.values() for rate in rates.values()]
    evidence = (
        f"{within} of {cells.height} cells are in 0.5 to 1 % and {never} are 0; in "
        f"the paper's own table {sum(0.5 <= rate <= _COMMON for rate in own)} and {own.count(0.0)} of {len(own)}. "
        f"The most is {top['silent']:.2f} % ({top['domain']}, K = {top['items']}); {above} of {cells.height} cells are "
        f"above {_MOST} %. The median over domains is {_percents(middle)}, the mean {_percents(_silent(part))}."
    )
    return Claim(claim, HOLDS if seldom and common else PARTLY if seldom or common else FAILS, evidence)


def _silent(part: "DataFrame") -> dict[int, float]:
    """{K: percent of rounds without a question}."""
    import polars as pl

    table = part.group_by("items").agg((100 * (1 - pl.col("query_rate").mean())).alias("silent")).sort("items")
    return dict(zip(table["items"].to_list(), table["silent"].to_list(), strict=True))


def _silence_ceiling(part: "DataFrame", silent: dict[int, float]) -> str:
    """The share of rounds with a single best item at each K, and by how much silence exceeds it; empty if unknown."""
    import polars as pl

    table = part.group_by("items").agg(pl.col("unique_in_sets").mean() * 100).drop_nulls().sort("items")
    single = dict(zip(table["items"].to_list(), table["unique_in_sets"].to_list(), strict=True))
    if not single:
        return ""
    passed = {items: silent[items] - share for items, share in single.items() if silent[items] > share}
    words = ", ".join(f"at K = {items} by {points:.2f} points" for items, points in passed.items())
    beyond = f"GNC exceeds this share {words}: silent between equally good items" if passed else "GNC never exceeds it"
    return f"A single best item, without which certainty is a mistake, is in {_percents(single)}; {beyond}. "


def _trend(values: list[float]) -> str:
    """How a rate changes with K, as printed: only a direction that every step has counts.

    >>> _trend([1.0, 2.0, 4.0]), _trend([1.0, 9.0, 2.0]), _trend([0.0, 0.001])
    ('rises', 'shows no clear trend', 'does not change')
    """
    steps = [b - a for a, b in itertools.pairwise(round(value, 2) for value in values)]
    if not any(steps):
        return "does not change"
    return "falls" if max(steps) <= 0 else "rises" if min(steps) >= 0 else "shows no clear trend"


def _ranks_agree(one: Sequence[float], two: Sequence[float]) -> float | None:
    """Spearman's rank correlation, None where either is constant.

    >>> _ranks_agree([1.0, 2.0, 3.0], [5.0, 6.0, 9.0]), _ranks_agree([1.0, 2.0], [3.0, 3.0])
    (1.0, None)
    """
    from scipy.stats import spearmanr

    return float(spearmanr(one, two).statistic) if len(set(one)) > 1 < len(set(two)) else None


def online(facts: Facts) -> Claim | None:
    """Whether the loss while learning ranks algorithms as the loss afterwards does."""
    import polars as pl

    part = facts.results.filter(pl.col("online_error").is_not_null() & (pl.col("algorithm") != "random"))
    means = part.group_by("algorithm", "items").agg(pl.col("error").mean(), pl.col("online_error").mean())
    means = means.sort("algorithm", "items")
    found = []
    for items in facts.sizes:
        here = means.filter(pl.col("items") == items)
        if (
            here.height > 2
            and (value := _ranks_agree(here["error"].to_list(), here["online_error"].to_list())) is not None
        ):
            found.append((items, value))
    if not found:
        return None
    lowest = min(value for _, value in found)
    verdict = HOLDS if lowest > 0.7 else PARTLY if lowest > 0.3 else FAILS
    values = ", ".join(f"{value:.2f} at K = {items}" for items, value in found)
    return Claim("Online loss ranks the algorithms as test error does.", verdict, f"Rank correlation: {values}.")


def averages(facts: Facts) -> Claim | None:
    """Whether the number of trials won gives the order of the means."""
    names = [name for name in facts.names if name not in ("random", CEILING)]
    if len(names) < 3:
        return None
    wins = dict.fromkeys(names, 0)
    for row in one_versus_one(facts.results).iter_rows(named=True):
        if row["row"] in wins and row["column"] in wins:
            wins[row["row"]] += row["wins"]
    value = _ranks_agree([facts.mean[n] for n in names], [-wins[n] for n in names])
    if value is None:
        return None
    order = ", ".join(sorted(names, key=lambda n: -wins[n]))
    verdict = HOLDS if value > 0.8 else PARTLY if value > 0.4 else FAILS
    evidence = f"Rank correlation of wins and mean error {value:.2f}; by wins: {order}."
    return Claim("The one-versus-one competition agrees with the averages.", verdict, evidence)


def passes(facts: Facts) -> Claim | None:
    """Whether GNC asks less in later passes."""
    claim = "With more passes over the data GNC falls silent more often."
    if not facts.has("gnc"):
        return None
    if int(facts.results["passes"][0]) < 2:
        return Claim(claim, OPEN, "One pass was run; run with --passes 3 to see.")
    import polars as pl

    table = by_pass(facts.results)
    part = table.filter(pl.col("algorithm") == "gnc") if table.height else table
    if not part.height:
        return Claim(claim, OPEN, "GNC as tuned was never silent in any pass.")
    means = {name: float(part[name].to_numpy().mean()) for name in part.columns if name.startswith("pass")}
    rising = all(b > a for a, b in itertools.pairwise(means.values()))
    words = ", ".join(f"{mean:.2f} % in {name}" for name, mean in means.items())
    return Claim(claim, HOLDS if rising else FAILS, f"Rounds without a question: {words}.")


def random(facts: Facts) -> Claim | None:
    """Whether choosing at random has the error that the paper states."""
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
    """How near the best duelling algorithm comes to full information, and the best other one where it is nearer."""
    every = (*RULES, *_OURS)
    duelling = [name for name in every if facts.has(name)]
    others = [name for name in facts.names if name not in (*every, "random", CEILING)]
    words = []
    for items in facts.sizes:
        top = facts.at[CEILING, items]
        best = [min(group, key=lambda name: facts.at[name, items]) for group in (duelling, others) if group]
        if len(best) == 2 and facts.at[best[1], items] >= facts.at[best[0], items]:
            best.pop()
        ratios = [f"{n} {facts.at[n, items]:.3f}/{top:.3f} = {facts.at[n, items] / top:.2f}" for n in best if top > 0]
        words.append(f"K = {items}: {', '.join(ratios) or f'the ceiling has {top:.3f}'}")
    return Claim(
        "(Ours, not the paper's) one bit per round comes near to knowing all stars.", "measured", "; ".join(words) + "."
    )


CLAIMS: tuple[Callable[[Facts], Claim | None], ...] = (
    abstract, banditron, order, relative, bounds, growth, ucb_first, silence, silence_by_items, silence_rates,
    online, averages, passes, random, ceiling,
)  # fmt: skip
"""In the order of the paper."""


def compared(results: "Mapping[str, DataFrame]") -> list[Compared]:
    """Every claim that can be tested, from {reading: its results}."""
    facts = {reading: Facts(frame) for reading, frame in results.items()}
    places = {reading: place_of(frame) for reading, frame in results.items()}
    found = []
    for test in CLAIMS:
        views = {reading: claim for reading, each in facts.items() if (claim := test(each)) is not None}
        if views:
            verdicts = {reading: view.verdict for reading, view in views.items()}
            found.append(Compared(next(iter(views.values())).claim, views, deciding(verdicts, places)))
    return found


def place_of(results: "DataFrame") -> dict[str, str]:
    """The value on each axis of the results of one reading."""
    return {axis: str(results[axis][0]) for axis in AXES if axis in results.columns}


def deciding(verdicts: Mapping[str, str], places: Mapping[str, Mapping[str, str]]) -> str:
    """The smallest sets of axes whose values determine under which readings a claim holds.

    Shades of not holding (in part, undecided) do not count: they depend on the number of domains and repetitions.

    >>> places = {"a": {"update": "margin", "rounds": "training"}, "b": {"update": "coordinate", "rounds": "training"}}
    >>> deciding({"a": "holds", "b": "undecided"}, places), deciding({"a": "holds", "b": "holds"}, places)
    ('update (margin: holds; coordinate: not)', 'nothing: holds everywhere')
    """
    held = {name: verdict == HOLDS for name, verdict in verdicts.items()}
    if len(set(held.values())) == 1:
        measured = not set(verdicts.values()) & {HOLDS, FAILS, PARTLY, OPEN}
        return "" if measured else f"nothing: holds {'everywhere' if any(held.values()) else 'nowhere'}"
    axes = [axis for axis in AXES if len({places[name].get(axis) for name in held}) > 1]
    for size in range(1, len(axes) + 1):
        found = []
        for some in itertools.combinations(axes, size):
            groups: dict[tuple[str, ...], set[bool]] = {}
            for name, holds in held.items():
                groups.setdefault(tuple(places[name][axis] for axis in some), set()).add(holds)
            if all(len(each) == 1 for each in groups.values()):
                values = "; ".join(
                    f"{'+'.join(key)}: {'holds' if each == {True} else 'not'}" for key, each in groups.items()
                )
                found.append(f"{' and '.join(some)}{f' ({values})' if size == 1 else ''}")
        if found:
            return " or ".join(found)
    return "none of the axes"


_SHORT = {HOLDS: "holds", FAILS: "fails", PARTLY: "in part", OPEN: "open"}


def table(results: "Mapping[str, DataFrame]", found: Sequence[Compared] | None = None) -> str:
    """The claims as Markdown: the readings by number, the verdict under each of them, and below it the numbers."""
    import polars as pl

    claims = compared(results) if found is None else found
    names = in_order(results)
    if len(names) == 1:
        single = [each.views[names[0]] for each in claims]
        rows = [{"claim": each.claim, "here": each.verdict, "numbers": each.evidence} for each in single]
        return markdown(pl.DataFrame(rows))
    number = {name: str(i) for i, name in enumerate(names, 1)}
    readings = [
        {"": number[name], **place_of(results[name])}
        | {"domains": results[name]["domain"].n_unique(), "repetitions": results[name]["repetition"].n_unique()}
        for name in names
    ]
    rows = [
        {"claim": each.claim}
        | {
            number[name]: _SHORT.get(each.views[name].verdict, each.views[name].verdict) if name in each.views else ""
            for name in names
        }
        | {"whether it holds is decided by": each.decided}
        for each in claims
    ]
    lines = [markdown(pl.DataFrame(readings)), markdown(pl.DataFrame(rows))]
    for each in claims:
        lines.append(f"**{each.claim}**\n")
        lines += [
            f"- {number[name]} ({name}): {each.views[name].verdict}. {each.views[name].evidence}"
            for name in names if name in each.views
        ]  # fmt: skip
        lines.append("")
    return "\n".join(lines)
