"""All randomness of a round from one 64-bit ticket: draw c is a hash of (ticket, c), so nothing has to be stored.

Normals are exact quantiles (`normal`), or come from a table of polynomials (`table_normal`).
"""

import math

import numpy as np

from conquer.kernels.core.kernel import part, sized

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_27, _30, _31, _11 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(11)

# Counters of a round's draws. FIRST and SECOND break ties or toss a coin; features and items count up from FEATURE.
# SIDE is one draw at 2**63, and ORDER counts up from the next one, a draw per item: no feature's number is so large.
FIRST = np.uint64(0)
SECOND = np.uint64(1)
FEATURE = np.uint64(2)
SIDE = np.uint64(2**63)
ORDER = np.uint64(2**63 + 1)


@part
def mix64(z):
    """The finaliser of splitmix64: a bijection of 64-bit words in which every bit depends on all."""
    z = (z ^ (z >> _30)) * _MIX1
    z = (z ^ (z >> _27)) * _MIX2
    return z ^ (z >> _31)


@part
def word(ticket, counter):
    return mix64(mix64(ticket) + counter * _GAMMA)


@part
def uniform(ticket, counter):
    """Draw `counter` of the ticket, in [0, 1): the top 53 bits, so that 1 never comes out by rounding."""
    return (word(ticket, counter) >> _11) * 2.0**-53


@part
def below(ticket, counter, count):
    """A whole number in [0, count)."""
    return min(int(uniform(ticket, counter) * count), count - 1)


@part
def normal(ticket, counter):
    """Draw `counter` of the ticket as a standard normal, by the inverse of its distribution."""
    return quantile(((word(ticket, counter) >> _11) + 0.5) * 2.0**-53)


@part
def quantile(p):
    """The standard normal quantile of p in (0, 1): Wichura's AS 241, good to 1e-15."""
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        top = 2.5090809287301226727e3
        top = top * r + 3.3430575583588128105e4
        top = top * r + 6.7265770927008700853e4
        top = top * r + 4.5921953931549871457e4
        top = top * r + 1.3731693765509461125e4
        top = top * r + 1.9715909503065514427e3
        top = top * r + 1.3314166789178437745e2
        top = top * r + 3.3871328727963666080e0
        low = 5.2264952788528545610e3
        low = low * r + 2.8729085735721942674e4
        low = low * r + 3.9307895800092710610e4
        low = low * r + 2.1213794301586595867e4
        low = low * r + 5.3941960214247511077e3
        low = low * r + 6.8718700749205790830e2
        low = low * r + 4.2313330701600911252e1
        low = low * r + 1.0
        return q * top / low
    r = math.sqrt(-math.log(p if q < 0.0 else 1.0 - p))
    if r <= 5.0:
        r -= 1.6
        top = 7.74545014278341407640e-4
        top = top * r + 2.27238449892691845833e-2
        top = top * r + 2.41780725177450611770e-1
        top = top * r + 1.27045825245236838258e0
        top = top * r + 3.64784832476320460504e0
        top = top * r + 5.76949722146069140550e0
        top = top * r + 4.63033784615654529590e0
        top = top * r + 1.42343711074968357734e0
        low = 1.05075007164441684324e-9
        low = low * r + 5.47593808499534494600e-4
        low = low * r + 1.51986665636164571966e-2
        low = low * r + 1.48103976427480074590e-1
        low = low * r + 6.89767334985100004550e-1
        low = low * r + 1.67638483018380384940e0
        low = low * r + 2.05319162663775882187e0
        low = low * r + 1.0
    else:
        r -= 5.0
        top = 2.01033439929228813265e-7
        top = top * r + 2.71155556874348757815e-5
        top = top * r + 1.24266094738807843860e-3
        top = top * r + 2.65321895265761230930e-2
        top = top * r + 2.96560571828504891230e-1
        top = top * r + 1.78482653991729133580e0
        top = top * r + 5.46378491116411436990e0
        top = top * r + 6.65790464350110377720e0
        low = 2.04426310338993978564e-15
        low = low * r + 1.42151175831644588870e-7
        low = low * r + 1.84631831751005468180e-5
        low = low * r + 7.86869131145613259100e-4
        low = low * r + 1.48753612908506148525e-2
        low = low * r + 1.36929880922735805310e-1
        low = low * r + 5.99832206555887937690e-1
        low = low * r + 1.0
    return top / low if q >= 0.0 else -top / low


# Probabilities from 1/2 down to the smallest draw, in OCTAVES halvings, each cut into PIECES.
OCTAVES, PIECES, DEGREE = 53, 32, 6
_0, _47, _52, _63 = np.uint64(0), np.uint64(47), np.uint64(52), np.uint64(63)
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
def table_normal(ticket, counter):
    """`normal` to 1e-13 without a logarithm: Thompson sampling needs one for every entry of every item."""
    return deviate(word(ticket, counter) >> _11)


@sized(lambda seed, start, out: 10 * out.size)
def fill_tickets(seed, start, out):
    for t in range(out.size):
        out[t] = word(seed, np.uint64(start + t))


@sized(lambda ticket, counters, out: 10 * out.size)
def ticket_uniforms(ticket, counters, out):
    for j in range(out.size):
        out[j] = uniform(ticket, counters[j])


@sized(lambda ticket, counters, out: 30 * out.size)
def ticket_normals(ticket, counters, out):
    for j in range(out.size):
        out[j] = normal(ticket, counters[j])
