"""The selectors, one per paper: which pair to play, given means and widths from any estimator."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from conquer.checks import number, whole
from conquer.learners.algorithm import Values
from conquer.rivals.contextual.method import (
    Selector,
    View,
    better_first,
    contextual,
    eta_of,
    largest_pair,
    only_plausible,
    plausible,
    practice,
)
from conquer.rivals.learner import MethodBuilder, Pick, duel
from conquer.tickets import Draws
from conquer.types import Floats


def select_maxinp(view: View, draws: Draws, *, eta: float) -> Pick:
    """Among the items that no other item beats by more than eta |z|, the pair with the largest |z|.

    Aadirupa Saha: Optimal algorithms for stochastic contextual preference bandits, 2021.

    `eta`: the factor of the widths.

    >>> view = View(np.array([1.0, 0.9, -9.0]), np.ones(3), 2.0 - 2.0 * np.eye(3))
    >>> select_maxinp(view, Draws(7), eta=1.0).shown
    (0, 1)
    """
    candidates = np.flatnonzero(plausible(view, eta))
    if candidates.size < 2:
        return only_plausible(view, candidates, draws)
    i, j = largest_pair(view.pairwidth[np.ix_(candidates, candidates)], draws)
    return better_first(view, int(candidates[i]), int(candidates[j]))


def select_colstim(view: View, draws: Draws, *, eta: float, clip: float, scale: float) -> Pick:
    """The best mean under random noise, and its strongest challenger.

    Viktor Bengs, Aadirupa Saha and Eyke Hüllermeier: Stochastic contextual dueling bandits under linear stochastic
    transitivity models, 2022.

    With chance min(1, scale/sqrt(t)) every item has its own Gumbel noise, otherwise all items share one draw. Draw 0 is
    that coin, draws 1 to K the noise.

    `eta`: the factor of the second item's width. `clip`: the largest size of the noise. `scale`: how long the noise
    stays independent.

    >>> view = View(np.array([1.0, 0.0, -1.0]), np.ones(3), 2.0 - 2.0 * np.eye(3))
    >>> select_colstim(view, Draws(7), eta=1.0, clip=0.0, scale=1.0).shown
    (0, 1)
    """
    uniforms = draws.uniforms(len(view) + 1)
    own = uniforms[0] < min(1.0, scale / math.sqrt(view.answers + 1))
    noise = gumbel(uniforms[1:] if own else np.full(len(view), uniforms[1]))
    first = draws.largest(view.mean + np.clip(noise, -clip, clip) * view.width)
    second = draws.largest(view.lead[:, first] + eta * view.pairwidth[first], tie=1, skip=first)
    return duel(first, second)


def gumbel(uniforms: Floats) -> Floats:
    """Standard Gumbel draws from uniform ones in [0, 1)."""
    return np.asarray(-np.log(-np.log(np.maximum(uniforms, 2.0**-60))))


def select_pairucb(view: View, draws: Draws, *, eta: float) -> Pick:
    """The pair with the largest mean_i + mean_j + eta |z_ij|.

    The last step of VACDB (Qiwei Di et al.: Variance-aware regret bounds for stochastic contextual dueling bandits,
    2024); with estimator="mle-curved" the linear form of GINOP (2026).

    `eta`: the factor of the widths.

    >>> select_pairucb(View(np.array([0.0, 2.0, 1.0]), np.ones(3), 2.0 - 2.0 * np.eye(3)), Draws(7), eta=0.1).shown
    (1, 2)
    """
    values = view.mean[:, None] + view.mean[None, :] + eta * view.pairwidth
    return better_first(view, *largest_pair(values, draws))


def select_twots(view: View, draws: Draws, *, eta: float) -> Pick:
    """The argmaxes of two independent draws from N(theta, eta V^-1); normals 0 to K - 1 and K to 2 K - 1.

    The draws are of differences from the first item, which suffice for an argmax: a value that all items share cancels
    exactly. The rule is Thompson's (William R. Thompson: On the likelihood that one unknown probability exceeds
    another, 1933) played against itself, without a paper of its own. An item that wins both draws is shown alone.

    `eta`: the factor of the variance.

    >>> view = View(np.array([0.0, 1.0, 0.5]), np.ones(3), 2.0 - 2.0 * np.eye(3))
    >>> select_twots(view, Draws(7), eta=0.0).shown, select_twots(view, Draws(7), eta=9.0).shown
    ((1,), (2, 0))
    """
    count = len(view)
    noise = math.sqrt(eta) * factor(view.relative) @ draws.normals(2 * count).reshape(2, count).T
    sampled = view.mean[:, None] + noise
    return duel(draws.largest(sampled[:, 0]), draws.largest(sampled[:, 1], tie=1))


def factor(gram: Floats) -> Floats:
    """Lower triangular F with F F' = gram, leaving out null directions.

    Eigenvectors would not do: their signs are arbitrary, so a last bit could reverse a draw.

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


