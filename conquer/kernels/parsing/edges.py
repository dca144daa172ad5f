"""Sentences as arrays, and their head -> word edges as hashed features.

A sentence of n words (1 to n, the root is 0) has n * n edges, numbered word by word, heads ascending, without edges
from a word to itself. Template t of an edge is one cell of block t. Its hash is the sum of a part of the head, a part
of the word and a part of what lies between them: the first two are computed once per word, and an edge costs one
addition, multiplication and shift per template.
"""

from typing import NamedTuple

import numpy as np
from numpy import float64, int32, int64, uint32
from numpy.typing import NDArray

from conquer.kernels.core.kernel import part, sized
from conquer.kernels.rounds.primitives import Items

# What a template uses of the words between head and word.
NOTHING, SIDE, DISTANCE, TAGS, SAME, MARKS = range(6)
GEOMETRIES = 6
# Classes of words that are counted between head and word; class 0 is the root.
CLASSES = 20
ROOT_CLASS, AUX, CCONJ, PUNCT, SCONJ, VERB, COMMA = 0, 4, 5, 13, 14, 16, 18

_M1, _M2, _M3 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35), np.uint32(0x9E3779B1)
_13, _16 = np.uint32(13), np.uint32(16)


class Table(NamedTuple):
    """T templates with the geometry each uses.

    heads and words (T, atoms, 2) hold (attribute, offset) with attribute -1 for none; a template's cells are
    base[t] to base[t] + 2^(32 - shift[t]).
    """

    heads: NDArray[int64]
    words: NDArray[int64]
    geometry: NDArray[int32]
    salt: NDArray[uint32]
    base: NDArray[uint32]
    shift: NDArray[uint32]


@part
def mixed(h, code):
    h = np.uint32(np.uint32(h ^ code) * _M1)
    h = np.uint32(np.uint32(h ^ (h >> _13)) * _M2)
    return np.uint32(h ^ (h >> _16))


@part
def prepare_parts(codes, table, by_head, by_word):
    """Hash every template's atoms at every position; outside the sentence an atom is its offset."""
    for side in range(2):
        atoms = table.heads if side == 0 else table.words
        out = by_head if side == 0 else by_word
        for i in range(codes.shape[0]):
            for t in range(table.salt.size):
                h = table.salt[t] if side == 0 else np.uint32(0)
                for a in range(atoms.shape[1]):
                    attribute = atoms[t, a, 0]
                    if attribute >= 0:
                        at = i + atoms[t, a, 1]
                        code = codes[at, attribute] if 0 <= at < codes.shape[0] else np.uint32(at + 7)
                        h = mixed(h, code)
                out[i, t] = h


@part
def side_and_distance(i, j):
    gap = abs(i - j)
    if gap <= 4:
        step = gap
    elif gap <= 6:
        step = 5
    elif gap <= 9:
        step = 6
    elif gap <= 14:
        step = 7
    elif gap <= 24:
        step = 8
    else:
        step = 9
    return np.uint32(2 * step + (1 if i < j else 0))


@part
def spread(number, g):
    """A small number as a random-looking word, so that sums of parts do not collide."""
    return mixed(np.uint32(0x51ED270B + g), np.uint32(number))


@part
def between(i, j, class_i, class_j, counts, tags, parts):
    """parts[g] = geometry g of edge i -> j; counts and tags describe the words strictly between."""
    left = 1 if i < j else 0
    parts[NOTHING] = np.uint32(0)
    parts[SIDE] = spread(left, SIDE)
    parts[DISTANCE] = spread(side_and_distance(i, j), DISTANCE)
    parts[TAGS] = spread(2 * tags + left, TAGS)
    same = min(counts[class_i], 3) * 4 + min(counts[class_j], 3)
    parts[SAME] = spread(2 * same + left, SAME)
    marks = min(counts[VERB] + counts[AUX], 3)
    marks = marks * 4 + min(counts[COMMA], 3)
    marks = marks * 3 + min(counts[CCONJ] + counts[SCONJ], 2)
    marks = marks * 3 + min(counts[PUNCT], 2)
    parts[MARKS] = spread(2 * marks + left, MARKS)


@part
def fill_edge(head, word, parts, geometry, base, shift, out):
    """Write one row. Loops from 0 over whole arrays let the compiler do eight templates at a time."""
    for t in range(out.size):
        h = np.uint32(np.uint32(head[t] + word[t] + parts[geometry[t]]) * _M3)
        out[t] = np.int32(np.uint32(base[t] + np.uint32(h >> shift[t])))


@part
def row_of(word, head):
    """The place of `head` among the n edges into `word`, from 0.

    >>> [row_of(2, head) for head in (0, 1, 3)]
    [0, 1, 2]
    """
    return head if head < word else head - 1


@part
def head_of(word, row):
    """The head of the edge at place `row` among those into `word`.

    >>> [head_of(2, row) for row in range(3)]
    [0, 1, 3]
    """
    return row if row < word else row + 1


@part
def edge_of(word, head, size):
    """The number of the edge from `head` to `word` in a sentence of `size` words.

    >>> edge_of(1, 0, 3), edge_of(2, 3, 3)
    (0, 5)
    """
    return (word - 1) * size + row_of(word, head)


@part
def ends_of(edge, size):
    """(word, head) of an edge: the inverse of `edge_of`.

    >>> ends_of(5, 3)
    (2, 3)
    """
    word = edge // size + 1
    return word, head_of(word, edge % size)


class Hashed(NamedTuple):
    """One sentence whose edges are hashed when needed: its codes (n + 1, attributes) and room for one word."""

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
    """The n edges into word j (1 to n) as `Items`, in the order of `row_of`."""
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


class Text(NamedTuple):
    """Sentences one after another, each after its root: codes (N, attributes), classes, heads (N,; -1 at roots)."""

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
    indices: NDArray[int32]
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
