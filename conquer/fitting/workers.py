"""Runs tasks here, in worker processes, or on a running Dask cluster."""

import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")
R = TypeVar("R")


def check_scheduler(address: str) -> None:
    """Raise an OSError where no scheduler listens; the client itself would try for half a minute."""
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        if not parts.hostname:
            raise ValueError("expected tcp://host:port")
        if parts.scheme in ("tcp", "tls"):
            socket.create_connection((parts.hostname, parts.port or 8786), timeout=10).close()
    except (OSError, ValueError) as error:
        raise OSError(f"no Dask scheduler answers at {address!r}: {error}") from None


def spread(
    function: Callable[[T], R], tasks: Sequence[T], *, jobs: int = 1, cluster: str | None = None
) -> Iterator[tuple[int, R]]:
    """(position, result) of every task as it finishes; a task that fails raises its error.

    >>> list(spread(abs, [-1, 2]))
    [(0, 1), (1, 2)]
    """
    if cluster is not None:
        yield from _on_cluster(function, tasks, cluster)
    elif jobs > 1 and len(tasks) > 1:
        yield from _in_processes(function, tasks, jobs)
    else:
        for place, task in enumerate(tasks):
            yield place, function(task)


def _in_processes(function: Callable[[T], R], tasks: Sequence[T], jobs: int) -> Iterator[tuple[int, R]]:
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    with ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=get_context("spawn")) as pool:
        places = {pool.submit(function, task): place for place, task in enumerate(tasks)}
        try:
            for done in as_completed(places):
                yield places[done], done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _on_cluster(function: Callable[[T], R], tasks: Sequence[T], address: str) -> Iterator[tuple[int, Any]]:
    """A task whose worker dies is run again elsewhere, with the same result to the bit."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise ImportError("--cluster needs Dask; run: pip install 'conquer-bandits[cluster]'") from None
    check_scheduler(address)
    with Client(address) as client:
        futures = [client.submit(_numbered, function, place, task, pure=False) for place, task in enumerate(tasks)]
        for future in as_completed(futures):
            yield future.result()
            future.release()


def _numbered(function: Callable[[T], R], place: int, task: T) -> tuple[int, R]:
    return place, function(task)
