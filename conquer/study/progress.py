"""How long a run will still take: all its stages together, from what they took so far."""

import math
from dataclasses import dataclass

COMPILING = "compiling"
READING = "reading domains"
BUILDING = "building features"
TUNING = "tuning"
RUNNING = "running cells"
REPORTING = "writing report"

_LIKE = {RUNNING: TUNING, BUILDING: READING}
"""Stages whose work has the unit of an earlier one's: until they have a pace of their own they keep that one's."""
_PACES = {REPORTING: 1.0}
"""Seconds a unit, before anything was measured."""


@dataclass(slots=True)
class _Stage:
    work: float
    done: float = 0.0
    seconds: float = 0.0


class Outlook:
    """What is left of a run, in seconds.

    >>> outlook = Outlook()
    >>> outlook.expect(TUNING, 10.0)
    >>> outlook.expect(RUNNING, 40.0)
    >>> outlook.left()
    inf
    >>> outlook.advance(TUNING, 5.0, seconds=1.0)
    >>> outlook.left()
    9.0
    """

    def __init__(self) -> None:
        self._stages: dict[str, _Stage] = {}

    def expect(self, stage: str, work: float) -> None:
        """So much work is still to be done in this stage; infinity where nobody knows yet."""
        known = self._stages.setdefault(stage, _Stage(0.0))
        known.work = known.done + work

    def advance(self, stage: str, work: float, seconds: float) -> None:
        """So much of it was done, and took so long since the stage's last word."""
        known = self._stages[stage]
        known.done += work
        known.seconds += seconds

    def _pace(self, stage: str) -> float:
        known = self._stages.get(stage)
        if known is not None and known.done > 0:
            return known.seconds / known.done
        return self._pace(_LIKE[stage]) if stage in _LIKE else _PACES.get(stage, math.inf)

    def left(self) -> float:
        """Seconds for all that is left, infinity while they cannot be known."""
        # Sums of parts differ from the whole in the last digits.
        rests = {name: s.work - s.done for name, s in self._stages.items() if not math.isclose(s.work, s.done)}
        if math.inf in rests.values():
            return math.inf
        return sum(self._pace(name) * rest for name, rest in rests.items())
