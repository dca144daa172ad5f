"""What claims are made of: verdicts, and the means and paired comparisons that several claims look at."""

from dataclasses import dataclass
from typing import Any

from conquer.metrics import compare
from conquer.study.reviews.comparison import by_domain

HOLDS, FAILS, PARTLY, OPEN = "holds", "does not hold", "holds in part", "cannot be said"


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the paper's, whether it holds here, and the numbers."""

    claim: str
    verdict: str
    evidence: str


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

    def versus(self, one: str, two: str) -> tuple[str, bool, bool]:
        """(words, one is better, significantly so); the interval is over domains where there are five."""
        costs = [self.trials[name].to_numpy() for name in (one, two)]
        domains = self.trials["domain"].to_numpy()
        result = compare(*(by_domain(domains, cost) for cost in costs))
        wins, losses = int((costs[0] < costs[1]).sum()), int((costs[0] > costs[1]).sum())
        words = (
            f"{one} {self.mean[one]:.3f} against {two} {self.mean[two]:.3f} (difference {result.mean:+.4f}, 95 % "
            f"interval {result.low:+.4f} to {result.high:+.4f}; {wins} wins, {losses} losses)"
        )
        return words, result.mean < 0, result.low > 0 or result.high < 0
