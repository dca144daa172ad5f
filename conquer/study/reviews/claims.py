"""What the paper claims, tried on the results at hand: the verdicts and the words come from the numbers."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from conquer.metrics import compare
from conquer.study.reviews import tables
from conquer.study.reviews.spec import CEILING

HOLDS, FAILS, PARTLY, OPEN = "holds", "does not hold", "holds in part", "cannot be said"
_UCB, _GREEDY = ("gnu", "gnc", "ttu", "unr"), ("ttg", "gnr")
_DUELLING = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr", "gnt", "gnw")
_RANDOM = {5: 0.40, 10: 0.47, 15: 0.49, 20: 0.50}


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the paper's, whether it holds here, and the numbers."""

    claim: str
    verdict: str
    evidence: str


class _Facts:
    """Means and paired comparisons that several claims look at."""

    def __init__(self, results: Any) -> None:
        import polars as pl

        self.results = results
        self.sizes = sorted(results["items"].unique().to_list())
        self.trials = results.pivot(on="algorithm", index=["domain", "items", "repetition"], values="error").sort(
            "domain", "items", "repetition"
        )
        self.names = [name for name in self.trials.columns if name not in ("domain", "items", "repetition")]
        self.mean = {name: float(self.trials[name].mean()) for name in self.names}
        self.at = {
            (name, items): float(self.trials.filter(pl.col("items") == items)[name].mean())
            for name in self.names
            for items in self.sizes
        }

    def has(self, *names: str) -> bool:
        return all(name in self.names for name in names)

    def versus(self, one: str, two: str) -> tuple[str, bool, bool]:
        """(words, one is better, significantly so); the interval is over domains where there are five."""
        costs = [self.trials[name].to_numpy() for name in (one, two)]
        domains = self.trials["domain"].to_numpy()
        result = compare(*(tables.by_domain(domains, cost) for cost in costs))
        wins, losses = int((costs[0] < costs[1]).sum()), int((costs[0] > costs[1]).sum())
        words = (
            f"{one} {self.mean[one]:.3f} against {two} {self.mean[two]:.3f} (difference {result.mean:+.4f}, 95 % "
            f"interval {result.low:+.4f} to {result.high:+.4f}; {wins} wins, {losses} losses)"
        )
        return words, result.mean < 0, result.low > 0 or result.high < 0


def judge(results: Any) -> list[Claim]:
    """Every claim about the paper's study, tried on these results."""
    facts = _Facts(results)
    tried = [_banditron, _ranking, _relative, _degrading, _ucb_first, _silence, _online, _averages, _passes, _random]
    found = [claim for rule in tried if (claim := rule(facts)) is not None]
    return [*found, _ceiling(facts)]


def _banditron(facts: _Facts) -> Claim | None:
    claim = "Banditron is the worst algorithm, with an error above 0.3."
    if not facts.has("banditron"):
        return None
    others = {name: mean for name, mean in facts.mean.items() if name not in ("banditron", "random", CEILING)}
    worst = all(facts.mean["banditron"] > mean for mean in others.values())
    above = [items for items in facts.sizes if facts.at["banditron", items] > 0.3]
    values = ", ".join(f"{facts.at['banditron', items]:.3f} at K = {items}" for items in facts.sizes)
    verdict = HOLDS if worst and len(above) == len(facts.sizes) else PARTLY if worst or above else FAILS
    return Claim(claim, verdict, f"Its error is {values}; it is {'' if worst else 'not '}the worst.")


def _ranking(facts: _Facts) -> Claim | None:
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
    return Claim("Top Two Greedy is best, Greedy + Random second, GNC third, then Confidit and GNU.", verdict, evidence)


def _relative(facts: _Facts) -> Claim | None:
    if not facts.has("gnc", "gnu"):
        return None
    words, better, clear = facts.versus("gnc", "gnu")
    verdict = OPEN if not clear else HOLDS if better else FAILS
    return Claim("Relative upper bounds (GNC) beat absolute ones (GNU).", verdict, words + ".")


