"""Where tasks run: here, in worker processes, or on a Dask cluster; the results are the same everywhere."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from conquer.fitting.workers import check_scheduler
from conquer.kernels.core import background

T = TypeVar("T")
R = TypeVar("R")

Backend = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[tuple[int, Any]]]
"""(function, tasks) -> (position, result) as each finishes; a failing task raises."""


def serial(function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
    """One after the other in this process.

    >>> list(serial(abs, [-1, 2]))
    [(0, 1), (1, 2)]
    """
    for position, task in enumerate(tasks):
        yield _numbered(function, position, task)


def processes(jobs: int) -> Backend:
    """`jobs` worker processes on this machine, each with single-threaded linear algebra."""

    def run(function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        from joblib import Parallel, delayed, parallel_config

        with parallel_config(backend="loky", inner_max_num_threads=1), _stopped_quietly():
            workers = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
            yield from workers(delayed(_numbered)(function, position, task) for position, task in enumerate(tasks))

    return run


@contextmanager
def _stopped_quietly() -> Iterator[None]:
    """Whoever stops the work is not shown how joblib's own thread stumbles; it still tidies up.

    That thread hands in the next task when a result comes. If the work is stopped at that moment, the thread kills the
    workers, throws all tasks away, and then looks for this one.
    """
    before = threading.excepthook

    def tidy_up(ended: threading.ExceptHookArgs) -> None:
        rest = getattr(ended.thread, "join_executor_internals", None)
        if ended.exc_type is KeyError and rest is not None:
            rest()
        else:
            before(ended)

    threading.excepthook = tidy_up
    try:
        yield
    finally:
        threading.excepthook = before


def cluster(address: str) -> Backend:
    """The workers of a running Dask scheduler; a task whose worker dies is run again elsewhere."""

    def run(function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        from distributed import Client, as_completed

        with Client(address) as client:
            futures = [client.submit(_numbered, function, i, task, pure=False) for i, task in enumerate(tasks)]
            for future in as_completed(futures):
                yield future.result()
                future.release()

    return run


def _numbered(function: Callable[[T], R], position: int, task: T) -> tuple[int, R]:
    background.never_interpret()  # tasks say how long they took
    return position, function(task)


def choose(jobs: int, address: str | None) -> Backend:
    """The backend for `--jobs` and `--cluster`."""
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    if address is not None:
        check_scheduler(address)
        return cluster(address)
    return processes(jobs) if jobs > 1 else serial
