"""The edges of one sentence, hashed one word at a time when they are needed."""

from typing import NamedTuple

from numpy import float64, int32, int64, uint32
from numpy.typing import NDArray

from conquer.kernels.core.kernel import part, sized
from conquer.kernels.parsing.numbering import row_of
from conquer.kernels.parsing.templates import Table, between, fill_edge, prepare_parts
from conquer.kernels.rounds.primitives import Items


class Hashed(NamedTuple):
    """Edges of one sentence that are hashed when asked for: its codes (n + 1, attributes) and room for one word."""

    codes: NDArray[uint32]
    classes: NDArray[int64]
    table: Table
    by_head: NDArray[uint32]
    by_word: NDArray[uint32]
    parts: NDArray[uint32]
    counts: NDArray[int64]
    indptr: NDArray[int64]
    indices: NDArray[int32]
    data: NDArray[float64]
    rows: NDArray[int64]


@part
def length(source):
    """Number of words."""
    return source.codes.shape[0] - 1


@part
def block(source, j):
    """The n edges into word j (1 to n) as `Items`, numbered by `row_of`."""
    size = source.codes.shape[0] - 1
    classes, table, indices = source.classes, source.table, source.indices
    width = table.salt.size
    geometry, base, shift, word = table.geometry, table.base, table.shift, source.by_word[j]
    parts = source.parts
    counts = source.counts
    for side in range(2):
        counts[:] = 0
        tags = 0
        i = j - 1 if side == 0 else j + 1
        while 0 <= i <= size:
            between(i, j, classes[i], classes[j], counts, tags, parts)
            start = row_of(j, i) * width
            fill_edge(source.by_head[i], word, parts, geometry, base, shift, indices[start : start + width])
            counts[classes[i]] += 1
            tags |= 1 << classes[i]
            i += -1 if side == 0 else 1
    return Items(source.indptr, source.indices, source.data, source.rows[:size])


@sized(lambda source, out: 3 * out.size)
def hash_edges(source, out):
    """All n * n rows of a sentence into out (n * n * T,), words ascending and then heads ascending."""
    prepare_parts(source.codes, source.table, source.by_head, source.by_word)
    size = source.codes.shape[0] - 1
    width = source.table.salt.size
    for j in range(1, size + 1):
        block(source, j)
        out[(j - 1) * size * width : j * size * width] = source.indices[: size * width]
