"""Alarms, each raised until it is cleared, and counts of failures by job."""

import logging
import sys
import threading
from collections import Counter

logger = logging.getLogger("conquer.service")
_MOST, _LONGEST = 1000, 500
"""Alarms, and characters of a message."""


class Alarms:
    """The present alarms by kind, and how often each job has failed. Any thread may call it.

    A kind is a word, or a word and a subject ("quarantine:shop"): callers without a key see the word alone.

    >>> alarms = Alarms()
    >>> alarms.raise_("disk", "the store took no write")
    >>> alarms.standing()
    [('disk', 'the store took no write')]
    >>> alarms.clear("disk")
    >>> alarms.standing()
    []
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._standing: dict[str, str] = {}
        self._failures: Counter[str] = Counter()

    def raise_(self, kind: str, message: str) -> None:
        """Raise an alarm. It is logged if it is new or its message is, with the exception if there is one."""
        message = message[:_LONGEST]
        with self._lock:
            changed = self._standing.get(kind) != message
            if changed and (kind in self._standing or len(self._standing) < _MOST):
                self._standing[kind] = message
        if changed:
            logger.error("alarm %s: %s", kind, message, exc_info=sys.exception())

    def clear(self, kind: str) -> None:
        """End an alarm, if it is raised."""
        # Read without the lock: most calls come after work that went well, with no alarm to clear.
        if kind not in self._standing:
            return
        with self._lock:
            was = self._standing.pop(kind, None)
        if was is not None:
            logger.info("alarm %s is over", kind)

    def forget(self, subject: str) -> None:
        """End all alarms of a subject, such as a deleted model; those of jobs stay, whatever its name."""
        for kind, _ in self.standing():
            if kind.partition(":")[2] == subject and not kind.startswith("job:"):
                self.clear(kind)

    def count(self, job: str) -> None:
        """Count a failure of a job."""
        with self._lock:
            self._failures[job] += 1

    def standing(self) -> list[tuple[str, str]]:
        """(kind, message) of all alarms, the oldest first."""
        with self._lock:
            return list(self._standing.items())

    def failures(self) -> dict[str, int]:
        """How often each job has failed since the start."""
        with self._lock:
            return dict(self._failures)
