"""Claims that two ways of ranking the algorithms agree."""

from conquer.study.reviews.claims.facts import FAILS, HOLDS, PARTLY, Claim, Facts
from conquer.study.reviews.comparison import one_versus_one
from conquer.study.reviews.spec import CEILING


def online(facts: Facts) -> Claim | None:
    """Whether loss while learning ranks algorithms as loss afterwards."""
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


def averages(facts: Facts) -> Claim | None:
    """Whether counting won trials gives the order of the means."""
    from scipy.stats import spearmanr

    names = [name for name in facts.names if name not in ("random", CEILING)]
    if len(names) < 3:
        return None
    duels = one_versus_one(facts.results)
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
