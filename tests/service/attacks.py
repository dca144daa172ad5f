"""What tests of attacks share: ordinary use of a server, and how much memory it has taken."""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}


def make(address: str, **settings: Any) -> httpx.Response:
    return httpx.post(f"{address}/v1/models", json={**MADE, **settings}, timeout=60)


def pair(address: str, event: str, model: str = "m", items: Any = None, winner: str = "") -> None:
    """An ordinary question and its answer; anything but a yes is an error."""
    items = items or [{"id": name, "vector": vector} for name, vector in (("a", [1, 0, 0, 0]), ("b", [0, 1, 0, 0]))]
    body = {"items": items, "event_id": event}
    reply = httpx.post(f"{address}/v1/models/{model}/choose", json=body, timeout=60)
    assert reply.status_code == 200, reply.text
    if reply.json()["query"] != "none":
        body = {"winner": winner or reply.json()["shown"][0]["id"]}
        reply = httpx.post(f"{address}/v1/models/{model}/events/{event}/answer", json=body, timeout=60)
        assert reply.status_code == 200, reply.text


def usable(address: str, model: str = "m", tag: str = "") -> None:
    """Choose, answer, look, list, export, read the log: all there."""
    pair(address, f"usable-{tag}", model)
    for path in (f"/v1/models/{model}", "/v1/models", f"/v1/models/{model}/file", f"/v1/models/{model}/log", "/readyz"):
        reply = httpx.get(f"{address}{path}", timeout=60)
        assert reply.status_code == 200, (path, reply.text)


def megabytes(pid: int, what: str = "VmHWM") -> float:
    """The most memory that a process has had so far, or with VmRSS what it has now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(what))


def processor(pid: int) -> float:
    """The seconds that a process has had of the processors so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def store(folder: Path) -> Iterator[sqlite3.Connection]:
    """The store's file, opened beside the server."""
    connection = sqlite3.connect(folder / "store.db", timeout=60, isolation_level=None)
    with contextlib.closing(connection):
        yield connection


def meanwhile(work: Callable[[], Any], other: Callable[[], Any]) -> tuple[Any, int]:
    """What `work` returns, done in a thread, and how often `other` came to an end before it did."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    count = 0
    while True:
        other()
        if not thread.is_alive():
            break
        count += 1
    thread.join()
    return found[0], count
