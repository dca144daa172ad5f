"""What tenants may use: bytes in memory, and how often: requests, wrong keys, joins by a link."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from conquer.service.errors import Kind, RefusalError

SMALL = 64 << 10
"""Bytes that are not counted: there are at most as many such bodies as connections."""
_REMEMBERED = 10_000


class Budget:
    """Bytes of large requests and replies. One owner may have half of it, uploads and replies three quarters.

    >>> budget = Budget(1000)
    >>> budget.take("ann", 400, bulky=True)
    >>> budget.take("bob", 400, bulky=True)
    Traceback (most recent call last):
    conquer.service.errors.RefusalError: 400 of 1000 bytes are in flight, no room for 400 more now; try again
    >>> budget.take("bob", 400)
    >>> budget.used
    800
    """

    def __init__(self, total: int) -> None:
        self.total, self.share, self.used = total, total // 2, 0
        self._of: dict[str, int] = {}

    def take(self, owner: str, size: int, bulky: bool = False) -> None:
        """Count `size` more bytes of this owner. Raises RefusalError without room."""
        own = self._of.get(owner, 0) + size
        if own > self.share or self.used + size > (self.total * 3 // 4 if bulky else self.total):
            message = f"{self.used} of {self.total} bytes are in flight, no room for {size} more now; try again"
            raise RefusalError(Kind.UNAVAILABLE, "flight", message, retry_after=1)
        self._of[owner] = own
        self.used += size

    def give_back(self, owner: str, size: int) -> None:
        self.used -= size
        self._of[owner] -= size
        if not self._of[owner]:
            del self._of[owner]


@dataclass(slots=True)
class Hold:
    """What one request holds of the budget until it is done, on its tenant's account."""

    budget: Budget
    owner: str = ""
    held: int = 0

    def cover(self, size: int, bulky: bool = True) -> None:
        """Hold at least `size` bytes in all, but no more than a tenant's share. Raises RefusalError without room."""
        size = min(size, self.budget.share)
        if size > max(self.held, SMALL):
            self.budget.take(self.owner, size - self.held, bulky)
            self.held = size

    def release(self) -> None:
        if self.held:
            self.budget.give_back(self.owner, self.held)
            self.held = 0


class Rates:
    """How often each owner may do something: `burst` times at once, and again at `rate` a second.

    >>> now = [0.0]
    >>> rates = Rates(1.0, 2.0, "too_many", "2 at once, 1 a second", clock=lambda: now[0])
    >>> rates.take("ann"); rates.take("ann")
    >>> rates.take("ann")
    Traceback (most recent call last):
    conquer.service.errors.RefusalError: 2 at once, 1 a second
    >>> now[0] = 1.0
    >>> rates.take("ann")
    """

    def __init__(
        self, rate: float, burst: float, code: str, message: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._code, self._message, self._clock = rate, burst, code, message, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, owner: str) -> None:
        """Count one more. Raises RefusalError instead if the owner has had too many."""
        left = self.check(owner)
        self._left[owner] = left - 1, self._clock()
        self._left.move_to_end(owner)
        if len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)

    def check(self, owner: str) -> float:
        """How many the owner has left. Raises RefusalError if that is less than one."""
        left, since = self._left.get(owner, (self._burst, 0.0))
        left = min(self._burst, left + (self._clock() - since) * self._rate)
        if left < 1:
            wait = max(1, round((1 - left) / self._rate))
            raise RefusalError(Kind.BUSY, self._code, self._message, retry_after=wait)
        return left
