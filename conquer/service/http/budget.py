"""Bytes in flight: what large requests and replies take in memory, bounded in all and for each who asks."""

from dataclasses import dataclass

from conquer.service.errors import Kind, RefusalError

SMALL = 64 << 10
"""Bytes that pass uncounted: there are no more of them than connections."""


class Budget:
    """Whoever would exceed it is refused at once. One owner has half of it at most, uploads and replies three quarters.

    What is larger than one owner's share counts as the share, so that it can be had at all.

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
        """Count `size` more bytes of this owner; returns what `give_back` must be told. A RefusalError: no room."""
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
    """What one request holds of the budget until it is done. `bulky`: an upload."""

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
        """Bytes of a part of a reply. Room for the largest so far is kept: it is where the next one is made."""
        if size > max(self.held, SMALL):
            self.release()
            self.reply(size)

    def release(self) -> None:
        if self.held:
            self.budget.give_back(self.owner, self.held)
            self.held = 0
