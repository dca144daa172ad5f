"""Lists of numbers in JSON, from their bytes to sparse rows."""

import numpy as np

from conquer.kernels.core.kernel import part
from conquer.kernels.text.decimals import LARGEST, SMALLEST, WHOLE, are_digits, eight, of_digits, rounded

_0, _1, _8 = np.uint64(0), np.uint64(1), np.uint64(8)
_SPACE, _TAB, _LINE, _RETURN, _COMMA, _OPEN, _CLOSE = (np.uint64(ord(sign)) for sign in " \t\n\r,[]")
_ZERO, _MINUS, _PLUS, _DOT, _E, _CASE = (np.uint64(ord(sign)) for sign in "0-+.e ")
_NINE, _TEN, _EIGHT_DIGITS = np.uint64(9), np.uint64(10), np.uint64(10**8)
_DIGITS, _EXPONENT = np.uint64(19), np.uint64(3)
"""Digits that fit a word, and those of an exponent within reach."""


@part
def is_gap(byte):
    """Whether this is white space of JSON."""
    return byte <= _SPACE and byte in (_SPACE, _LINE, _RETURN, _TAB)


@part
def after_gap(texts, i):
    """Where the white space at i ends; something else comes before the text does."""
    while is_gap(np.uint64(texts[i])):
        i += _1
    return i


@part
def numbers(texts, i, end, widest, largest, tables, indices, data, count):
    """(end, width, count) of the list of numbers at i, whose non-zeros are written from `count` on; end 0: it is none.

    All of it stands here: numba counts references at every call that takes an array, which for every number would cost
    more than reading it.
    """
    tens, twos, exact = tables
    width, bad = _0, (_0, _0, count)
    if np.uint64(texts[i]) != _OPEN:
        return bad
    byte = _COMMA
    while byte == _COMMA and width < widest:
        i = after_gap(texts, i + _1)
        negative = np.uint64(texts[i]) == _MINUS
        i += np.uint64(negative)
        start = i
        number = np.uint64(texts[i]) - _ZERO
        if number > _NINE:
            return bad
        i += _1
        byte = np.uint64(texts[i])
        digit = byte - _ZERO
        if digit <= _NINE:
            if number == _0:
                return bad
            while digit <= _NINE:
                number = number * _TEN + digit
                i += _1
                byte = np.uint64(texts[i])
                digit = byte - _ZERO
        digits, power = i - start, np.int64(0)
        if byte == _DOT:
            i += _1
            point = i
            while i + _8 <= end:
                word = eight(texts, i)
                if not are_digits(word):
                    break
                number = number * _EIGHT_DIGITS + of_digits(word)
                i += _8
            byte = np.uint64(texts[i])
            digit = byte - _ZERO
            while digit <= _NINE:
                number = number * _TEN + digit
                i += _1
                byte = np.uint64(texts[i])
                digit = byte - _ZERO
            if i == point:
                return bad
            digits += i - point
            power = -np.int64(i - point)
        if digits > _DIGITS:
            # Zeros at the beginning count for nothing. With more digits than these, `number` has overflowed.
            at = start
            while digits > _DIGITS and (texts[at] == _ZERO or texts[at] == _DOT):
                digits -= np.uint64(texts[at] == _ZERO)
                at += _1
            if digits > _DIGITS:
                return bad
        if byte | _CASE == _E:
            i += _1
            sign = np.uint64(texts[i])
            i += np.uint64(sign in (_MINUS, _PLUS))
            point, exponent = i, np.int64(0)
            digit = np.uint64(texts[i]) - _ZERO
            while digit <= _NINE and i - point < _EXPONENT:
                exponent = exponent * 10 + np.int64(digit)
                i += _1
                digit = np.uint64(texts[i]) - _ZERO
            if i == point or digit <= _NINE:
                return bad
            power += -exponent if sign == _MINUS else exponent
            byte = np.uint64(texts[i])
        if number < WHOLE and -LARGEST <= power <= LARGEST:
            value = np.float64(np.int64(number))
            value = value / exact[np.uint64(-power)] if power < 0 else value * exact[np.uint64(power)]
        elif number == _0 or power < SMALLEST or power > LARGEST:
            return bad
        else:
            row = np.uint64(power - SMALLEST)
            mantissa, two = rounded(number, power, tens[row, _0], tens[row, _1])
            if mantissa == _0:
                return bad
            value = np.float64(np.int64(mantissa)) * twos[two]
        if value > largest:
            return bad
        indices[count] = width
        data[count] = -value if negative else value
        count += np.uint64(value != 0.0)
        width += _1
        if is_gap(byte):
            i = after_gap(texts, i)
            byte = np.uint64(texts[i])
    return (i + _1 if byte == _CLOSE else _0), width, count
