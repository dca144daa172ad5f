"""A PostgreSQL cluster of the tests' own, on a port that no other test has."""

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks import postgres as cluster
from benchmarks.postgres import programs

from .conftest import free_port

__all__ = ["programs", "running"]


@contextmanager
def running() -> Iterator[str]:
    """The address of a fresh database."""
    with cluster.running(free_port()) as address:
        yield address
