"""VACDB: layers of increasing precision, each with its own estimate."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import number, positive, whole
from conquer.learners.algorithm import Values
from conquer.rivals.contextual.method import better_first, largest_pair, look
from conquer.rivals.estimators.build import estimator_of
from conquer.rivals.estimators.estimator import Estimator, sigmoid
from conquer.rivals.estimators.likelihood import Likelihood
from conquer.rivals.learner import Arrays, Method, Pick, duel
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats


class VACDB:
    """Layers of precision 2^-l, each with its own estimator, which starts at 2^-2l I.

    Qiwei Di, Tao Jin, Yue Wu, Heyang Zhao, Farzad Farnoud and Quanquan Gu: Variance-aware regret bounds for stochastic
    contextual dueling bandits, 2024.

    A round descends while all its pairs have |z| <= 2^-l in layer l, dropping the items 2^-l beta_l behind. The first
    layer with a wider pair plays it and alone learns the answer, with weight (2^-l/|z|)^2. Items whose pairs all have
    |z| <= alpha are played by the joint pair UCB, and the answer is not learnt. Of several wide pairs the paper takes
    any; here the widest.

    `layer(lam)`: an estimator that starts at lam I. `alpha`: the precision at which learning ends. `beta`: the lead
    that drops an item, a number for all layers or the paper's `Radius`.

    >>> from conquer.registry import make
    >>> learner = make("vacdb", dim=3, alpha=0.2)
    >>> choice = learner.choose(np.eye(3), 7)
    >>> choice.shown, choice.memo["layer"]
    ((0, 2), 0)
    """

    duels = True
    shows = 2

    def __init__(self, layer: Callable[[float], Estimator], *, alpha: float, beta: "float | Radius") -> None:
        self.alpha, self.beta = alpha, beta
        depth = max(1, math.ceil(math.log2(1.0 / alpha)))
        self.layers = [layer(4.0 ** -(level + 1)) for level in range(depth)]

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        alive = np.arange(len(X))
        for level, layer in enumerate(self.layers):
            width = 2.0 ** -(level + 1)
            items = X.take(alive)
            view = look(layer, items)
            most = float(view.pairwidth.max())
            if most <= self.alpha or (most <= width and level + 1 == len(self.layers)):
                values = view.mean[:, None] + view.mean[None, :] + self._beta(level) * view.pairwidth
                best = draws.largest(values.ravel(), tie=1)
                first, second = best // len(view), best % len(view)
                first, second = (first, second) if view.mean[first] >= view.mean[second] else (second, first)
                return duel(int(alive[first]), int(alive[second]), {"layer": -1, "weight": 0.0})
            if most > width:
                i, j = largest_pair(view.pairwidth, draws)
                weight = (width / float(view.pairwidth[i, j])) ** 2
                shown = better_first(view, i, j).shown
                return duel(int(alive[shown[0]]), int(alive[shown[1]]), {"layer": level, "weight": weight})
            alive = alive[view.mean >= view.mean.max() - width * self._beta(level)]
        raise AssertionError("the last layer always plays")

    def _beta(self, level: int) -> float:
        return self.beta(self.layers, level) if isinstance(self.beta, Radius) else self.beta

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        level, weight = choice.memo.get("layer"), choice.memo.get("weight")
        if not isinstance(level, int) or not -1 <= level < len(self.layers) or not isinstance(weight, float):
            raise ValueError(f"the choice must keep its layer and weight in its memo, got {level!r} and {weight!r}")
        if not 0.0 <= weight <= 1.0:
            raise ValueError(f"a weight must be in [0, 1], got {weight!r}")
        if level >= 0:
            self.layers[level].learn(X, choice.shown[0], choice.shown[1], answer, weight)

    def scores(self, X: SparseRows) -> Floats:
        """The scores of the deepest layer that is certain of all these items, otherwise those of the first layer."""
        for level in range(len(self.layers) - 1, 0, -1):
            view = look(self.layers[level], X)
            if view.pairwidth.max() <= 2.0 ** -(level + 1):
                return view.mean
        return self.layers[0].scores(X)

    def arrays(self) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any]] = {}
        for level, layer in enumerate(self.layers):
            found |= {f"layer{level}.{name}": array for name, array in layer.arrays().items()}
        return found

    def restore(self, arrays: Arrays) -> None:
        for level, layer in enumerate(self.layers):
            start = f"layer{level}."
            layer.restore({name.removeprefix(start): a for name, a in arrays.items() if name.startswith(start)})


@dataclass(frozen=True)
class Radius:
    """The paper's beta of a layer, from the variance of its answers.

    With l the layer from 1, L their number, t one more than the answers learnt in all, a = ln(4 (t+1)^2 L/delta) and
    b = ln(4 t^2 L/delta), scale times

        16 2^-l/kappa sqrt((8 Var + 18 a) b) + 6 2^-l/kappa b + 2^(1-l),

    Var = sum of weight (p - sigma(theta.z))^2 over the layer's answers once 2^l >= 64 (1/4)/kappa sqrt(a), before that
    their number. (Recalled, and compared with a public implementation, which squares the weight once more.)

    `kappa`: the least slope of the link, sigma'(2) for unit items and weights. `scale`: 1 in the theorem, tuned in the
    paper's experiments.
    """

    kappa: float
    delta: float
    scale: float

    def __call__(self, layers: Sequence[Estimator], level: int) -> float:
        own = [layer for layer in layers if isinstance(layer, Likelihood)]  # all of them, as `build` checks
        t, half = 1 + sum(layer.targets.size for layer in own), 2.0 ** -(level + 1)
        a, b = (math.log(4.0 * time**2 * len(layers) / self.delta) for time in (t + 1, t))
        layer = own[level]
        variance = float(layer.targets.size)
        if 1.0 / half >= 16.0 / self.kappa * math.sqrt(a):
            variance = float(layer.shares @ (layer.targets - sigmoid(layer.Z @ layer.theta)) ** 2)
        root = math.sqrt((8.0 * variance + 18.0 * a) * b)
        return self.scale * half * ((16.0 * root + 6.0 * b) / self.kappa + 2.0)


def build(dim: int, model: str, values: Values) -> Method:
    positive("lam", values["lam"])
    horizon, kappa = whole("horizon", values["horizon"], 2), number("kappa", values["kappa"], 1e-6, 0.25)
    theory = horizon**-1.5 if values["alpha"] == "theory" else values["alpha"]
    delta, scale = number("delta", values["delta"], 0.0, 1.0, above=True, below=True), values["radius"]
    radius = Radius(kappa, delta, number("radius", scale, 0.0))
    by_variance = values["beta"] == "variance"
    if by_variance and (values["estimator"], model, values["robust"]) != ("mle", "full", None):
        raise ValueError(
            f"beta='variance' needs estimator='mle' with model='full', got {values['estimator']!r}, {model!r}"
        )
    return VACDB(
        partial(_layer, dim, model, values, kappa if by_variance else None),
        alpha=number("alpha", theory, 1e-15, 0.99),
        beta=radius if by_variance else number("beta", values["beta"], 0.0),
    )


def _layer(dim: int, model: str, values: Values, kappa: float | None, lam: float) -> Estimator:
    """The estimator of a layer that starts at `lam` times the option's lam; with `kappa` the paper's own."""
    lam *= values["lam"]
    return estimator_of(dim, model, values, lam) if kappa is None else Likelihood(dim, lam=lam, penalty=kappa * lam)
