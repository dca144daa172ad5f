"""The short way of everyday requests, beside the long one: the same replies byte by byte, the same counts and ends."""

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

from conquer.service.admin import keys_add
from conquer.service.errors import Kind, RefusalError
from conquer.service.http.entrance import Entrance
from conquer.service.http.rates import Buckets
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
    return request(f"/v1/models/m/events/{event}/answer", body or {"winner": "a"}, more)


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


def both(local: Any, folder: Any, requests: Callable[[bytes], list[bytes]], prepare: Any = None) -> list[int]:
    """The statuses of the replies to the same requests by either way, which are the same, as are the counts."""
    found = []
    for name, mark in (("short", b""), ("long", LONG)):

        async def work(house: House, mark: bytes = mark) -> Any:
            if prepare is not None:
                prepare(house)
            replies = await house.say(*requests(mark))
            await until(lambda: not house.state.tasks)
            return replies, house.counts(), house.taken, house.state.total_requests

        found.append(visited(local(store=f"sqlite:///{folder}/{name}.db"), work))
    (short, counts, taken, total), (long, others, none, requested) = found
    assert short == long
    assert counts == others
    assert (taken, none) == (len(short), 0)
    assert total == requested == len(short)
    return [int(reply.split()[1]) for reply in short]


def test_good_and_bad_requests_are_replied_to_alike(local, tmp_path):
    bodies = [b"", b"{", b"\xff", b"[]", b'{"items":[]}', b'{"itmes":1}', b"[" * 5000]

    def requests(mark: bytes) -> list[bytes]:
        return [
            choose("e1", mark),
            choose("e1", mark),
            request(CHOOSE, {"items": ITEMS[:1], "event_id": "e1"}, mark),
            answer("e1", None, mark),
            answer("e1", None, mark),
            answer("e1", {"winner": "b"}, mark),
            choose("e2", mark),
            answer("e2", {"winner": "skip"}, mark),
            answer("e2", {"winner": "zzz"}, mark),
            answer("e2", {"winner": "a", "voter": "ann", "seconds": 3}, mark),
            answer("none", None, mark),
            answer("a" * 201, None, mark),
            answer("..", None, mark),
            request("/v1/models/none/choose", {"items": ITEMS}, mark),
            request("/v1/models/-m/choose", {"items": ITEMS}, mark),
            request("/v1/models/none/events/e/answer", {"winner": "a"}, mark),
            *(request(CHOOSE, body, mark) for body in bodies),
            *(answer("e2", body, mark) for body in bodies),
            request(CHOOSE, {"items": ITEMS, "event_id": "e9"}, mark, b"evil.example"),
            request(CHOOSE, {"items": ITEMS, "event_id": "e9"}, mark, b"localhost:1"),
            choose("e3", b"Content-Type: application/json\r\nUser-Agent: x\r\nConnection: keep-alive\r\n" + mark),
        ]

    statuses = both(local, tmp_path, requests)
    assert {200, 400, 403, 404, 409, 422} == set(statuses)


def test_keys_and_their_roles_count_on_either_way(local, tmp_path):
    store = f"sqlite:///{tmp_path}/keys.db"
    roles = {"admin": "*", "choose": "*", "answer": "*", "read": "x-*"}
    secrets = {role: keys_add(role, roles=[role], models=[scope], store=store)[1] for role, scope in roles.items()}
    elsewhere = keys_add("elsewhere", roles=["choose", "answer"], models=["other"], store=store)[1]
    found = []
    for name, mark in (("short", b""), ("long", LONG)):

        async def work(house: House, name: str = name, mark: bytes = mark) -> Any:
            requests = [choose("e", mark), choose("e", b"Authorization: Bearer wrong\r\n" + mark)]
            for secret in (*secrets.values(), elsewhere):
                bearer = b"Authorization: Bearer " + secret.encode() + b"\r\n" + mark
                requests += [choose("e", bearer), answer("e", None, bearer)]
            return await house.say(*requests), house.taken

        made = name == "short"
        found.append(visited(local(store=store), work, made=made, key=secrets["admin"]))
    (short, taken), (long, none) = found
    usual = [b"401"] * 2 + [b"200"] * 3 + [b"403"] * 2 + [b"200"] + [b"403"] * 4
    assert [one.split()[1] for one in short] == usual
    assert (taken, none) == (len(short), 0)
    # What was learnt by the one is a repeat for the other.
    differing = [k for k in range(len(short)) if short[k] != long[k]]
    assert differing == [3]
    assert b"learnt" in short[3]
    assert b"repeat" in long[3]


