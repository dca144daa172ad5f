"""How often: requests of one key in a second, and wrong keys from one address in a minute. The oldest are forgotten."""

import time
from collections import OrderedDict
from collections.abc import Callable

from conquer.service.errors import Kind, RefusalError

_REMEMBERED = 10_000
_BURST = 2.0
_STRIKES, _MINUTE = 10, 60.0


class Buckets:
    """Each owner has a bucket of two seconds' requests that fills again at `rate`; an empty one refuses.

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
    """Wrong keys by address: ten within a minute of the first are told so, all later ones must wait for its end.

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
        """A RefusalError for an address that has used up its tries."""
        times, since = self._of.get(address, (0, 0.0))
        left = since + _MINUTE - self._clock()
        if times >= _STRIKES and left > 0:
            message = f"{times} wrong keys came from this address within a minute; wait"
            raise RefusalError(Kind.BUSY, "too_many_failures", message, retry_after=max(1, round(left)))

    def count(self, address: str) -> None:
        """A wrong key came from there."""
        now = self._clock()
        times, since = self._of.pop(address, (0, now))
        self._of[address] = (times + 1, since) if now - since < _MINUTE else (1, now)
        if len(self._of) > _REMEMBERED:
            self._of.popitem(last=False)
