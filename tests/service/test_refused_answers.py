"""An answer that is refused has taught nothing, alone or in a batch: memory stays what the disk says."""

from typing import Any

import numpy as np
import pytest

from .conftest import run

# Steps a hundred orders of magnitude too long: the fourth answer overflows after it has moved the weights.
MADE = {"name": "m", "algorithm": "partial-feedback", "features": {"dim": 3}, "parameters": {"curve": 1e-100}}
ITEMS = [{"id": name, "vector": [1, 0, 0]} for name in "ab"]


def weights(app: Any) -> Any:
    return app.server.engine.models["m"].learner.learner.model.theta.copy()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_breaks_half_way_leaves_no_trace_in_a_batch(local: Any) -> None:
    async def go() -> None:
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            body = {"items": ITEMS}
            rounds = [(await client.post("/v1/models/m/choose", json=body)).json() for _ in range(4)]
            said = [{"event_id": one["event_id"], "winner": one["shown"][0]["id"]} for one in rounds]
            reply = await client.post("/v1/models/m/answers", json={"answers": said})
            results = reply.json()["results"]
            assert [one["status"] for one in results[:3]] == ["learnt"] * 3
            assert results[3]["error"]["status"] == 422
            assert (await client.get("/v1/models/m")).json()["summary"]["answers"]["learnt"] == 3
            sound = weights(app)
            path = f"/v1/models/m/events/{said[3]['event_id']}/answer"
            assert (await client.post(path, json={"winner": said[3]["winner"]})).status_code == 422
            assert (await client.post("/v1/models/m/choose", json=body)).status_code == 200
            np.testing.assert_array_equal(weights(app), sound)
            # Read again from the disk, it is the same.
            app.server.engine.models.clear()
            assert (await client.post("/v1/models/m/choose", json=body)).status_code == 200
            np.testing.assert_array_equal(weights(app), sound)

    run(go())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_score_that_is_no_number_is_refused(local: Any) -> None:
    """Weights and items are finite, and their product is not; the row could not be read again."""

    async def go() -> None:
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            body = {"items": ITEMS}
            assert (await client.post("/v1/models/m/choose", json=body)).status_code == 200
            app.server.engine.models["m"].learner.learner.model.theta[0] = 1e300
            wild = {"items": [{"id": name, "vector": [1e15, 0, 0]} for name in "ab"]}
            reply = await client.post("/v1/models/m/choose", json=wild)
            assert reply.status_code == 422, reply.text
            assert "overflows: the items' largest value is 1e+15" in reply.text
            assert (await client.post("/v1/models/m/choose", json=body)).status_code == 200
            assert (await client.get("/v1/models/m")).json()["position"] == 2

    run(go())
