"""Dicts to hashed features in one pass over their bytes as `marshal` writes them: no step of Python for each name."""

import numpy as np

from conquer.kernels.core.kernel import part, sized
from conquer.kernels.core.tickets import mix64
from conquer.kernels.text.hashing import EMPTY, distinct, fold
from conquer.kernels.text.sorting import before, in_order

# What marshal's version 2 puts before a value. Anything else is for the reading in Python, or refused there.
_END, _NONE, _TRUE, _FALSE, _WHOLE, _LONG, _REAL, _WORD, _DICT = (ord(tag) for tag in "0NTFilgu{")
_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)
_LIST, _TUPLE, _SET, _FROZEN = (ord(tag) for tag in "[(<>")

SHORTEST = 5
"""Bytes that a feature takes at least: the tag and the length of a word in a list."""
_DIGITS = 4
"""Digits of 15 bits that a whole number may have here: beyond 63 bits Python knows how to round."""


@part
def whole(data, i):
    """The 32-bit number at byte i."""
    at = np.uint64(i)  # unsigned, so that the bytes are read at once
    low = np.int64(data[at]) | np.int64(data[at + _1]) << 8
    number = low | np.int64(data[at + _2]) << 16 | np.int64(data[at + _3]) << 24
    return number - 2**32 if number >= 2**31 else number


@part
def key_of(data, start, end):
    """The key of the string whose UTF-8 bytes are start to end: that of its code points."""
    key, code, more = EMPTY, np.int64(0), 0
    for i in range(np.uint64(start), np.uint64(end)):
        byte = np.int64(data[i])
        if byte < 0x80:
            key = fold(key, byte)
        elif byte >= 0xC0:
            more = 1 if byte < 0xE0 else 2 if byte < 0xF0 else 3
            code = byte & (0x3F >> more)
        else:
            code = code << 6 | byte & 0x3F
            more -= 1
            if more == 0:
                key = fold(key, code)
    return key


@part
def number_at(data, i):
    """The whole number, the truth value or nothing at byte i."""
    tag, number = data[i], np.int64(0)
    if tag == _WHOLE:
        number = whole(data, i + 1)
    elif tag == _LONG:
        digits = whole(data, i + 1)
        for j in range(abs(digits)):
            number |= (np.int64(data[i + 5 + 2 * j]) | np.int64(data[i + 6 + 2 * j]) << 8) << (15 * j)
        number = number if digits > 0 else -number
    elif tag == _TRUE:
        number = np.int64(1)
    return number


@part
def value_end(data, i):
    """Where the value at byte i ends, or -1 where it is of no kind that is read here."""
    tag = data[i]
    if tag == _WHOLE:
        return i + 5
    if tag in (_NONE, _TRUE, _FALSE):
        return i + 1
    if tag == _LONG:
        digits = abs(whole(data, i + 1))
        return i + 5 + 2 * digits if digits <= _DIGITS else -1
    if tag not in (_LIST, _TUPLE, _SET, _FROZEN):
        return -1
    end = i + 5
    for _ in range(whole(data, i + 1)):
        if data[end] != _WORD:
            return -1
        end += 5 + whole(data, end + 1)
    return end


@part
def same_names(data, spans, known, count):
    """Whether an item's names are those of another, one by one."""
    for k in range(count):
        start, other = spans[k, 0], known[k, 0]
        if spans[k, 1] - start != known[k, 1] - other:
            return False
        for j in range(spans[k, 1] - start):
            if data[start + j] != data[other + j]:
                return False
    return True


@part
def put_words(data, i, state, binary, spans, first, heads, order, hashes, weights, used):
    """A feature for each word of the list at byte i, in order; returns the number of features so far."""
    last = first + whole(data, i + 1)
    start = i + 5
    for k in range(first, last):
        spans[k, 0], spans[k, 1] = start + 5, start + 5 + whole(data, start + 1)
        start = spans[k, 1]
    row = in_order(data, spans, first, last, heads, order)
    for k in range(first, last):
        word, other = order[row, k], order[row, max(first, k - 1)]
        again = k > first and not before(data, spans[other, 0], spans[other, 1], spans[word, 0], spans[word, 1])
        if not (binary and again):
            hashes[used] = mix64(state ^ key_of(data, spans[word, 0], spans[word, 1]))
            weights[used] = 1.0
            used += 1
    return used


@sized(lambda data, *_: 5 * data.size)
def features(data, number, category, binary, indptr, hashes, raw, slots):
    """Hash each feature of a list of dicts, names and words in order; `raw` are the bits of the weights.

    Returns whether all were read: False where a value is not finite or of another kind than those above.
    """
    room = hashes.size
    spans, known = np.empty((room, 3), np.int64), np.empty((room, 3), np.int64)
    heads, order = np.empty((2, room), np.uint64), np.empty((2, room), np.int64)
    keys, weights = np.empty(room, np.uint64), raw.view(np.float64)
    used, before_it, row, i = np.int64(0), np.int64(-1), 0, np.int64(5)
    indptr[0] = 0
    for item in range(indptr.size - 1):
        if data[i] != _DICT:
            return False
        i += 1
        count = np.int64(0)
        while data[i] != _END:
            if data[i] != _WORD:
                return False
            spans[count, 0] = i + 5
            i += 5 + whole(data, i + 1)
            spans[count, 1] = i
            spans[count, 2] = i
            if data[i] == _REAL:
                i += 9
            elif data[i] == _WORD:
                i += 5 + whole(data, i + 1)
            else:
                i = value_end(data, i)
                if i < 0:
                    return False
            count += 1
        i += 1
        if count == before_it and same_names(data, spans, known, count):
            for k in range(count):
                known[k, 2] = spans[k, 2]
        else:
            # Items of one kind have the same names in the same order: they are read once.
            row = in_order(data, spans, np.int64(0), count, heads, order)
            for k in range(count):
                keys[k] = key_of(data, spans[k, 0], spans[k, 1])
            before_it, spans, known = count, known, spans
        for k in range(count):
            name = order[row, k]
            at, key = known[name, 2], keys[name]
            tag = data[at]
            if tag == _REAL:
                word, byte = np.uint64(0), np.uint64(at + 1)
                for j in range(8):
                    word |= np.uint64(data[byte + np.uint64(j)]) << np.uint64(8 * j)
                raw[used] = word
                if not np.isfinite(weights[used]):
                    return False
                hashes[used] = mix64(number ^ key)
                used += weights[used] != 0.0
            elif tag == _WORD:
                end = at + 5 + whole(data, at + 1)
                hashes[used] = mix64(mix64(category ^ key) ^ key_of(data, at + 5, end))
                weights[used] = 1.0
                used += 1
            elif tag in (_LIST, _TUPLE, _SET, _FROZEN):
                state = mix64(category ^ key)
                used = put_words(data, at, state, binary, known, count, heads, order, hashes, weights, used)
            else:
                hashes[used] = mix64(number ^ key)
                weights[used] = number_at(data, at)
                used += weights[used] != 0.0
        indptr[item + 1] = used
    distinct(indptr, hashes, weights, False, slots)
    return True
