"""Which pair to play, given means and widths: each contextual rival's rule, written once for every estimator."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from conquer.rivals.learner import Pick, duel
from conquer.tickets import Draws
from conquer.types import Floats


@dataclass(frozen=True)
class View:
    """What a selector sees of a round: `mean` (K,), `gram` = X V^-1 X' (K, K), and the answers learnt so far."""

    mean: Floats
    gram: Floats
    answers: int

    @cached_property
    def width(self) -> Floats:
        """(K,): |x_i|."""
        return np.sqrt(np.maximum(self.gram.diagonal(), 0.0))

    @cached_property
    def pairwidth(self) -> Floats:
        """(K, K): |z_ij|, 0 on the diagonal."""
        own = self.gram.diagonal()
        return np.sqrt(np.maximum(own[:, None] + own[None, :] - 2.0 * self.gram, 0.0))

    @cached_property
    def lead(self) -> Floats:
        """(K, K): mean_i - mean_j."""
        return self.mean[:, None] - self.mean[None, :]

    def __len__(self) -> int:
        return self.mean.size


Selector = Callable[[View, Draws], Pick]


def plausible(view: View, eta: float, strict: bool = True) -> Floats:
    """(K,) bool: the items that no other one beats by more than eta |z|."""
    upper = view.lead + eta * view.pairwidth
    np.fill_diagonal(upper, 1.0)
    return np.asarray((upper > 0.0).all(axis=1) if strict else (upper >= 0.0).all(axis=1))


def better_first(view: View, i: int, j: int) -> Pick:
    """A pair without an order of its own, the better mean first."""
    return duel(i, j) if view.mean[i] >= view.mean[j] else duel(j, i)


def largest_pair(values: Floats, draws: Draws) -> tuple[int, int]:
    """The pair i < j with the largest value of a symmetric (K, K) table; draw 1 breaks ties."""
    rows, columns = _pairs(values.shape[0])
    best = draws.largest(values[rows, columns], tie=1)
    return int(rows[best]), int(columns[best])


@lru_cache(maxsize=64)
def _pairs(count: int) -> tuple[Any, Any]:
    return np.triu_indices(count, 1)


def random_pair(count: int, draws: Draws) -> Pick:
    """Any two items, from draws 0 and 1."""
    first = draws.below(0, count)
    second = draws.below(1, count - 1)
    return duel(first, second + (second >= first), chance=1.0 / (count * (count - 1)))


@dataclass(frozen=True)
class MaxInP:
    """Saha 2021: among the plausibly best items, the pair with the largest |z|."""

    eta: float

    def __call__(self, view: View, draws: Draws) -> Pick:
        candidates = np.flatnonzero(plausible(view, self.eta))
        if candidates.size < 2:
            # Two equal items exclude each other, so that nothing may be left: then the best mean stays.
            alone = candidates[0] if candidates.size else draws.largest(view.mean)
            return duel(alone, alone)
        i, j = largest_pair(view.pairwidth[np.ix_(candidates, candidates)], draws)
        return better_first(view, int(candidates[i]), int(candidates[j]))


@dataclass(frozen=True)
class CoLSTIM:
    """Bengs, Saha, Hullermeier 2022: the first by a perturbed mean, the second the first's strongest rival.

    With chance p_t = min(1, scale/sqrt(t)) every item has noise of its own (Gumbel), else all share one draw.
    Draw 0 is that coin, draws 1 to K the noise.
    """

    eta: float
    clip: float
    scale: float

    def __call__(self, view: View, draws: Draws) -> Pick:
        uniforms = draws.uniforms(len(view) + 1)
        own = uniforms[0] < min(1.0, self.scale / math.sqrt(view.answers + 1))
        noise = gumbel(uniforms[1:] if own else np.full(len(view), uniforms[1]))
        first = draws.largest(view.mean + np.clip(noise, -self.clip, self.clip) * view.width)
        second = draws.largest(view.lead[:, first] + self.eta * view.pairwidth[first], tie=1, skip=first)
        return duel(first, second)


def gumbel(uniforms: Floats) -> Floats:
    """Standard Gumbel draws from uniform ones in [0, 1)."""
    return np.asarray(-np.log(-np.log(np.maximum(uniforms, 2.0**-60))))


@dataclass(frozen=True)
class PairUCB:
    """argmax over pairs of mean_i + mean_j + eta |z_ij|: with a curved estimator, GINOP's linear form."""

    eta: float

    def __call__(self, view: View, draws: Draws) -> Pick:
        values = view.mean[:, None] + view.mean[None, :] + self.eta * view.pairwidth
        return better_first(view, *largest_pair(values, draws))


@dataclass(frozen=True)
class TwoTS:
    """The argmaxes of two independent draws from N(theta, eta V^-1); normals 0 to K - 1 and K to 2 K - 1."""

    eta: float

    def __call__(self, view: View, draws: Draws) -> Pick:
        count = len(view)
        noise = math.sqrt(self.eta) * factor(view.gram) @ draws.normals(2 * count).reshape(2, count).T
        sampled = view.mean[:, None] + noise
        return duel(draws.largest(sampled[:, 0]), draws.largest(sampled[:, 1], tie=1))


def factor(gram: Floats) -> Floats:
    """Lower triangular F with F F' = gram, leaving out null directions.

    Not by eigenvectors: their signs are arbitrary, so that a last bit could turn a draw round.

    >>> factor(np.array([[4.0, 2.0], [2.0, 1.0]])).tolist()
    [[2.0, 0.0], [1.0, 0.0]]
    """
    count = len(gram)
    F = np.zeros((count, count))
    for j in range(count):
        rest = gram[j:, j] - F[j:, :j] @ F[j, :j]
        if rest[0] > 1e-12 * abs(gram[j, j]):
            F[j:, j] = rest / math.sqrt(rest[0])
    return F


@dataclass(frozen=True)
class MaxMinLCB:
    """Pasztor et al. 2024: a Stackelberg game between plausible items on the lower bound of the first's lead."""

    eta: float

    def __call__(self, view: View, draws: Draws) -> Pick:
        candidates = np.flatnonzero(plausible(view, self.eta))
        if candidates.size < 2:
            alone = candidates[0] if candidates.size else draws.largest(view.mean)
            return duel(alone, alone)
        lower = (view.lead - self.eta * view.pairwidth)[np.ix_(candidates, candidates)]
        np.fill_diagonal(lower, np.inf)
        first = draws.largest(lower.min(axis=1))
        second = draws.largest(-lower[first], tie=1, skip=first)
        return duel(int(candidates[first]), int(candidates[second]))


@dataclass(frozen=True)
class NDB:
    """Verma et al. 2025, on features as given: the best mean, and its likeliest better by mean + eta |z|.

    That is gnc's selection; with gate="gnc" it is gnc over any estimator.
    """

    eta: float

    def __call__(self, view: View, draws: Draws) -> Pick:
        first = draws.largest(view.mean)
        return duel(first, draws.largest(view.mean + self.eta * view.pairwidth[first], tie=1, skip=first))


@dataclass(frozen=True)
class TopTwo:
    """The two best means: the plainest selector, to try an estimator by itself."""

    def __call__(self, view: View, draws: Draws) -> Pick:
        first = draws.largest(view.mean)
        return duel(first, draws.largest(view.mean, tie=1, skip=first))
