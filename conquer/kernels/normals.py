"""Standard normals from tickets by a table of polynomials: the draws of `tickets.normal` to 1e-13, without logarithms.

Thompson sampling on a diagonal model needs one normal for every entry of every item.
"""

import numpy as np

from conquer.kernels.compiling import part
from conquer.kernels.tickets import quantile, word

# Probabilities from 1/2 down in OCTAVES halvings, each cut into PIECES; beyond, one draw in 2^OCTAVES is computed.
OCTAVES, PIECES, DEGREE = 8, 32, 6
_11, _47, _52 = np.uint64(11), np.uint64(47), np.uint64(52)
_ONES, _REST = np.uint64(2**53 - 1), np.uint64(2**47 - 1)
_TOP = np.uint64((1023 + 51) * PIECES + PIECES - 1)
_SIZE = np.uint64(OCTAVES * PIECES)


def _coefficients():
    """(OCTAVES * PIECES, DEGREE + 1): the quantile over each piece as a polynomial in its middle's neighbourhood.

    Interpolated at Chebyshev's points by divided differences: plain arithmetic in a fixed order, so that the table
    has the same bits everywhere.
    """
    nodes = [0.5 * np.cos(np.pi * (2 * k + 1) / (2 * DEGREE + 2)) for k in range(DEGREE + 1)]
    nodes = [round(float(node), 6) for node in nodes]
    evaluate = getattr(quantile, "py_func", quantile)
    pieces = np.arange(OCTAVES * PIECES)
    octave, piece = pieces // PIECES, PIECES - 1 - pieces % PIECES
    differences = []
    for node in nodes:
        p = 2.0 ** (-2.0 - octave) * (1.0 + (piece + 0.5 + node) / PIECES)
        differences.append(np.array([evaluate(float(value)) for value in p]))
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
def normal(ticket, counter):
    """Draw `counter` of the ticket as a standard normal."""
    whole = word(ticket, counter) >> _11
    upper = whole >> _52 != 0
    # The upper half of the distribution is the lower one mirrored.
    x = (_ONES - whole if upper else whole) + 0.5
    bits = np.float64(x).view(np.uint64)
    place = _TOP - (bits >> _47)
    if place >= _SIZE:
        value = quantile(x * 2.0**-53)
    else:
        s = (bits & _REST) * 2.0**-47 - 0.5
        row = TABLE[place]
        value = row[6]
        value = value * s + row[5]
        value = value * s + row[4]
        value = value * s + row[3]
        value = value * s + row[2]
        value = value * s + row[1]
        value = value * s + row[0]
    return -value if upper else value
