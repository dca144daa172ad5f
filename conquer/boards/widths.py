"""How far a difference of two scores may be from the truth: three intervals, and the answers that would narrow them."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np

from conquer.checks import LARGEST, number, positive
from conquer.types import Floats

Interval = Literal["anytime", "proved", "fixed"]
"""`anytime`: Robbins' mixture with a term for the penalty's bias, for pairs chosen without looking at answers.
`proved`: an ellipsoid that holds for every rule of choosing pairs. `fixed`: the normal interval, valid if computed
once, from answers to pairs planned beforehand."""
INTERVALS: tuple[Interval, ...] = get_args(Interval)
MOST_ANSWERS = 1e9
"""The most answers a board says are needed. Larger numbers are reported as infinite."""
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """The settings of a board.

    Parameters
    ----------
    delta : float
        The probability that the board claims something false, in (0, 1).
    U : float or None
        A bound on the length of the true weights, at least 0; None: the learner's own, or sqrt(K) for K items.
    interval : {"anytime", "proved", "fixed"}
        The kind of interval.
    tau2 : float
        The variance of a difference at which "anytime" is narrowest, above 0; fixed before the first answer.

    Raises
    ------
    ValueError
        A value is out of its range.

    Examples
    --------
    >>> BoardSettings(delta=0.1).interval
    'anytime'
    """

    delta: float = 0.05
    U: float | None = None
    interval: Interval = "anytime"
    tau2: float = 0.25

    def __post_init__(self) -> None:
        if self.interval not in INTERVALS:
            raise ValueError(f"interval must be one of {', '.join(map(repr, INTERVALS))}, got {self.interval!r}")
        object.__setattr__(self, "delta", number("delta", self.delta, 0, 1, above=True, below=True))
        object.__setattr__(self, "U", None if self.U is None else number("U", self.U, 0, LARGEST))
        object.__setattr__(self, "tau2", positive("tau2", self.tau2))


@dataclass(frozen=True, slots=True)
class Width:
    """One kind of interval with its constants: half-widths from V = x' A^-1 x and B = ||A^-1 x||^2, x a difference.

    `lam` is the model's penalty, `U` a bound on ||w*||, `spread` is S = E - Y + b' A^-1 b: E sums the squared errors
    of the predictions, Y the squared answers, b the answers times half the differences. `answers` is the number learnt;
    before the first, every half-width is infinite.

    >>> width = Width("anytime", delta=0.05, tau2=0.25, lam=0.0, U=1.0, spread=0.0, answers=10)
    >>> width.half(np.array([0.01]), np.zeros(1), 1).round(3).tolist()
    [0.31]
    >>> width.more(np.array([2.0]), np.zeros(1), np.array([0.5]), 1).round().tolist()
    [145.0]
    """

    interval: Interval
    delta: float
    tau2: float
    lam: float
    U: float
    spread: float
    answers: int

    def __post_init__(self) -> None:
        BoardSettings(self.delta, self.U, self.interval, self.tau2)  # its checks

    def half(self, V: Floats, B: Floats, tests: int) -> Floats:
        """Half-widths of any shape; `tests` is how many statements share the probability delta (`anytime` only)."""
        if self.answers == 0:
            return np.full(V.shape, np.inf)
        if self.interval != "anytime":
            root: Floats = np.sqrt(V * self._factor())
            return root
        wide: Floats = self._bias(B) + self._mixture(V, tests)
        return wide

    def more(self, V: Floats, B: Floats, gap: Floats, tests: int) -> Floats:
        """About how many direct questions would bring the half-widths down to `gap`; infinite above `MOST_ANSWERS`.

        n questions about the pair itself turn V into V/(1 + nV/4) and A^-1 x into A^-1 x/(1 + nV/4), so both terms are
        known functions of the new V. What the answers will add to `spread` is left out.
        """
        aim = self._aim(np.maximum(V, _TINY), B, np.maximum(gap, 0.0), tests)
        with np.errstate(divide="ignore"):
            needed: Floats = np.maximum(0.0, 4.0 * (1.0 / aim - 1.0 / np.maximum(V, _TINY)))
        return np.where((gap > 0.0) & (needed <= MOST_ANSWERS), needed, np.inf)

    def _factor(self) -> float:
        """The square of the half-width over V, of the two intervals that are roots of V."""
        if self.interval == "fixed":
            level = 1.0 - self.delta / 2.0
            # A delta below the precision of 1 - delta/2 is still a probability.
            return NormalDist().inv_cdf(level if level < 1.0 else self.delta / 2.0) ** 2
        return self.lam * self.U**2 + self.spread + 2.0 * math.log(1.0 / self.delta)

    def _bias(self, B: Floats) -> Floats:
        pull: Floats = self.lam * self.U * np.sqrt(B)
        return pull

    def _log(self, V: Floats, tests: int) -> Floats:
        # A difference of logarithms: the quotient of tau2 and a V near 0 may overflow.
        rest: Floats = 2.0 * math.log(tests / self.delta) + np.log(V + self.tau2) - np.log(np.maximum(V, _TINY))
        return rest

    def _mixture(self, V: Floats, tests: int) -> Floats:
        root: Floats = np.sqrt(V * ((V + self.tau2) / self.tau2) * self._log(V, tests))
        return root

    def _aim(self, V: Floats, B: Floats, gap: Floats, tests: int) -> Floats:
        """The variance at which the half-width is `gap`."""
        if self.interval != "anytime":
            with np.errstate(divide="ignore", invalid="ignore"):
                return gap * gap / self._factor()
        goal, pull = np.log(np.maximum(gap, _TINY)), self._bias(B) / V
        at = np.log(np.minimum(V, np.maximum(gap * gap, _TINY)))
        for _ in range(60):
            # Newton's method on logarithms, where the half-width is nearly a line of slope 1/4 to 1.
            now = np.exp(at)
            noise, bias = self._mixture(now, tests), pull * now
            rise = 0.5 * (1.0 + now / (now + self.tau2) - self.tau2 / ((now + self.tau2) * self._log(now, tests)))
            step = (np.log(bias + noise) - goal) * (bias + noise) / (bias + noise * rise)
            at = np.maximum(at - step, math.log(_TINY))
            if np.abs(step).max(initial=0.0) < 1e-12:
                break
        return np.exp(at)
