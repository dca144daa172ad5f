"""Standard normals from tickets by a table of polynomials: the draws of `tickets.normal` to 1e-13, without logarithms.

Thompson sampling on a diagonal model needs one normal for every entry of every item.
"""

import numpy as np

from conquer.kernels.core.kernel import part
from conquer.kernels.core.tickets import quantile, word

# Probabilities from 1/2 down to the smallest draw, in OCTAVES halvings, each cut into PIECES.
OCTAVES, PIECES, DEGREE = 53, 32, 6
_0, _11, _47, _52, _63 = np.uint64(0), np.uint64(11), np.uint64(47), np.uint64(52), np.uint64(63)
_ONES, _REST = np.uint64(2**53 - 1), np.uint64(2**47 - 1)
_TOP = np.uint64((1023 + 51) * PIECES + PIECES - 1)


def _coefficients():
    """(OCTAVES * PIECES, DEGREE + 1): the quantile over each piece as a polynomial in its middle's neighbourhood.

    Interpolated at Chebyshev's points by divided differences: plain arithmetic in a fixed order, so that the table
    has the same bits everywhere.
    """
    nodes = [0.5 * np.cos(np.pi * (2 * k + 1) / (2 * DEGREE + 2)) for k in range(DEGREE + 1)]
    nodes = [round(float(node), 6) for node in nodes]
    pieces = np.arange(OCTAVES * PIECES)
    octave, piece = pieces // PIECES, PIECES - 1 - pieces % PIECES
    differences = []
    for node in nodes:
        p = 2.0 ** (-2.0 - octave) * (1.0 + (piece + 0.5 + node) / PIECES)
        differences.append(np.array([quantile(float(value)) for value in p]))
    for order in range(1, DEGREE + 1):
        for k in range(DEGREE, order - 1, -1):
            differences[k] = (differences[k] - differences[k - 1]) / (nodes[k] - nodes[k - order])
    result = np.zeros((pieces.size, DEGREE + 1))
    for k in range(DEGREE, -1, -1):
        shifted = np.zeros_like(result)
        shifted[:, 1:] = result[:, :-1]
        result = shifted - nodes[k] * result
        result[:, 0] += differences[k]
    return result


TABLE = _coefficients()


@part
def deviate(whole):
    """The normal of the probability (whole + 1/2) / 2^53. Without branches: half of them would be guessed wrong."""
    # The upper half of the distribution is the lower one mirrored: all bits flipped, and the sign of the result.
    upper = whole >> _52
    x = np.float64(np.int64((whole ^ (_0 - upper)) & _ONES)) + 0.5
    bits = np.float64(x).view(np.uint64)
    s = np.float64(np.int64(bits & _REST)) * 2.0**-47 - 0.5
    row = TABLE[_TOP - (bits >> _47)]
    value = row[6]
    value = value * s + row[5]
    value = value * s + row[4]
    value = value * s + row[3]
    value = value * s + row[2]
    value = value * s + row[1]
    value = value * s + row[0]
    return np.uint64(np.float64(value).view(np.uint64) ^ (upper << _63)).view(np.float64)


@part
def normal(ticket, counter):
    """Draw `counter` of the ticket as a standard normal."""
    return deviate(word(ticket, counter) >> _11)
