"""What the service's tests share: servers as processes of their own, and an application in this one."""

import asyncio
import contextlib
import itertools
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from .nursery import Nursery, Process

# Five seconds are httpx's own: on a machine with better things to do, a server may be slower and right.
for _kind in ("connect", "read", "write", "pool"):
    setattr(httpx._config.DEFAULT_TIMEOUT_CONFIG, _kind, 120.0)
# Below the ports that the kernel gives to connections, which might take one before its server does.
_ports = itertools.count(os.getpid() * 97)


def free_port() -> int:
    """A port that nobody has; every process looks in a place of its own."""
    while True:
        port = 10_000 + next(_ports) % 20_000
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL database of the module's own."""
    from .cluster import running

    with running() as address:
        yield address


@pytest.fixture
def start(tmp_path: Path, nursery: Nursery) -> Iterator[Callable[..., Process]]:
    """start(**serve's options) -> Process that answers `probe` ("" does not wait); all are stopped at the end."""
    running: list[Process] = []

    def go(port: int | None = None, probe: str = "/readyz", environ: Any = None, **options: Any) -> Process:
        port = port or free_port()
        options.setdefault("store", f"sqlite:///{tmp_path}/store.db")
        errors = tmp_path / f"errors-{port}.log"
        pid = int(nursery.order(options={"port": port, **options}, errors=errors, environ=environ or {}))
        running.append(Process(nursery, pid, port, errors))
        if probe:
            running[-1].wait_for(probe)
        return running[-1]

    yield go
    for process in running:
        if process.code is None:
            process.kill()


class Local:
    """An application in this process, with a client that talks to it without a socket."""

    def __init__(self, store: str, **options: Any) -> None:
        from conquer.service.settings import Settings
        from conquer.service.web.app import make_app
        from conquer.service.web.server import Server

        self.server = Server(Settings(store=store, **options))
        self.app = make_app(self.server)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(self.app)
        client = httpx.AsyncClient(transport=transport, base_url="http://localhost")
        async with self.server.running(), client:
            yield client


@pytest.fixture
def local(tmp_path: Path) -> Callable[..., Local]:
    def make(**options: Any) -> Local:
        return Local(options.pop("store", f"sqlite:///{tmp_path}/store.db"), **options)

    return make


def run(work: Any) -> Any:
    """The result of a coroutine, in an event loop of its own.

    While a browser of playwright's sync API is open, its loop runs in this thread: then the coroutine gets a thread.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """An async test runs in an event loop of its own."""
    if not asyncio.iscoroutinefunction(pyfuncitem.obj):
        return None
    run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}))
    return True


def read_items(data: bytes, **options: Any) -> tuple[list[Any], Any]:
    """The groups of a file of items, and what the service says of its columns."""
    from conquer.service.engine.long_work import finish
    from conquer.service.work import item_files

    found: tuple[list[Any], Any] = finish(item_files.read_items(data, **options))
    return found


def read_groups(data: bytes) -> list[Any]:
    return read_items(data)[0]
