"""What tests of attacks share: ordinary use of a server, and how much memory it has taken."""

import asyncio
import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
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


@contextlib.contextmanager
def tenants(server: Any, folder: Path, *names: str) -> Iterator[list[httpx.Client]]:
    """A client with an admin's key for each name; a key sees only models that begin with its name."""
    from conquer.service.admin import keys_add

    address, limits, clients = f"sqlite:///{folder}/store.db", httpx.Limits(max_connections=400), []
    with contextlib.ExitStack() as stack:
        for name in names:
            _, secret = keys_add(name, roles=["admin"], models=[f"{name}*"], store=address)
            headers = {"Authorization": f"Bearer {secret}"}
            client = httpx.Client(base_url=server.address, headers=headers, timeout=120, limits=limits)
            clients.append(stack.enter_context(client))
        # Until the server has seen the first key it serves everyone on this machine.
        while httpx.get(f"{server.address}/v1/models").status_code == 200:
            time.sleep(0.02)
        for client in clients:
            while client.get("/v1/models").status_code != 200:
                time.sleep(0.02)
        yield clients


def passed_by(server: Any, costly: Sequence[httpx.Request], cheap: httpx.Request) -> int:
    """How many costly requests are done between a cheap request and its reply; refused ones do not count.

    All connections are open and all costly requests sent before the first of them is answered; the cheap request
    follows then, so that the others wait in the server.
    """

    async def go() -> int:
        streams = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(len(costly) + 1)]
        answered = 0

        async def reply(reader: asyncio.StreamReader) -> bytes:
            nonlocal answered
            head = await reader.readuntil(b"\r\n\r\n")
            answered += head[9:12] == b"200"
            return head[9:12]

        waiting = []
        for request, (reader, writer) in zip(costly, streams[1:], strict=True):
            writer.write(raw(request))
            waiting.append(asyncio.create_task(reply(reader)))
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        reader, writer = streams[0]
        before = answered
        writer.write(raw(cheap))
        status = await reply(reader)
        passed = answered - before - (status == b"200")
        assert status in (b"200", b"201")
        assert {await one for one in waiting} <= {b"200", b"422", b"429", b"503"}
        for _, writer in streams:
            writer.transport.abort()
        return passed

    return asyncio.run(go())


def raw(request: httpx.Request) -> bytes:
    """A request as its bytes on the wire."""
    head = [f"{request.method} {request.url.raw_path.decode()} HTTP/1.1"]
    head += [f"{name}: {value}" for name, value in request.headers.items()]
    return "\r\n".join([*head, "", ""]).encode() + request.content


class Health:
    """Asks /healthz all the time; `slowest` is the longest wait in seconds."""

    def __init__(self, address: str) -> None:
        self.slowest, self._address, self._over = 0.0, address, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        with httpx.Client(base_url=self._address, timeout=120) as client:
            while not self._over.is_set():
                began = time.monotonic()
                assert client.get("/healthz").status_code == 200
                self.slowest = max(self.slowest, time.monotonic() - began)
                time.sleep(0.01)

    def __enter__(self) -> "Health":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
