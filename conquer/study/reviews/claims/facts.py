"""What claims are made of: verdicts, and the means and paired comparisons that several claims look at."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import numpy as np

from conquer.metrics import half_width
from conquer.study.reviews.comparison import DOMAINS, by_domain
from conquer.types import Floats

HOLDS, FAILS, PARTLY, OPEN = "holds", "does not hold", "holds in part", "cannot be said"


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the paper's, whether it holds here, and the numbers."""

    claim: str
    verdict: str
    evidence: str
    about: tuple[str, ...] = ()
    """The algorithms it speaks of; none: all of them."""
    turns_on: str = ""
    """What the verdict hangs on under this reading, beside the errors."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A mean of paired differences and its interval, over so many units; without end for a single one.

    `level` is what the interval covers: 0.95, or more where a verdict looks at several.
    """

    mean: float
    low: float
    high: float
    units: int
    unit: str
    level: float = 0.95


class Facts:
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

    def etas(self, *names: str) -> str:
        """The lower median of the etas that tuning chose for each of these, in words; nothing where there is none.

        Cells that share a choice count once each: the median is over domains, K and repetitions.
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

        `looks`: how many such intervals a verdict hangs on. They are widened so that all of them cover with 95 %.
        """
        import polars as pl

        part = self.trials if items is None else self.trials.filter(pl.col("items") == items)
        return _gap(part["domain"], _less(part, one, two), looks)

    def faster(self, one: Sequence[str], two: Sequence[str]) -> Gap:
        """By how much more the mean error of some algorithms rises from the smallest to the largest K than others'."""
        import polars as pl

        low, high = (self.trials.filter(pl.col("items") == items) for items in (self.sizes[0], self.sizes[-1]))
        return _gap(low["domain"], _less(high, one, two) - _less(low, one, two), 1)

    def versus(self, one: str, two: str, *, looks: int = 1) -> tuple[str, bool, bool]:
        """(words, one is better, significantly so)."""
        result = self.difference([one], [two], looks=looks)
        gaps = (self.trials[one] - self.trials[two]).to_numpy()
        words = (
            f"{one} {self.mean[one]:.3f} against {two} {self.mean[two]:.3f} (difference {spread(result)}; "
            f"{int((gaps < 0).sum())} wins, {int((gaps > 0).sum())} losses)"
        )
        return words, result.mean < 0, clear(result)


def _less(trials: Any, one: Sequence[str], two: Sequence[str]) -> Floats:
    """(trials,): the mean error of some algorithms less that of others."""
    import polars as pl

    gap = trials.select(pl.mean_horizontal(*one) - pl.mean_horizontal(*two)).to_series()
    return np.asarray(gap.to_numpy(), np.float64)


def _gap(domains: Any, values: Floats, looks: int) -> Gap:
    """The mean of each trial's value; its interval is over domains where there are enough of them, else over trials."""
    units, level = by_domain(domains.to_numpy(), values), 1.0 - 0.05 / looks
    mean, half = float(units.mean()), float(half_width(units, level=level)) if len(units) > 1 else math.inf
    unit = "domains" if domains.n_unique() >= DOMAINS else "trials"
    return Gap(mean, mean - half, mean + half, len(units), unit, level)


def clear(result: Gap) -> bool:
    """Whether the interval leaves out 0."""
    return result.low > 0 or result.high < 0


def spread(result: Gap) -> str:
    """A difference with its interval and what that is over, in words.

    >>> spread(Gap(-0.1, -0.2, -0.05, 10, "domains"))
    '-0.1000, 95 % interval -0.2000 to -0.0500 over 10 domains'
    >>> spread(Gap(-0.1, -0.2, -0.05, 12, "trials", 0.9875))
    '-0.1000, 98.8 % interval -0.2000 to -0.0500 over 12 trials, which share data and tuning'
    """
    if result.units == 1:
        return f"{result.mean:+.4f}, a single trial without an interval"
    level = f"{100 * result.level:.3g} % interval"
    return f"{result.mean:+.4f}, {level} {result.low:+.4f} to {result.high:+.4f} {over(result)}"


def over(result: Gap) -> str:
    """What an interval is over, in words."""
    return f"over {result.units} {result.unit}{', which share data and tuning' if result.unit == 'trials' else ''}"
