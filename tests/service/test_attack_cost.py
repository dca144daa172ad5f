"""Requests that are small in bytes and large in work: another tenant waits for a few of them at most."""

import asyncio
import contextlib
import json
import random
import socket
import time

import httpx

from conquer.files import unpack

from .attacks import Health, passed_by, raw, tenants

SMALL = [{"id": name, "vector": vector} for name, vector in (("a", [1, 0, 0, 0]), ("b", [0, 1, 0, 0]))]
FEW = 12
"""Of forty costly requests or more, those that may end before another tenant's one."""


def models(greedy, other, **settings):
    made = {"algorithm": "gnr", "features": {"dim": 4096}, **settings}
    assert greedy.post("/v1/models", json={"name": "greedy", **made}).status_code == 201
    small = {"name": "other", "algorithm": "gnr", "features": {"dim": 4}}
    assert other.post("/v1/models", json=small).status_code == 201


def choose(client, model, items, **more):
    return client.post(f"/v1/models/{model}/choose", json={"items": items, **more})


def small(client):
    return client.build_request("POST", "/v1/models/other/choose", json={"items": SMALL})


def test_requests_that_name_large_stored_events_let_others_pass(start, tmp_path):
    """Each names a round of megabytes that is no longer in memory, so that its row is read from the store."""
    server = start(events_cached=1)
    with tenants(server, tmp_path, "greedy", "other") as (greedy, other):
        models(greedy, other)
        rng = random.Random(0)
        items = [{"id": f"i{k}", "vector": [rng.random() for _ in range(384)]} for k in range(500)]
        costly = []
        for number in range(40):
            body = json.dumps({"items": items, "event_id": f"large-{number}"}).encode()
            offer = greedy.post("/v1/models/greedy/choose", content=body)
            assert offer.status_code == 200, offer.text
            winner = {"winner": offer.json()["shown"][0]["id"]}
            path = f"/v1/models/greedy/events/large-{number}/answer"
            costly.append(greedy.build_request("POST", path, json=winner))
        assert other.send(small(other)).status_code == 200

        with Health(server.address) as health:
            passed = passed_by(server, costly, small(other))
        assert passed <= FEW
        assert health.slowest < 1.0


def test_rounds_with_many_products_let_others_pass(start, tmp_path):
    """Nine hundred items and a context of a thousand numbers: 25 KB, and nearly a million products."""
    server = start()
    with tenants(server, tmp_path, "greedy", "other") as (greedy, other):
        models(greedy, other, features={"dim": 2**18})
        assert other.send(small(other)).status_code == 200
        context = {f"c{k}": 1.0 for k in range(1000)}
        items = [{"id": f"i{k}", "features": {"x": 1}} for k in range(900)]

        body = {"items": items, "context": context}
        costly = greedy.build_request("POST", "/v1/models/greedy/choose", json=body)
        assert greedy.send(costly).status_code in (200, 422)
        with Health(server.address) as health:
            passed = passed_by(server, [costly] * 60, small(other))
        assert passed <= FEW
        assert health.slowest < 1.0


def test_a_choose_that_costs_too_much_is_refused_with_numbers(start):
    """The full matrix and confidence bounds of all pairs: 11 KB that took more than a second."""
    server = start()
    with httpx.Client(base_url=server.address, timeout=120) as client:
        settings = {"name": "m", "algorithm": "gnc", "model": "full", "features": {"dim": 4096}}
        reply = client.post("/v1/models", json=settings)
        assert reply.status_code == 201, reply.text
        few = [{"id": f"i{k}", "features": {f"f{k}": 1.0, f"g{k}": 1.0}} for k in range(10)]
        assert choose(client, "m", few).status_code == 200
        many = [{"id": f"i{k}", "features": {"x": k}} for k in range(300)]
        context = {f"c{k}": 1.0 for k in range(1000)}
        reply = choose(client, "m", many, context=context)
        assert reply.status_code == 422, reply.status_code
        error = reply.json()["error"]
        assert error["code"] == "too_costly"
        assert any(letter.isdigit() for letter in error["message"])
        assert choose(client, "m", few).status_code == 200


def test_a_kernel_model_stays_quick_by_default(start):
    """It keeps 1,000 answers: each choose compares its items with all of them."""
    server, rng = start(), random.Random(1)
    with httpx.Client(base_url=server.address, timeout=300) as client:
        settings = {"name": "m", "algorithm": "gnr", "model": "kernel", "features": {"dim": 8}}
        assert client.post("/v1/models", json=settings).status_code == 201
        for part in range(6):
            rounds = [
                {
                    "event_id": f"e{part}-{k}",
                    "items": [{"id": name, "vector": [rng.gauss(0, 1) for _ in range(8)]} for name in "ab"],
                }
                for k in range(500)
            ]
            chosen = client.post("/v1/models/m/choose/batch", json={"rounds": rounds})
            assert chosen.status_code == 200, chosen.text
            told = [
                {"event_id": one["event_id"], "winner": one["shown"][0]["id"]}
                for one in chosen.json()["results"]
                if one["query"] != "none"
            ]
            assert client.post("/v1/models/m/answers", json={"answers": told}).status_code == 200
        arrays = unpack(client.get("/v1/models/m/file").content)[1]
        stored = next(array for name, array in arrays.items() if name.endswith("pair"))
        assert stored.shape[-1] <= 1000


# Files of votes and downloads of one tenant: another's uploads, images and models do not wait for them.


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
