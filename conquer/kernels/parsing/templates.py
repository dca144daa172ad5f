"""Features of head -> word edges as hashes: template t of edge (i, j) is one cell of block t.

A template's hash is the sum of a part of the head, a part of the word and a part of what lies between them, so the
first two are computed once per word, and an edge costs one addition, multiplication and shift per template.
"""

from typing import NamedTuple

import numpy as np
from numpy import int32, int64, uint32
from numpy.typing import NDArray

from conquer.kernels.core.kernel import part

# What lies between head and word, as far as a template looks at it.
NOTHING, SIDE, DISTANCE, TAGS, SAME, MARKS = range(6)
GEOMETRIES = 6
# Classes of words that are counted between head and word; class 0 is the root.
CLASSES = 20
ROOT_CLASS, AUX, CCONJ, PUNCT, SCONJ, VERB, COMMA = 0, 4, 5, 13, 14, 16, 18

_M1, _M2, _M3 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35), np.uint32(0x9E3779B1)
_13, _16 = np.uint32(13), np.uint32(16)


class Table(NamedTuple):
    """T templates with the geometry each looks at.

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
    """Hash every template's atoms at every position; beyond the sentence an atom is its offset."""
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
    """A small number as a random-looking word, so that sums of parts do not meet by accident."""
    return mixed(np.uint32(0x51ED270B + g), np.uint32(number))


@part
def between(i, j, class_i, class_j, counts, tags, parts):
    """parts[g] = what geometry g says of edge i -> j; counts and tags describe the words strictly between."""
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
