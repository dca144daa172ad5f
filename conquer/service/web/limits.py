"""What tenants may use: bytes in memory, requests a second, wrong keys a minute."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from conquer.service.errors import Kind, RefusalError

SMALL = 64 << 10
"""Bytes that are not counted: there are at most as many such bodies as connections."""
_REMEMBERED = 10_000
_BURST = 2.0
_STRIKES, _MINUTE = 10, 60.0


class Budget:
    """Bytes of large requests and replies. One owner may have half of it, uploads and replies three quarters.

    A request larger than one owner's share counts as the share.

    >>> budget = Budget(1000)
    >>> budget.take("ann", 400, bulky=True)
    400
    >>> budget.take("bob", 400, bulky=True)
    Traceback (most recent call last):
    conquer.service.errors.RefusalError: 400 of 1000 bytes are in flight, no room for 400 more now; try again
    >>> budget.take("bob", 400), budget.used
    (400, 800)
    """

    def __init__(self, total: int) -> None:
        self.total, self.used = total, 0
        self._of: dict[str, int] = {}

    def take(self, owner: str, size: int, bulky: bool = False) -> int:
        """Count `size` more bytes of this owner; returns how many to give back. Raises RefusalError without room."""
        half = self.total // 2
        size = min(size, half)
        own = self._of.get(owner, 0) + size
        if own > half or self.used + size > (self.total * 3 // 4 if bulky else self.total):
            message = f"{self.used} of {self.total} bytes are in flight, no room for {size} more now; try again"
            raise RefusalError(Kind.UNAVAILABLE, "flight", message, retry_after=1)
        self._of[owner] = own
        self.used += size
        return size

    def give_back(self, owner: str, size: int) -> None:
        self.used -= size
        self._of[owner] -= size
        if not self._of[owner]:
            del self._of[owner]


@dataclass(slots=True)
class Hold:
    """What one request holds of the budget until it is done. `bulky`: an upload; `owner`: the tenant."""

    budget: Budget
    bulky: bool
    owner: str = ""
    held: int = 0

    def request(self, size: int) -> None:
        """Bytes of a body that is being read."""
        self.held += self.budget.take(self.owner, size, self.bulky)

    def reply(self, size: int) -> None:
        """Bytes of a reply that is being sent."""
        if size > SMALL:
            self.held += self.budget.take(self.owner, size, bulky=True)

    def chunk(self, size: int) -> None:
        """Bytes of a part of a reply. Room for the largest so far is kept for the next."""
        if size > max(self.held, SMALL):
            self.release()
            self.reply(size)

    def release(self) -> None:
        if self.held:
            self.budget.give_back(self.owner, self.held)
            self.held = 0


class Buckets:
    """Requests a second: each owner has a bucket of two seconds' requests that fills at `rate`.

    >>> now = [0.0]
    >>> buckets = Buckets(1.0, clock=lambda: now[0])
    >>> buckets.take("ann"); buckets.take("ann")
    >>> buckets.take("ann")
    Traceback (most recent call last):
    conquer.service.errors.RefusalError: this key may make 1 requests a second
    >>> now[0] = 1.0
    >>> buckets.take("ann")
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self._most, self._clock = rate, max(1.0, _BURST * rate), clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, owner: str) -> None:
        now = self._clock()
        left, since = self._left.pop(owner, (self._most, now))
        left = min(self._most, left + (now - since) * self.rate)
        self._left[owner] = (max(0.0, left - 1) if left >= 1 else left, now)
        if len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)
        if left < 1:
            wait = max(1, round((1 - left) / self.rate))
            message = f"this key may make {self.rate:g} requests a second"
            raise RefusalError(Kind.BUSY, "too_many_requests", message, retry_after=wait)


class Strikes:
    """Wrong keys by address: after ten within a minute, the address must wait for the minute's end.

    >>> strikes = Strikes(clock=lambda: 0.0)
    >>> for _ in range(10):
    ...     strikes.count("1.2.3.4")
    >>> strikes.check("1.2.3.4")
    Traceback (most recent call last):
    conquer.service.errors.RefusalError: 10 wrong keys came from this address within a minute; wait
    >>> strikes.check("1.2.3.5")
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._of: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def check(self, address: str) -> None:
        """Raise RefusalError for an address that has used up its tries."""
        times, since = self._of.get(address, (0, 0.0))
        left = since + _MINUTE - self._clock()
        if times >= _STRIKES and left > 0:
            message = f"{times} wrong keys came from this address within a minute; wait"
            raise RefusalError(Kind.BUSY, "too_many_failures", message, retry_after=max(1, round(left)))

    def count(self, address: str) -> None:
        """Count a wrong key."""
        now = self._clock()
        times, since = self._of.pop(address, (0, now))
        self._of[address] = (times + 1, since) if now - since < _MINUTE else (1, now)
        if len(self._of) > _REMEMBERED:
            self._of.popitem(last=False)
