"""Selector x estimator: the contextual rivals as one method, and VACDB, which keeps one estimator a layer."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.rivals.contextual.estimators import Estimator
from conquer.rivals.contextual.gates import GATES
from conquer.rivals.contextual.selectors import Selector, View, better_first, largest_pair, random_pair
from conquer.rivals.learner import Arrays, Pick, duel
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats, Query

Warmup = Callable[[int], int]
"""How many random rounds come first, given K."""


class Contextual:
    """`warmup(K)` random pairs, then the selector's, unless the gate keeps silent."""

    duels = True
    shows = 2

    def __init__(
        self,
        estimator: Estimator,
        select: Selector,
        *,
        warmup: Warmup,
        gate: str | None = None,
        gate_eta: float = 1.0,
    ) -> None:
        self.estimator, self.select, self.warmup = estimator, select, warmup
        self.gate, self.gate_eta = GATES[gate], gate_eta
        self.count = 0

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        random = self.warmup(len(X))
        if self.count < random:
            return random_pair(len(X), draws)
        view = View(*self.estimator.measure(X), self.count - random)
        if self.gate is not None:
            alone = self.gate(view, self.gate_eta, draws)
            if alone is not None:
                return Pick((alone,), Query.NONE)
        return self.select(view, draws)

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        self.estimator.learn(X, choice.shown[0], choice.shown[1], answer)
        self.count += 1

    def scores(self, X: SparseRows) -> Floats:
        return self.estimator.scores(X)

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"count": np.array([self.count], np.int64), **self.estimator.arrays()}

    def restore(self, arrays: Arrays) -> None:
        (count,) = adopt(arrays, {"count": (1,)}, np.int64)
        self.estimator.restore(arrays)
        self.count = int(count[0])


class VACDB:
    """Di et al. 2024: layers of precision 2^-l, each with an estimator of its own that starts at 2^-2l I.

    A round descends while its items are known to 2^-l in layer l, dropping those 2^-l beta behind; the first pair
    that is not is played, with weight (2^-l/|z|)^2, and teaches that layer alone. Known to alpha: the joint pair UCB,
    which teaches nothing. `layers` must reach 2^-layers <= alpha.
    """

    duels = True
    shows = 2

    def __init__(self, build: Callable[[float], Estimator], *, alpha: float, beta: float) -> None:
        self.alpha, self.beta = alpha, beta
        depth = max(1, math.ceil(math.log2(1.0 / alpha)))
        self.layers = [build(4.0 ** -(level + 1)) for level in range(depth)]

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        alive = np.arange(len(X))
        for level, layer in enumerate(self.layers):
            width = 2.0 ** -(level + 1)
            items = X.take(alive)
            view = View(*layer.measure(items), 0)
            most = float(view.pairwidth.max())
            if most <= self.alpha or (most <= width and level + 1 == len(self.layers)):
                values = view.mean[:, None] + view.mean[None, :] + self.beta * view.pairwidth
                best = draws.largest(values.ravel(), tie=1)
                first, second = best // len(view), best % len(view)
                first, second = (first, second) if view.mean[first] >= view.mean[second] else (second, first)
                return duel(int(alive[first]), int(alive[second]), {"layer": -1, "weight": 0.0})
            if most > width:
                i, j = largest_pair(view.pairwidth, draws)
                weight = (width / float(view.pairwidth[i, j])) ** 2
                shown = better_first(view, i, j).shown
                return duel(int(alive[shown[0]]), int(alive[shown[1]]), {"layer": level, "weight": weight})
            alive = alive[view.mean >= view.mean.max() - width * self.beta]
        raise AssertionError("the last layer always plays")

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        level, weight = choice.memo.get("layer"), choice.memo.get("weight")
        if not isinstance(level, int) or not -1 <= level < len(self.layers) or not isinstance(weight, float):
            raise ValueError(f"the choice must remember its layer and weight, got {level!r} and {weight!r}")
        if not 0.0 <= weight <= 1.0:
            raise ValueError(f"a weight must be in [0, 1], got {weight!r}")
        if level >= 0:
            self.layers[level].learn(X, choice.shown[0], choice.shown[1], answer, weight)

    def scores(self, X: SparseRows) -> Floats:
        """The deepest layer's scores that knows all these items; before any does, the first layer's."""
        for level in range(len(self.layers) - 1, 0, -1):
            view = View(*self.layers[level].measure(X), 0)
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
