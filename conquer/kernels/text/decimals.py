"""Decimal numbers of JSON to the nearest doubles, straight from their bytes: what Python's `float` makes of them.

Short numbers are one exact product or quotient. Longer ones, of up to 19 digits, are multiplied by 128 bits of a power
of ten, as Lemire describes in "Number parsing at a gigabyte per second" (2021). Where that cannot tell, nobody guesses.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from conquer.kernels.core.compile import part

SMALLEST, LARGEST, EXACT = -60, 22, 22
"""Powers of ten that are known here; those up to EXACT are doubles themselves."""
_LOWEST, _HIGHEST = -256, 96
"""Powers of two that scale a mantissa to any number of 19 digits with such a power of ten."""
_DIGITS = np.uint64(19)
"""So many digits fit a word."""
_BEFORE = np.uint64(3)
"""Digits of an exponent: more are never within reach."""

_0, _1, _2, _3, _4, _5, _6, _7, _8 = (np.uint64(n) for n in range(9))
_NINE, _TEN, _16, _24, _32, _40, _48, _56 = (np.uint64(n) for n in (9, 10, 16, 24, 32, 40, 48, 56))
_ZERO, _MINUS, _PLUS, _DOT = (np.uint64(ord(sign)) for sign in "0-+.")
_CASE, _E = np.uint64(0x20), np.uint64(ord("e"))
_HUNDRED, _TEN_THOUSAND, _EIGHT_DIGITS = (np.uint64(10**n) for n in (2, 4, 8))
_HIGH_HALVES, _SIX, _THREES = (np.uint64(n * 0x0101010101010101) for n in (0xF0, 0x06, 0x33))
_LOW_HALVES, _PAIRS, _FOURS = (np.uint64(n) for n in (0x0F0F0F0F0F0F0F0F, 0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF))
_HALF, _ALL, _BELOW, _WHOLE = (np.uint64(n) for n in (2**32 - 1, 2**64 - 1, 2**9 - 1, 2**53))
_63 = np.uint64(63)


class Powers(NamedTuple):
    """Tables: 128 bits of the powers of ten from SMALLEST on, powers of two, and powers of ten that are doubles."""

    tens: NDArray[np.uint64]
    twos: NDArray[np.float64]
    exact: NDArray[np.float64]


def powers() -> Powers:
    """The tables, made of Python's whole numbers."""
    words = [divmod(_leading_bits(power), 1 << 64) for power in range(SMALLEST, LARGEST + 1)]
    tens, twos = np.array(words, np.uint64), np.ldexp(1.0, np.arange(_LOWEST, _HIGHEST))
    tables = Powers(tens, twos, np.array([float(10**power) for power in range(EXACT + 1)]))
    for table in tables:
        table.setflags(write=False)
    return tables


def _leading_bits(power: int) -> int:
    """The first 128 bits of 10^power, which are those of 5^power; for the quotients that can be exact, one more."""
    five = 5 ** abs(power)
    size = five.bit_length()
    if power >= 0:
        return five << 128 - size
    return (1 << 127 + size) // five + (power >= -27)


@part
def eight(texts, i):
    """The eight bytes at i as one word, the first one lowest."""
    low = np.uint64(texts[i]) | np.uint64(texts[i + _1]) << _8
    low |= np.uint64(texts[i + _2]) << _16 | np.uint64(texts[i + _3]) << _24
    low |= np.uint64(texts[i + _4]) << _32 | np.uint64(texts[i + _5]) << _40
    return low | np.uint64(texts[i + _6]) << _48 | np.uint64(texts[i + _7]) << _56


@part
def after_digits(texts, i, end, number):
    """(end, number) of the digits at i, which continue a number; another byte comes before `end`."""
    while i + _8 <= end:
        word = eight(texts, i)
        if (word & _HIGH_HALVES) | ((word + _SIX & _HIGH_HALVES) >> _4) != _THREES:
            break
        word &= _LOW_HALVES
        word = word * _TEN + (word >> _8) & _PAIRS
        word = word * _HUNDRED + (word >> _16) & _FOURS
        number = number * _EIGHT_DIGITS + (word * _TEN_THOUSAND + (word >> _32) & _HALF)
        i += _8
    digit = np.uint64(texts[i]) - _ZERO
    while digit <= _NINE:
        number = number * _TEN + digit
        i += _1
        digit = np.uint64(texts[i]) - _ZERO
    return i, number


