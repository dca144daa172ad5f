"""Claims about the rounds in which GNC asks nothing."""

import itertools
from typing import Any

from conquer.study.reviews.claims.facts import FAILS, HOLDS, OPEN, PARTLY, Claim, Facts
from conquer.study.reviews.spec import CEILING
from conquer.study.reviews.tables import by_pass


def does_not_hurt(facts: Facts) -> Claim | None:
    """Whether GNC loses by not asking, and how that moves with K."""
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
    evidence = (
        f"GNC stays silent in {rates}: the rate {trend} with K. {_ceiling(part, silent)}"
        f"Beside one that always asks: {words}."
    )
    chosen = part["parameters"].mode().sort()[0]
    fixed = _silent(part.filter(pl.col("parameters") == chosen))
    if len(fixed) == len(facts.sizes) > 1 and any(fixed.values()):
        # The mean above also moves with the point that tuning happened to choose for each K.
        evidence += (
            f" Where tuning chose {chosen}, most often, it is {_listed(fixed)}: it {_trend(list(fixed.values()))}."
        )
    return Claim(claim, verdict, evidence, ("gnc", reference), f"GNC is silent in {rates}, {facts.etas('gnc')}")


def _silent(part: Any) -> dict[int, float]:
    """{K: percent of rounds without a question}."""
    import polars as pl

    table = part.group_by("items").agg((100 * (1 - pl.col("query_rate").mean())).alias("silent")).sort("items")
    return dict(zip(table["items"].to_list(), table["silent"].to_list(), strict=True))


def _ceiling(part: Any, silent: dict[int, float]) -> str:
    """The share of rounds with a single best item at each K, and by how much silence passes it; nothing if unknown."""
    import polars as pl

    table = part.group_by("items").agg(pl.col("unique_in_sets").mean() * 100).drop_nulls().sort("items")
    single = dict(zip(table["items"].to_list(), table["unique_in_sets"].to_list(), strict=True))
    if not single:
        return ""
    passed = {items: silent[items] - share for items, share in single.items() if silent[items] > share}
    words = ", ".join(f"at K = {items} by {points:.2f} points" for items, points in passed.items())
    beyond = f"it passes that {words}: silent between equally good items" if passed else "it nowhere passes that"
    return f"A single best item, without which nobody can rightly be sure, is in {_listed(single)}; {beyond}. "


def _listed(silent: dict[int, float]) -> str:
    return ", ".join(f"{rate:.2f} % at K = {items}" for items, rate in silent.items())


def _trend(values: list[float]) -> str:
    """How a rate moves, as printed: only a step that every K confirms counts.

    >>> _trend([1.0, 2.0, 4.0]), _trend([1.0, 9.0, 2.0]), _trend([0.0, 0.001])
    ('rises', 'shows no clear trend', 'does not change')
    """
    steps = [b - a for a, b in itertools.pairwise(round(value, 2) for value in values)]
    if not any(steps):
        return "does not change"
    return "falls" if max(steps) <= 0 else "rises" if min(steps) >= 0 else "shows no clear trend"


def passes(facts: Facts) -> Claim | None:
    """Whether GNC asks less in later passes."""
    claim = "With more passes over the data GNC falls silent more often."
    if not facts.has("gnc"):
        return None
    if facts.results["passes"].max() < 2:
        return Claim(claim, OPEN, "One pass was run; run with --passes 3 to see.")
    import polars as pl

    table = by_pass(facts.results)
    part = table.filter(pl.col("algorithm") == "gnc") if table.height else table
    if not part.height:
        return Claim(claim, OPEN, "GNC as tuned was never silent in any pass.")
    columns = [name for name in part.columns if name.startswith("pass")]
    means = [float(part[name].mean()) for name in columns]
    rising = all(b > a for a, b in itertools.pairwise(means))
    words = ", ".join(f"{mean:.2f} % in {name}" for name, mean in zip(columns, means, strict=True))
    return Claim(claim, HOLDS if rising else FAILS, f"Rounds without a question: {words}.")
