"""Attacks on a whole server: it stays up, within its memory, and others notice nothing."""

import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from string import ascii_lowercase

import httpx
import numpy as np
import pytest

from conquer.files import unpack

from .attacks import MADE, make, meanwhile, megabytes, pair, processor, store, tenants, usable

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


# Many sessions, many joins by one link, many models of one key: a share of the server, not all of it.


ITEMS = "\n".join(json.dumps({"id": f"i{k}", "text": f"word{k} tea"}) for k in range(300)).encode()


def idle(server, seconds: float = 3.0) -> float:
    """Seconds of processor time that a server without requests takes."""
    began = processor(server.pid)
    time.sleep(seconds)
    return processor(server.pid) - began


def test_ended_sessions_cost_nothing_while_they_are_kept(start, tmp_path):
    """Every refresh read all sessions that ended within the last week."""
    server = start()
    with tenants(server, tmp_path, "ann"):
        without = idle(server)
        with store(tmp_path) as beside:
            beside.execute("BEGIN")
            until = time.time() + 6 * 86400
            rows = ((f"{k:032x}", until) for k in range(400_000))
            beside.executemany("INSERT INTO ended (session, until) VALUES (?, ?)", rows)
            beside.execute("COMMIT")
        # They are read once.
        until = time.monotonic() + 60
        while idle(server, 2.0) > without + 0.2:
            assert time.monotonic() < until


def test_joining_again_and_again_takes_few_places(start, tmp_path):
    """One address opens one link in fifty browsers, and each takes a question: there is one left for somebody else."""
    server = start()
    with tenants(server, tmp_path, "teas") as (lead,):
        assert lead.post("/v1/models", json={"name": "teas", "algorithm": "gnr"}).status_code == 201
        items = b"\n".join(ITEMS.splitlines()[:30])
        assert lead.post("/v1/models/teas/items", content=items).status_code == 200
        made = lead.post("/v1/models/teas/invitations", json={})
        assert made.status_code == 201, made.text
        link = made.json()["path"].partition("#")[2]
        came, refused, held = 0, 0, []
        for _ in range(50):
            with httpx.Client(base_url=server.address, timeout=60) as guest:
                token = guest.get("/session").json()["token"]
                reply = guest.post("/join", json={"token": link, "name": ""}, headers={"X-Conquer-Token": token})
                assert reply.status_code in (200, 429), reply.text
                came, refused = came + (reply.status_code == 200), refused + (reply.status_code == 429)
                if reply.status_code == 200:
                    token = guest.get("/session").json()["token"]
                    body, headers = {"voter": reply.json()["voter"]}, {"X-Conquer-Token": token}
                    held += guest.post("/v1/models/teas/next", json=body, headers=headers).json()["event"]["shown"]
        assert came >= 5
        assert refused >= 10
        assert len({item["id"] for item in held}) == 30
        assert lead.post("/v1/models/teas/next", json={"voter": "honest"}).json()["event"] is not None


def test_one_key_does_not_make_all_the_models(start, tmp_path):
    server = start()
    with tenants(server, tmp_path, "greedy", "other") as (greedy, other):

        def make(client, name):
            made = {"name": name, "algorithm": "gnr", "features": {"dim": 4}}
            return client.post("/v1/models", json=made).status_code

        with ThreadPoolExecutor(16) as pool:
            found = set(pool.map(lambda k: make(greedy, f"greedy{k}"), range(1000)))
        assert 201 in found
        refused = found - {201}
        assert refused
        assert refused <= {409, 422, 429}
        assert make(other, "other") == 201


# What a request makes a server hold: rows of one event, models, fits and large rounds are counted and bounded.


VECTORS = [{"id": name, "vector": vector} for name, vector in (("a", [1, 0, 0, 0]), ("b", [0, 1, 0, 0]))]
MB = 1 << 20


