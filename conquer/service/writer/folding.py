"""Folding beside the writer: models are read and folded again in slices, by turns, so that none waits for another."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Generator

from conquer.service.log.fold import Folded

Job = Generator[None, None, Folded | None]
Arrival = Folded | Exception | None
"""What became of a model that was wanted: the model, what went wrong, or that there is none."""


class Folding:
    """One thread with a job per wanted model. `arrive(name, what)` is called in that thread when a job has ended.

    >>> def job(name):
    ...     yield
    ...     return None
    >>> found = []
    >>> folding = Folding(job, lambda name, arrival: found.append((name, arrival)))
    >>> folding.want("m"); folding.finish(); found
    [('m', None)]
    """

    def __init__(self, fold: Callable[[str], Job], arrive: Callable[[str, Arrival], None]) -> None:
        self._fold, self._arrive = fold, arrive
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._changed = threading.Condition()
        self._ending, self._dropped = False, False
        self._thread = threading.Thread(target=self._run, name="conquer-folding", daemon=True)
        self._thread.start()

    def want(self, name: str) -> None:
        """Begin to fold a model, unless that is being done."""
        with self._changed:
            if name not in self._jobs:
                self._jobs[name] = self._fold(name)
                self._changed.notify()

    def finish(self, drop: bool = False) -> None:
        """End the thread, after the jobs or (`drop`) without them."""
        with self._changed:
            self._ending, self._dropped = True, drop
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while (name := self._next()) is not None:
            try:
                next(self._jobs[name])
                continue
            except StopIteration as end:
                arrival: Arrival = end.value
            except Exception as error:
                arrival = error
            with self._changed:
                del self._jobs[name]
            self._arrive(name, arrival)

    def _next(self) -> str | None:
        """Whose turn it is: every job gets a slice before any gets its second."""
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._ending)
            if not self._jobs or self._dropped:
                return None
            name = next(iter(self._jobs))
            self._jobs.move_to_end(name)
            return name