def _degrading(facts: _Facts) -> Claim | None:
    ucb, greedy = [n for n in _UCB if facts.has(n)], [n for n in _GREEDY if facts.has(n)]
    if not ucb or not greedy or len(facts.sizes) < 2:
        return None
    low, high = facts.sizes[0], facts.sizes[-1]
    rise = {name: facts.at[name, high] - facts.at[name, low] for name in (*ucb, *greedy)}
    slowest, fastest = min(rise[n] for n in ucb), max(rise[n] for n in greedy)
    averages = float(np.mean([rise[n] for n in ucb])), float(np.mean([rise[n] for n in greedy]))
    verdict = HOLDS if slowest > fastest else PARTLY if averages[0] > averages[1] else FAILS
    equal = tables.equal_pairs(facts.results)
    asked = [name for name in ("gnu", "ttg", "in sets") if name in equal["algorithm"].to_list()]
    rates = "; ".join(_rates(equal, name, low, high) for name in asked)
    changes = ", ".join(f"{name} {value:+.3f}" for name, value in rise.items())
    evidence = (
        f"From K = {low} to K = {high} the error changes by {changes}. Questions between equally good items "
        f"(the paper's explanation), K = {low} to {high}: {rates}."
    )
    return Claim("Algorithms with upper bounds get worse faster as K grows than greedy ones.", verdict, evidence)


def _rates(equal: Any, name: str, low: int, high: int) -> str:
    import polars as pl

    row = equal.filter(pl.col("algorithm") == name).row(0, named=True)
    return f"{name} {row[f'K={low}']:.1f} % to {row[f'K={high}']:.1f} %"


def _ucb_first(facts: _Facts) -> Claim | None:
    if not facts.has("ttu", "unr", "ttg", "gnr"):
        return None
    top, random = facts.versus("ttu", "ttg"), facts.versus("unr", "gnr")
    poor = [not better and clear for _, better, clear in (top, random)]
    good = [better and clear for _, better, clear in (top, random)]
    verdict = HOLDS if all(poor) else PARTLY if any(poor) else FAILS if any(good) else OPEN
    return Claim("Choosing the first item by upper bound (TTU, UNR) does poorly.", verdict, f"{top[0]}; {random[0]}.")


def _silence(facts: _Facts) -> Claim | None:
    import polars as pl

    claim = "Staying silent does not hurt, and its rate falls with K."
    if not facts.has("gnc"):
        return None
    part = facts.results.filter((pl.col("algorithm") == "gnc") & pl.col("query_rate").is_not_null())
    silent = _silent(part)
    rates = _listed(silent)
    if not any(silent.values()):
        return Claim(claim, OPEN, f"GNC as tuned was never silent ({rates or 'it always diverged'}).")
    trend = _trend(list(silent.values()))
    reference = next(name for name in ("gnu", "ttg", "gnr", CEILING) if facts.has(name))
    words, better, clear = facts.versus("gnc", reference)
    harmless = better or not clear
    verdict = HOLDS if harmless and trend == "falls" else PARTLY if harmless or trend == "falls" else FAILS
    evidence = f"GNC stays silent in {rates}: the rate {trend} with K. Beside one that always asks: {words}."
    chosen = part["parameters"].mode().sort()[0]
    fixed = _silent(part.filter(pl.col("parameters") == chosen))
    if len(fixed) == len(facts.sizes) > 1 and any(fixed.values()):
        # The mean above also moves with the point that tuning happened to choose for each K.
        evidence += (
            f" Where tuning chose {chosen}, most often, it is {_listed(fixed)}: it {_trend(list(fixed.values()))}."
        )
    return Claim(claim, verdict, evidence)


