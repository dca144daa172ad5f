"""The best tree over scored edges."""

import numpy as np
from numpy.typing import ArrayLike

from conquer.kernels.parsing.arborescence import arborescence
from conquer.types import Ints


def best_tree(scores: ArrayLike, *, several_roots: bool = False, fixed: ArrayLike | None = None) -> Ints:
    """(n,) heads of words 1 to n: the tree with the largest sum of `scores[word, head]`, (n + 1, n + 1).

    Row 0 and the diagonal are not looked at. One word hangs from the root 0 unless `several_roots`. `fixed` (n,)
    names heads that are known, -1 for the others; where they contradict each other, as many as can be are kept.

    >>> best_tree([[0, 0, 0], [5, 0, 1], [4, 3, 0]]).tolist()
    [0, 1]
    >>> best_tree([[0, 0, 0], [5, 0, 1], [4, 3, 0]], several_roots=True).tolist()
    [0, 0]
    """
    values = np.ascontiguousarray(scores, dtype=np.float64)
    size = values.shape[0] if values.ndim else 0
    if values.shape != (size, size) or size < 2:
        raise ValueError(f"scores must be (n + 1, n + 1) for n >= 1 words, got shape {values.shape}")
    looked_at = ~np.eye(size, dtype=bool)
    looked_at[0] = False
    if not np.isfinite(values[looked_at]).all():
        raise ValueError("scores must be finite")
    known = np.full(size, -1, np.int64)
    if fixed is not None:
        given = np.asarray(fixed, dtype=np.int64)
        if given.shape != (size - 1,) or (given < -1).any() or (given >= size).any():
            raise ValueError(f"fixed must be {size - 1} heads in [-1, {size - 1}], got {given.tolist()}")
        if (given == np.arange(1, size)).any():
            raise ValueError(f"no word is its own head, got fixed = {given.tolist()}")
        known[1:] = given
    heads = np.empty(size, np.int64)
    arborescence(values, known, several_roots, heads)
    return heads[1:]
