"""Every registered algorithm can be served: it chooses, learns, is forgotten and read back to the same bits."""

import numpy as np
import pytest

from conquer.registry import algorithms

from .conftest import run

ITEMS = [{"id": name, "vector": [float(name == other) for other in "abcd"]} for name in "abcd"]


@pytest.mark.parametrize("algorithm", [one.name for one in algorithms()])
def test_served(local, algorithm):
    async def go():
        app = local()
        async with app.running() as client:
            made = await client.post("/v1/models", json={"name": "m", "algorithm": algorithm, "features": {"dim": 4}})
            assert made.status_code == 201, made.text
            for _ in range(12):
                reply = await client.post("/v1/models/m/choose", json={"items": ITEMS})
                assert reply.status_code == 200, reply.text
                offer = reply.json()
                rows = np.array([item["vector"] for item in ITEMS])
                assert offer["scores"] == app.server.engine.models["m"].learner.learner.scores(rows).tolist()
                if offer["query"] == "none":
                    continue
                winner = min(one["id"] for one in offer["shown"])
                reply = await client.post(f"/v1/models/m/events/{offer['event_id']}/answer", json={"winner": winner})
                assert reply.json()["status"] == "learnt", reply.text
            before = app.server.engine.models["m"].learner.learner.model.arrays()
            app.server.engine.models.clear()
            await client.get("/v1/models/m")
            after = app.server.engine.models["m"].learner.learner.model.arrays()
            assert before.keys() == after.keys()
            assert all(np.array_equal(before[name], after[name], equal_nan=True) for name in before)

    run(go())


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_what_a_kernel_model_likes_is_empty_where_features_have_no_weights(local, kernel):
    async def go():
        async with local().running() as client:
            body = {"name": "m", "algorithm": "gnr", "model": "kernel", "parameters": {"kernel": kernel}}
            assert (await client.post("/v1/models", json={**body, "features": {"dim": 64}})).status_code == 201
            items = [{"id": name, "features": {"hot": name == "a", "cheap": name == "b"}} for name in "ab"]
            offer = (await client.post("/v1/models/m/choose", json={"items": items})).json()
            await client.post(f"/v1/models/m/events/{offer['event_id']}/answer", json={"winner": "a"})
            reply = await client.get("/v1/models/m/features")
            assert reply.status_code == 200, reply.text
            assert bool(reply.json()["liked"]) == (kernel == "linear")
            for count in ("9" * 5000, "٣", "0", "1001", ""):
                assert (await client.get("/v1/models/m/features", params={"count": count})).status_code == 422

    run(go())
