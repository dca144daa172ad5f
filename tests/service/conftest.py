"""What the service's tests share: servers as processes of their own, and an application in this one."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

_SERVE = "import sys, json; from conquer.service.command import serve; serve(**json.loads(sys.argv[1]))"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Process:
    """A server in a process of its own."""

    popen: "subprocess.Popen[bytes]"
    port: int
    errors: Path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait()

    def stop(self) -> int:
        self.popen.send_signal(signal.SIGTERM)
        return self.popen.wait(60)


def launch(folder: Path, port: int | None = None, wait: bool = True, **options: Any) -> Process:
    """Start a server and wait until it is ready."""
    port = port or free_port()
    options.setdefault("store", f"sqlite:///{folder}/store.db")
    errors = folder / f"errors-{port}.log"
    with errors.open("ab") as out:
        popen = subprocess.Popen(
            [sys.executable, "-c", _SERVE, json.dumps({"port": port, **options}, default=str)],
            stdout=out,
            stderr=out,
            env={**os.environ, "PYTHONWARNINGS": "default"},
        )
    process = Process(popen, port, errors)
    if wait:
        wait_ready(process)
    return process


def wait_ready(process: Process) -> None:
    give_up = time.monotonic() + 200
    while time.monotonic() < give_up:
        if process.popen.poll() is not None:
            raise RuntimeError(f"the server ended with {process.popen.returncode}: {process.errors.read_text()}")
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{process.address}/readyz").status_code == 200:
                return
        time.sleep(0.05)
    raise RuntimeError(f"the server never became ready: {process.errors.read_text()}")


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """start(**serve's options) -> Process; all are stopped at the end."""
    running: list[Process] = []

    def go(**options: Any) -> Process:
        running.append(launch(tmp_path, **options))
        return running[-1]

    yield go
    for process in running:
        if process.popen.poll() is None:
            process.kill()


class Local:
    """An application in this process, with a client that talks to it without a socket."""

    def __init__(self, store: str, **options: Any) -> None:
        from conquer.service.app import make_app
        from conquer.service.server import Server
        from conquer.service.settings import Settings

        self.server = Server(Settings(store=store, **options))
        self.app = make_app(self.server)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[httpx.AsyncClient]:
        transport = httpx.ASGITransport(self.app)
        async with self.app.router.lifespan_context(self.app):
            async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as client:
                yield client


@pytest.fixture
def local(tmp_path: Path) -> Callable[..., Local]:
    def make(**options: Any) -> Local:
        return Local(options.pop("store", f"sqlite:///{tmp_path}/store.db"), **options)

    return make


def run(work: Any) -> Any:
    return asyncio.run(work)
