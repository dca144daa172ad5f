"""Algorithms compared on the same trials: intervals of errors, paired differences, one versus one."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import TYPE_CHECKING, Any

import numpy as np

from conquer.metrics import half_width, t_test
from conquer.study.plots.canvas import sizes_of
from conquer.study.reviews.spec import CEILING, CONTROLS, PAPER
from conquer.types import Floats

if TYPE_CHECKING:
    from polars import DataFrame, Series

DOMAINS = 5
"""With at least this many domains, domains are the sample; with fewer, single trials."""
_TRIAL = ["domain", "items", "repetition"]


def ordered(names: Iterable[str]) -> list[str]:
    """Algorithms in the study's order, then others by name, then the references.

    >>> ordered(["random", "gnc", "ttg"])
    ['ttg', 'gnc', 'random']
    """
    rank = {name: i for i, name in enumerate(PAPER)} | {"random": 10_000, CEILING: 10_001}
    return sorted(set(names), key=lambda name: (rank.get(name, 5_000), name))


def contenders(results: "DataFrame") -> list[str]:
    """The algorithms without the two references and without controls."""
    return [name for name in ordered(results["algorithm"]) if name not in ("random", CEILING, *CONTROLS)]


def trials_of(results: "DataFrame") -> "DataFrame":
    """A row for each domain, K and repetition, with the test error of every algorithm in a column of its name."""
    return results.pivot(on="algorithm", index=_TRIAL, values="error").sort(_TRIAL)


def interval(results: "DataFrame", algorithm: str, items: int) -> tuple[float, float | None]:
    """(mean, half width of its 95 % interval, None for a single trial) of the test error at K = `items`.

    The comparison is paired: what a trial's difficulty adds to all algorithms is subtracted first. Trials of one domain
    are averaged, so that domains are the sample (single trials where there are fewer than five domains).
    """
    import polars as pl

    part = results.filter(pl.col("items") == items)
    level = part.with_columns(
        (pl.col("error") - pl.col("error").mean().over("domain", "repetition") + pl.col("error").mean()).alias("level")
    ).filter(pl.col("algorithm") == algorithm)
    mean = _mean(level["error"])
    many = level["domain"].n_unique() >= DOMAINS
    domains = level.group_by("domain", maintain_order=True).agg(pl.col("level").mean())
    units = (domains if many else level)["level"].to_numpy()
    names = part["algorithm"].n_unique()
    # Subtracting the trial's mean removes a share 1/names of the algorithm's own spread.
    return mean, float(half_width(units * np.sqrt(names / max(1, names - 1)))) if units.size > 1 else None


def by_domain(domains: Sequence[str], values: Floats) -> Floats:
    """The mean of each domain, or the values themselves where there are fewer than five domains.

    >>> by_domain(list("aabbccddee"), np.arange(10.0)).tolist()
    [0.5, 2.5, 4.5, 6.5, 8.5]
    """
    names, place = np.unique(domains, return_inverse=True)
    if names.size < DOMAINS:
        return values
    return np.asarray(np.bincount(place, values) / np.bincount(place), np.float64)


def one_versus_one(results: "DataFrame") -> "DataFrame":
    """(row, column, wins, losses, ties, p, holm, units): in how many trials the row had the smaller test error.

    The two references, random and the ceiling, are included. `p` is Student's test over `units` domains, whose trials
    share data and tuning (over trials where there are fewer than five); `holm` is p corrected for all pairs by Holm's
    method. A sign test over ten domains could never pass that: its smallest p is 2/1024.
    """
    import polars as pl

    trials, names = trials_of(results), ordered(results["algorithm"])
    rows: list[dict[str, Any]] = []
    for one in names:
        for two in names:
            if one == two:
                continue
            both = trials.filter(pl.col(one).is_not_null() & pl.col(two).is_not_null())
            gap = both[one].to_numpy() - both[two].to_numpy()
            wins, losses = int((gap < 0).sum()), int((gap > 0).sum())
            units = by_domain(both["domain"].to_list(), gap)
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
    """p-values of several tests by Holm's correction, which bounds the chance of any false positive among them.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    corrected, least = [1.0] * len(values), 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, (len(values) - rank) * values[place]))
        corrected[place] = least
    return corrected


