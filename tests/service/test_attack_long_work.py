"""Files of votes and downloads of one tenant: another's uploads, images and models do not wait for them."""

import asyncio
import contextlib
import json
import random
import socket
import time

from .attacks import raw, tenants

ITEMS = "\n".join(json.dumps({"id": f"i{k}", "text": f"word{k} tea"}) for k in range(40)).encode()
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 40


def votes(count: int) -> bytes:
    rng, lines = random.Random(0), ["left,right,winner"]
    for _ in range(count):
        left, right = rng.sample(range(40), 2)
        lines.append(f"i{left},i{right},i{left}")
    return "\n".join(lines).encode()


def make(client, name, items=True):
    assert client.post("/v1/models", json={"name": name, "algorithm": "gnr"}).status_code == 201
    if items:
        assert client.post(f"/v1/models/{name}/items", content=ITEMS).status_code == 200


def send(client, name, content) -> socket.socket:
    """Send a file of votes over a connection of its own, and do not wait for the reply."""
    request = client.build_request("POST", f"/v1/models/{name}/votes", content=content)
    connection = socket.create_connection((client.base_url.host, client.base_url.port), timeout=120)
    connection.sendall(raw(request))
    return connection


def position(client, name) -> int:
    return client.get(f"/v1/models/{name}").json()["position"]


def begun(client, name) -> None:
    while position(client, name) == 0:
        time.sleep(0.02)


def replied(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False
    finally:
        connection.settimeout(120)


def share_waited(server, costly, cheap, count=60) -> float:
    """How long a cheap request takes while costly ones run, as a share of the time that all of these take.

    Their replies cannot be counted as in `passed_by`: a download's head is sent with its first line, downloads of one
    tenant take turns, and so all heads come at the end.
    """

    async def go() -> float:
        streams = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(count + 1)]
        (reader, writer), *others = streams
        start = time.monotonic()
        for _, other in others:
            other.write(raw(costly))
        heads = [asyncio.create_task(other.readuntil(b"\r\n\r\n")) for other, _ in others]
        await asyncio.sleep(0.1)
        sent = time.monotonic()
        writer.write(raw(cheap))
        assert (await reader.readuntil(b"\r\n\r\n"))[9:12] in (b"200", b"201")
        waited = time.monotonic() - sent
        assert {(await head)[9:12] for head in heads} == {b"200"}
        total = time.monotonic() - start
        for _, each in streams:
            each.transport.abort()
        return waited / total

    return asyncio.run(go())


def test_votes_of_one_tenant_do_not_hold_up_anothers_upload(start, tmp_path):
    server = start()
    with tenants(server, tmp_path, "greedy", "other") as (greedy, other), contextlib.ExitStack() as stack:
        for k in range(2):
            make(greedy, f"greedy{k}")
        make(other, "other", items=False)
        content = votes(60_000)
        files = [stack.enter_context(send(greedy, f"greedy{k}", content)) for k in range(2)]
        begun(greedy, "greedy0")
        reply = other.post("/v1/models/other/items", content=ITEMS, timeout=20)
        assert reply.status_code == 200, reply.text
        assert not any(map(replied, files))


def test_hanging_up_ends_the_work(start, tmp_path):
    """Nobody waits for the reply any more: what is written stays, and the rest is not begun."""
    server, count = start(), 60_000
    with tenants(server, tmp_path, "greedy") as (greedy,):
        make(greedy, "greedy")
        with send(greedy, "greedy", votes(count)):
            begun(greedy, "greedy")
        seen = []
        while len(seen) < 20 and (len(seen) < 3 or len(set(seen[-3:])) > 1):
            time.sleep(0.5)
            seen.append(position(greedy, "greedy"))
        assert seen[-1] == seen[-3] < count, seen


def test_files_beyond_a_few_are_refused(start, tmp_path):
    """One runs, a few wait, and the others get a refusal at once instead of a place in the queue."""
    server = start()
    with tenants(server, tmp_path, "greedy") as (greedy,), contextlib.ExitStack() as stack:
        for k in range(12):
            make(greedy, f"greedy{k}")
        content = votes(60_000)
        files = [stack.enter_context(send(greedy, f"greedy{k}", content)) for k in range(12)]
        begun(greedy, "greedy0")
        refused, give_up = 0, time.monotonic() + 5
        while refused < 3 and time.monotonic() < give_up:
            refused = sum(map(replied, files))
            time.sleep(0.05)
        heads = [one.recv(12) for one in files if replied(one)]
        assert sum(head.endswith(b"429") for head in heads) >= 3


def test_downloads_of_one_tenant_hold_up_no_other(start, tmp_path):
    """Each reads a log of many megabytes to write a few lines; an image and a new model come in between."""
    server = start()
    with tenants(server, tmp_path, "greedy", "other") as (greedy, other):
        made = {"algorithm": "gnr", "features": {"dim": 2**10}}
        assert greedy.post("/v1/models", json={"name": "greedy", **made}).status_code == 201
        items = [{"id": f"i{k}", "text": f"w{k} " * 20_000} for k in range(10)]
        for _ in range(20):
            assert greedy.post("/v1/models/greedy/choose", json={"items": items}).status_code == 200
        make(other, "other")
        image = other.post("/v1/models/other/images", content=PNG).json()["image"].rpartition("/")[2]
        download = greedy.build_request("GET", "/v1/models/greedy/log?format=preferences")
        for request in (
            other.build_request("GET", f"/v1/models/other/images/{image}"),
            other.build_request("POST", "/v1/models", json={"name": "other2", **made}),
        ):
            assert share_waited(server, download, request) <= 12 / 60
