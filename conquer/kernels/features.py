"""Strings, n-grams, named features and pairs to hashes, hashes to columns, and the rows they make."""

import numpy as np

from conquer.kernels.core.kernel import part, sized
from conquer.kernels.core.tickets import mix64

EMPTY = np.uint64(0x243F6A8885A308D3)
"""The key of the empty string."""
SPREAD = np.uint64(0xD1342543DE82EF95)
"""The factor by which a key is multiplied for each code point."""
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_FREE = np.int32(-1)


@part
def column(hashed, size):
    """The column in [0, size) of a hash: its upper half, scaled; the sign is the lowest bit."""
    return np.int64(((hashed >> _HALF) * np.uint64(size)) >> _HALF)


@part
def sign(hashed):
    return 1.0 if hashed & _ONE else -1.0


@part
def table(indptr, times):
    """Scratch for `room` that holds `times` the entries of any of these rows."""
    size = 4
    for i in range(indptr.size - 1):
        while size < 2 * times * (indptr[i + 1] - indptr[i]):
            size *= 2
    return np.empty(size, np.int32)


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
    """The key of each string; `codes` are the code points of all strings, string i ends before ends[i]."""
    start = 0
    for i in range(ends.size):
        key = EMPTY
        for j in range(start, ends[i]):
            key = (key ^ np.uint64(codes[j])) * SPREAD
            key ^= key >> _HALF
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
def distinct(indptr, hashes, weights, binary):
    """Add up equal hashes of a row (`binary`: keep one with weight 1), in place and in order of first occurrence.

    Returns the number of entries left.
    """
    slots = table(indptr, 1)
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
    return count


@sized(lambda indptr, hashes, *_: 10 * hashes.size)
def in_order(indptr, hashes, weights):
    """Sort each row by hash, add up equal hashes and drop zeros, in place.

    Returns the number of entries left, and whether all weights are finite.
    Hashes are spread evenly, so with as many buckets as hashes few are left to exchange.
    """
    finite = True
    count = np.int64(0)
    start = np.int64(0)
    for i in range(indptr.size - 1):
        size = indptr[i + 1] - start
        own, values = hashes[start : start + size].copy(), weights[start : start + size].copy()
        places = np.full(size + 1, start)
        for j in range(size):
            places[column(own[j], size) + 1] += 1
        for j in range(1, size + 1):
            places[j] += places[j - 1] - start
        for j in range(size):
            bucket = column(own[j], size)
            at = places[bucket]
            places[bucket] += 1
            hashes[at], weights[at] = own[j], values[j]
        first = count
        for j in range(start, start + size):
            hashed, weight, k = hashes[j], weights[j], j
            while k > start and hashes[k - 1] > hashed:
                hashes[k], weights[k] = hashes[k - 1], weights[k - 1]
                k -= 1
            hashes[k], weights[k] = hashed, weight
        for j in range(start, start + size):
            finite &= np.isfinite(weights[j])
            if weights[j] == 0.0:
                continue
            if count > first and hashes[count - 1] == hashes[j]:
                weights[count - 1] += weights[j]
            else:
                hashes[count], weights[count] = hashes[j], weights[j]
                count += 1
        start += size
        indptr[i + 1] = count
    return count, finite


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
def columns(indptr, hashes, weights, dim, out, indices, data):
    """Signed hashing: each hash adds its weight, with its sign, to its column in [0, dim). Returns their number."""
    slots = table(indptr, 1)
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
    return count


@sized(lambda indptr, data: 2 * data.size)
def to_unit(indptr, data):
    """Scale each row to Euclidean length 1 in place; a row of zeros stays. Returns whether all values are finite."""
    finite = True
    for i in range(indptr.size - 1):
        squares = 0.0
        for j in range(indptr[i], indptr[i + 1]):
            squares += data[j] * data[j]
        if not 1e-200 < squares < 1e200:
            largest = 0.0
            for j in range(indptr[i], indptr[i + 1]):
                finite &= np.isfinite(data[j])
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
    return finite


