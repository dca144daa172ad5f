"""When to stop asking: no other item can be better than the leader by more than a tolerance."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stop:
    """Whether a board says enough. `leader` is a position on it, `more` about how many answers are still needed.

    `chance`: of an item that is better by the whole tolerance, the chance to be picked over the leader.

    >>> stop = Stop(True, leader=0, tolerance=0.5, more=0.0, text="you may stop")
    >>> stop.chance
    0.625
    """

    done: bool
    leader: int
    tolerance: float
    more: float
    text: str

    @property
    def chance(self) -> float:
        """(1 + tolerance/2)/2, at most 1."""
        return min(1.0, (1.0 + self.tolerance / 2.0) / 2.0)
