"""The service under load: durable pairs per second, one by one and in batches, and its delay at half that rate."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_SERVE = "import sys; from conquer.service.serve import serve; serve(store=sys.argv[1], port=int(sys.argv[2]))"
_WIDTHS = {"1 KB": 32, "5 KB": 170}
MUST = {"pairs": 1500.0, "batches": 5000.0, "p99_ms": 50.0}


@contextmanager
def running(folder: Path, tree: Path | None = None) -> Iterator[tuple[int, int]]:
    """(port, process id) of a server on the store in the folder; `tree` runs another version, by its sources."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    store = f"sqlite:///{folder / 'bench.db'}"
    own = Path(__file__).parents[2]
    environ = {**os.environ, "PYTHONPATH": str(tree or own), "PYTHONSAFEPATH": "1"}
    with (folder / "server.log").open("w") as log:
        command = [sys.executable, "-c", _SERVE, store, str(port)]
        server = subprocess.Popen(command, stderr=log, stdout=log, env=environ)
    try:
        _wait(port, server, folder / "server.log")
        yield port, server.pid
    finally:
        server.terminate()
        server.wait()


def ask(port: int, path: str, body: Any = None) -> Any:
    """What the server replies, decoded."""
    data, head = None if body is None else json.dumps(body).encode(), {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, head)) as reply:
        return json.load(reply)


def make_model(port: int, width: int) -> None:
    """The model that the load generator talks to for vectors of this length."""
    ask(port, "/v1/models", {"name": f"bench-{width}", "algorithm": "gnr", "features": {"dim": width}})


def _wait(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    while True:
        if server.poll() is not None:
            raise RuntimeError(f"the server ended with {server.returncode}: {log.read_text()}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz"):
                return
        except OSError:
            time.sleep(0.1)


def cpu_seconds(process: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def load(process: int, **order: Any) -> dict[str, Any]:
    """Run the load generator as a process of its own; its result with both CPU shares."""
    before, start = cpu_seconds(process), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "conquer.bench.load", json.dumps(order)], check=True, capture_output=True, text=True
    )
    result: dict[str, Any] = json.loads(done.stdout)
    result["server_cpu"] = (cpu_seconds(process) - before) / (time.perf_counter() - start)
    return result


def run(quick: bool = False) -> dict[str, Any]:
    """Every measurement of the service, JSON-able: K = 5, 32 connections, SQLite, each commit before its reply."""
    seconds = 3.0 if quick else 10.0
    with tempfile.TemporaryDirectory() as name, running(Path(name)) as (port, process):
        for width in _WIDTHS.values():
            make_model(port, width)
        common = {"port": port, "seconds": seconds, "connections": 32}
        load(process, work="pairs", **{**common, "seconds": 1.0}, width=_WIDTHS["1 KB"], rate=0)
        results = {
            f"pairs, {size} bodies": load(process, work="pairs", **common, width=width, rate=0)
            for size, width in _WIDTHS.items()
        }
        # Half of what the table asks for, whatever this machine can do.
        half = load(process, work="pairs", **common, width=_WIDTHS["1 KB"], rate=MUST["pairs"] / 2)
        results["pairs, 1 KB bodies, at 750 a second"] = half
        results["batches of 100"] = load(
            process, work="batches", **{**common, "connections": 4}, width=_WIDTHS["1 KB"], size=100
        )
    reached = {
        "pairs": results["pairs, 1 KB bodies"]["pairs_per_second"],
        "batches": results["batches of 100"]["pairs_per_second"],
        "p99_ms": half["p99_ms"],
    }
    return {"results": results, "reached": reached, "must": MUST}


def table(measured: dict[str, Any]) -> str:
    """The results as lines for people."""
    lines = [f"{'work':40} {'pairs/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'server CPU':>11} {'load CPU':>9}"]
    lines += [
        f"{name:40} {one['pairs_per_second']:9.0f} {one['p50_ms']:8.1f} {one['p99_ms']:8.1f}"
        f" {one['server_cpu']:11.2f} {one['load_cpu']:9.2f}"
        for name, one in measured["results"].items()
    ]
    return "\n".join(lines)
