"""Attacks on a whole server: it stays up, within its memory, and others notice nothing."""

import contextlib
import json
import socket
import threading
import time

import httpx

from conquer.files import pack, unpack

from .attacks import make, meanwhile, megabytes, pair, store, usable

HUGE = [{"id": "a", "vector": [1.7e308, 0, 0, 0]}, {"id": "b", "vector": [-1.7e308, 0, 0, 0]}]


def test_vectors_near_the_largest_float_leave_a_model_that_opens(start):
    server = start()
    make(server.address)
    # Learnt weights above one: times the largest float they are infinite.
    small = [{"id": "a", "vector": [0.3, 0, 0, 0]}, {"id": "b", "vector": [-0.3, 0, 0, 0]}]
    for k in range(40):
        pair(server.address, f"small{k}", items=small, winner="a")
    for k in range(40):
        body = {"items": HUGE, "event_id": f"e{k}"}
        reply = httpx.post(f"{server.address}/v1/models/m/choose", json=body, timeout=60)
        assert reply.status_code in (200, 422), reply.text
        if reply.status_code == 200 and reply.json()["query"] != "none":
            path = f"{server.address}/v1/models/m/events/e{k}/answer"
            reply = httpx.post(path, json={"winner": reply.json()["shown"][0]["id"]}, timeout=60)
            assert reply.status_code in (200, 422), reply.text
    usable(server.address, tag="before")
    server.kill()
    server = start(port=server.port)
    usable(server.address, tag="after")
    undone = httpx.post(f"{server.address}/v1/models/m/events/usable-before/undo", json={}, timeout=60)
    assert undone.status_code == 200, undone.text
    assert httpx.delete(f"{server.address}/v1/models/m", timeout=60).status_code == 204


def test_a_model_whose_snapshot_cannot_be_made_hangs_nothing(start):
    server = start(snapshot_every=3)
    make(server.address)
    odd = make(server.address, name="odd", algorithm="epoch-greedy", parameters={"pace": 1e300})
    assert odd.status_code in (201, 422), odd.text
    for k in range(8):
        if odd.status_code == 201:
            body = {"items": [{"id": "a", "vector": [1]}, {"id": "b", "vector": [0]}], "event_id": f"e{k}"}
            reply = httpx.post(f"{server.address}/v1/models/odd/choose", json=body, timeout=60)
            assert reply.status_code in (200, 422), reply.text
            if reply.status_code == 200:
                winner = {"winner": reply.json()["shown"][0]["id"]}
                path = f"{server.address}/v1/models/odd/events/e{k}/answer"
                assert httpx.post(path, json=winner, timeout=60).status_code in (200, 422)
        pair(server.address, f"e{k}")
    assert server.stop() == 0
    server = start(port=server.port, snapshot_every=3)
    usable(server.address)


def test_a_store_that_takes_no_snapshot_raises_an_alarm_and_goes_on(start, tmp_path):
    server = start(snapshot_every=3)
    make(server.address)
    with store(tmp_path) as beside:
        beside.execute("CREATE TRIGGER no BEFORE INSERT ON snapshots BEGIN SELECT RAISE(ABORT, 'no'); END")
    for k in range(12):
        pair(server.address, f"e{k}")
    for _ in range(1000):
        reply = httpx.get(f"{server.address}/readyz", timeout=60)
        if "snapshot" in reply.text:
            break
        time.sleep(0.05)
    assert "snapshot" in reply.text
    assert server.stop() == 0
    server = start(port=server.port, snapshot_every=3)
    usable(server.address)


def wide(items: int, features: int, context: int) -> dict:
    rows = [{"id": f"i{k}", "features": {f"f{j}": 1 for j in range(features)}} for k in range(items)]
    return {"items": rows, "context": {f"c{j}": 1 for j in range(context)}}


def test_wide_contexts_take_no_more_memory_than_they_are_counted_as(start):
    server = start()
    make(server.address, features={"dim": 1 << 18})
    pair(server.address, "first")
    before = megabytes(server.pid)
    for _ in range(8):
        reply = httpx.post(f"{server.address}/v1/models/m/choose", json=wide(100, 80, 2000), timeout=120)
        assert reply.status_code in (200, 413, 422), reply.text
    rounds = {"rounds": [wide(100, 80, 2000) for _ in range(95)]}
    reply = httpx.post(f"{server.address}/v1/models/m/choose/batch", json=rounds, timeout=120)
    assert reply.status_code in (200, 413, 422, 503), reply.text
    assert megabytes(server.pid) - before < 900
    usable(server.address)


