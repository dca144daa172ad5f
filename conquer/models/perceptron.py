"""The perceptron: w alone, moved by adding rows (Banditron's model; also what `random` never moves)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.files import adopt
from conquer.kernels.models import diagonal_calls
from conquer.kernels.models.cells import W
from conquer.kernels.rounds import settings as st
from conquer.models.cells import aligned_cells
from conquer.models.diagonal import checked_feature_ids
from conquer.models.model import CompiledModel
from conquer.types import Floats


class Perceptron(CompiledModel):
    """w += sum_k weights[k] X[k], whatever the target. Memory is touched only where w has moved.

    >>> model = Perceptron(2)
    >>> model.update([[1.0, 2.0]], {0: 1.0}, +1)
    >>> model.weights().tolist()
    [1.0, 2.0]
    """

    calls = diagonal_calls

    def __init__(self, dim: int) -> None:
        super().__init__(dim, lam=1.0, projection=None)
        self.plan[st.UPDATE] = st.PERCEPTRON
        self.cells = aligned_cells(self.dim)
        self.state = (self.cells, self.stats)

    def weights(self) -> Floats:
        """(D,): a copy of w."""
        return self.cells[:, W].copy()

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The features that have moved: ids and w."""
        ids = np.flatnonzero(self.cells[:, W]).astype(np.int32)
        return {"ids": ids, "weights": self.cells[ids, W], "stats": self.stats}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        ids = checked_feature_ids(arrays, self.dim)
        w, stats = adopt(arrays, {"weights": ids.shape, "stats": self.stats.shape}, copy=False)
        self.cells[ids, W] = w
        self.stats[:] = stats
