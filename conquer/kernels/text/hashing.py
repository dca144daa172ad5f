"""Hashing of strings, n-grams and pairs to signed columns, and the rows they make."""

import numpy as np

from conquer.kernels.core.kernel import part, sized
from conquer.kernels.core.tickets import mix64

EMPTY = np.uint64(0x243F6A8885A308D3)
"""The key of the empty string."""
SPREAD = np.uint64(0xD1342543DE82EF95)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_FREE = np.int32(-1)


@part
def fold(key, code):
    """The key of a string one code point longer."""
    key = (key ^ np.uint64(code)) * SPREAD
    return key ^ (key >> _HALF)


@part
def column(hashed, size):
    """The column in [0, size) of a hash: its upper half, scaled; the sign is the lowest bit."""
    return np.int64(((hashed >> _HALF) * np.uint64(size)) >> _HALF)


@part
def sign(hashed):
    return 1.0 if hashed & _ONE else -1.0


@part
def room(count, slots):
    """Empty the start of the scratch table, the power of two that keeps it at most half full; returns its mask."""
    size = 4
    while size < 2 * count:
        size *= 2
    slots[:size] = _FREE
    return np.uint64(size - 1)


@sized(lambda codes, *_: 2 * codes.size)
def string_keys(codes, ends, keys):
    """The key of each string; `codes` are all strings' code points, string i ends before ends[i]."""
    start = 0
    for i in range(ends.size):
        key = EMPTY
        for j in range(start, ends[i]):
            key = fold(key, codes[j])
        keys[i] = key
        start = ends[i]


@sized(lambda keys, *_: 4 * keys.size)
def ngrams(keys, ends, low, high, start, indptr, hashes):
    """Write the hashes of all runs of `low` to `high` tokens of each text, in order of their first token."""
    count = 0
    first = 0
    indptr[0] = 0
    for i in range(ends.size):
        for j in range(first, ends[i]):
            hashed = start
            for n in range(min(high, ends[i] - j)):
                hashed = mix64(hashed ^ keys[j + n])
                if n + 1 >= low:
                    hashes[count] = hashed
                    count += 1
        indptr[i + 1] = count
        first = ends[i]


@sized(lambda names, *_: 2 * names.size)
def named(names, words, keys, number, category, hashes):
    """The hash of each feature of a dict: its name's key, and its word's where words[j] is not -1."""
    for j in range(names.size):
        if words[j] < 0:
            hashes[j] = mix64(number ^ keys[names[j]])
        else:
            hashes[j] = mix64(mix64(category ^ keys[names[j]]) ^ keys[words[j]])


@sized(lambda indptr, hashes, *_: 3 * hashes.size)
def distinct(indptr, hashes, weights, binary, slots):
    """Add up equal hashes of a row (`binary`: keep one with weight 1), in place and in order of first occurrence."""
    count = 0
    start = 0
    for i in range(indptr.size - 1):
        mask = room(indptr[i + 1] - start, slots)
        for j in range(start, indptr[i + 1]):
            hashed, weight = hashes[j], weights[j]
            slot = hashed & mask
            while slots[slot] >= 0 and hashes[slots[slot]] != hashed:
                slot = (slot + _ONE) & mask
            if slots[slot] < 0:
                slots[slot] = count
                hashes[count] = hashed
                weights[count] = 1.0 if binary else weight
                count += 1
            elif not binary:
                weights[slots[slot]] += weight
        start = indptr[i + 1]
        indptr[i + 1] = count


@part
def put(indices, data, first, count, where, value, mask, slots):
    """Add `value` to column `where` of the row that began at `first`; returns the number of entries so far."""
    slot = mix64(np.uint64(where)) & mask
    while slots[slot] >= 0 and indices[slots[slot]] != where:
        slot = (slot + _ONE) & mask
    if slots[slot] < 0:
        slots[slot] = count
        indices[count] = where
        data[count] = value
        return count + 1
    data[slots[slot]] += value
    return count


