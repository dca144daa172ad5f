"""Tickets: the 64-bit numbers from which all chance of a round is drawn, and the numbered draws of one."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from conquer.kernels.core.tickets import (
    FEATURE,
    FIRST,
    ORDER,
    SECOND,
    SIDE,
    fill_tickets,
    ticket_normals,
    ticket_uniforms,
)
from conquer.kernels.rounds.choice import pick_once
from conquer.types import Floats

FULL_RANGE = 2**64
_MASK = FULL_RANGE - 1
_STARTS = {
    "first": int(FIRST),  # ties for the first item, or a coin
    "second": int(SECOND),  # the same for the second
    "feature": int(FEATURE),  # a draw per feature or item; `Draws` numbers these from 0
    "explore": 2**62 + 2,  # whether a random pair is shown, and which
    "side": int(SIDE),  # which of the two is on the left
    "order": int(ORDER),  # a draw per item: the order of a sequential projection
    "reward": 2**63 + 2**62,  # whether a reward between 0 and 1 is a yes
}
COUNTERS = dict(zip(_STARTS, map(range, _STARTS.values(), [*list(_STARTS.values())[1:], FULL_RANGE]), strict=True))
"""All draws of a ticket by use; no two uses share one, so that they are independent."""
EXPLORE, REWARD = (COUNTERS[use].start - int(FEATURE) for use in ("explore", "reward"))
"""The first draws of these uses, as `Draws` numbers them."""


def stream(*content: object) -> int:
    """A 64-bit seed from printable content, the same on every machine.

    >>> stream("policy", 0) == stream("policy", 0), stream("policy", 0) == stream("judge", 0)
    (True, False)
    """
    digest = hashlib.blake2b("\x1f".join(map(repr, content)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def mixed(state: int) -> int:
    """splitmix64's finaliser in Python, for single numbers; equal to the kernels' mix64."""
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return state ^ (state >> 31)


def word(ticket: int, counter: int) -> int:
    """Draw `counter` of a ticket as a 64-bit number."""
    return mixed((mixed(ticket) + counter * 0x9E3779B97F4A7C15) & _MASK)


def uniform(ticket: int, counter: int) -> float:
    """Draw `counter` of a ticket in [0, 1), as the kernels draw it.

    >>> uniform(7, COUNTERS["feature"].start) == Draws(7).uniform(0)
    True
    """
    return (word(ticket, counter) >> 11) * 2.0**-53


def words(tickets: NDArray[np.uint64], counter: int) -> NDArray[np.uint64]:
    """Draw `counter` of each of many tickets, (n,) uint64: their `word`.

    >>> words(np.array([7, 8], np.uint64), 3).tolist() == [word(7, 3), word(8, 3)]
    True
    """
    return _all_mixed(_all_mixed(tickets) + np.uint64(counter * 0x9E3779B97F4A7C15 & _MASK))


def _all_mixed(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def tickets(seed: int, start: int, count: int) -> NDArray[np.uint64]:
    """Tickets start to start + count of a stream, (count,) uint64: ticket t depends on (seed, t) alone.

    >>> tickets(3, 0, 5)[2] == tickets(3, 2, 1)[0]
    np.True_
    """
    out = np.empty(count, np.uint64)
    fill_tickets(np.uint64(seed), np.uint64(start), out)
    return out


def ticket(seed: int, ordinal: int) -> int:
    """Ticket `ordinal` of a stream as a Python int."""
    return word(seed, ordinal)


def draw_ticket(rng: np.random.Generator | int) -> int:
    """The round's ticket: one 64-bit draw of a generator, or the number itself.

    >>> draw_ticket(7)
    7
    """
    if type(rng) is int and 0 <= rng < FULL_RANGE:
        return rng
    if isinstance(rng, np.random.Generator):
        bits = rng.bit_generator
        # The raw word of PCG64 is the number that integers() gives, at a sixth of the cost.
        raw = type(bits) is np.random.PCG64
        return int(bits.random_raw() if raw else rng.integers(0, FULL_RANGE, dtype=np.uint64))
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool) and 0 <= rng < FULL_RANGE:
        return int(rng)
    raise TypeError(f"rng must be a numpy Generator or a ticket in [0, 2**64), got {rng!r}")


@dataclass(frozen=True, slots=True)
class Draws:
    """The numbered draws of one ticket.

    Draws 0 and 1 of the ticket break ties; the draws of this class are numbered from 0 after those two.

    >>> Draws(7).uniforms(3).tolist() == [Draws(7).uniform(k) for k in range(3)]
    True
    """

    ticket: int

    def uniform(self, number: int) -> float:
        """Draw `number` in [0, 1)."""
        return float(self.uniforms(1, number)[0])

    def uniforms(self, count: int, start: int = 0) -> Floats:
        """(count,) draws in [0, 1), numbered from `start`."""
        out = np.empty(count)
        ticket_uniforms(np.uint64(self.ticket), self._counters(count, start), out)
        return out

    def normals(self, count: int, start: int = 0) -> Floats:
        """(count,) standard normal draws, numbered from `start`."""
        out = np.empty(count)
        ticket_normals(np.uint64(self.ticket), self._counters(count, start), out)
        return out

    def below(self, number: int, count: int) -> int:
        """Draw `number` as a whole number in [0, count)."""
        return min(int(self.uniform(number) * count), count - 1)

    def largest(self, values: Floats, tie: int = 0, skip: int = -1) -> int:
        """The position of a largest value, `skip` left out; the tie-breaking draw `tie` decides among equals."""
        found = np.ascontiguousarray(values, dtype=np.float64)
        return int(pick_once(found, found.size, skip, np.uint64(self.ticket), np.uint64(tie))[0])

    def _counters(self, count: int, start: int) -> NDArray[np.uint64]:
        return np.arange(start, start + count, dtype=np.uint64) + FEATURE
