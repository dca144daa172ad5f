"""Bytes in flight are bounded: bodies that never end, replies that nobody reads; small calls go on meanwhile."""

import asyncio
import contextlib
import itertools
import socket
import threading

import httpx
import pytest

from conquer import make, saving
from conquer.service.admin import keys_add
from conquer.service.model.state import ModelState
from conquer.service.web.access import Budget

from .conftest import run
from .test_connections import memory, said, until

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
MEGABYTE = 1 << 20


def open_socket(server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=100)


def small_calls_work(server) -> None:
    items = [{"id": name, "vector": [1.0, 2.0]} for name in "ab"]
    assert httpx.post(f"{server.address}/v1/models/m/choose", json={"items": items}, timeout=60).status_code == 200
    assert httpx.get(f"{server.address}/healthz", timeout=60).status_code == 200


@pytest.mark.parametrize("head", ["Content-Length: 67108864", "Transfer-Encoding: chunked"])
def test_forty_bodies_that_never_end(start, head):
    """Each sends all but the last megabyte of 64, and waits: what there is no room for is refused at once."""
    server = start(read_seconds=100, flight_bytes=128 * MEGABYTE)
    httpx.post(f"{server.address}/v1/models", json=MADE).raise_for_status()
    before = memory(server)
    request = f"POST /v1/models/m/items HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n\r\n".encode()
    part = b"%x\r\n" % MEGABYTE + bytes(MEGABYTE) + b"\r\n" if "chunked" in head else bytes(MEGABYTE)

    def upload(client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            client.sendall(request)
            for _ in range(63):
                client.sendall(part)

    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(open_socket(server)) for _ in range(40)]
        threads = [threading.Thread(target=upload, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert memory(server) - before < 400
        small_calls_work(server)
        refused = 0
        for client in clients:
            client.settimeout(5)
            with contextlib.suppress(TimeoutError):
                reply = said(client)
                refused += reply.startswith(b"HTTP/1.1 503") and b"retry-after: 1" in reply
        assert refused >= 36
    until(lambda: "conquer_flight_bytes 0.0" in httpx.get(f"{server.address}/metrics").text)
    small_calls_work(server)


def test_twenty_readers_who_do_not_read(start):
    """Files of many megabytes to people who take nothing: some are refused, none is held twice."""
    server = start(read_seconds=100, flight_bytes=128 * MEGABYTE)
    httpx.post(f"{server.address}/v1/models", json=MADE).raise_for_status()
    large = {"name": "large", "algorithm": "gnr", "model": "full", "features": {"dim": 2100}}
    httpx.post(f"{server.address}/v1/models", json=large, timeout=60).raise_for_status()
    items = [{"id": name, "vector": [1.0] * 2100} for name in "ab"]
    path = f"{server.address}/v1/models/large"
    offer = httpx.post(f"{path}/choose", json={"items": items}, timeout=60).json()
    httpx.post(f"{path}/events/{offer['event_id']}/answer", json={"winner": "a"}, timeout=60).raise_for_status()
    size = len(httpx.get(f"{server.address}/v1/models/large/file", timeout=60).content)
    assert size > 30 * MEGABYTE
    before = memory(server)
    with contextlib.ExitStack() as stack:
        clients = []
        for _ in range(20):
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(100)
            client.connect(("127.0.0.1", server.port))
            client.sendall(b"GET /v1/models/large/file HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            clients.append(client)
        statuses = [client.recv(12) for client in clients]
        assert set(statuses) == {b"HTTP/1.1 200", b"HTTP/1.1 503"}
        assert memory(server) - before < 400
        small_calls_work(server)
        whole = clients[statuses.index(b"HTTP/1.1 200")]
        whole.settimeout(100)
        read = 0
        while read < size:
            read += len(whole.recv(MEGABYTE))
    assert httpx.get(f"{server.address}/v1/models/large/file", timeout=60).content[:8]


def test_a_file_that_finds_no_room_is_not_made(local, monkeypatch):
    """Many ask in the same moment: a copy of the model for each, before any is refused, would be gigabytes."""
    made = []
    dumps = ModelState.dumps
    monkeypatch.setattr(ModelState, "dumps", lambda state: made.append(1) or dumps(state))

    async def go():
        app = local(flight_bytes=4 * MEGABYTE, snapshot_every=10**6)
        async with app.running() as client:
            large = {"name": "m", "algorithm": "gnr", "model": "full", "features": {"dim": 400}}
            (await client.post("/v1/models", json=large)).raise_for_status()
            replies = await asyncio.gather(*(client.get("/v1/models/m/file") for _ in range(20)))
            statuses = [reply.status_code for reply in replies]
            assert set(statuses) == {200, 503}
            assert len(made) == statuses.count(200)
            assert app.server.budget.used == 0

    run(go())


def test_a_model_larger_than_a_share_is_not_made(local, monkeypatch):
    """Of a model that is made the whole file is counted; before, a tenth of it was."""
    took = []
    take = Budget.take
    monkeypatch.setattr(
        Budget, "take", lambda self, owner, size, *bulky: took.append(size) or take(self, owner, size, *bulky)
    )

    async def go():
        async with local(flight_bytes=144 * MEGABYTE).running() as client:

            async def made(name, **settings):
                reply = await client.post("/v1/models", json={"name": name, **settings})
                return reply.status_code, reply.json().get("error", {}).get("message", "")

            status, why = await made("dueling", algorithm="vacdb", features={"dim": 1 << 20})
            assert (status, why.startswith("the model takes 83,886,088 bytes, at most 75,497,472 ")) == (422, True)
            assert (await made("square", algorithm="gnr", model="full", features={"dim": 3072}))[0] == 422
            # A file of a few bytes may stand for a large table.
            small = saving.dumps(make("gnr", dim=1 << 23))
            assert len(small) < MEGABYTE
            reply = await client.put("/v1/models/wide/file", content=small)
            assert (reply.status_code, "at most 75,497,472" in reply.text) == (422, True)
            assert [one["name"] for one in (await client.get("/v1/models")).json()["models"]] == []
            assert (await made("large", algorithm="vacdb", features={"dim": 900_000}))[0] == 201
            took.clear()
            file = await client.get("/v1/models/large/file")
            assert sum(took) >= len(file.content) > 70_000_000

    run(go())


def test_the_largest_full_model_can_be_made_by_default(local):
    async def go():
        async with local().running() as client:
            large = {"name": "m", "algorithm": "gnr", "model": "full", "features": {"dim": 4096}}
            reply = await client.post("/v1/models", json=large)
            assert reply.status_code == 201, reply.text
            assert reply.json()["settings"]["believe"] == "voters"

    run(go())


def test_one_key_has_half_of_it(start, tmp_path):
    """What one key fills, another still has; and both have it back when they are done."""
    store = f"sqlite:///{tmp_path}/store.db"
    secrets = [keys_add(name, roles=["admin"], store=store)[1] for name in ("ann", "bob")]
    server = start(read_seconds=100, flight_bytes=4 * MEGABYTE)
    headers = [{"Authorization": f"Bearer {secret}"} for secret in secrets]
    httpx.post(f"{server.address}/v1/models", json=MADE, headers=headers[0]).raise_for_status()
    count = itertools.count()

    def status(who: int) -> int:
        lines = b"".join(b'{"id": "i%d", "text": "%s"}\n' % (next(count), b"word " * 40_000) for _ in range(4))
        url = f"{server.address}/v1/models/m/items"
        return httpx.post(url, content=lines, headers=headers[who], timeout=60).status_code

    with open_socket(server) as client:
        head = f"POST /v1/models/m/items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {secrets[0]}\r\n"
        client.sendall(head.encode() + b"Content-Length: 2000000\r\n\r\n")
        until(lambda: status(0) == 503)
        assert status(1) != 503
    until(lambda: status(0) != 503)


def test_what_was_done_is_not_refused_for_its_reply(local):
    """A batch whose reply is as large as its body: once it is on disk, the reply goes out."""

    async def go() -> None:
        async with local(flight_bytes=200_000).running() as client:
            await client.post("/v1/models", json=MADE)
            items = [{"id": name, "vector": [1.0]} for name in "ab"]
            rounds = [{"event_id": f"{k:0200}", "items": items} for k in range(400)]
            reply = await client.post("/v1/models/m/choose/batch", json={"rounds": rounds})
            assert (reply.status_code, len(reply.content) > 100_000) == (200, True)
            assert (await client.get("/v1/models/m")).json()["position"] == 400

    run(go())