def test_flags_of_one_event_are_bounded(start):
    """A person flags one question without end; the question can still be answered and settled."""
    server, taken = start(), 0
    with httpx.Client(base_url=server.address, timeout=60) as client:
        assert client.post("/v1/models", json=MADE).status_code == 201
        offer = client.post("/v1/models/m/choose", json={"items": VECTORS, "event_id": "e"}).json()
        for k in range(600):
            body = {"voter": f"v{k}", "comment": "x" * 2000}
            reply = client.post("/v1/models/m/events/e/flag", json=body)
            if reply.status_code != 200:
                assert reply.status_code in (409, 422, 429), reply.text
                break
            taken += 1
        assert 1 <= taken <= 500
        answer = {"winner": offer["shown"][0]["id"]}
        assert client.post("/v1/models/m/events/e/answer", json=answer).json()["status"] == "learnt"
        assert client.post("/v1/models/m/events/e/settle").status_code == 200


def counted(client) -> float:
    lines = client.get("/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("conquer_model_bytes "))


@pytest.mark.parametrize("algorithm", ["vacdb", "colstim", "maxinp"])
def test_a_model_is_counted_as_its_arrays(start, algorithm):
    server, dim = start(), 500_000
    with httpx.Client(base_url=server.address, timeout=120) as client:
        made = {"name": "m", "algorithm": algorithm, "features": {"dim": dim}}
        reply = client.post("/v1/models", json=made)
        assert reply.status_code == 201, reply.text
        pair(server.address, "e")
        arrays = unpack(client.get("/v1/models/m/file").content)[1]
        size = sum(array.nbytes for array in arrays.values())
        assert size > 8 * dim
        assert 0.8 * size <= counted(client) <= 1.2 * size + MB


def test_a_model_too_large_for_the_server_is_refused_when_it_is_made(start):
    """Ten numbers of eight bytes for each of sixteen million features: 1.3 GB where models have 256 MB."""
    server = start(cache_bytes=256 * MB)
    with httpx.Client(base_url=server.address, timeout=120) as client:
        reply = client.post("/v1/models", json={"name": "m", "algorithm": "vacdb", "features": {"dim": 2**24}})
        assert reply.status_code == 422, reply.status_code
        assert "bytes" in reply.json()["error"]["message"]
        assert client.get("/v1/models").json()["models"] == []


def test_fitting_features_takes_memory_in_proportion(start):
    """Six megabytes of words of two letters: each became objects of a hundred times its size."""
    server, rng = start(), random.Random(0)
    words = [first + second for first in ascii_lowercase for second in ascii_lowercase]
    rows = [{"id": f"i{k}", "text": " ".join(rng.choices(words, k=20_000))} for k in range(100)]
    content = "\n".join(map(json.dumps, rows)).encode()
    with httpx.Client(base_url=server.address, timeout=120) as client:
        made = {
            "name": "m",
            "algorithm": "gnr",
            "features": {"kind": "tfidf", "columns": "vocabulary", "ngrams": [1, 2]},
        }
        assert client.post("/v1/models", json=made).status_code == 201
        before = megabytes(server.pid)
        reply = client.post("/v1/models/m/items", content=content)
        assert reply.status_code in (200, 413, 422, 429), reply.text
        used = megabytes(server.pid) - before
        assert used < 25 * len(content) / MB


def test_rounds_above_the_default_reach_the_learner_where_the_setting_allows(start):
    """CONQUER_ROUND_BYTES of 32 MB: a round of 14 MB is chosen from, and a server with the default refuses it."""
    rng = np.random.default_rng(0)
    items = [{"id": f"i{k}", "vector": rng.random(400).tolist()} for k in range(1000)]
    items = [{**item, "text": "x" * 6000} for item in items]
    body = json.dumps({"items": items}).encode()
    assert len(body) > 13 * MB
    server = start(round_bytes=32 * MB)
    made = {"name": "m", "algorithm": "gnr", "features": {"dim": 2**18}}
    assert httpx.post(f"{server.address}/v1/models", json=made).status_code == 201
    reply = httpx.post(f"{server.address}/v1/models/m/choose", content=body)
    assert reply.status_code == 200, reply.text[:300]
    event, winner = reply.json()["event_id"], reply.json()["shown"][0]["id"]
    path = f"{server.address}/v1/models/m/events/{event}/answer"
    assert httpx.post(path, json={"winner": winner}).json()["status"] == "learnt"
    server.kill()
    server = start(port=server.port, round_bytes=32 * MB)
    assert httpx.post(path, json={"winner": winner}).json()["status"] == "repeat"
