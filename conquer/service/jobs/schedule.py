"""Work that is done again and again in the background, and whose failures are counted, shown and tried again."""

from collections.abc import Callable
from dataclasses import dataclass

from conquer.service.alarms import Alarms

_LONGEST = 60.0


@dataclass(frozen=True, slots=True)
class Job:
    """`work` every so many `seconds`; after failures in a row it waits twice as long each time, up to a minute."""

    name: str
    seconds: float
    work: Callable[[], None]

    def attempt(self, alarms: Alarms) -> bool:
        """Whether it went well. A failure raises the alarm `job:NAME`, the next success clears it."""
        try:
            self.work()
        except Exception as error:  # noqa: BLE001 - whatever it was, the next time may go well
            alarms.count(self.name)
            alarms.raise_(f"job:{self.name}", f"{self.name} failed: {type(error).__name__}: {error}")
            return False
        alarms.clear(f"job:{self.name}")
        return True

    def pause(self, failures: int) -> float:
        """Seconds until the next attempt.

        >>> job = Job("sweep", 1.0, print)
        >>> [job.pause(failures) for failures in (0, 1, 2, 99)]
        [1.0, 2.0, 4.0, 60.0]
        """
        return max(self.seconds, min(_LONGEST, self.seconds * 2.0 ** min(failures, 16)))
