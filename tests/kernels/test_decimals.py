"""Decimal numbers read by a kernel are those that Python's `float` reads, bit for bit."""

import random
import struct
from fractions import Fraction

import numpy as np
import pytest

from conquer.kernels.text.decimals import LARGEST, SMALLEST, TABLES, TENS
from conquer.kernels.text.vectors import SHORTEST, rounds


def read(numbers):
    """The bits of each number, None where it is left to others."""
    texts = [b'[{"id":"a","vector":[%s,1]}]' % number.encode() for number in numbers]
    joined = np.frombuffer(b"".join(texts), np.uint8)
    places, size = np.cumsum([0, *map(len, texts)]), joined.size
    indptr, indices = np.empty(size // SHORTEST + 2, np.int64), np.empty(size // 2 + 1, np.int32)
    data, letters = np.empty(size // 2 + 1), np.empty(size + 1, np.uint8)
    rounds(joined, places, (1, 2, 1, 99), 1e30, TABLES, indptr, indices, data, letters)
    found = np.diff(places) > 0
    values = iter(data[indptr[: found.sum()]].tolist())
    return [bits(next(values)) if one else None for one in found]


def bits(value):
    return struct.pack("<d", value)


def check(numbers, all_of_them=True):
    for number, found in zip(numbers, read(numbers), strict=True):
        assert found == bits(float(number)) or (found is None and not all_of_them), number


def between(value):
    """The number halfway from a double to the next, exactly."""
    return (Fraction(value) + Fraction(float(np.nextafter(value, np.inf)))) / 2


def shortened(value, digits, off=0):
    """A fraction as digits and a power of ten, rounded down, the last digit moved by `off`."""
    power = len(str(int(value))) - digits if value >= 1 else -digits
    while value / Fraction(10) ** power < 10 ** (digits - 1):
        power -= 1
    return f"{int(value / Fraction(10) ** power) + off}e{power}"


def doubles(draw, count, lowest, highest):
    return [draw.choice((-1, 1)) * draw.uniform(1, 2) * 2.0 ** draw.randint(lowest, highest) for _ in range(count)]


@pytest.mark.parametrize("seed", range(3))
def test_numbers_as_programs_write_them(seed):
    draw = random.Random(seed)
    check(list(map(repr, doubles(draw, 30_000, -140, 60))))
    check([repr(float(np.float32(draw.gauss(0, 1)))) for _ in range(10_000)])
    check([f"{1 + abs(draw.gauss(0, 1)):.{draw.randint(1, 17)}f}" for _ in range(10_000)])


def test_digits_of_every_count():
    draw, numbers = random.Random(1), []
    for digits in range(1, 20):
        for power in range(SMALLEST, 12):
            number = draw.randint(10 ** (digits - 1), 10**digits - 1)
            numbers += [f"{number}e{power}", f"{number}E-000", f"0.{number:019}", f"-{number}.0e{min(power, 0) + 1}"]
    check(numbers, all_of_them=False)
    assert sum(found is None for found in read(numbers)) < len(numbers) / 10


def test_numbers_between_two_doubles():
    draw, numbers = random.Random(2), []
    for value in doubles(draw, 4000, -120, 60):
        middle = between(abs(value))
        numbers += [shortened(middle, digits, off) for digits in (17, 18, 19) for off in (0, 1)]
    check(numbers)


def test_numbers_exactly_between_two_doubles():
    draw, numbers = random.Random(3), []
    for _ in range(5000):
        size = draw.randint(54, 63)
        middle = ((draw.getrandbits(52) | 1 << 52) << 1 | 1) << size - 54
        numbers += [f"{middle + off}" for off in (-1, 0, 1)]
        power = draw.randint(1, 4)
        # An odd number of 54 bits that is a multiple of 5^power, as a decimal with so many places.
        odd = (1 << 53) // 5**power + draw.getrandbits(40) | 1
        exact = odd * 5**power
        if exact.bit_length() == 54 and exact * 2**power < 10**19:
            numbers += [f"{exact * 2**power + off}e-{power}" for off in (-1, 0, 1)]
    check(numbers)


def test_neighbours_of_powers_of_two_and_ten():
    powers = [2.0**power for power in range(-120, 64)] + [10.0**power for power in range(-40, 20)]
    near = [float(np.nextafter(value, side)) for value in powers for side in (0, value, np.inf)]
    check([text for value in near for text in (repr(value), f"{value:.18e}", f"{value:.16e}")])
    check([shortened(between(value), digits) for value in near for digits in (17, 18, 19)])


def test_what_is_out_of_reach_is_left_to_others():
    assert read(["1" * 20, "0." + "1" * 20, f"12345678901234567e{SMALLEST - 1}", "1e-400", "5e-324"]) == [None] * 5
    assert read([f"1e{LARGEST + 1}", "0e0000", "12345678901234567e1000"]) == [None] * 3


def test_the_table_has_the_first_bits_of_every_power():
    for power, (high, low) in zip(range(SMALLEST, LARGEST + 1), TENS.tolist(), strict=True):
        bits_of, exact = high << 64 | low, Fraction(10) ** power
        assert bits_of.bit_length() == 128
        scale = exact / bits_of
        while scale > 1:
            scale /= 2
        while scale <= Fraction(1, 2):
            scale *= 2
        assert abs(scale - 1) <= Fraction(1, 2**127) or abs(scale - Fraction(1, 2)) <= Fraction(1, 2**127)
