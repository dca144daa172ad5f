"""What claims are made of: verdicts, and the means and paired comparisons that several claims look at."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from conquer.metrics import Comparison, compare
from conquer.study.reviews.comparison import by_domain

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
        """The median eta that tuning chose for each of these algorithms, in words; nothing where there is none.

        Cells that share a choice count once each: the median is over domains, K and repetitions.
        """
        import polars as pl

        found = []
        for name in names:
            texts = self.results.filter(pl.col("algorithm") == name)["parameters"].to_list()
            values = [eta for text in texts if (eta := json.loads(text).get("eta")) is not None]
            found += [f"{name}'s median eta is {median(values):g}"] if values else []
        return ", ".join(found)

    def difference(self, one: Sequence[str], two: Sequence[str], items: int | None = None) -> Comparison:
        """The mean error of some algorithms less that of others in the same trials, at one K or at all.

        The interval is over domains where there are five, else over trials.
        """
        import polars as pl

        part = self.trials if items is None else self.trials.filter(pl.col("items") == items)
        costs = [part.select(pl.mean_horizontal(*names)).to_series().to_numpy() for names in (one, two)]
        domains = part["domain"].to_numpy()
        return compare(*(by_domain(domains, cost) for cost in costs))

    def versus(self, one: str, two: str) -> tuple[str, bool, bool]:
        """(words, one is better, significantly so)."""
        result = self.difference([one], [two])
        gaps = (self.trials[one] - self.trials[two]).to_numpy()
        words = (
            f"{one} {self.mean[one]:.3f} against {two} {self.mean[two]:.3f} (difference {spread(result)}; "
            f"{int((gaps < 0).sum())} wins, {int((gaps > 0).sum())} losses)"
        )
        return words, result.mean < 0, clear(result)


def clear(result: Comparison) -> bool:
    """Whether the interval leaves out 0."""
    return result.low > 0 or result.high < 0


def spread(result: Comparison) -> str:
    """A difference with its interval, in words.

    >>> spread(Comparison(-0.1, -0.2, -0.05, 3, 0, 0.25))
    '-0.1000, 95 % interval -0.2000 to -0.0500'
    """
    return f"{result.mean:+.4f}, 95 % interval {result.low:+.4f} to {result.high:+.4f}"