def test_limits_refuse_on_either_way(local, tmp_path):
    def requests(mark: bytes) -> list[bytes]:
        return [choose("e", mark), answer("e", None, mark), choose("f", mark)]

    folder = tmp_path / "rate"
    folder.mkdir()

    def hurry(house: House) -> None:
        house.server.buckets = Buckets(0.001, clock=lambda: 0.0)

    assert both(local, folder, requests, hurry) == [200, 429, 429]

    def refuse(kind: Kind) -> Callable[[House], None]:
        def put(queued: QueuedWork) -> None:
            raise RefusalError(kind, "for_a_test", "no", retry_after=3)

        return lambda house: setattr(house.server.writer, "put", put)

    for kind, status in ((Kind.BUSY, 429), (Kind.UNAVAILABLE, 503), (Kind.INDETERMINATE, 504), (Kind.TOO_LARGE, 413)):
        folder = tmp_path / kind.name
        folder.mkdir()
        assert both(local, folder, requests, refuse(kind)) == [status] * 3


def test_faults_are_told_alike(local, tmp_path, caplog):
    def break_(house: House) -> None:
        house.server.meters.choice = None  # type: ignore[assignment]

    assert both(local, tmp_path, lambda mark: [choose("e", mark), answer("e", None, mark)], break_) == [500, 200]
    assert caplog.text.count("failed") == 2


def test_what_is_too_large_is_left_to_the_long_way(local):
    async def work(house: House) -> Any:
        large = {"items": ITEMS, "event_id": "e" * 150, "voter": "v" * 150}
        return await house.say(request(CHOOSE, large), choose("e"), request(CHOOSE, b" " * 70_000)), house.taken

    replies, taken = visited(local(round_bytes=300), work)
    assert [reply.split()[1] for reply in replies] == [b"413", b"200", b"413"]
    assert taken == 1


def test_requests_in_parts_and_behind_one_another_are_all_answered(local):
    """Wherever a request is split, and however many come at once."""

    async def work(house: House) -> Any:
        reader, writer = await house.client()
        whole = choose("e")
        writer.write(whole)
        expected = await told(reader)
        for at in range(1, len(whole), 7):
            writer.write(whole[:at])
            await asyncio.sleep(0.001)
            writer.write(whole[at:])
            assert await told(reader) == expected
        writer.write(whole * 5)
        assert [await told(reader) for _ in range(5)] == [expected] * 5
        # Behind one that is under way: in order, by whichever way.
        held = house.hold()
        writer.write(whole)
        await until(lambda: held)
        writer.write(choose("f") + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + choose("g")[:50])
        await asyncio.sleep(0.02)
        house.let_go()
        replies = [await told(reader) for _ in range(3)]
        writer.write(choose("g")[50:])
        replies.append(await told(reader))
        assert replies[0] == expected
        assert [re.search(rb'event_id":"(.)"|status":"ok', one)[1] for one in replies] == [b"e", b"f", None, b"g"]
        before = house.taken
        writer.write(whole)
        assert await told(reader) == expected
        assert house.taken == before + 1
        assert not house.state.tasks

    visited(local(), work)


def test_line_ends_between_requests_begin_none(local):
    async def work(house: House) -> Any:
        reader, writer = await house.client()
        for between in (b"\r\n", b"\r\n\r\n", b"\n"):
            writer.write(between)
            await asyncio.sleep(0.01)
            writer.write(choose("e"))
            assert (await told(reader)).startswith(b"HTTP/1.1 200")
        assert house.taken == 3

    visited(local(), work)


@pytest.mark.parametrize("mark", [b"", LONG])
def test_what_is_malformed_behind_a_request_ends_the_connection(local, mark):
    async def work(house: House) -> Any:
        reader, writer = await house.client()
        held = house.hold()
        writer.write(choose("e", mark))
        await until(lambda: held)
        writer.write(b"\x00\x00")
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        house.let_go()
        await until(lambda: not house.state.tasks)
        # It was done all the same.
        (reply,) = await house.say(answer("e"))
        assert b"learnt" in reply

    visited(local(), work)


@pytest.mark.parametrize("behind", [b"", choose("f"), choose("f")[:40]])
@pytest.mark.parametrize("mark", [b"", LONG])
def test_who_hangs_up_is_counted_until_it_is_done(local, mark, behind):
    async def work(house: House) -> Any:
        _, writer = await house.client()
        held = house.hold()
        writer.write(choose("e", mark))
        await until(lambda: held)
        writer.write(behind)
        await asyncio.sleep(0.01)
        writer.transport.abort()
        # Behind a whole request nothing more is read, so that nobody hears of it.
        await until(lambda: not house.state.connections or behind == choose("f"))
        assert len(house.state.tasks) == 1
        house.let_go()
        await until(lambda: not house.state.tasks and not house.state.connections)
        assert house.counts()[-1].endswith(" 1.0") or behind
        (reply,) = await house.say(answer("e", None, mark))
        assert b"learnt" in reply

    visited(local(), work)


