"""Runs tasks here, in worker processes, or on a running Dask cluster."""

import socket
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")
R = TypeVar("R")


def check_scheduler(address: str) -> None:
    """Raise an OSError where no scheduler listens; Dask's client would wait 30 s before failing."""
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        if not parts.hostname:
            raise ValueError("expected tcp://host:port")
        if parts.scheme in ("tcp", "tls"):
            socket.create_connection((parts.hostname, parts.port or 8786), timeout=10).close()
    except (OSError, ValueError) as error:
        raise OSError(f"no Dask scheduler answers at {address!r}: {error}") from None


def spread(function: Callable[[T], R], tasks: Sequence[T], *, jobs: int = 1, cluster: str | None = None) -> Iterator[R]:
    """The result of every task, in order; a task that fails raises its error.

    On a cluster a task whose worker dies is run again elsewhere.

    >>> list(spread(abs, [-1, 2]))
    [1, 2]
    """
    if cluster is not None:
        try:
            from distributed import Client
        except ImportError:
            raise ImportError("--cluster needs Dask; run: pip install 'conquer-bandits[cluster]'") from None
        check_scheduler(cluster)
        with Client(cluster) as client:
            yield from client.get_executor(pure=False).map(function, tasks)
    elif jobs > 1 and len(tasks) > 1:
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        with ProcessPoolExecutor(min(jobs, len(tasks)), mp_context=get_context("spawn")) as pool:
            yield from pool.map(function, tasks)
    else:
        yield from map(function, tasks)
