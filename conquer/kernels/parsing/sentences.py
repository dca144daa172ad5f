"""A whole treebank as arrays, and the room in which the kernels open its sentences one after another."""

from typing import NamedTuple

import numpy as np
from numpy import float64, int64, uint32
from numpy.typing import NDArray

from conquer.kernels.core.kernel import part
from conquer.kernels.parsing.edges import Hashed
from conquer.kernels.parsing.templates import CLASSES, GEOMETRIES, prepare_parts


class Text(NamedTuple):
    """Sentences one after another, each behind its root: codes (N, attributes), classes, heads (N,; -1 at roots)."""

    codes: NDArray[uint32]
    classes: NDArray[int64]
    heads: NDArray[int64]
    offsets: NDArray[int64]


class Room(NamedTuple):
    """Scratch for the longest sentence."""

    by_head: NDArray[uint32]
    by_word: NDArray[uint32]
    parts: NDArray[uint32]
    counts: NDArray[int64]
    indptr: NDArray[int64]
    indices: NDArray[np.int32]
    data: NDArray[float64]
    rows: NDArray[int64]
    line: NDArray[float64]
    scores: NDArray[float64]
    widths: NDArray[float64]
    values: NDArray[float64]
    heads: NDArray[int64]
    free: NDArray[int64]
    before: NDArray[float64]


@part
def make_room(offsets, table, value):
    longest = 0
    for t in range(offsets.size - 1):
        longest = max(longest, offsets[t + 1] - offsets[t])
    width = table.salt.size
    return Room(
        np.empty((longest, width), np.uint32),
        np.empty((longest, width), np.uint32),
        np.zeros(GEOMETRIES, np.uint32),
        np.zeros(CLASSES, np.int64),
        np.arange(longest + 1) * width,
        np.empty(longest * width, np.int32),
        np.full(longest * width, value),
        np.arange(longest),
        np.empty(longest),
        np.zeros(longest * longest),
        np.zeros(longest * longest),
        np.empty(longest * longest),
        np.zeros(longest, np.int64),
        np.full(longest, -1),
        np.empty(2 * width),
    )


@part
def open_sentence(text, t, table, room):
    first, last = text.offsets[t], text.offsets[t + 1]
    codes = text.codes[first:last]
    prepare_parts(codes, table, room.by_head, room.by_word)
    classes = text.classes[first:last]
    scratch = room.by_head, room.by_word, room.parts, room.counts
    return Hashed(codes, classes, table, *scratch, room.indptr, room.indices, room.data, room.rows)


@part
def square(flat, size):
    """The first size * size cells as a matrix: short sentences stay in the nearest cache."""
    return flat[: size * size].reshape((size, size))
