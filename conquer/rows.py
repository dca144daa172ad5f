"""Items as sparse rows, and rounds of them: the shapes that reach the kernels, checked here and nowhere else."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from conquer.checks import checked_dim
from conquer.kernels.core import validate
from conquer.types import Floats, Ints, Round


class ScipyMatrix(Protocol):
    """A scipy sparse matrix or array in any format."""

    shape: tuple[int, int]

    def tocsr(self) -> Any:
        """The matrix in CSR format."""


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view of the array, the only array type that kernels are compiled for."""
    view = array.view()
    view.flags.writeable = False
    return view


def vector(values: ArrayLike, dtype: Any, name: str) -> NDArray[Any]:
    """`values` as a contiguous (n,) array of this type; errors call them `name`."""
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
    """The array, copied if the caller could still write to it after the checks."""
    shared = isinstance(given, np.ndarray) and array.flags.writeable and np.may_share_memory(array, given)
    return array.copy() if shared else array


class SparseRows:
    """K sparse rows of dimension D: what learners and models take, immutable and checked once.

    Parameters
    ----------
    indptr : array of int, shape (K + 1,)
        Row i has the entries `indptr[i]` to `indptr[i + 1]`.
    indices : array of int
        The column of each entry, in [0, dim), in any order within a row. Repeated columns are summed.
    data : array of float
        The value of each entry, finite.
    dim : int
        The number of columns D.

    Attributes
    ----------
    indptr, indices, data : read-only arrays
        The entries. Arrays passed read-only are shared, others are copied.
    rows : array of int, shape (K,)
        Which rows of the arrays these are, in order: `take` returns views that share the entries.
    dim : int
        The number of columns D.

    Raises
    ------
    TypeError
        If an array cannot be converted without loss.
    ValueError
        If `indptr` does not rise from 0, an index is outside [0, dim) or a value is not finite.

    Examples
    --------
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
            most = min(ids.size, values.size)
            raise ValueError(f"indptr must be non-decreasing from 0 to at most {most}; it is not at row {row}")
        if code == validate.BAD_INDEX:
            raise ValueError(f"row {row} has an index outside [0, {dim})")
        if code == validate.NOT_FINITE:
            raise ValueError(f"row {row} has a value that is not finite")
        if code == validate.REPEATED:
            starts, ids, values = _summed(starts, ids, values, dim)
            if not np.isfinite(values).all():
                raise ValueError("the sum of a repeated index overflows")
        self._set(starts, ids, values, dim, np.arange(starts.size - 1, dtype=np.int64))

    @classmethod
    def made(cls, indptr: Ints, indices: NDArray[np.int32], data: Floats, dim: int) -> "SparseRows":
        """Rows of arrays that a kernel of ours has filled and nothing else refers to, unchecked.

        Values are finite, indices are in [0, dim) and differ within a row. The arrays may be longer than the rows.
        """
        rows, used = object.__new__(cls), indptr.item(-1)
        if used < data.size:
            indices, data = indices[:used], data[:used]
        if isinstance(data.base, np.ndarray) and 5 * used < 4 * data.base.size:
            indices, data = indices.copy(), data.copy()  # do not keep much unused memory
        rows.indptr, rows.indices, rows.data, rows.dim = indptr, indices, data, dim
        rows.rows = read_only(np.arange(indptr.size - 1, dtype=np.int64))
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
        """The rows at these positions, as a view that shares the entries.

        >>> SparseRows([0, 1, 2], [0, 1], [1.0, 2.0], dim=2).take([1, 1]).dense().tolist()
        [[0.0, 2.0], [0.0, 2.0]]
        """
        chosen = vector(rows, np.int64, "rows")
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.rows.size):
            raise IndexError(f"rows must be in [0, {self.rows.size}), got [{chosen.min()}, {chosen.max()}]")
        return self.view(self.rows[chosen])

    def view(self, rows: Ints) -> "SparseRows":
        """The rows with these numbers in `indptr`, as an unchecked view."""
        view = object.__new__(SparseRows)
        view.indptr, view.indices, view.data, view.dim = self.indptr, self.indices, self.data, self.dim
        rows.flags.writeable = False
        view.rows = rows
        return view

    def widened(self, dim: int) -> "SparseRows":
        """The same rows with `dim` columns, at least as many as now, as a view."""
        wide = object.__new__(SparseRows)
        wide.indptr, wide.indices, wide.data, wide.rows, wide.dim = self.indptr, self.indices, self.data, self.rows, dim
        return wide

    def packed(self) -> "SparseRows":
        """The rows with arrays of their own, without entries that a view leaves out."""
        if self.indices.size == self.indptr[-1] and self.rows.tolist() == list(range(self.indptr.size - 1)):
            return self
        sizes = self.indptr[self.rows + 1] - self.indptr[self.rows]
        indptr = np.concatenate(([0], np.cumsum(sizes)))
        where = np.repeat(self.indptr[self.rows] - indptr[:-1], sizes) + np.arange(indptr[-1])
        packed = object.__new__(SparseRows)
        packed._set(indptr, self.indices[where], self.data[where], self.dim, np.arange(len(self), dtype=np.int64))
        return packed

    def dense(self) -> Floats:
        """The rows as a dense (K, D) array."""
        return np.asarray(self.csr().toarray(), dtype=np.float64)

    def csr(self) -> Any:
        """The rows as a scipy `csr_array`, a copy."""
        from scipy.sparse import csr_array

        rows = self.packed()
        return csr_array((rows.data.copy(), rows.indices.copy(), rows.indptr.copy()), shape=self.shape)


def _unpickled(*state: Any) -> SparseRows:
    """Rows from another process, with read-only arrays again."""
    indptr, indices, data, dim, rows = state
    restored = object.__new__(SparseRows)
    restored._set(indptr, indices, data, dim, rows)
    return restored


def _summed(indptr: Ints, indices: NDArray[np.int32], data: Floats, dim: int) -> tuple[Ints, NDArray[np.int32], Floats]:
    from scipy.sparse import csr_array

    matrix = csr_array((data.copy(), indices.copy(), indptr.copy()), shape=(indptr.size - 1, dim))
    matrix.sum_duplicates()
    return (
        np.ascontiguousarray(matrix.indptr, np.int64),
        np.ascontiguousarray(matrix.indices, np.int32),
        np.ascontiguousarray(matrix.data, np.float64),
    )


def as_rows(X: SparseRows | ScipyMatrix | ArrayLike, dim: int) -> SparseRows:
    """A (K, D) array, scipy sparse matrix or SparseRows as checked SparseRows of dimension `dim`.

    >>> as_rows([[0.0, 2.0], [1.0, 0.0]], dim=2).indices.tolist()
    [1, 0]
    """
    rows = X if type(X) is SparseRows else converted(X)
    if rows.dim != dim:
        raise ValueError(f"items must have {dim} features, got {rows.dim}")
    if rows.rows.size == 0:
        raise ValueError("a round needs at least one item, got none")
    return rows


def converted(X: Any) -> SparseRows:
    """An array or a scipy matrix as checked rows of its own dimension."""
    if hasattr(X, "tocsr"):
        if X.format != "csr":
            _check_format(X)
        matrix = X.tocsr()
        return SparseRows(matrix.indptr, matrix.indices, matrix.data, matrix.shape[1])
    refuse_masked(X)
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


def refuse_masked(values: Any) -> None:
    """A ValueError for an array with masked values, or a list with such an array: numpy would ignore the mask."""
    if type(values) is np.ndarray:
        return
    for array in values if isinstance(values, list | tuple) else (values,):
        if hasattr(array, "mask") and np.ma.is_masked(array):
            raise ValueError("items have masked values, expected numbers: replace them first, e.g. X.filled(0.0)")


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


def _check_format(X: Any) -> None:
    """Raise a ValueError for indices out of range, which scipy converts unchecked."""
    if hasattr(X, "check_format"):
        X.check_format(full_check=True)
    elif X.format == "coo":
        for positions, size in zip((X.row, X.col), X.shape, strict=True):
            if positions.size and (positions.min() < 0 or positions.max() >= size):
                raise ValueError(f"a coordinate is outside [0, {size})")


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


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Rounds:
    """All rounds of a simulation: which rows are offered in each round, and what each row is worth.

    Parameters
    ----------
    X : SparseRows, scipy sparse matrix or array, shape (N, D)
        The features of all items.
    sets : array of int, shape (T, K)
        The rows of `X` that are offered in each round; -1 pads short rounds at the end.
    rewards : array of float, shape (N,)
        The reward of each row, in [-1, 1].
    ratings : array of float, shape (N, R), optional
        The ratings people gave each row, padded with NaN at the end, for the judge `raters`.

    Attributes
    ----------
    sizes : array of int, shape (T,)
        The number of items in each round.

    Raises
    ------
    ValueError
        If `sets` has numbers outside [-1, N) or -1 before a row number, a reward is outside [-1, 1], or a row of
        `ratings` has none.

    Examples
    --------
    >>> rounds = Rounds([[1.0, 0.0], [0.0, 1.0]], [[0, 1], [1, -1]], [1.0, -1.0])
    >>> len(rounds), rounds[1].rewards.tolist()
    (2, [-1.0])
    """

    X: SparseRows
    sets: Ints
    sizes: Ints
    rewards: Floats
    ratings: Floats

    def __init__(
        self,
        X: SparseRows | ScipyMatrix | ArrayLike,
        sets: ArrayLike,
        rewards: ArrayLike,
        ratings: ArrayLike | None = None,
    ) -> None:
        rows = X if type(X) is SparseRows else converted(X)
        if not np.array_equal(rows.rows, np.arange(rows.indptr.size - 1)):
            rows = rows.packed()
        members = np.asarray(sets)
        if members.ndim != 2 or not (members.size == 0 or np.issubdtype(members.dtype, np.integer)):
            raise ValueError(
                f"sets must be a (T, K) array of row numbers, got {members.dtype} of shape {members.shape}"
            )
        members = owned(np.ascontiguousarray(members, dtype=np.int64), sets)
        sizes = np.zeros(members.shape[0], np.int64)
        bad = validate.check_sets(members, sizes, len(rows))
        if bad >= 0:
            raise ValueError(
                f"round {bad} must hold row numbers in [0, {len(rows)}) and then only -1, got {members[bad].tolist()}"
            )
        values = vector(rewards, np.float64, "rewards")
        if values.size != len(rows):
            raise ValueError(f"rewards must have one value per row ({len(rows)}), got {values.size}")
        if values.size and not (np.isfinite(values).all() and values.min() >= -1 and values.max() <= 1):
            raise ValueError("rewards must be finite and in [-1, 1]")
        object.__setattr__(self, "X", rows)
        object.__setattr__(self, "sets", read_only(members))
        object.__setattr__(self, "sizes", read_only(sizes))
        object.__setattr__(self, "rewards", read_only(values))
        object.__setattr__(self, "ratings", read_only(_ratings(ratings, len(rows))))

    def __reduce__(self) -> tuple[Any, ...]:
        return Rounds, (self.X, self.sets, self.rewards, self.ratings if self.ratings.size else None)

    def __len__(self) -> int:
        return int(self.sets.shape[0])

    def __getitem__(self, t: int) -> Round:
        if not -len(self) <= t < len(self):
            raise IndexError(f"round must be in [0, {len(self)}), got {t}")
        members = self.sets[t, : self.sizes[t]]
        ratings = self.ratings[members] if self.ratings.size else None
        return Round(self.X.view(members.copy()), self.rewards[members], ratings)

    def __iter__(self) -> Iterator[Round]:
        return (self[t] for t in range(len(self)))


def _ratings(ratings: ArrayLike | None, items: int) -> Floats:
    if ratings is None:
        return np.empty((1, 0))  # a row for judges that read no ratings
    values = owned(np.ascontiguousarray(ratings, dtype=np.float64), ratings)
    if values.ndim != 2 or values.shape[0] != items:
        raise ValueError(f"ratings must be ({items}, R), got shape {values.shape}")
    present = np.isfinite(values)
    if np.isinf(values).any() or not present[:, :1].all() or (np.diff(present.astype(np.int8), axis=1) > 0).any():
        raise ValueError("ratings must be finite, at least one per row, with NaN only after the last rating of a row")
    return values