def _silent(part: Any) -> dict[int, float]:
    """{K: percent of rounds without a question}."""
    import polars as pl

    table = part.group_by("items").agg((100 * (1 - pl.col("query_rate").mean())).alias("silent")).sort("items")
    return dict(zip(table["items"].to_list(), table["silent"].to_list(), strict=True))


def _listed(silent: dict[int, float]) -> str:
    return ", ".join(f"{rate:.2f} % at K = {items}" for items, rate in silent.items())


def _trend(values: list[float]) -> str:
    """How a rate moves: only a step that every K confirms counts.

    >>> _trend([1.0, 2.0, 4.0]), _trend([1.0, 9.0, 2.0])
    ('rises', 'shows no clear trend')
    """
    steps = [b - a for a, b in itertools.pairwise(values)]
    if not any(steps):
        return "does not change"
    return "falls" if max(steps) <= 0 else "rises" if min(steps) >= 0 else "shows no clear trend"


def _online(facts: _Facts) -> Claim | None:
    import polars as pl
    from scipy.stats import spearmanr

    part = facts.results.filter(pl.col("online_error").is_not_null() & (pl.col("algorithm") != "random"))
    means = part.group_by("algorithm", "items").agg(pl.col("error").mean(), pl.col("online_error").mean())
    means = means.sort("algorithm", "items")
    found = []
    for items in facts.sizes:
        here = means.filter(pl.col("items") == items)
        if here.height > 2:
            found.append((items, float(spearmanr(here["error"].to_numpy(), here["online_error"].to_numpy()).statistic)))
    if not found:
        return None
    lowest = min(value for _, value in found)
    verdict = HOLDS if lowest > 0.7 else PARTLY if lowest > 0.3 else FAILS
    values = ", ".join(f"{value:.2f} at K = {items}" for items, value in found)
    return Claim("Online loss ranks the algorithms as test error does.", verdict, f"Rank correlation: {values}.")


def _averages(facts: _Facts) -> Claim | None:
    from scipy.stats import spearmanr

    names = [name for name in facts.names if name not in ("random", CEILING)]
    if len(names) < 3:
        return None
    duels = tables.one_versus_one(facts.results)
    wins = dict.fromkeys(names, 0)
    for row in duels.iter_rows(named=True):
        if row["row"] in wins and row["column"] in wins:
            wins[row["row"]] += row["wins"]
    value = float(spearmanr([facts.mean[n] for n in names], [-wins[n] for n in names]).statistic)
    order = ", ".join(sorted(names, key=lambda n: -wins[n]))
    verdict = HOLDS if value > 0.8 else PARTLY if value > 0.4 else FAILS
    return Claim(
        "The one-versus-one competition agrees with the averages.",
        verdict,
        f"Rank correlation of wins and mean error {value:.2f}; by wins: {order}.",
    )


def _passes(facts: _Facts) -> Claim | None:
    claim = "With more passes over the data GNC falls silent more often."
    if not facts.has("gnc"):
        return None
    if facts.results["passes"].max() < 2:
        return Claim(claim, OPEN, "One pass was run; run with --passes 3 to see.")
    import polars as pl

    table = tables.by_pass(facts.results)
    part = table.filter(pl.col("algorithm") == "gnc") if table.height else table
    if not part.height:
        return Claim(claim, OPEN, "GNC as tuned was never silent in any pass.")
    columns = [name for name in part.columns if name.startswith("pass")]
    means = [float(part[name].mean()) for name in columns]
    rising = all(b > a for a, b in itertools.pairwise(means))
    words = ", ".join(f"{mean:.2f} % in {name}" for name, mean in zip(columns, means, strict=True))
    return Claim(claim, HOLDS if rising else FAILS, f"Rounds without a question: {words}.")


def _random(facts: _Facts) -> Claim | None:
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


def _ceiling(facts: _Facts) -> Claim:
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
        "(Ours, not the paper's) one bit a round comes near to knowing all stars.", "measured", "; ".join(words) + "."
    )
