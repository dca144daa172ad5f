"""A study small enough to be run many times over in a test."""

import os
import signal
import time
from pathlib import Path
from typing import Any

from conquer.study.reviews.claims import Claim, compared
from conquer.study.reviews.spec import Spec


def tiny(**changes: Any) -> Spec:
    """Two domains of a hundred or two reviews, three algorithms, two repetitions."""
    fields: dict[str, Any] = {
        "domains": ("android", "clothing"), "reviews": 8_250, "items": (3, 4), "repetitions": 2, "test_sets": 60,
        "algorithms": ("ttg", "gnc", "banditron", "random"),
    }  # fmt: skip
    return Spec(**(fields | changes))


def numbers(frame: Any) -> list[dict[str, Any]]:
    """The rows without what a clock gave."""
    return list(frame.drop("seconds", strict=False).to_dicts())


def judge(results: Any) -> list[Claim]:
    """Every claim that can be tested on these results of one reading."""
    return [claim for found in compared({"": results}) for claim in found.views.values()]


class Listening:
    """Records what it receives."""

    def __init__(self) -> None:
        self.totals: list[tuple[str, float]] = []
        self.begun: dict[str, float] = {}
        self.done: dict[str, float] = {}
        self.stage = ""

    def begin(self, stage: str, work: float) -> None:
        self.stage, self.begun[stage] = stage, self.done.get(stage, 0.0) + work
        self.totals.append((stage, self.begun[stage]))
        self.done.setdefault(stage, 0.0)

    def advance(self, work: float) -> None:
        self.done[self.stage] += work


def squares(numbers):
    """A study's work for worker processes, which must be able to import it."""
    return [{"number": number, "square": number * number} for number in numbers]


def interrupt_parent(now: bool) -> None:
    """Send Ctrl-C to the process that started this worker."""
    if now:
        os.kill(os.getppid(), signal.SIGINT)
        time.sleep(0.2)


def sleep_an_hour(folder: str) -> None:
    """Leave the worker's process id in a folder and wait."""
    Path(folder, str(os.getpid())).touch()
    time.sleep(3600)
