"""Servers behind a socket of the test's own process, to look at requests that are under way."""

import asyncio
import contextlib
import json
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from conquer.service.http.entrance import Entrance
from conquer.service.writer.work import QueuedWork

from .conftest import Local

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
ITEMS = [{"id": "a", "vector": [1, 0, 0.5, 0]}, {"id": "b", "vector": [0, 1, 0, -2]}]
CHOOSE = "/v1/models/m/choose"
LONG = b"X-Long: 1\r\n"
Work = Callable[["House"], Awaitable[Any]]


def request(path: str, body: Any, more: bytes = b"", host: bytes = b"127.0.0.1") -> bytes:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\n".encode() + b"Host: " + host + b"\r\n" + more
    return head + b"Content-Length: %d\r\n\r\n" % len(raw) + raw


def answer(event: str, body: Any = None, more: bytes = b"") -> bytes:
    return request(f"/v1/models/m/events/{event}/answer", {"winner": "a"} if body is None else body, more)


def choose(event: str, more: bytes = b"") -> bytes:
    return request(CHOOSE, {"items": ITEMS, "event_id": event}, more)


async def told(reader: asyncio.StreamReader) -> bytes:
    """One reply, or what there is of it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        found = re.search(rb"content-length: (\d+)", head)
        return head + await reader.readexactly(int(found[1]) if found else 0)
    except asyncio.IncompleteReadError as cut:
        return cut.partial


class House:
    """A server behind a socket of this process, which tells how many requests took the short way."""

    def __init__(self, one: Local) -> None:
        self.server, self.app = one.server, one.app
        self.state = ServerState()
        self.state.default_headers = [(b"date", b"now")]
        self.clients: list[asyncio.StreamWriter] = []
        self.taken = 0
        self.held: list[QueuedWork] | None = None
        self._put = self.server.writer.put
        self.server.writer.put = self._hold
        self.port = 0

    def offer(self, connection: Entrance, data: bytes) -> bool:
        taken = self.app.visits(connection, data)
        self.taken += taken
        return taken

    def _hold(self, queued: QueuedWork) -> None:
        if self.held is None or queued.request is None:
            self._put(queued)
        else:
            self.held.append(queued)

    def hold(self) -> list[QueuedWork]:
        """From now on requests wait in a list; `let_go` queues them."""
        self.held = []
        return self.held

    def let_go(self) -> None:
        held, self.held = self.held or [], None
        for queued in held:
            self._put(queued)

    async def client(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.clients.append(writer)
        return reader, writer

    async def say(self, *parts: bytes) -> list[bytes]:
        """The replies to requests of one connection, one after the other."""
        reader, writer = await self.client()
        replies = []
        for part in parts:
            writer.write(part)
            replies.append(await told(reader))
        return replies

    def bring(self, *parts: bytes) -> None:
        """To the only connection, each as one read."""
        (connection,) = self.state.connections
        for part in parts:
            connection.data_received(part)

    def counts(self) -> list[str]:
        text = self.server.meters.text(lambda name: True).decode()
        kept = ("conquer_requests_total", "conquer_answers_total", "conquer_choices_total", "conquer_request_seconds_c")
        return [line for line in text.splitlines() if line.startswith(kept) and '/v1/models"' not in line]


@contextlib.asynccontextmanager
async def opened(one: Local, limit: int | None = None, made: bool = True, key: str = "") -> AsyncIterator[House]:
    async with one.running() as client:
        if made:
            headers = {"Authorization": f"Bearer {key}"} if key else {}
            assert (await client.post("/v1/models", json=MADE, headers=headers)).status_code == 201
        house = House(one)
        config = uvicorn.Config(one.app, http=Entrance, ws="none", log_config=None, access_log=False, lifespan="off")
        config.limit_concurrency = limit
        config.load()
        listening = socket.create_server(("127.0.0.1", 0))
        house.port = listening.getsockname()[1]

        class Watched(Entrance):
            short = house.offer

        server = await asyncio.get_running_loop().create_server(
            lambda: Watched(config, house.state, {}), sock=listening
        )
        try:
            yield house
        finally:
            server.close()
            for client in house.clients:
                client.transport.abort()
            house.let_go()
            await until(lambda: not house.state.connections)


def visited(one: Local, work: Work, **options: Any) -> Any:
    async def go() -> Any:
        async with opened(one, **options) as house:
            return await asyncio.wait_for(work(house), 60)

    with asyncio.Runner(loop_factory=pytest.importorskip("uvloop").new_event_loop) as runner:
        return runner.run(go())


async def until(condition: Callable[[], Any]) -> None:
    while not condition():
        await asyncio.sleep(0.001)
