"""Reviews made of word numbers: Zipf background, collocations, and sentiment in words, negations and word pairs."""

import math

import numpy as np

from conquer.kernels.core.kernel import part, sized
from conquer.kernels.core.tickets import mix64

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_S31, _S11 = np.uint64(31), np.uint64(11)


@part
def _uniform(key, counter):
    return float(mix64(key + np.uint64(counter) * _GAMMA) >> _S11) * (1.0 / 9007199254740992.0)


@part
def _bell(key, counter):
    """Near enough to a standard normal: twelve would be the textbook's, four are enough for lengths and moods."""
    total = 0.0
    for j in range(4):
        total += _uniform(key, counter + j)
    return (total - 2.0) * math.sqrt(3.0)


@sized(lambda seed, reviews, *_: 20 * reviews)
def lengths(seed, reviews, median, spread, shortest, longest, indptr):
    """Fill `indptr` (reviews + 1): where each review's words start, lengths log-normal around `median`."""
    indptr[0] = 0
    for i in range(reviews):
        key = mix64(np.uint64(seed) + np.uint64(i) * _GAMMA)
        size = int(median * math.exp(spread * _bell(key, 0)))
        indptr[i + 1] = indptr[i] + max(shortest, min(longest, size))


@part
def _background(u, cumulative, common, stride, shift):
    """A Zipf word; beyond the common words every domain has an order of its own."""
    rank = np.searchsorted(cumulative, u * cumulative[-1])
    if rank < common:
        return rank
    rest = cumulative.size - common
    return common + ((rank - common) * stride + shift) % rest


@part
def _feeling(u, words):
    """A word of a sentiment lexicon, a few of them far more frequent than the rest."""
    return int(words * u * u * u)


@sized(
    lambda seed, world, rewards, indptr, cumulative, common, stride, shift, lexicon, negations, pairs, rates, tokens: (
        50 * tokens.size
    )
)
def write(seed, world, rewards, indptr, cumulative, common, stride, shift, lexicon, negations, pairs, rates, tokens):
    """Fill `tokens` with the words of every review.

    Word numbers: [0, V) background, then `lexicon` positive and `lexicon` negative words, `negations`, and two times
    `pairs` words that only mean something together: the sign of the pair (a, b) comes from `world`.
    `rates`: a sentiment expression at a position, how clearly it follows the reward, the spread of a review's mood,
    the share of negated and of paired expressions, and of words that follow from the word before.
    """
    rate, clarity, mood, negated, paired, collocated = rates
    positive = cumulative.size
    deny = positive + 2 * lexicon
    left = deny + negations
    for i in range(rewards.size):
        key = mix64(np.uint64(seed) + np.uint64(i) * _GAMMA)
        feeling = max(-1.0, min(1.0, rewards[i] + mood * _bell(key, 4)))
        favour = 0.5 + 0.5 * clarity * feeling
        counter = 8
        at, end = indptr[i], indptr[i + 1]
        before = -1
        while at < end:
            u = _uniform(key, counter)
            if u < rate:
                good = _uniform(key, counter + 1) < favour
                kind = _uniform(key, counter + 2)
                pick = _uniform(key, counter + 3)
                if kind < negated and at + 1 < end:
                    tokens[at] = deny + int(negations * _uniform(key, counter + 4))
                    tokens[at + 1] = positive + _feeling(pick, lexicon) + (lexicon if good else 0)
                    at += 2
                elif kind < negated + paired and at + 1 < end:
                    a = _feeling(pick, pairs)
                    b = int(pairs * _uniform(key, counter + 4))
                    while ((mix64(np.uint64(world) + np.uint64(a * pairs + b)) >> _S31) & np.uint64(1) == 1) != good:
                        b = (b + 1) % pairs
                    tokens[at] = left + a
                    tokens[at + 1] = left + pairs + b
                    at += 2
                else:
                    tokens[at] = positive + _feeling(pick, lexicon) + (0 if good else lexicon)
                    at += 1
                before = -1
                counter += 5
                continue
            u = _uniform(key, counter + 1)
            if before >= 0 and _uniform(key, counter + 2) < collocated:
                favourite = np.uint64(before * 4 + int(4 * u))
                u = float(mix64(np.uint64(world) + favourite * _GAMMA) >> _S11) * (1.0 / 9007199254740992.0)
            before = _background(u, cumulative, common, stride, shift)
            tokens[at] = before
            at += 1
            counter += 3


@sized(lambda indptr, terms, *_: 20 * len(terms))
def count_terms(indptr, terms, starts, ids, counts):
    """Rows of term counts: the terms of review i (unsorted, repeated) become `ids` and `counts` from starts[i] on.

    `terms` is two columns (first and second kind, -1 for none); returns the number of entries written.
    """
    used = 0
    starts[0] = 0
    for i in range(indptr.size - 1):
        length = indptr[i + 1] - indptr[i]
        bag = np.empty(2 * length, np.int32)
        size = 0
        for j in range(indptr[i], indptr[i + 1]):
            for kind in range(2):
                if terms[j, kind] >= 0:
                    bag[size] = terms[j, kind]
                    size += 1
        bag = np.sort(bag[:size])
        for j in range(size):
            if j > 0 and bag[j] == bag[j - 1]:
                counts[used - 1] += 1.0
            else:
                ids[used] = bag[j]
                counts[used] = 1.0
                used += 1
        starts[i + 1] = used
    return used
