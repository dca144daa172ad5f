"""Requests that are small in bytes and large in work: another tenant waits for a few of them at most."""

import json
import random

import httpx

from conquer.files import unpack

from .attacks import Health, passed_by, tenants

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
    """It keeps 2,000 answers: each choose compares its items with all of them."""
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
        assert stored.shape[-1] <= 2000
