"""Decimal numbers of JSON to the nearest doubles, straight from their bytes: what Python's `float` makes of them.

Short numbers are one exact product or quotient. Longer ones, of up to 19 digits, are multiplied by 128 bits of a power
of ten, as Lemire describes in "Number parsing at a gigabyte per second" (2021). Where that cannot tell, nobody guesses.
"""

from typing import Any

import numpy as np

from conquer.kernels.core.kernel import part

SMALLEST, LARGEST = -60, 22
"""Powers of ten that are known here."""
_LOWEST, _HIGHEST = -256, 96
"""Powers of two that scale a mantissa to any number of 19 digits with such a power of ten."""
WHOLE = np.uint64(2**53)
"""Below this whole numbers are doubles."""

_0, _1, _2, _3, _4, _5, _6, _7, _8, _9 = (np.uint64(n) for n in range(10))
_16, _24, _32, _40, _48, _56, _63, _64 = (np.uint64(n) for n in (16, 24, 32, 40, 48, 56, 63, 64))
_TEN, _HUNDRED, _TEN_THOUSAND = (np.uint64(10**n) for n in (1, 2, 4))
_HIGH_HALVES, _SIX, _THREES = (np.uint64(n * 0x0101010101010101) for n in (0xF0, 0x06, 0x33))
_LOW_HALVES, _PAIRS, _FOURS = (np.uint64(n) for n in (0x0F0F0F0F0F0F0F0F, 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF))
_HALF, _ALL, _BELOW = (np.uint64(2**n - 1) for n in (32, 64, 9))


def _leading_bits(power: int) -> int:
    """The first 128 bits of 10^power, which are those of 5^power; for the quotients that can be exact, one more."""
    five: int = 5 ** abs(power)
    size = five.bit_length()
    if power >= 0:
        return five << 128 - size
    return (1 << 127 + size) // five + (power >= -27)


def _table(values: Any, dtype: Any) -> Any:
    table = np.array(values, dtype)
    table.setflags(write=False)
    return table


TENS = _table([divmod(_leading_bits(power), 1 << 64) for power in range(SMALLEST, LARGEST + 1)], np.uint64)
"""(n, 2): 128 bits of the powers of ten from SMALLEST on. The tables are handed to kernels."""
TWOS = _table(np.ldexp(1.0, np.arange(_LOWEST, _HIGHEST)), np.float64)
"""(m,): powers of two."""
EXACT = _table([10**power for power in range(LARGEST + 1)], np.float64)
"""(LARGEST + 1,): powers of ten that are doubles themselves."""
TABLES = TENS, TWOS, EXACT


@part
def eight(texts, i):
    """The eight bytes at i as one word, the first one lowest."""
    low = np.uint64(texts[i]) | np.uint64(texts[i + _1]) << _8
    low |= np.uint64(texts[i + _2]) << _16 | np.uint64(texts[i + _3]) << _24
    low |= np.uint64(texts[i + _4]) << _32 | np.uint64(texts[i + _5]) << _40
    return low | np.uint64(texts[i + _6]) << _48 | np.uint64(texts[i + _7]) << _56


@part
def are_digits(word):
    """Whether all eight bytes are digits."""
    return (word & _HIGH_HALVES) | ((word + _SIX & _HIGH_HALVES) >> _4) == _THREES


@part
def of_digits(word):
    """The number of eight digits."""
    word &= _LOW_HALVES
    word = word * _TEN + (word >> _8) & _PAIRS
    word = word * _HUNDRED + (word >> _16) & _FOURS
    return word * _TEN_THOUSAND + (word >> _32) & _HALF


@part
def product(a, b):
    """The high and the low word of a product."""
    low, middle = (a & _HALF) * (b & _HALF), (a >> _32) * (b & _HALF)
    middle += low >> _32
    other = (a & _HALF) * (b >> _32) + (middle & _HALF)
    return (a >> _32) * (b >> _32) + (middle >> _32) + (other >> _32), other << _32 | low & _HALF


@part
def rounded(number, power, first, second):
    """(mantissa, two): number * 10^power is mantissa * TWOS[two] to the nearest double; mantissa 0: not certain.

    `first` and `second` are the words of TENS for this power, `number` is not 0.
    """
    shift, step = _0, _32
    while step > _0:
        if number >> (_64 - step) == _0:
            number <<= step
            shift += step
        step >>= _1
    high, low = product(number, first)
    if high & _BELOW == _BELOW:
        more, _ = product(number, second)
        low += more
        if low < more:
            high += _1
    if low == _ALL:
        return _0, _0
    upper = high >> _63
    mantissa = high >> (upper + _9)
    # Halfway between two doubles the even one is right. Elsewhere the bits that are missing do not matter.
    if low <= _1 and -4 <= power <= 23 and mantissa & _3 == _1 and mantissa << (upper + _9) == high:
        mantissa -= _1
    two = ((217706 * power) >> 16) + 63 - 52 - _LOWEST + np.int64(upper) - np.int64(shift)
    return (mantissa + (mantissa & _1)) >> _1, np.uint64(two)