def select_maxminlcb(view: View, draws: Draws, *, eta: float) -> Pick:
    """A Stackelberg game between plausible items on the lower bound of the first's lead.

    Barna Pásztor, Parnian Kassraie and Andreas Krause: Bandits with preference feedback: a Stackelberg game
    perspective, 2024.

    `eta`: the factor of the widths.

    >>> select_maxminlcb(View(np.array([1.0, 0.0, 0.5]), np.ones(3), 2.0 - 2.0 * np.eye(3)), Draws(7), eta=2.0).shown
    (0, 2)
    """
    candidates = np.flatnonzero(plausible(view, eta))
    if candidates.size < 2:
        return only_plausible(view, candidates, draws)
    lower = (view.lead - eta * view.pairwidth)[np.ix_(candidates, candidates)]
    np.fill_diagonal(lower, np.inf)
    first = draws.largest(lower.min(axis=1))
    second = draws.largest(-lower[first], tie=1, skip=first)
    return duel(int(candidates[first]), int(candidates[second]))


def select_ndb(view: View, draws: Draws, *, eta: float) -> Pick:
    """The best mean, and its most likely challenger by mean + eta |z|.

    Arun Verma, Zhongxiang Dai, Xiaoqiang Lin, Patrick Jaillet and Bryan Kian Hsiang Low: Neural dueling bandits:
    preference-based optimization with human feedback, 2025. Here it runs on features as given, without the network.
    The selection is gnc's; with gate="gnc" it is gnc over any estimator.

    `eta`: the factor of the widths.

    >>> select_ndb(View(np.array([1.0, 0.0, 0.5]), np.ones(3), 3.0 - 3.0 * np.eye(3)), Draws(7), eta=1.0).shown
    (0, 2)
    """
    first = draws.largest(view.mean)
    return duel(first, draws.largest(view.mean + eta * view.pairwidth[first], tie=1, skip=first))


def top_two(view: View, draws: Draws) -> Pick:
    """The two best means: ttg's rule, without a paper or parameters of its own."""
    first = draws.largest(view.mean)
    return duel(first, draws.largest(view.mean, tie=1, skip=first))


def _colstim(dim: int, values: Values) -> Selector:
    clip, scale, eta = values["clip"], values["coupling"], eta_of(dim, values)
    horizon = whole("horizon", values["horizon"], 2)
    return partial(
        select_colstim,
        eta=eta,
        clip=practice(dim, values) if clip is None else number("clip", clip, 0.0),
        scale=dim * math.log(dim * horizon) if scale is None else number("coupling", scale, 0.0),
    )


def _by_width(select: Callable[..., Pick]) -> MethodBuilder:
    """The builder of a rival whose selector has the factor of the widths as its only parameter."""
    return contextual(lambda dim, values: partial(select, eta=eta_of(dim, values)))


maxinp = _by_width(select_maxinp)
colstim = contextual(_colstim)
pairucb = _by_width(select_pairucb)
twots = _by_width(select_twots)
maxminlcb = _by_width(select_maxminlcb)
ndb = _by_width(select_ndb)
toptwo = contextual(lambda dim, values: top_two)
