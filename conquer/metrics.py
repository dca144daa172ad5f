"""The cost of choices: three regrets, the study's error, and paired comparisons of costs."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conquer.types import Floats


def regrets(best: ArrayLike, first: ArrayLike, second: ArrayLike) -> dict[str, Floats]:
    """(T,) each: `weak` (the paper's) best - max(shown), `strong` sum over both, `average` half of that.

    `second` is NaN where one item was shown: then it counts as the first against itself.

    >>> {name: r.tolist() for name, r in regrets([1.0], [0.5], [-1.0]).items()}
    {'weak': [0.5], 'strong': [2.5], 'average': [1.25]}
    """
    top, one = np.asarray(best, dtype=np.float64), np.asarray(first, dtype=np.float64)
    two = np.asarray(second, dtype=np.float64)
    two = np.where(np.isnan(two), one, two)
    strong = (top - one) + (top - two)
    return {"weak": top - np.maximum(one, two), "strong": strong, "average": strong / 2.0}


def star_error(best: ArrayLike, first: ArrayLike, *, span: float = 4.0) -> Floats:
    """(T,): (max stars - stars of the first item)/span, from rewards (stars - 3)/2; 1 to 5 stars span 4.

    >>> star_error([1.0], [0.0]).tolist()
    [0.5]
    """
    return (np.asarray(best, dtype=np.float64) - np.asarray(first, dtype=np.float64)) * (2.0 / span)


def unique_best(counts: Sequence[int], items: int) -> float:
    """The probability that a set of `items` distinct items, drawn from a pool, has a unique best one.

    `counts`: the number of items of each worth in the pool, worths rising. Without a unique best, asking nothing is
    never justified, so this bounds the share of silent rounds of a correct learner.

    >>> [round(unique_best([100_000] * 5, items), 2) for items in (5, 10, 15, 20)]
    [0.57, 0.29, 0.13, 0.06]
    """
    total = sum(counts)
    if min(counts, default=-1) < 0 or not 1 <= items <= total:
        raise ValueError(f"items must be in [1, {total}], drawn from counts of at least 0, got {items} and {counts}")
    below = itertools.accumulate(counts, initial=0)
    return sum(here * math.comb(less, items - 1) for here, less in zip(counts, below, strict=False)) / math.comb(
        total, items
    )


@dataclass(frozen=True, slots=True)
class Comparison:
    """Paired differences a - b: their mean, its 95 % interval, wins of a and b, and the sign test's p."""

    mean: float
    low: float
    high: float
    wins: int
    losses: int
    p: float


def compare(a: ArrayLike, b: ArrayLike, *, resamples: int = 2000, seed: int = 0) -> Comparison:
    """Compare two costs measured on the same trials; the interval is a bootstrap over trials.

    With ten trials it covers 90 %, with sixty 95 %; `half_width` covers 95 % with few, where they are about normal.

    >>> result = compare([1.0, 2.0, 3.0], [2.0, 3.0, 4.0])
    >>> result.mean, result.wins, result.losses
    (-1.0, 3, 0)
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or x.size == 0:
        raise ValueError(f"paired costs need one shape (n,), got {x.shape} and {y.shape}")
    difference = x - y
    rng = np.random.default_rng(seed)
    means = difference[rng.integers(0, x.size, (resamples, x.size))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    wins, losses = int((difference < 0).sum()), int((difference > 0).sum())
    return Comparison(float(difference.mean()), float(low), float(high), wins, losses, sign_test(wins, losses))


def sign_test(wins: int, losses: int) -> float:
    """The two-sided p-value of this split of wins and losses under a fair coin.

    >>> round(sign_test(10, 0), 9) == round(2 / 1024, 9)
    True
    """
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def half_width(units: Floats, *, level: float = 0.95) -> Floats:
    """Half of the interval of the mean of (n, ...) values that covers at this level, by Student's t.

    >>> half_width(np.array([1.0, 2.0, 3.0])).round(3).tolist()
    2.484
    """
    from scipy.stats import t

    return np.asarray(t.ppf((1.0 + level) / 2.0, len(units) - 1) * units.std(axis=0, ddof=1) / np.sqrt(len(units)))


def t_test(units: Floats) -> float:
    """Student's two-sided p-value that the mean of n values is 0: below 0.05 where `half_width` leaves out 0.

    >>> round(t_test(np.array([1.0, 2.0, 3.0])), 4), t_test(np.zeros(3))
    (0.0742, 1.0)
    """
    from scipy.stats import t

    mean, spread = abs(float(units.mean())), float(units.std(ddof=1)) if len(units) > 1 else 0.0
    if len(units) < 2 or spread == 0.0:
        return 1.0 if len(units) < 2 or mean == 0.0 else 0.0
    return float(2.0 * t.sf(mean * np.sqrt(len(units)) / spread, len(units) - 1))


def log_slope(regret: ArrayLike) -> float:
    """The slope of log cumulative regret against log t over the last half of the rounds.

    >>> round(log_slope(np.ones(100)), 6)
    1.0
    """
    total = np.cumsum(np.asarray(regret, dtype=np.float64))
    half = total.size // 2
    if total.size < 4 or total[half] <= 0:
        raise ValueError("a slope needs at least 4 rounds and regret in the first half")
    t = np.arange(1, total.size + 1)
    slope: NDArray[np.float64] = np.polyfit(np.log(t[half:]), np.log(total[half:]), 1)
    return float(slope[0])
