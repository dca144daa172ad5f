"""The numbers of a sentence's edges, against counting them one by one, in Python and in compiled code."""

import pytest

from conquer.kernels.core.kernel import toolchain
from conquer.kernels.parsing import edges as numbering

numba = toolchain()


@pytest.mark.parametrize("size", range(1, 9))
def test_edges_are_counted_word_by_word_with_heads_ascending(size):
    edges = [(word, head) for word in range(1, size + 1) for head in range(size + 1) if head != word]
    assert len(edges) == size * size
    for number, (word, head) in enumerate(edges):
        assert numbering.edge_of(word, head, size) == number
        assert numbering.ends_of(number, size) == (word, head)
        assert numbering.row_of(word, head) == number % size
        assert numbering.head_of(word, number % size) == head


@numba.njit
def _compiled(word, head, size):
    edge = numbering.edge_of(word, head, size)
    row = numbering.row_of(word, head)
    return edge, numbering.ends_of(edge, size), row, numbering.head_of(word, row)


def test_kernels_number_them_alike():
    for size in range(1, 9):
        for word in range(1, size + 1):
            for head in {*range(size + 1)} - {word}:
                edge, row = numbering.edge_of(word, head, size), numbering.row_of(word, head)
                assert _compiled(word, head, size) == (edge, (word, head), row, head)