def test_headers_without_end_are_cut_off(start):
    server = start()
    before = megabytes(server.pid)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        said = b""
        with contextlib.suppress(ConnectionError):
            client.sendall(b"a: b\r\n" * 20_000_000)
            client.sendall(b"\r\n")
        with contextlib.suppress(ConnectionError):
            said = client.recv(100)
    assert b" 200 " not in said
    assert megabytes(server.pid) - before < 200
    assert httpx.get(f"{server.address}/readyz").status_code == 200


def test_bodies_that_never_come_hold_nobody_up(start):
    """Three hundred from one address: they are hung up on, and who comes from another is served all the while."""
    server = start(read_seconds=1.0)
    make(server.address)
    head = b"POST /v1/models/m/choose HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n"
    with contextlib.ExitStack() as held:
        idle = []
        for _ in range(300):
            there = ("127.0.0.1", server.port)
            one = held.enter_context(socket.create_connection(there, source_address=("127.0.0.9", 0)))
            with contextlib.suppress(ConnectionError):
                one.sendall(head)
            idle.append(one)
        usable(server.address, tag="meanwhile")
        for one in idle:
            with contextlib.suppress(ConnectionError):
                while one.recv(1000):
                    pass
        usable(server.address)


ODD = [
    {"rounds": 10**18}, {"ordinal": 2**64}, {"ordinal": -5}, {"width": 0}, {"curve": [[1, 2, 3]]}, {"learnt": 10**30},
    {"rounds": -1}, {"curve": "x"},
]  # fmt: skip


def test_files_with_impossible_tallies_are_refused_or_harmless(start):
    server = start()
    make(server.address)
    pair(server.address, "e")
    meta, arrays = unpack(httpx.get(f"{server.address}/v1/models/m/file", timeout=60).content)
    before = megabytes(server.pid)
    taken = []
    for k, change in enumerate(ODD):
        changed = json.loads(json.dumps(meta))
        service = changed["extra"]["service"] if "extra" in changed else changed["service"]
        service["tally"] = json.dumps({**json.loads(service["tally"]), **change})
        reply = httpx.put(f"{server.address}/v1/models/x{k}/file", content=pack(changed, arrays), timeout=120)
        assert reply.status_code in (201, 422), (change, reply.text)
        if reply.status_code == 201:
            taken.append(f"x{k}")
    for name in taken:
        usable(server.address, name)
    server.kill()
    server = start(port=server.port)
    for name in ("m", *taken):
        usable(server.address, name, tag="after")
    assert megabytes(server.pid) < before + 500


def test_a_long_refold_lets_others_through(start):
    """Undo the oldest of twenty thousand rows: another model is served all the while."""
    server = start()
    make(server.address)
    make(server.address, name="other")
    vectors = [{"id": name, "vector": [float(name == "a"), float(name == "b"), 1, 0]} for name in "ab"]
    for part in range(10):
        events = [f"e{part}-{k}" for k in range(1000)]
        rounds = {"rounds": [{"items": vectors, "event_id": event} for event in events]}
        httpx.post(f"{server.address}/v1/models/m/choose/batch", json=rounds, timeout=120).raise_for_status()
        answers = {"answers": [{"event_id": event, "winner": "a"} for event in events]}
        httpx.post(f"{server.address}/v1/models/m/answers", json=answers, timeout=120).raise_for_status()
    with (
        httpx.Client(base_url=server.address, timeout=120) as client,
        httpx.Client(base_url=server.address, timeout=120) as second,
    ):
        second.get("/healthz")
        body = {"items": vectors}
        undone, served = meanwhile(
            lambda: second.post("/v1/models/m/events/e0-0/undo", json={}),
            lambda: client.post("/v1/models/other/choose", json=body).raise_for_status(),
        )
    assert undone.status_code == 200, undone.text
    assert served >= 5


def test_a_locked_store_does_not_stop_the_event_loop(start, tmp_path):
    """Another process holds SQLite's write lock: one who writes waits, health is answered."""
    server = start()
    make(server.address)
    waiting = threading.Event()

    def choose() -> httpx.Response:
        waiting.set()
        body = {"items": [{"id": "a", "vector": [1]}, {"id": "b", "vector": [0]}]}
        return httpx.post(f"{server.address}/v1/models/m/choose", json=body, timeout=120)

    with store(tmp_path) as beside:
        beside.execute("BEGIN IMMEDIATE")
        seen = iter(range(5))

        def health() -> None:
            waiting.wait()
            assert httpx.get(f"{server.address}/healthz", timeout=120).status_code == 200
            if next(seen, None) is None and beside.in_transaction:
                beside.execute("ROLLBACK")

        reply, answered = meanwhile(choose, health)
    assert reply.status_code in (200, 503), reply.text
    assert answered >= 5
    usable(server.address)
