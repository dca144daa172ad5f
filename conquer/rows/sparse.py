"""Sparse rows: the one shape in which items reach the kernels, checked here and nowhere else."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conquer.checks import checked_dim
from conquer.kernels.core import validate
from conquer.types import Floats, Ints


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: kernels see one array type."""
    view = array.view()
    view.flags.writeable = False
    return view


def vector(values: ArrayLike, dtype: Any, name: str) -> NDArray[Any]:
    """`values` as a contiguous (n,) array of this type, or an error that names them where they do not fit."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {array.shape}")
    if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
        raise TypeError(f"{name} must be {np.dtype(dtype).name}, got {array.dtype}")
    if array.dtype != dtype and array.size and np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        if array.min() < limits.min or array.max() > limits.max:
            raise ValueError(f"{name} must fit {np.dtype(dtype).name}, got values in [{array.min()}, {array.max()}]")
    return owned(np.ascontiguousarray(array, dtype=dtype), values)


def owned(array: NDArray[Any], given: Any) -> NDArray[Any]:
    """The array, copied if the caller could still write to it: what has been checked must stay as it was."""
    shared = isinstance(given, np.ndarray) and array.flags.writeable and np.may_share_memory(array, given)
    return array.copy() if shared else array


class SparseRows:
    """K sparse rows of dimension D. Arrays handed over read-only are shared, others copied.

    Indices may come in any order; repeated ones are summed. Every index and value is checked once, here.

    >>> X = SparseRows([0, 2, 3], [0, 2, 1], [1.0, 0.5, 2.0], dim=3)
    >>> X.shape, X.dense().tolist()
    ((2, 3), [[1.0, 0.0, 0.5], [0.0, 2.0, 0.0]])
    >>> X.take([1]).dense().tolist()
    [[0.0, 2.0, 0.0]]
    """

    __slots__ = ("data", "dim", "indices", "indptr", "rows")

    indptr: Ints
    indices: NDArray[np.int32]
    data: Floats
    rows: Ints
    dim: int

    def __init__(self, indptr: ArrayLike, indices: ArrayLike, data: ArrayLike, dim: int) -> None:
        dim = checked_dim(dim)
        starts = vector(indptr, np.int64, "indptr")
        ids = vector(indices, np.int32, "indices")
        values = vector(data, np.float64, "data")
        code, row = validate.check_rows(read_only(starts), read_only(ids), read_only(values), dim)
        if code == validate.BAD_INDPTR or starts[0] != 0:
            raise ValueError(
                f"indptr must rise from 0 to at most {min(ids.size, values.size)}; it does not at row {row}"
            )
        if code == validate.BAD_INDEX:
            raise ValueError(f"row {row} has an index outside [0, {dim})")
        if code == validate.NOT_FINITE:
            raise ValueError(f"row {row} has a value that is not finite")
        if code == validate.REPEATED:
            starts, ids, values = _summed(starts, ids, values, dim)
            if not np.isfinite(values).all():
                raise ValueError("the values of a repeated index add up to more than a number can hold")
        self._set(starts, ids, values, dim, np.arange(starts.size - 1, dtype=np.int64))

    @classmethod
    def made(cls, indptr: Ints, indices: NDArray[np.int32], data: Floats, dim: int) -> "SparseRows":
        """Rows of arrays that a kernel of ours has made and nobody else holds, unchecked.

        Values are finite, indices within [0, dim) and none is twice in a row: the kernel has seen to it. It has filled
        as much of `indices` and `data` as it needed.
        """
        rows, used = object.__new__(cls), indptr.item(-1)
        if used < data.size:
            short = 5 * used < 4 * data.size  # what is kept must not hold much room that was not needed
            indices, data = indices[:used], data[:used]
            if short:
                indices, data = indices.copy(), data.copy()
        rows.indptr, rows.indices, rows.data, rows.dim = indptr, indices, data, dim
        rows.rows = _first(indptr.size - 1)
        indptr.setflags(write=False)
        indices.setflags(write=False)
        data.setflags(write=False)
        return rows

    def _set(self, indptr: Ints, indices: NDArray[np.int32], data: Floats, dim: int, rows: Ints) -> None:
        self.indptr, self.indices, self.data = read_only(indptr), read_only(indices), read_only(data)
        self.dim, self.rows = dim, read_only(rows)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows.size, self.dim

    def __len__(self) -> int:
        return self.rows.size

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.indptr, self.indices, self.data, self.dim, self.rows)

    def __repr__(self) -> str:
        return f"SparseRows({len(self)} x {self.dim})"

    def take(self, rows: ArrayLike) -> "SparseRows":
        """The rows with these positions, as a view: nothing is copied but the positions."""
        chosen = vector(rows, np.int64, "rows")
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.rows.size):
            raise IndexError(f"rows must be in [0, {self.rows.size}), got [{chosen.min()}, {chosen.max()}]")
        return self.view(self.rows[chosen])

    def view(self, rows: Ints) -> "SparseRows":
        """The rows with these numbers of the whole, unchecked, for callers that know them to be within it."""
        view = object.__new__(SparseRows)
        view.indptr, view.indices, view.data, view.dim = self.indptr, self.indices, self.data, self.dim
        rows.flags.writeable = False
        view.rows = rows
        return view

    def widened(self, dim: int) -> "SparseRows":
        """The same rows among `dim` features, no fewer than they have, as a view."""
        wide = object.__new__(SparseRows)
        wide.indptr, wide.indices, wide.data, wide.rows, wide.dim = self.indptr, self.indices, self.data, self.rows, dim
        return wide

    def packed(self) -> "SparseRows":
        """The same rows without the entries a view leaves out, in arrays of their own; themselves where it has none."""
        if self.indices.size == self.indptr[-1] and self.rows.tolist() == list(range(self.indptr.size - 1)):
            return self
        sizes = self.indptr[self.rows + 1] - self.indptr[self.rows]
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        where = np.repeat(self.indptr[self.rows] - indptr[:-1], sizes) + np.arange(indptr[-1])
        packed = object.__new__(SparseRows)
        packed._set(indptr, self.indices[where], self.data[where], self.dim, np.arange(len(self), dtype=np.int64))
        return packed

    def dense(self) -> Floats:
        """The rows as a (K, D) array."""
        return np.asarray(self.csr().toarray(), dtype=np.float64)

    def csr(self) -> Any:
        """The rows as a scipy CSR matrix of its own."""
        from scipy.sparse import csr_array

        rows = self.packed()
        return csr_array((rows.data.copy(), rows.indices.copy(), rows.indptr.copy()), shape=self.shape)


def _unpickled(*state: Any) -> SparseRows:
    """Rows that travelled between processes: read-only again, so that the kernels see the type they know."""
    indptr, indices, data, dim, rows = state
    whole = object.__new__(SparseRows)
    whole._set(indptr, indices, data, dim, rows)
    return whole


def _summed(indptr: Ints, indices: NDArray[np.int32], data: Floats, dim: int) -> tuple[Ints, NDArray[np.int32], Floats]:
    from scipy.sparse import csr_array

    matrix = csr_array((data.copy(), indices.copy(), indptr.copy()), shape=(indptr.size - 1, dim))
    matrix.sum_duplicates()
    return (
        np.ascontiguousarray(matrix.indptr, np.int64),
        np.ascontiguousarray(matrix.indices, np.int32),
        np.ascontiguousarray(matrix.data, np.float64),
    )


def as_rows(X: Any, dim: int) -> SparseRows:
    """Any (K, D) array, scipy sparse matrix or SparseRows as checked SparseRows of dimension `dim`.

    >>> as_rows([[0.0, 2.0], [1.0, 0.0]], dim=2).indices.tolist()
    [1, 0]
    """
    if type(X) is not SparseRows:
        X = converted(X)
    if X.dim != dim:
        raise ValueError(f"items must have {dim} features, got {X.dim}")
    if X.rows.size == 0:
        raise ValueError("a round needs at least one item, got none")
    checked: SparseRows = X
    return checked


def converted(X: Any) -> SparseRows:
    """An array or a scipy matrix as checked rows of its own dimension."""
    if hasattr(X, "tocsr"):
        matrix = _as_csr(X)
        return SparseRows(matrix.indptr, matrix.indices, matrix.data, matrix.shape[1])
    try:
        given = np.asarray(X)
        if given.dtype.kind not in "biufO":
            raise TypeError(f"got {given.dtype}")
        dense = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"items must be a (K, D) array of numbers, a scipy sparse matrix or SparseRows: {error}"
        ) from None
    if dense.ndim != 2:
        raise ValueError(f"items must have two dimensions (K, D), got shape {dense.shape}")
    return compressed(dense)


def compressed(dense: Floats) -> SparseRows:
    """The non-zeros of a contiguous (K, D) array as checked rows."""
    count, dim = dense.shape
    indptr = np.empty(count + 1, np.int64)
    indices = np.empty(dense.size, np.int32)
    data = np.empty(dense.size, np.float64)
    bad = validate.compress(read_only(dense) if dense.flags.writeable else dense, indptr, indices, data)
    if bad >= 0:
        raise ValueError(f"row {bad} has a value that is not finite")
    return SparseRows.made(indptr, indices, data, checked_dim(dim))


_MANY = read_only(np.arange(1024, dtype=np.int64))


def _first(count: int) -> Ints:
    """The numbers from 0 to `count`, which nobody can write: few of them are a part of what all share."""
    return _MANY[:count] if count <= _MANY.size else read_only(np.arange(count, dtype=np.int64))


def _as_csr(X: Any) -> Any:
    """A scipy matrix as CSR; other formats are checked first, since scipy converts them without looking."""
    if X.format == "coo":
        for axis, size in enumerate(X.shape):
            places = X.coords[axis] if hasattr(X, "coords") else (X.row, X.col)[axis]
            if places.size and (places.min() < 0 or places.max() >= size):
                raise ValueError(f"a coordinate is outside [0, {size}) on axis {axis}")
    elif X.format != "csr" and hasattr(X, "check_format"):
        X.check_format(full_check=True)
    return X.tocsr()


def stack(parts: Sequence[SparseRows]) -> SparseRows:
    """All rows of several matrices of one dimension, in order."""
    if not parts or len({part.dim for part in parts}) != 1:
        raise ValueError(f"need rows of one dimension, got dimensions {[part.dim for part in parts]}")
    packed = [part.packed() for part in parts]
    offsets = np.cumsum([0] + [part.data.size for part in packed])
    indptr = np.concatenate([[0]] + [part.indptr[1:] + offset for part, offset in zip(packed, offsets, strict=False)])
    return SparseRows(
        indptr,
        np.concatenate([part.indices for part in packed]),
        np.concatenate([part.data for part in packed]),
        packed[0].dim,
    )
