"""Outside arrays: what is bad never reaches a kernel, what is good is not copied."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import bsr_array, coo_array, csc_array, csr_array
from strategies import matrices

from conquer.models.diagonal import Diagonal
from conquer.rows import Rounds, SparseRows, as_rows, stack


@given(matrices(rows=(1, 6)))
def test_dense_round_trip(X):
    for form in (X, X.tolist(), csr_array(X), coo_array(X), np.asfortranarray(X)):
        np.testing.assert_array_equal(as_rows(form, X.shape[1]).dense(), X)


def test_what_has_been_checked_stays_as_it_was():
    indptr, indices, data = np.array([0, 1]), np.array([1], np.int32), np.array([2.0])
    rows = SparseRows(indptr, indices, data, 3)
    indices[0], data[0], indptr[1] = 2**30, np.nan, 2**40
    np.testing.assert_array_equal(rows.dense(), [[0.0, 2.0, 0.0]])
    with pytest.raises(ValueError, match="read-only"):
        rows.data[0] = 5.0
    matrix = csr_array(np.array([[0.0, 0.0, 2.0], [3.0, 0.0, 4.0]]))
    matrix.data[0] = 0.0
    sets = np.array([[0, 1]])
    rounds = Rounds(matrix, sets, [0.0, 1.0])
    matrix.eliminate_zeros()
    sets[0, 0] = 2**40
    np.testing.assert_array_equal(rounds[0].items.dense(), [[0.0, 0.0, 0.0], [3.0, 0.0, 4.0]])


def test_read_only_arrays_are_shared():
    data = np.array([2.0])
    data.flags.writeable = False
    assert np.shares_memory(SparseRows([0, 1], [1], data, 3).data, data)


@pytest.mark.parametrize("form", [csc_array, coo_array, partial(bsr_array, blocksize=(1, 1))])
def test_other_broken_formats_are_refused_before_scipy_converts_them(form):
    parts = {"csc": ("indices", "indptr"), "bsr": ("indices", "indptr"), "coo": ("row", "col")}
    for part in parts[form(np.eye(4)).format]:
        for value in (2**30, -1):
            matrix = form(np.arange(16.0).reshape(4, 4))
            getattr(matrix, part)[2] = value
            with pytest.raises(ValueError, match="index|indptr|coordinate|indices|pointer"):
                as_rows(matrix, 4)


def test_rows_and_rounds_travel_between_processes_read_only():
    rounds = Rounds(np.eye(3), [[0, 1, 2]], [0.0, 1.0, -1.0], ratings=[[1.0]] * 3)
    for travelled in (pickle.loads(pickle.dumps(rounds)), copy.deepcopy(rounds)):
        for array in (travelled.sets, travelled.rewards, travelled.ratings, travelled.X.data, travelled.X.rows):
            assert not array.flags.writeable
        np.testing.assert_array_equal(travelled.X.dense(), np.eye(3))


@pytest.mark.parametrize("bad", [[[10**400, 1]], [[1j, 2]], [["1", "2"]], [[None, 1.0]], [[[1.0]]]])
def test_what_is_no_matrix_of_numbers_is_refused(bad):
    with pytest.raises((TypeError, ValueError), match="items|finite"):
        as_rows(bad, 2)


@pytest.mark.parametrize(
    ("indptr", "indices", "data", "dim", "message"),
    [
        ([0, 2], [0, 5], [1.0, 1.0], 5, r"outside \[0, 5\)"),
        ([0, 1], [-1], [1.0], 5, r"outside \[0, 5\)"),
        ([0, 3], [0, 1], [1.0, 1.0], 5, "indptr"),
        ([0, 2, 1], [0, 1], [1.0, 1.0], 5, "indptr"),
        ([-1, 2], [0, 1], [1.0, 1.0], 5, "indptr"),
        ([1, 2], [0, 1], [1.0, 1.0], 5, "indptr"),
        ([], [0], [1.0], 5, "indptr"),
        ([0, 2], [0, 1], [1.0], 5, "indptr"),
        ([0, 1], [0], [np.nan], 5, "not finite"),
        ([0, 1], [0], [-np.inf], 5, "not finite"),
        ([0, 1], [2**40], [1.0], 5, "int32"),
        ([0, 1], [0], [1.0], 0, "dim"),
        ([0, 1], [0], [1.0], 2**31, "dim"),
        ([[0, 1]], [0], [1.0], 5, "one dimension"),
    ],
)
def test_bad_sparse_arrays_are_named(indptr, indices, data, dim, message):
    with pytest.raises(ValueError, match=message):
        SparseRows(indptr, indices, data, dim)


def test_wrong_types_are_named():
    with pytest.raises(TypeError, match="indices"):
        SparseRows([0, 1], [0.5], [1.0], 5)
    with pytest.raises(TypeError, match="data"):
        SparseRows([0, 1], [0], ["x"], 5)


@given(st.data())
def test_a_broken_scipy_matrix_never_reaches_a_kernel(data):
    matrix = csr_array(np.arange(12.0).reshape(3, 4))
    part = data.draw(st.sampled_from(["indptr", "indices", "data"]))
    place = data.draw(st.integers(0, getattr(matrix, part).size - 1))
    array = getattr(matrix, part).copy()
    array[place] = data.draw(st.sampled_from([-(2**30), -1, 12, 10**6, 2**30])) if part != "data" else np.nan
    setattr(matrix, part, array)
    model = Diagonal(4)
    with pytest.raises(ValueError, match="row|indptr"):
        model.scores(matrix)


def test_repeated_indices_that_overflow_are_refused():
    with pytest.raises(ValueError, match="repeated index overflows"):
        SparseRows([0, 2], [0, 0], [1e308, 1e308], 1)


def test_repeated_indices_are_summed():
    rows = SparseRows([0, 3], [1, 0, 1], [1.0, 5.0, 2.0], 3)
    np.testing.assert_array_equal(rows.dense(), [[5.0, 3.0, 0.0]])


@given(matrices(rows=(2, 6)), st.data())
def test_take_and_stack(X, data):
    rows = as_rows(X, X.shape[1])
    chosen = data.draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=5))
    view = rows.take(chosen)
    assert np.shares_memory(view.data, rows.data) or not rows.data.size
    np.testing.assert_array_equal(view.dense(), X[chosen])
    np.testing.assert_array_equal(stack([view, rows]).dense(), np.vstack([X[chosen], X]))
    with pytest.raises(IndexError):
        rows.take([len(X)])


def test_rounds_check_everything():
    X = np.eye(3)
    rounds = Rounds(X, [[0, 1, 2], [2, -1, -1]], [0.0, 1.0, -1.0])
    assert [len(r.items) for r in rounds] == [3, 1]
    for sets in ([[0, 3]], [[-1, 0]], [[0, -1, 1]], [[-1, -1]], [[-2, 0]], [0, 1], [[0.5, 1.0]]):
        with pytest.raises(ValueError, match="round|sets"):
            Rounds(X, sets, [0.0, 1.0, -1.0])
    for rewards in ([0.0, 1.0], [0.0, 1.0, 1.5], [0.0, np.nan, 0.0]):
        with pytest.raises(ValueError, match="rewards"):
            Rounds(X, [[0, 1]], rewards)
    with pytest.raises(ValueError, match="ratings"):
        Rounds(X, [[0, 1]], [0.0, 0.0, 0.0], ratings=[[np.nan, 1.0]] * 3)
    with pytest.raises(IndexError):
        rounds[2]


def test_rounds_over_a_view_number_its_own_rows():
    rows = as_rows(np.diag([1.0, 2.0, 3.0]), 3).take([2, 0])
    rounds = Rounds(rows, [[0, 1]], [1.0, 0.0])
    np.testing.assert_array_equal(rounds[0].items.dense(), [[0, 0, 3.0], [1.0, 0, 0]])


def test_whole_rows_are_packed_already():
    X = SparseRows([0, 1, 3], [0, 0, 1], [1.0, 2.0, 3.0], dim=2)
    assert X.packed() is X
    for some in ([1, 0], [0], [0, 0]):
        packed = X.take(some).packed()
        assert packed.dense().tolist() == X.dense()[some].tolist()
        assert packed.indices.size == packed.indptr[-1]


def test_rows_of_an_array_do_not_keep_the_room_of_its_zeros():
    dense = np.zeros((3, 1000))
    dense[:, 7] = 1.0
    X = as_rows(dense, 1000)
    assert X.indices.base is None
    assert X.data.tolist() == [1.0] * 3


def test_masked_values_are_refused_with_the_remedy() -> None:
    masked = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], [[True, False], [False, False]])
    for items in (masked, list(masked), tuple(masked)):
        with pytest.raises(ValueError, match=r"masked values, expected numbers: replace them first.*filled"):
            as_rows(items, 2)
    assert as_rows(masked.filled(0.0), 2).dense().tolist() == [[0.0, 2.0], [3.0, 4.0]]
    assert as_rows(np.ma.masked_array(np.eye(2)), 2).dense().tolist() == np.eye(2).tolist()
