"""How far a difference of two scores may be from the truth: three intervals, and the answers that would narrow them."""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal, get_args

import numpy as np

from conquer.checks import LARGEST, number, positive
from conquer.types import Floats

Interval = Literal["proved", "anytime", "fixed"]
"""`proved`: holds for every rule of choosing pairs. `anytime`: Robbins' mixture, for pairs chosen without looking at
answers. `fixed`: the normal interval, valid if computed once, from answers to pairs planned beforehand."""
INTERVALS: tuple[Interval, ...] = get_args(Interval)
Design = Literal["adaptive", "fixed"]
Target = Literal["score", "mean vote"]
MIXINGS = ((None, 0.1), (32.0, 0.5), (256.0, 0.4))
"""(rho, share): precisions of the priors over which `proved` mixes its tests, and their shares of delta, fixed before
the answers; None is the penalty lam. The narrowest bound counts: 32 with 50 to 500 answers per item, 256 with more,
lam for differences that few answers tell about."""
MOST_ANSWERS = 1e9
"""The most answers a board says are needed. Larger numbers are reported as infinite."""
_HALVINGS = 100
_TINY = 1e-300


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """The settings of a board.

    Parameters
    ----------
    delta : float
        The probability that the board claims something false, in (0, 1).
    U : float or None
        A bound on the length of the true weights, at least 0; None: the learner's own, or items with one column each
        and worth in [-1, 1], or sqrt(K) for K other items.
    interval : {"proved", "anytime", "fixed"}, optional
        The kind of interval; by default "anytime" for a fixed design, else "proved".
    tau2 : float
        The variance of a difference at which "anytime" is narrowest, above 0; fixed before the first answer.
    design : {"adaptive", "fixed"}
        "fixed": every pair was chosen without looking at answers, as "anytime" needs it.
    target : {"score", "mean vote"}
        What is ranked: the model's scores, or each item's mean vote against the others, which assumes no law.

    Raises
    ------
    ValueError
        A value is out of its range, or the interval does not hold for the design.

    Examples
    --------
    >>> BoardSettings(delta=0.1).kind, BoardSettings(design="fixed").kind
    ('proved', 'anytime')
    """

    delta: float = 0.05
    U: float | None = None
    interval: Interval | None = None
    tau2: float = 0.25
    design: Design = "adaptive"
    target: Target = "score"

    def __post_init__(self) -> None:
        if self.interval is not None and self.interval not in INTERVALS:
            raise ValueError(f"interval must be one of {', '.join(map(repr, INTERVALS))}, got {self.interval!r}")
        for name, value, known in (("design", self.design, Design), ("target", self.target, Target)):
            if value not in get_args(known):
                raise ValueError(f"{name} must be one of {', '.join(map(repr, get_args(known)))}, got {value!r}")
        if self.interval == "anytime" and self.design != "fixed":
            raise ValueError(
                "interval='anytime' is false in up to 95 % of boards if pairs were chosen by looking at answers, as "
                "every algorithm but 'random' does: take interval='proved', or say design='fixed' if yours were not"
            )
        object.__setattr__(self, "delta", number("delta", self.delta, 0, 1, above=True, below=True))
        object.__setattr__(self, "U", None if self.U is None else number("U", self.U, 0, LARGEST))
        object.__setattr__(self, "tau2", positive("tau2", self.tau2))

    @property
    def kind(self) -> Interval:
        """The interval, or its default."""
        return self.interval or ("anytime" if self.design == "fixed" else "proved")


@dataclass(frozen=True, slots=True)
class Width:
    """One kind of interval with its constants: half-widths from V, B and pull of a difference x.

    V = x' A^-1 x, B = ||A^-1 x||^2, and `pull` bounds |w*' A^-1 x|, so that the penalty lam moves the difference by at
    most lam pull. `gains` are (rho, ln det(I + G/rho), share of delta) of every form of "proved", G the sum of u u'
    over the answers. `answers` is the number learnt; before the first, every half-width is infinite.

    >>> width = Width("anytime", delta=0.05, tau2=0.25, lam=0.0, gains=(), answers=10)
    >>> width.half(np.array([0.01]), np.zeros(1), np.zeros(1), 1).round(3).tolist()
    [0.31]
    >>> width.more(np.array([2.0]), np.zeros(1), np.zeros(1), np.array([0.5]), 1).round().tolist()
    [145.0]
    """

    interval: Interval
    delta: float
    tau2: float
    lam: float
    gains: tuple[tuple[float, float, float], ...]
    answers: int

    def __post_init__(self) -> None:
        BoardSettings(self.delta, None, self.interval, self.tau2, "fixed")  # its checks

    def half(self, V: Floats, B: Floats, pull: Floats, tests: int) -> Floats:
        """Half-widths of any shape; `tests` is how many statements share the probability delta (`anytime` only)."""
        if self.answers == 0:
            return np.full(V.shape, np.inf)
        if self.interval == "fixed":
            level = 1.0 - self.delta / 2.0
            # A delta below the precision of 1 - delta/2 is still a probability.
            normal: Floats = np.sqrt(V) * abs(NormalDist().inv_cdf(level if level < 1.0 else self.delta / 2.0))
            return normal
        moved: Floats = self.lam * pull
        if self.interval == "anytime":
            # A difference of logarithms: the quotient of tau2 and a V near 0 may overflow.
            log = 2.0 * math.log(tests / self.delta) + np.log(V + self.tau2) - np.log(np.maximum(V, _TINY))
            return moved + np.sqrt(V * ((V + self.tau2) / self.tau2) * log)
        noise: Floats = np.full(V.shape, np.inf)
        for rho, gain, share in self.gains:
            spread = np.maximum(0.0, V + (rho - self.lam) * B)
            noise = np.minimum(noise, spread * (gain - 2.0 * math.log(share * self.delta)))
        half: Floats = moved + np.sqrt(noise)
        return half

    def more(self, V: Floats, B: Floats, pull: Floats, gap: Floats, tests: int) -> Floats:
        """About how many direct questions would bring the half-widths down to `gap`; infinite above `MOST_ANSWERS`.

        n questions about the pair itself turn V into f V and A^-1 x into f A^-1 x, f = 1/(1 + nV/4). What the answers
        will add to `gains` is left out.
        """
        answered = self if self.answers else replace(self, answers=1)
        low, high = np.full(V.shape, math.log(_TINY)), np.zeros(V.shape)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            f = np.exp(middle)
            wide = answered.half(f * V, f * f * B, f * pull, tests) > gap
            low, high = np.where(wide, low, middle), np.where(wide, middle, high)
        enough = answered.half(V, B, pull, tests) <= gap
        with np.errstate(divide="ignore", over="ignore"):
            needed = np.where(enough, 0.0, 4.0 * np.expm1(-low) / np.maximum(V, _TINY))
        return np.where((gap > 0.0) & (needed <= MOST_ANSWERS), needed, np.inf)
