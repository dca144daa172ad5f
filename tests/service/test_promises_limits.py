"""What the service promises of batches, files, limits and many models."""

import asyncio
import json

import numpy as np

from .conftest import run
from .test_promises import ITEMS, answer, choose, conversation


def test_batches_answer_each_for_itself(local):
    async def work(client, _server):
        rounds = [{"items": ITEMS, "event_id": f"e{k}"} for k in range(3)] + [{"items": []}]
        reply = await client.post("/v1/models/m/choose/batch", json={"rounds": rounds})
        results = reply.json()["results"]
        assert [("error" in one) for one in results] == [False, False, False, True]
        answers = [{"event_id": f"e{k}", "winner": "tie"} for k in (0, 0, 1, 9)]
        reply = await client.post("/v1/models/m/answers", json={"answers": answers})
        assert [one.get("status", "refused") for one in reply.json()["results"]] == [
            "learnt",
            "repeat",
            "learnt",
            "refused",
        ]

    conversation(local, work)


def test_export_import_and_delete(local):
    async def work(client, server):
        for _ in range(5):
            offer = await choose(client)
            await answer(client, offer["event_id"], offer["shown"][0]["id"])
        file = (await client.get("/v1/models/m/file")).content
        assert (await client.put("/v1/models/copy/file", content=file)).status_code == 201
        assert (await client.put("/v1/models/copy/file", content=file)).status_code == 409
        for damage in (b"", b"abc", file[:-9], b"\x00" * 100):
            assert (await client.put("/v1/models/bad/file", content=damage)).status_code == 422
        weights = [server.engine.models[name].learner.learner.model.weights() for name in ("m", "copy")]
        assert np.array_equal(*weights)
        assert (await client.delete("/v1/models/m")).status_code == 204
        assert (await client.get("/v1/models/m")).status_code == 404
        assert [one["name"] for one in (await client.get("/v1/models")).json()["models"]] == ["copy"]

    conversation(local, work)


def test_limits(local):
    async def work(client, _server):
        big = json.dumps({"items": ITEMS, "context": "x" * 3000}).encode()
        reply = await client.post("/v1/models/m/choose", content=big)
        assert reply.status_code == 413
        many = [{"id": f"i{k}", "vector": [0, 0, 1]} for k in range(30)]
        assert (await client.post("/v1/models/m/choose", json={"items": many})).status_code == 200

    conversation(local, work, body_bytes=500, round_bytes=2000)


def test_a_full_queue_says_so(local):
    async def go():
        app = local(queue=0)
        async with app.running() as client:
            reply = await client.post("/v1/models", json={"name": "m"})
            assert reply.status_code == 429
            assert reply.headers["retry-after"] == "1"
            assert (await client.get("/healthz")).status_code == 200

    run(go())


def test_more_models_than_memory(local):
    """Each model's weights take more than the whole budget: they come and go, and answers stay."""

    async def go():
        app = local(cache_bytes=1000)
        async with app.running() as client:
            for name in ("m", "n", "o"):
                body = {"name": name, "algorithm": "gnr", "features": {"dim": 64}}
                await client.post("/v1/models", json=body)
            events = {}
            for turn in range(9):
                name = "mno"[turn % 3]
                offer = (await client.post(f"/v1/models/{name}/choose", json={"items": ITEMS})).json()
                events.setdefault(name, []).append(offer["event_id"])
                while len(app.server.engine.models) > 1:
                    await asyncio.sleep(0.001)  # replies come before the others are let go
            for name, ids in events.items():
                for event in ids:
                    reply = await client.post(f"/v1/models/{name}/events/{event}/answer", json={"winner": "tie"})
                    assert reply.json()["status"] == "learnt"
            in_memory = dict(app.server.engine.models)
            for _ in range(2):
                infos = (await client.get("/v1/models")).json()["models"]
                assert [one["summary"]["answers"]["learnt"] for one in infos] == [3, 3, 3]
                assert dict(app.server.engine.models) == in_memory
            assert infos == [(await client.get(f"/v1/models/{name}")).json() for name in ("m", "n", "o")]
            await client.delete("/v1/models/n")
            assert [one["name"] for one in (await client.get("/v1/models")).json()["models"]] == ["m", "o"]

    run(go())