@pytest.mark.parametrize("mark", [b"", LONG])
def test_who_closes_their_side_first_gets_the_same(local, mark):
    async def work(house: House) -> Any:
        reader, writer = await house.client()
        held = house.hold()
        writer.write(choose("e", mark))
        await until(lambda: held)
        writer.write_eof()
        await asyncio.sleep(0.02)
        house.let_go()
        return await reader.read()

    assert visited(local(), work) == b""


@pytest.mark.parametrize("mark", [b"", LONG])
def test_a_server_that_stops_answers_what_is_under_way(local, mark):
    async def work(house: House) -> Any:
        reader, writer = await house.client()
        idle, _ = await house.client()
        held = house.hold()
        writer.write(choose("e", mark))
        await until(lambda: held)
        for connection in list(house.state.connections):
            connection.shutdown()
        assert await idle.read() == b""
        assert len(house.state.tasks) == len(house.state.connections) == 1
        house.let_go()
        reply = await reader.read()
        await until(lambda: not house.state.tasks and not house.state.connections)
        return reply

    reply = visited(local(), work)
    assert reply.startswith(b"HTTP/1.1 200")
    assert b"cache-control: no-store\r\ncontent-length: " in reply
    assert b"\r\nconnection: close\r\n\r\n{" in reply
    assert reply.endswith(b"}")


def test_stopping_replies_are_the_same_on_either_way(local, tmp_path):
    found = []
    for name, mark in (("short", b""), ("long", LONG)):
        for cancelled in (False, True):

            async def work(house: House, mark: bytes = mark, cancelled: bool = cancelled) -> Any:
                reader, writer = await house.client()
                held = house.hold()
                writer.write(answer("none", None, mark))
                await until(lambda: held)
                for connection in list(house.state.connections):
                    connection.shutdown()
                for task in house.state.tasks if cancelled else ():
                    task.cancel(msg="too late")
                if not cancelled:
                    house.let_go()
                reply = await reader.read()
                await until(lambda: not house.state.tasks)
                house.let_go()
                await asyncio.sleep(0.02)
                return reply, house.counts()

            found.append(visited(local(store=f"sqlite:///{tmp_path}/{name}-{cancelled}.db"), work))
    assert found[:2] == found[2:]
    assert [one[0].split()[1] for one in found[:2]] == [b"404", b"500"]


@pytest.mark.parametrize("mark", [b"", LONG])
@pytest.mark.parametrize("ending", ["done", "refused", "cancelled"])
def test_what_the_writer_leaves_is_seen_to_by_the_handler(local, mark, ending):
    """An answer while an erased voter is being unlearnt."""

    async def work(house: House) -> Any:
        await house.say(choose("e", mark))
        folded = house.server.writer.models["m"]
        folded.unlearning = True
        waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        call = house.server.writer.call

        async def later(*arguments: Any) -> Any:
            await waits
            folded.unlearning = False
            return await call(*arguments)

        def by_handler(*arguments: Any, **options: Any) -> Any:
            return call(*arguments, **options) if options.get("request") else later(*arguments)

        house.server.writer.call = by_handler
        reader, writer = await house.client()
        writer.write(answer("e", {"winner": "zzz" if ending == "refused" else "a"}, mark))
        await until(lambda: waits._callbacks if hasattr(waits, "_callbacks") else house.state.tasks)
        await asyncio.sleep(0.02)
        if ending == "cancelled":
            for task in house.state.tasks:
                task.cancel(msg="too late")
        else:
            waits.set_result(None)
        reply = await told(reader)
        await until(lambda: not house.state.tasks)
        return reply, house.counts()

    reply, counts = visited(local(), work)
    assert reply.split()[1] == {"done": b"200", "refused": b"422", "cancelled": b"500"}[ending]
    assert sum(float(line.split()[-1]) for line in counts if "answers_total" in line) == (ending != "cancelled")


def test_too_many_at_once_take_the_long_way(local):
    async def work(house: House) -> Any:
        return await house.say(choose("e")), house.taken

    (reply,), taken = visited(local(), work, limit=1)
    assert reply.startswith(b"HTTP/1.1 503")
    assert taken == 0


def test_an_access_log_has_every_request(start):
    server = start(access_log=True, probe="/healthz")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(choose("e"))
        assert client.recv(1000).startswith(b"HTTP/1.1 404")
    assert f"POST {CHOOSE}" in server.errors.read_text()


def test_an_idle_connection_keeps_nothing_of_its_last_request(local):
    async def work(house: House) -> Any:
        reader, writer = await house.client()
        writer.write(choose("e"))
        await told(reader)
        (connection,) = house.state.connections
        assert (connection.cycle._call, connection.cycle._tell) == (None, None)
        assert connection._timer is None
        assert connection.timeout_keep_alive_task is not None

    visited(local(), work)