@part
def product(a, b):
    """The high and the low word of a product."""
    low, middle = (a & _HALF) * (b & _HALF), (a >> _32) * (b & _HALF)
    middle += low >> _32
    other = (a & _HALF) * (b >> _32) + (middle & _HALF)
    return (a >> _32) * (b >> _32) + (middle >> _32) + (other >> _32), other << _32 | low & _HALF


@part
def rounded(number, power, tables):
    """number * 10^power to the nearest double, for 0 < number and known powers; -1.0 where that is not certain."""
    shift, step = _0, _32
    while step > _0:
        if number >> (_63 + _1 - step) == _0:
            number <<= step
            shift += step
        step >>= _1
    row = np.uint64(power - SMALLEST)
    high, low = product(number, tables.tens[row, 0])
    if high & _BELOW == _BELOW:
        more, _ = product(number, tables.tens[row, 1])
        low += more
        if low < more:
            high += _1
    if low == _ALL:
        return -1.0
    upper = high >> _63
    mantissa = high >> (upper + _8 + _1)
    # Halfway between two doubles the even one is right. Elsewhere the bits that are missing decide, and are there.
    if low <= _1 and -4 <= power <= 23 and mantissa & _3 == _1 and mantissa << (upper + _8 + _1) == high:
        mantissa -= _1
    mantissa = (mantissa + (mantissa & _1)) >> _1
    two = ((217706 * power) >> 16) + 63 - 52 - _LOWEST + np.int64(upper) - np.int64(shift)
    return np.float64(np.int64(mantissa)) * tables.twos[np.uint64(two)]


@part
def decimal(texts, i, end, tables):
    """(end, value) of the number at i; end 0 where it is none, or none that is read here. `end` is beyond a bracket."""
    first = np.uint64(texts[i])
    negative = first == _MINUS
    if negative:
        i += _1
    start = i
    number = np.uint64(texts[i]) - _ZERO
    if number > _NINE:
        return _0, 0.0
    i += _1
    digit = np.uint64(texts[i]) - _ZERO
    if number > _0:
        while digit <= _NINE:
            number = number * _TEN + digit
            i += _1
            digit = np.uint64(texts[i]) - _ZERO
    elif digit <= _NINE:
        return _0, 0.0
    digits, power = i - start, np.int64(0)
    if np.uint64(texts[i]) == _DOT:
        point = i + _1
        i, number = after_digits(texts, point, end, number)
        if i == point:
            return _0, 0.0
        digits += i - point
        power = -np.int64(i - point)
    if digits > _DIGITS:
        # Zeros at the beginning count for nothing. More digits than a word has room for have gone round in `number`.
        at = start
        while digits > _DIGITS and (np.uint64(texts[at]) == _ZERO or np.uint64(texts[at]) == _DOT):
            if np.uint64(texts[at]) == _ZERO:
                digits -= _1
            at += _1
        if digits > _DIGITS:
            return _0, 0.0
    if np.uint64(texts[i]) | _CASE == _E:
        i += _1
        sign = np.uint64(texts[i])
        if sign in (_MINUS, _PLUS):
            i += _1
        point = i
        exponent = _0
        digit = np.uint64(texts[i]) - _ZERO
        while digit <= _NINE and i - point < _BEFORE:
            exponent = exponent * _TEN + digit
            i += _1
            digit = np.uint64(texts[i]) - _ZERO
        if i == point or digit <= _NINE:
            return _0, 0.0
        power += -np.int64(exponent) if sign == _MINUS else np.int64(exponent)
    if number < _WHOLE and -EXACT <= power <= EXACT:
        value = np.float64(np.int64(number))
        value = value / tables.exact[np.uint64(-power)] if power < 0 else value * tables.exact[np.uint64(power)]
    elif number == _0 or not SMALLEST <= power <= LARGEST:
        return _0, 0.0
    else:
        value = rounded(number, power, tables)
        if value < 0.0:
            return _0, 0.0
    return i, -value if negative else value