@part
def without_zeros(indices, data, first, count):
    """Drop entries of the last row that cancelled; returns the number of entries left."""
    kept = first
    for j in range(first, count):
        if data[j] != 0.0:
            indices[kept] = indices[j]
            data[kept] = data[j]
            kept += 1
    return kept


@sized(lambda indptr, hashes, *_: 4 * hashes.size)
def columns(indptr, hashes, weights, dim, slots, out, indices, data):
    """Signed hashing: each hash adds its weight, with its sign, to its column in [0, dim)."""
    count = np.int64(0)
    out[0] = 0
    for i in range(indptr.size - 1):
        first = count
        mask = room(indptr[i + 1] - indptr[i], slots)
        for j in range(indptr[i], indptr[i + 1]):
            where = column(hashes[j], dim)
            count = put(indices, data, first, count, where, sign(hashes[j]) * weights[j], mask, slots)
        count = without_zeros(indices, data, first, count)
        out[i + 1] = count


@sized(lambda indptr, indices, data, start, hashes, *_: 5 * data.size * (hashes.size + 1))
def crossed(indptr, indices, data, start, hashes, values, base, dim, slots, out, out_indices, out_data):
    """Each row's own entries and its products with the context's, hashed as pairs to columns in [base, dim)."""
    states = np.empty(hashes.size, np.uint64)
    for k in range(hashes.size):
        states[k] = mix64(start ^ hashes[k])
    count = np.int64(0)
    out[0] = 0
    for i in range(indptr.size - 1):
        first = count
        mask = room((indptr[i + 1] - indptr[i]) * (states.size + 1), slots)
        for j in range(indptr[i], indptr[i + 1]):
            count = put(out_indices, out_data, first, count, indices[j], data[j], mask, slots)
        for j in range(indptr[i], indptr[i + 1]):
            for k in range(states.size):
                hashed = mix64(states[k] ^ np.uint64(indices[j]))
                where = base + column(hashed, dim - base)
                value = sign(hashed) * (data[j] * values[k])
                count = put(out_indices, out_data, first, count, where, value, mask, slots)
        count = without_zeros(out_indices, out_data, first, count)
        out[i + 1] = count


@sized(lambda indptr, data: 2 * data.size)
def to_unit(indptr, data):
    """Scale each row to Euclidean length 1 in place; a row of zeros stays."""
    for i in range(indptr.size - 1):
        squares = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            squares += data[j] * data[j]
        if not 1e-200 < squares < 1e200:
            largest = 0.0
            for j in range(indptr[i], indptr[i + 1]):
                largest = max(largest, abs(data[j]))
            if largest == 0.0:
                continue
            squares = 0.0
            for j in range(indptr[i], indptr[i + 1]):
                data[j] /= largest
                squares += data[j] * data[j]
        length = np.sqrt(squares)
        for j in range(indptr[i], indptr[i + 1]):
            data[j] /= length


@sized(lambda *arguments: 5 * arguments[-1].size)
def hashed_rows(indptr, hashes, weights, dim, crossing, start, context, values, unit, slots, out, indices, data):
    """Signed hashing, the products with a context's features where `crossing`, and length 1 where `unit`, at once.

    What `columns`, `crossed` and `to_unit` do one after the other. Returns the number of entries before the products,
    or -1 where a value is not finite.
    """
    if not crossing:
        columns(indptr, hashes, weights, dim, slots, out, indices, data)
        entries = out[out.size - 1]
    else:
        starts, ids, own = np.empty_like(indptr), np.empty(hashes.size, np.int32), np.empty(hashes.size)
        columns(indptr, hashes, weights, dim, slots, starts, ids, own)
        whole, factors = np.empty(2, np.int64), values.copy()
        whole[0], whole[1] = 0, factors.size
        to_unit(starts, own)
        to_unit(whole, factors)
        crossed(starts, ids, own, start, context, factors, 0, dim, slots, out, indices, data)
        entries = starts[starts.size - 1]
    if unit:
        to_unit(out, data)
    fine = True
    for j in range(out[out.size - 1]):
        fine &= np.isfinite(data[j])  # to the end, which vectorises
    return entries if fine else -1
