"""Algorithms compared on the same trials: their order, intervals of their errors, one versus one."""

from typing import Any

import numpy as np

from conquer.metrics import half_width, t_test
from conquer.study.reviews.spec import CEILING, PAPER
from conquer.types import Floats

Frame = Any

DOMAINS = 5
"""From so many domains on they are the sample; with fewer it is single trials."""


def ordered(names: Any) -> list[str]:
    """Algorithms in the study's order, unknown ones after the known, references last.

    >>> ordered(["random", "gnc", "ttg"])
    ['ttg', 'gnc', 'random']
    """
    rank = {name: i for i, name in enumerate(PAPER)} | {"random": 10_000, CEILING: 10_001}
    return sorted(set(names), key=lambda name: (rank.get(name, 5_000), name))


def contenders(results: Frame) -> list[str]:
    """The algorithms without the two reference lines."""
    return [name for name in ordered(results["algorithm"].to_list()) if name not in ("random", CEILING)]


def interval(results: Frame, algorithm: str, items: int) -> tuple[float, float | None]:
    """(mean, half width of its 95 % interval, None for a single trial) of the test error at K = `items`.

    What a trial's difficulty adds to all algorithms alike is taken out first, as the comparison is paired; trials of
    one domain are averaged, so that domains are the sample (single trials where there are fewer than five domains).
    """
    import polars as pl

    part = results.filter(pl.col("items") == items)
    level = part.with_columns(
        (pl.col("error") - pl.col("error").mean().over("domain", "repetition") + pl.col("error").mean()).alias("level")
    ).filter(pl.col("algorithm") == algorithm)
    mean = float(level["error"].mean())
    many = level["domain"].n_unique() >= DOMAINS
    domains = level.group_by("domain", maintain_order=True).agg(pl.col("level").mean())
    units = (domains if many else level)["level"].to_numpy()
    names = part["algorithm"].n_unique()
    # Taking out the trial's mean takes out a share 1/names of the algorithm's own spread.
    return mean, float(half_width(units * np.sqrt(names / max(1, names - 1)))) if units.size > 1 else None


def by_domain(domains: Any, values: Floats) -> Floats:
    """The mean of each domain, or the values themselves where there are fewer than five domains.

    >>> by_domain(list("aabbccddee"), np.arange(10.0)).tolist()
    [0.5, 2.5, 4.5, 6.5, 8.5]
    """
    names, place = np.unique(domains, return_inverse=True)
    if names.size < DOMAINS:
        return values
    return np.asarray(np.bincount(place, values) / np.bincount(place), np.float64)


def one_versus_one(results: Frame) -> Frame:
    """(row, column, wins, losses, ties, p, holm, units): how many trials the row won by the smaller test error.

    The two references, random and the ceiling, take part. `p` is Student's test over `units` domains, whose trials
    share data and tuning (over trials where there are fewer than five); `holm` is p corrected for all pairs by Holm's
    rule. A sign test over ten domains could never pass that: its smallest p is 2/1024.
    """
    import polars as pl

    trials = results.pivot(on="algorithm", index=["domain", "items", "repetition"], values="error").sort(
        "domain", "items", "repetition"
    )
    names = ordered(results["algorithm"].to_list())
    rows: list[dict[str, Any]] = []
    for one in names:
        for two in names:
            if one == two:
                continue
            both = trials.filter(pl.col(one).is_not_null() & pl.col(two).is_not_null())
            gap = both[one].to_numpy() - both[two].to_numpy()
            wins, losses = int((gap < 0).sum()), int((gap > 0).sum())
            units = by_domain(both["domain"].to_numpy(), gap)
            rows.append(
                {
                    "row": one, "column": two, "wins": wins, "losses": losses,
                    "ties": int((gap == 0).sum()), "p": t_test(units),
                    "units": units.size,
                }
            )  # fmt: skip
    pairs = {frozenset((row["row"], row["column"])): row["p"] for row in rows}
    corrected = dict(zip(pairs, holm(list(pairs.values())), strict=True))
    rows = [row | {"holm": corrected[frozenset((row["row"], row["column"]))]} for row in rows]
    counts = dict.fromkeys(("wins", "losses", "ties"), pl.Int64)
    numbers = {"p": pl.Float64, "holm": pl.Float64, "units": pl.Int64}
    return pl.DataFrame(rows, schema={"row": pl.String, "column": pl.String, **counts, **numbers})


def holm(values: list[float]) -> list[float]:
    """p-values of several tests, corrected so that any false one among them is as rare as a single test's.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, least = [1.0] * len(values), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = least
    return corrected


def matrix(duels: Frame) -> Frame:
    """The one-versus-one table as a square of wins, a star where Student's test, corrected, finds p < 0.05."""
    import polars as pl

    names = ordered(duels["row"].to_list())
    found = {(row["row"], row["column"]): row for row in duels.iter_rows(named=True)}

    def cell(one: str, two: str) -> str:
        if one == two:
            return "-"
        row = found[one, two]
        return f"{row['wins']}{'*' if row['holm'] < 0.05 else ''}"

    return pl.DataFrame([{"beat": one} | {two: cell(one, two) for two in names} for one in names])
