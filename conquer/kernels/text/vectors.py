"""Rounds of items that are plain vectors, from the bytes of their JSON to sparse rows in one pass.

A round that is written in any unusual way is not understood here, and nothing is said about it.
"""

import numpy as np

from conquer.kernels.core.kernel import part, sized
from conquer.kernels.text.decimals import eight
from conquer.kernels.text.numbers import after_gap, is_gap, numbers

SHORTEST = len('{"id":"a","vector":[0]}')
"""Bytes that an item takes at least."""
_0, _1, _2, _3, _4, _8 = (np.uint64(n) for n in (0, 1, 2, 3, 4, 8))
_FIRST, _LAST = np.uint64(0x20), np.uint64(0x7E)
_QUOTE, _COMMA, _COLON, _SLASH, _QUESTION, _HASH, _BACKSLASH, _I, _D = (np.uint64(ord(sign)) for sign in '",:/?#\\id')
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = (np.uint64(ord(sign)) for sign in "{}[]")
_VECTOR = np.uint64(int.from_bytes(b'"vector"', "little"))


@part
def after_mark(texts, i, mark):
    """Where the next token begins after a sign such as a colon, with white space around it; 0 where it is another."""
    i = after_gap(texts, i)
    return after_gap(texts, i + _1) if np.uint64(texts[i]) == mark else _0


@part
def identifier(texts, i, end, longest, letters, used):
    """(end, used) of the string at i, which is copied to `letters` and ended there by a slash; end 0 if it is no id."""
    if np.uint64(texts[i]) != _QUOTE:
        return _0, used
    start = i + _1
    stop = min(end, start + longest + _1)
    for j in range(start, stop):
        byte = np.uint64(texts[j])
        if byte == _QUOTE:
            letters[used] = _SLASH
            return (j + _1 if j > start else _0), used + _1
        if byte < _FIRST or byte > _LAST or byte in (_SLASH, _QUESTION, _HASH, _BACKSLASH):
            break
        letters[used] = byte
        used += _1
    return _0, used


@part
def items(texts, start, i, end, limits, largest, tables, row, count, used, indptr, indices, data, letters):
    """(rows, entries, letters) so far, after the round whose bracket is at i; rows -1 where it is not understood.

    The text ends with a bracket before `end`. Whatever is read byte by byte stops at it, so only what follows a
    bracket, and words of several bytes, are kept from going beyond.
    """
    most, widest, longest = np.uint64(limits[0]), np.uint64(limits[1]), np.uint64(limits[2])
    beginning = np.uint64(limits[3])
    bad = np.int64(-1), count, used
    first, width = row, _0
    byte = _COMMA
    while byte == _COMMA and np.uint64(row - first) < most:
        i = after_gap(texts, i + _1)
        if np.uint64(texts[i]) != _OPEN:
            return bad
        seen = _0  # 1: the id, 2: the vector
        byte = _COMMA
        while byte == _COMMA and seen != _3:
            i = after_gap(texts, i + _1)
            if i + _8 > end or np.uint64(texts[i]) != _QUOTE:
                return bad
            if eight(texts, i) == _VECTOR:
                if seen & _2 != _0 or (row == first and i + _8 - start > beginning):
                    return bad
                i = after_mark(texts, i + _8, _COLON)
                if i == _0:
                    return bad
                i, found, count = numbers(texts, i, end, widest, largest, tables, indices, data, count)
                if row == first:
                    width = found
                if found != width:
                    return bad
                seen |= _2
            else:
                if seen & _1 != _0 or texts[i + _1] != _I or texts[i + _2] != _D or texts[i + _3] != _QUOTE:
                    return bad
                i = after_mark(texts, i + _4, _COLON)
                if i == _0:
                    return bad
                i, used = identifier(texts, i, end, longest, letters, used)
                seen |= _1
            if i == _0 or i >= end:
                return bad
            i = after_gap(texts, i)
            byte = np.uint64(texts[i])
        if byte != _CLOSE or seen != _3:
            return bad
        row += 1
        indptr[row] = count
        i = after_gap(texts, i + _1)
        byte = np.uint64(texts[i])
    return (row, count, used) if byte == _CLOSE_LIST and i + _1 == end else bad


@sized(lambda texts, *_: 10 * texts.size)
def rounds(texts, places, limits, largest, tables, indptr, indices, data, letters):
    """Write the rows of every round that is understood, and their ids; returns the number of letters written.

    Text t ends before byte places[t + 1], which becomes the number of rows of this round and those before it.
    `limits` are the most items, the most numbers of a vector, the most letters of an id, and the bytes within which the
    first vector has to begin; `tables` those of `decimals`. No number is larger than `largest`.
    """
    row, count, used = np.int64(0), _0, _0
    begin = _0
    places[0] = indptr[0] = 0
    for t in range(1, places.size):
        i, after = begin, np.uint64(places[t])
        end = after
        while end > i and is_gap(np.uint64(texts[end - _1])):
            end -= _1
        while i < end and is_gap(np.uint64(texts[i])):
            i += _1
        if i < end and np.uint64(texts[i]) == _OPEN_LIST and np.uint64(texts[end - _1]) == _CLOSE_LIST:
            found, entries, written = items(
                texts, begin, i, end, limits, largest, tables, row, count, used, indptr, indices, data, letters
            )
            if found >= 0:
                row, count, used = found, entries, written
        places[t] = row
        begin = after
    return np.int64(used)
