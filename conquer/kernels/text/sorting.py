"""Strings in the order of their code points, where they lie as UTF-8 in one array of bytes."""

import numpy as np

from conquer.kernels.core.kernel import part

_RUN = 8
"""Strings that are put in order one by one; longer runs are merged."""
_HEAD = 8
"""Bytes that are compared at once, as one number."""
_BYTE = np.uint64(8)


@part
def before(data, start, end, other, other_end):
    """Whether the first string comes before the other: the bytes of UTF-8 are ordered as code points are."""
    for j in range(min(end - start, other_end - other)):
        if data[start + j] != data[other + j]:
            return data[start + j] < data[other + j]
    return end - start < other_end - other


@part
def fill_heads(data, spans, first, last, heads):
    """heads[0, k] := the first bytes of string k after what all have in common; smaller where it comes before."""
    shared = spans[first, 1] - spans[first, 0]
    for k in range(first + 1, last):
        shared = min(shared, spans[k, 1] - spans[k, 0])
        for j in range(shared):
            if data[spans[first, 0] + j] != data[spans[k, 0] + j]:
                shared = j
                break
    for k in range(first, last):
        start = spans[k, 0] + shared
        number = np.uint64(0)
        for j in range(np.uint64(start), np.uint64(min(start + _HEAD, spans[k, 1]))):
            number = number << _BYTE | np.uint64(data[j])
        for _ in range(spans[k, 1], start + _HEAD):
            number <<= _BYTE
        heads[0, k] = number


@part
def in_order(data, spans, first, last, heads, order):
    """Sort strings `first` to `last`; string k is the bytes spans[k, 0] to spans[k, 1].

    Returns the row of `order` that has their numbers in order from `first` on; `heads` and `order` have two rows.
    """
    # All in one function but what is rare: numba counts references at every call.
    if first == last:
        return 0
    fill_heads(data, spans, first, last, heads)
    values, numbers = heads[0], order[0]
    for k in range(first, last):
        number, at = values[k], k
        while (at - first) % _RUN:
            there, other = values[at - 1], numbers[at - 1]
            if there < number:
                break
            if there == number and not before(data, spans[k, 0], spans[k, 1], spans[other, 0], spans[other, 1]):
                break
            values[at], numbers[at] = there, other
            at -= 1
        values[at], numbers[at] = number, k
    row, width = 0, _RUN
    while width < last - first:
        values, numbers, merged, places = heads[row], order[row], heads[1 - row], order[1 - row]
        for low in range(first, last, 2 * width):
            middle, high = min(low + width, last), min(low + 2 * width, last)
            left, right = low, middle
            for at in range(low, high):
                take = left == middle
                if not take and right < high:
                    take = values[right] < values[left]
                    if values[right] == values[left]:
                        one, two = numbers[right], numbers[left]
                        take = before(data, spans[one, 0], spans[one, 1], spans[two, 0], spans[two, 1])
                place = right if take else left
                merged[at], places[at] = values[place], numbers[place]
                right += take
                left += not take
        row, width = 1 - row, 2 * width
    return row
