"""What a model takes in memory, kept up as rounds come, so that asking for it takes a moment."""

from typing import Any

import numpy as np

from conquer.models.tables import PAGE, own_bytes
from conquer.rows import SparseRows
from conquer.types import Learner


class Memory:
    """Bytes of a learner's state. Of cells that are shared until they move, the pages that rounds have reached."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        arrays = self._arrays()
        self._own, self._whole = sum(own_bytes(array) for array in arrays), _bytes(arrays)
        self._reached, self._count, self._counted = None, 0, True
        if self._own < self._whole:
            cells = arrays[0]
            cell = cells.nbytes // len(cells)
            # Features in groups of a power of two that a page holds; a group may straddle two pages.
            self._shift = (PAGE // cell).bit_length() - 1
            self._group = PAGE if cell << self._shift == PAGE else 2 * PAGE
            self._reached = np.zeros((len(cells) >> self._shift) + 1, bool)

    def reach(self, rows: SparseRows) -> None:
        """A round may write where its features are: learning moves them, and widths of differences leave marks."""
        if self._reached is not None:
            self._reached[(rows.indices >> self._shift).astype(np.intp)] = True
            self._counted = False

    @property
    def bytes(self) -> int:
        """Not less than what it takes, and not more than all of its arrays; what keeps no arrays is taken for w."""
        if self._reached is not None:
            if not self._counted:
                self._count, self._counted = int(np.count_nonzero(self._reached)), True
            return min(self._whole, self._own + self._group * self._count)
        return _bytes(self._arrays()) or 8 * self._learner.dim

    def _arrays(self) -> list[Any]:
        return [one for one in getattr(self._learner.model, "state", ()) if isinstance(one, np.ndarray)]


def _bytes(arrays: list[Any]) -> int:
    return sum(int(array.nbytes) for array in arrays)
