"""An algorithm with a state of its own: one weight per feature, moved by a fixed step towards the winner."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from conquer.extending import Choice, Draws, Floats, Parameter, Pick, SparseRows, Values, duel, finite, grid, rival


class WinnerStays:
    """Shows the best score and any other item."""

    duels, shows = True, 2

    def __init__(self, dim: int, step: float) -> None:
        self.w, self.step = np.zeros(dim), step

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        best = draws.largest(self.scores(X))
        other = draws.below(1, len(X) - 1)
        return duel(best, other + (other >= best))

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        first, second = (X.take([k]).dense()[0] for k in choice.shown)
        moved = self.w + self.step * answer * (first - second)
        finite(moved)
        self.w = moved

    def scores(self, X: SparseRows) -> Floats:
        return np.asarray(X.csr() @ self.w)

    def arrays(self) -> dict[str, Any]:
        return {"w": self.w}

    def restore(self, arrays: Mapping[str, Any]) -> None:
        w = np.asarray(arrays["w"], dtype=np.float64)
        if w.shape != self.w.shape or not np.isfinite(w).all():
            raise ValueError(f"w must be {self.w.size} finite numbers, got shape {w.shape}")
        self.w = w.copy()


def build(dim: int, model: str, values: Values) -> WinnerStays:
    """A fresh method from the values of all parameters."""
    step = values["step"]
    if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step < 1e6:
        raise ValueError(f"step must be a number in (0, 1e6), got {step!r}")
    return WinnerStays(dim, float(step))


WINNER_STAYS = rival(
    "winner-stays",
    "The best score and any other, a fixed step towards the winner",
    build,
    (Parameter("step", 0.1, "a number above 0: how far an answer moves the weights"),),
    grid(step=(0.01, 0.03, 0.1, 0.3)),
)