@sized(lambda indptr, indices, data, start, hashes, *_: 5 * data.size * (hashes.size + 1))
def crossed(indptr, indices, data, start, hashes, values, base, dim, out, out_indices, out_data):
    """Each row's own entries and its products with the context's, hashed as pairs to columns in [base, dim).

    The row and the context are scaled to length 1 first. Returns the number of entries.
    """
    slots = table(indptr, hashes.size + 1)
    own, factors, ends = data.copy(), values.copy(), np.empty(2, np.int64)
    ends[0], ends[1] = 0, factors.size
    to_unit(indptr, own)
    to_unit(ends, factors)
    states = np.empty(hashes.size, np.uint64)
    for k in range(hashes.size):
        states[k] = mix64(start ^ hashes[k])
    count = np.int64(0)
    out[0] = 0
    for i in range(indptr.size - 1):
        first = count
        mask = room((indptr[i + 1] - indptr[i]) * (states.size + 1), slots)
        for j in range(indptr[i], indptr[i + 1]):
            count = put(out_indices, out_data, first, count, indices[j], own[j], mask, slots)
        for j in range(indptr[i], indptr[i + 1]):
            for k in range(states.size):
                hashed = mix64(states[k] ^ np.uint64(indices[j]))
                where = base + column(hashed, dim - base)
                value = sign(hashed) * (own[j] * factors[k])
                count = put(out_indices, out_data, first, count, where, value, mask, slots)
        count = without_zeros(out_indices, out_data, first, count)
        out[i + 1] = count
    return count


@part
def slot_of(key, keys, slots):
    """The slot that holds `key`, or the free one where it would go."""
    mask = np.uint64(slots.size - 1)
    slot = key & mask
    while slots[slot] >= 0 and keys[slots[slot]] != key:
        slot = (slot + _ONE) & mask
    return slot


@sized(lambda keys, *_: 2 * keys.size)
def number_keys(keys, slots):
    """Fill an all-free table (-1; a power of two, larger than `keys`) with positions; returns a repeated one or -1."""
    for i in range(keys.size):
        slot = slot_of(keys[i], keys, slots)
        if slots[slot] >= 0:
            return i
        slots[slot] = i
    return -1


@sized(lambda hashes, *_: 3 * hashes.size)
def intern(hashes, keys, frequency, slots, ids, count):
    """Number each hash in order of first occurrence and count the rows it is in; returns how many there are.

    `count` hashes have been numbered before.
    """
    for j in range(hashes.size):
        slot = slot_of(hashes[j], keys, slots)
        if slots[slot] < 0:
            slots[slot] = count
            keys[count] = hashes[j]
            count += 1
        ids[j] = slots[slot]
        frequency[slots[slot]] += 1
    return count


@sized(lambda indptr, hashes, *_: 3 * hashes.size)
def look_up(indptr, hashes, weights, keys, slots, out, indices, data):
    """The entries whose hash has a column, in the row's order."""
    count = 0
    out[0] = 0
    for i in range(indptr.size - 1):
        for j in range(indptr[i], indptr[i + 1]):
            where = slots[slot_of(hashes[j], keys, slots)]
            if where >= 0:
                indices[count] = where
                data[count] = weights[j]
                count += 1
        out[i + 1] = count


@sized(lambda indptr, indices, *_: indices.size)
def frequencies(indptr, indices, rows, counts):
    """Count the given rows each column occurs in; no row may hold a column twice."""
    for i in rows:
        for j in range(indptr[i], indptr[i + 1]):
            counts[indices[j]] += 1


@sized(lambda indptr, indices, *_: 3 * indices.size)
def reweigh(indptr, indices, data, rows, presence, rarity, frequency, idf, out, out_indices, out_data):
    """The rows' entries in columns with a frequency: counts or (`presence`) their signs, (`rarity`) times the idf."""
    count = 0
    out[0] = 0
    for i in range(rows.size):
        for j in range(indptr[rows[i]], indptr[rows[i] + 1]):
            where = indices[j]
            if frequency[where] > 0 and data[j] != 0.0:
                value = data[j]
                if presence:
                    value = 1.0 if value > 0.0 else -1.0
                if rarity:
                    value *= idf[where]
                out_indices[count] = where
                out_data[count] = value
                count += 1
        out[i + 1] = count
