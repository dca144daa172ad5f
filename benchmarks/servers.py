"""Servers in processes of their own, and the load generator that talks to them."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

_ROOT = Path(__file__).parents[1]
_PEER = (
    "import runpy, sys, uvicorn; path, store, port = sys.argv[1:]; sys.argv[1:] = [store];"
    " uvicorn.run(runpy.run_path(path)['app'], port=int(port), log_level='warning')"
)
_SERVE = "import sys; from conquer.service.serve import serve; serve(store=sys.argv[1], port=int(sys.argv[2]))"


class Place(NamedTuple):
    """Where a server is: its port and its process id."""

    port: int
    process: int


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(folder: Path, store: str | None = None, environ: Mapping[str, str] | None = None) -> Iterator[Place]:
    """A server on a store, by default a SQLite file in the folder."""
    folder.mkdir(exist_ok=True)
    port = free_port()
    command = ["-c", _SERVE, store or f"sqlite:///{folder / 'bench.db'}", str(port)]
    with _started(command, port, folder / f"server-{port}.log", environ or {}) as process:
        yield Place(port, process)


@contextmanager
def peer(folder: Path, other: Path | None = None) -> Iterator[Place]:
    """The plain service (`benchmarks.peer`), or the FastAPI `app` of another file that takes a store as argument."""
    port, store = free_port(), str(folder / "peer.db")
    command = ["-m", "benchmarks.peer", store] if other is None else ["-c", _PEER, str(other.absolute()), store]
    command.append(str(port))
    with _started(command, port, folder / "peer.log", {}) as process:
        yield Place(port, process)


@contextmanager
def _started(command: list[str], port: int, log: Path, environ: Mapping[str, str]) -> Iterator[int]:
    """The id of a Python process, once it is ready."""
    environ = {**os.environ, "PYTHONPATH": str(_ROOT), "PYTHONSAFEPATH": "1", **environ}
    with log.open("w") as lines:
        server = subprocess.Popen([sys.executable, *command], stderr=lines, stdout=lines, env=environ)
    try:
        while not _answers(port):
            if server.poll() is not None:
                raise RuntimeError(f"the server ended with {server.returncode}: {log.read_text()}")
            time.sleep(0.02)
        yield server.pid
    finally:
        server.terminate()
        server.wait()


def _answers(port: int) -> bool:
    """Whether GET /readyz succeeds; a service without that route is ready when it replies."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz").close()
    except urllib.error.HTTPError as error:
        error.close()
        return error.code == HTTPStatus.NOT_FOUND
    except OSError:
        return False
    return True


def ask(port: int, path: str, body: Any = None) -> Any:
    """What the server replies, decoded."""
    data, head = None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, head)) as reply:
        return json.load(reply)


def make_model(port: int, width: int) -> None:
    """The model that the load generator talks to for vectors of this length."""
    ask(port, "/v1/models", {"name": f"bench-{width}", "algorithm": "gnr", "features": {"dim": width}})


def cpu_seconds(process: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(server: Place, **order: Any) -> dict[str, Any]:
    """Run the load generator as a process of its own; its result with the server's share of a core and time a pair."""
    before = cpu_seconds(server.process)
    command = [sys.executable, "-m", "benchmarks.load", json.dumps({"port": server.port, **order})]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=_ROOT)
    result: dict[str, Any] = json.loads(done.stdout)
    taken = cpu_seconds(server.process) - before
    return {**result, "server_cpu": taken / result["seconds"], "server_us": 1e6 * taken / max(1, result["done"])}
