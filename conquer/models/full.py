"""The full model: the inverse of A, exact, for up to a few thousand features."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import number
from conquer.files import adopt
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.primitives import FullState
from conquer.models.model import CompiledModel, check_mergeable
from conquer.rows import as_rows
from conquer.types import Floats


class Full(CompiledModel):
    """w and the whole A^-1: D^2 memory, and D^2 work per answer.

    `forget`, f in (0, 1]: the model forgets in the directions it learns. An answer adds f - (1 - f)/r times u u' to A,
    with r = u' A^-1 u; asked again and again, r settles at (1 - f)/f instead of 0. Other directions stay.

    >>> model = Full(2)
    >>> model.update([[1.0, 0.0], [0.0, 1.0]], {0: 0.5, 1: -0.5}, +1)
    >>> model.weights().round(3).tolist(), model.variances([[1.0, 0.0]]).round(3).tolist()
    ([0.333, -0.333], [0.833])
    """

    exact = True

    def __init__(self, dim: int, *, lam: float = 1.0, projection: str | None = None, forget: float = 1.0) -> None:
        super().__init__(dim, lam=lam, projection=projection, forget=number("forget", forget, 0, 1, above=True))
        self.settings |= {"forget": self.constants.forget}
        self.w: Floats = np.zeros(self.dim)
        try:
            self.inverse: Floats = np.zeros((self.dim, self.dim))
        except MemoryError:
            size = 8 * self.dim**2 / 1e9
            raise MemoryError(
                f"a full model with dim {self.dim} needs {size:,.0f} GB: take model='diagonal', or a smaller dim"
            ) from None
        np.fill_diagonal(self.inverse, 1.0 / self.lam)
        self._resize(2)

    def _resize(self, count: int) -> None:
        self.work, self.room = self._work(count), np.zeros((2, count, self.dim))
        self._bind()

    def _bind(self) -> None:
        self.state = FullState(self.w, self.inverse, self.room, self.stats, self.work, np.array(self.constants))

    def draw_size(self, count: int) -> int:
        return min(count, self.dim)

    def weights(self) -> Floats:
        """(D,): a copy of w."""
        return self.w.copy()

    def _inverse_times(self, x: Floats) -> Floats:
        product: Floats = self.inverse @ x
        return product

    def pairs(self, X: Any) -> tuple[Floats, Floats, Floats | None]:
        from conquer.models.separation import from_inverse  # only boards need it

        return from_inverse(self.inverse, as_rows(X, self.dim))

    def gain(self, mixing: float) -> float:
        from conquer.models.separation import log_det  # only boards need it

        # I + G/mixing = (A + (mixing - lam) I)/mixing = A (I + (mixing - lam) A^-1)/mixing.
        widened = np.eye(self.dim) + (mixing - self.lam) * self.inverse
        return max(0.0, log_det(widened) - log_det(self.inverse) - self.dim * math.log(mixing))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """w, A^-1 and the statistics."""
        return {"weights": self.w, "inverse": self.inverse, "stats": self.stats}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        shapes = {"weights": (self.dim,), "inverse": (self.dim, self.dim), "stats": self.stats.shape}
        w, inverse, stats = adopt(arrays, shapes, copy=False)
        if not np.array_equal(inverse, inverse.T) or (inverse.diagonal() < 0).any() or (stats < 0).any():
            raise ValueError("A^-1 must be symmetric, its diagonal and the statistics not negative")
        self.w[:], self.inverse[:], self.stats[:] = w, inverse, stats

    def merge(self, other: "Full") -> None:
        """Add what `other` learnt from other answers: A - lam I and b = A w add."""
        check_mergeable(self, other)
        mine, theirs = np.linalg.inv(self.inverse), np.linalg.inv(other.inverse)
        total = mine + (theirs - self.lam * np.eye(self.dim))
        inverse = np.linalg.inv(total)
        inverse = 0.5 * (inverse + inverse.T)
        w = inverse @ (mine @ self.w + theirs @ other.w)
        if not (np.isfinite(w).all() and np.isfinite(inverse).all() and (inverse.diagonal() > 0).all()):
            raise ArithmeticError(f"the merged matrix is singular in double precision; {self.remedy}")
        # The losses' sum is E - Y + w'Aw, where E and Y, sums over answers, add; w'Aw does not.
        gained = w @ total @ w - self.w @ mine @ self.w - other.w @ theirs @ other.w
        self.w[:], self.inverse[:] = w, inverse
        self.stats += other.stats
        self.stats[st.SUM_LOSS_H] = max(0.0, self.stats[st.SUM_LOSS_H] + gained)
