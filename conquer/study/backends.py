"""Where tasks run: in this process, in worker processes, or on a Dask cluster, with the same results."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, TypeVar

from conquer.fitting.workers import check_scheduler

T = TypeVar("T")
R = TypeVar("R")

Backend = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[tuple[int, Any]]]
"""(function, tasks) -> (position, result) as each finishes; a failing task raises."""


def serial(function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
    """Run tasks in order in this process.

    >>> list(serial(abs, [-1, 2]))
    [(0, 1), (1, 2)]
    """
    for position, task in enumerate(tasks):
        yield _numbered(function, position, task)


def processes(jobs: int) -> Backend:
    """`jobs` worker processes on this machine, each with single-threaded linear algebra.

    The workers live as long as the backend. An interrupt or a failing task kills them.
    """
    pools: list[ProcessPoolExecutor] = []

    def run(function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        if not pools:
            context = multiprocessing.get_context("spawn")
            pools.append(ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent))
        others = set(multiprocessing.active_children())
        try:
            with _for_workers():
                futures = [pools[0].submit(_numbered, function, i, task) for i, task in enumerate(tasks)]
            for future in as_completed(futures):
                yield future.result()
        except BaseException:
            pool = pools.pop()
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.kill()
            raise

    return run


@contextmanager
def _for_workers() -> Iterator[None]:
    """What worker processes inherit when they start: one thread for linear algebra, and no signal of Ctrl-C."""
    before = dict(os.environ)
    blocked = {signal.SIGINT} if hasattr(signal, "pthread_sigmask") else set()
    if blocked:
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
    os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        if blocked:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, blocked)


def _end_with_parent() -> None:
    """End this worker when its parent has been killed."""

    def wait() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def cluster(address: str) -> Backend:
    """The workers of a running Dask scheduler; the task of a worker that dies is run again on another."""

    def run(function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[int, R]]:
        from distributed import Client
        from distributed import as_completed as arriving

        with Client(address) as client:
            futures = [client.submit(_numbered, function, i, task, pure=False) for i, task in enumerate(tasks)]
            for future in arriving(futures):
                yield future.result()
                future.release()

    return run


def _numbered(function: Callable[[T], R], position: int, task: T) -> tuple[int, R]:
    from conquer.kernels.core import background  # imports numpy, which is not needed to refuse a mistake

    background.never_interpret()  # rows record how long their tasks took
    return position, function(task)


def choose(jobs: int, address: str | None) -> Backend:
    """The backend for `--jobs` and `--cluster`."""
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    if address is not None:
        check_scheduler(address)
        return cluster(address)
    return processes(jobs) if jobs > 1 else serial