@dataclass(frozen=True, slots=True)
class Gap:
    """A mean of paired differences and its interval over `units` domains or trials; infinite for a single one.

    `level` is the coverage of the interval: 0.95, or more where a verdict depends on several intervals.
    """

    mean: float
    low: float
    high: float
    units: int
    unit: str
    level: float = 0.95

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        """The difference with its interval, in words.

        >>> print(Gap(-0.1, -0.2, -0.05, 10, "domains"))
        -0.1000, 95 % interval -0.2000 to -0.0500 over 10 domains
        >>> print(Gap(-0.1, -0.2, -0.05, 12, "trials", 0.9875))
        -0.1000, 98.8 % interval -0.2000 to -0.0500 over 12 trials, which share data and tuning
        """
        if self.units == 1:
            return f"{self.mean:+.4f}, a single trial without an interval"
        level = f"{100 * self.level:.3g} % interval"
        return f"{self.mean:+.4f}, {level} {self.low:+.4f} to {self.high:+.4f} {self.over}"

    @property
    def over(self) -> str:
        """The sample of the interval, in words."""
        return f"over {self.units} {self.unit}{', which share data and tuning' if self.unit == 'trials' else ''}"


class Facts:
    """Means and paired comparisons of the results of one reading."""

    def __init__(self, results: "DataFrame") -> None:
        import polars as pl

        self.results = results
        self.sizes = sizes_of(results)
        self.trials = trials_of(results)
        every = [name for name in self.trials.columns if name not in _TRIAL]
        self.names = [name for name in every if name not in CONTROLS]
        """The algorithms without controls."""
        self.generated = "kind" in results.columns and results["kind"][0] == "synthetic"
        self.mean = {name: _mean(self.trials[name]) for name in every}
        self.at = {
            (name, items): _mean(self.trials.filter(pl.col("items") == items)[name])
            for name in every
            for items in self.sizes
        }

    def has(self, *names: str) -> bool:
        """Whether the study has all of these algorithms."""
        return all(name in self.mean for name in names)

    def etas(self, *names: str) -> str:
        """The lower median of the etas that tuning chose for each of these, in words; empty where there is none.

        The median is over domains, K and repetitions.
        """
        import polars as pl

        found = []
        for name in names:
            texts = self.results.filter(pl.col("algorithm") == name)["parameters"].to_list()
            values = [eta for text in texts if (eta := json.loads(text).get("eta")) is not None]
            found += [f"{name}'s median eta is {median_low(values):g}"] if values else []
        return ", ".join(found)

    def difference(self, one: Sequence[str], two: Sequence[str], items: int | None = None, *, looks: int = 1) -> Gap:
        """The mean error of some algorithms less that of others in the same trials, at one K or at all.

        `looks` is the number of such intervals that a verdict depends on; together they cover with 95 %.
        """
        import polars as pl

        part = self.trials if items is None else self.trials.filter(pl.col("items") == items)
        return self._gap(part["domain"], _less(part, one, two), looks)

    def faster(self, one: Sequence[str], two: Sequence[str]) -> Gap:
        """By how much more the mean error of some algorithms rises from the smallest to the largest K than others'."""
        import polars as pl

        low, high = (self.trials.filter(pl.col("items") == items) for items in (self.sizes[0], self.sizes[-1]))
        return self._gap(low["domain"], _less(high, one, two) - _less(low, one, two), 1)

    def _gap(self, domains: "Series", values: Floats, looks: int) -> Gap:
        """The mean of each trial's value; its interval is over domains where there are enough, else over trials.

        Synthetic domains come from one generator: an interval over them says nothing about other domains.
        """
        units, level = by_domain(domains.to_list(), values), 1.0 - 0.05 / looks
        mean, half = float(units.mean()), float(half_width(units, level=level)) if len(units) > 1 else math.inf
        unit = "trials" if domains.n_unique() < DOMAINS else "domains of one generator" if self.generated else "domains"
        return Gap(mean, mean - half, mean + half, len(units), unit, level)

    def versus(self, one: str, two: str, *, looks: int = 1) -> tuple[str, Gap]:
        """(words, difference) of two algorithms."""
        result = self.difference([one], [two], looks=looks)
        gaps = (self.trials[one] - self.trials[two]).to_numpy()
        words = (
            f"{one} {self.mean[one]:.3f} against {two} {self.mean[two]:.3f} (difference {result}; "
            f"{int((gaps < 0).sum())} wins, {int((gaps > 0).sum())} losses)"
        )
        return words, result


def _mean(values: "Series") -> float:
    return float(values.mean())  # type: ignore[arg-type]  # a column of numbers


def _less(trials: "DataFrame", one: Sequence[str], two: Sequence[str]) -> Floats:
    """(trials,): the mean error of some algorithms less that of others."""
    import polars as pl

    gap = trials.select(pl.mean_horizontal(*one) - pl.mean_horizontal(*two)).to_series()
    return np.asarray(gap.to_numpy(), np.float64)
