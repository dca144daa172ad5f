"""Fitted columns: number the hashes that occur, look them up, and weigh rows by what a training part has seen."""

import numpy as np

from conquer.kernels.core.kernel import part, sized

_ONE = np.uint64(1)


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
def intern(hashes, keys, frequency, slots, ids):
    """Number each hash in order of first occurrence and count the rows it is in; returns how many there are."""
    count = 0
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
