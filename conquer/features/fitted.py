"""What fitting finds: which features have a column, and how rare each column is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.features.hashing import Grams, hashed
from conquer.features.kinds import KINDS, Kind
from conquer.features.vocabulary import Vocabulary, build, rarity
from conquer.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class FittedColumns:
    """What fitting found: the columns (None: hashed ones) and their rarity (None: it does not count)."""

    vocabulary: Vocabulary | None = None
    idf: Floats | None = None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """`keys` of a vocabulary, `idf` where rarity counts; empty when there are none."""
        found = {"keys": None if self.vocabulary is None else self.vocabulary.keys, "idf": self.idf}
        return {name: array for name, array in found.items() if array is not None}


def fit_columns(grams: Grams, *, kind: Kind, vocabulary: bool, dim: int, least: int) -> FittedColumns:
    """The columns of these items: with `vocabulary` the `dim` most frequent features that `least` items have."""
    known = build(grams, most=dim, least=least) if vocabulary else None
    if not KINDS[kind].rarity:
        return FittedColumns(known, None)
    _, columns, _ = hashed(grams, dim) if known is None else known.entries(grams)
    frequency = np.bincount(columns, minlength=dim if known is None else len(known))
    return FittedColumns(known, rarity(frequency, len(grams)))


def read_fitted(arrays: Mapping[str, NDArray[Any]], *, kind: Kind, vocabulary: bool, dim: int) -> FittedColumns:
    """The columns of `FittedColumns.arrays`; a ValueError where they do not fit these settings."""
    wanted = ["keys"] * vocabulary + ["idf"] * KINDS[kind].rarity
    if sorted(arrays) != sorted(wanted):
        raise ValueError(f"a fitted featurizer of these settings has arrays {wanted}, got {sorted(arrays)}")
    size, known, idf = dim, None, None
    if "keys" in wanted:
        keys = arrays["keys"]
        if keys.dtype != np.uint64 or keys.ndim != 1 or keys.size > dim:
            raise ValueError(f"keys must be at most {dim} uint64, got {keys.dtype} of shape {keys.shape}")
        known = Vocabulary(keys)
        size = len(known)
    if "idf" in wanted:
        idf = arrays["idf"]
        if idf.dtype != np.float64 or idf.shape != (size,) or not np.isfinite(idf).all():
            raise ValueError(f"idf must be {size} finite float64, got {idf.dtype} of shape {idf.shape}")
    return FittedColumns(known, idf)
