"""What makes a full matrix fast changes no result: four rows at a time."""

import numpy as np
import pytest

from conquer.kernels.core.kernel import toolchain
from conquer.kernels.models import full

numba = toolchain()


@numba.njit
def _add_rows(matrix, x, y):
    full.add_rows(matrix, x, y, x.shape[0])


@pytest.mark.parametrize("dim", [1, 3, 4, 9, 513, 1030])
def test_four_rows_at_a_time_sum_in_ascending_order(dim):
    rng = np.random.default_rng(0)
    matrix, x = rng.normal(size=(dim, dim)), rng.normal(size=(3, dim))
    x[1, ::2] = 0.0
    y = np.zeros((3, dim))
    _add_rows(matrix, x, y)
    expected = np.zeros((3, dim))
    for j in range(dim):
        expected += x[:, j : j + 1] * matrix[j]
    np.testing.assert_array_equal(y, expected)
