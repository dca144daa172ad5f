"""What a request makes a server hold: rows of one event, models, fits and large rounds are counted and bounded."""

import json
import random
from string import ascii_lowercase

import httpx
import numpy as np
import pytest

from conquer.files import unpack

from .attacks import MADE, megabytes, pair

ITEMS = [{"id": name, "vector": vector} for name, vector in (("a", [1, 0, 0, 0]), ("b", [0, 1, 0, 0]))]
MB = 1 << 20


def test_flags_of_one_event_are_bounded(start):
    """A person flags one question without end; the question can still be answered and settled."""
    server, taken = start(), 0
    with httpx.Client(base_url=server.address, timeout=60) as client:
        assert client.post("/v1/models", json=MADE).status_code == 201
        offer = client.post("/v1/models/m/choose", json={"items": ITEMS, "event_id": "e"}).json()
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
