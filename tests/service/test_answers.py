"""What may be said to an event over HTTP: ids of its items and three words; all else is refused and not stored."""

from typing import Any

import numpy as np
import pytest

from conquer.registry import algorithms
from conquer.service.work import decisions

from .conftest import run

ITEMS = [{"id": name, "vector": [float(name == other) for other in "abcd"]} for name in "abcd"]
WORDS = ("first", "second", "left", "right", "yes", "no", "1", "0.5", "")


def conversation(local, work, **settings):
    async def go():
        async with local().running() as client:
            made = await client.post("/v1/models", json={"name": "m", "features": {"dim": 4}, **settings})
            assert made.status_code == 201, made.text
            await work(client)

    run(go())


async def choose(client, items=ITEMS):
    reply = await client.post("/v1/models/m/choose", json={"items": items})
    assert reply.status_code == 200, reply.text
    return reply.json()


async def tell(client, offer, winner, **more):
    return await client.post(f"/v1/models/m/events/{offer['event_id']}/answer", json={"winner": winner, **more})


@pytest.mark.parametrize(
    "settings",
    [
        {"algorithm": "gnr"},
        {"algorithm": "confidit"},
        {"algorithm": "rank-breaking", "parameters": {"show": 3}},
        {"algorithm": "ucb-mnl", "parameters": {"show": 3}},
    ],
    ids=lambda settings: settings["algorithm"],
)
def test_a_sessions_words_are_no_winners(local, settings):
    async def work(client):
        offer = await choose(client)
        for word in WORDS:
            reply = await tell(client, offer, word)
            assert (reply.status_code, reply.json()["error"]["code"]) == (422, "invalid"), word
        assert (await client.get("/v1/models/m")).json()["position"] == 1
        assert (await tell(client, offer, offer["shown"][-1]["id"])).json()["status"] == "learnt"

    conversation(local, work, **settings)


def test_a_word_that_is_an_items_id_names_the_item(local):
    async def work(client):
        items = [{"id": name, "vector": [float(name == other) for other in WORDS[:4]]} for name in WORDS[:4]]
        for _ in range(8):
            offer = await choose(client, items)
            shown = [one["id"] for one in offer["shown"]]
            for other in {*WORDS[:4]} - set(shown):
                assert (await tell(client, offer, other)).status_code == 422
            assert (await tell(client, offer, shown[1])).json()["status"] == "learnt"
            info = (await client.get(f"/v1/models/m/events/{offer['event_id']}")).json()
            assert [one["winner"] for one in info["answers"]] == [shown[1]]
        summary = (await client.get("/v1/models/m")).json()["summary"]
        assert summary["first_preferred"] == 0.0

    conversation(local, work, algorithm="gnr")


def test_of_one_item_any_other_of_the_round_means_no_and_strength_means_nothing(local):
    async def work(client):
        offer = await choose(client)
        shown = offer["shown"][0]["id"]
        assert (await tell(client, offer, shown, strength=0.5)).status_code == 422
        assert (await tell(client, offer, "tie")).status_code == 422
        other = next(name for name in "abcd" if name != shown)
        assert (await tell(client, offer, other)).json()["status"] == "learnt"
        assert (await client.get("/v1/models/m")).json()["summary"]["first_preferred"] == 0.0

    conversation(local, work, algorithm="confidit")


def test_of_three_there_is_no_tie(local):
    async def work(client):
        offer = await choose(client)
        reply = await tell(client, offer, "tie")
        assert reply.status_code == 422
        assert "tie" not in reply.json()["error"]["message"].partition(", got")[0]
        assert (await tell(client, offer, "skip")).json() == {
            "status": "ignored",
            "event_id": offer["event_id"],
            "reason": "skip",
        }

    conversation(local, work, algorithm="rank-breaking", parameters={"show": 3})


# An answer that is refused has taught nothing, alone or in a batch: memory stays what the disk says.


# Steps a hundred orders of magnitude too long: the fourth answer overflows after it has moved the weights.
MADE = {"name": "m", "algorithm": "partial-feedback", "features": {"dim": 3}, "parameters": {"curve": 1e-100}}
SAME = [{"id": name, "vector": [1, 0, 0]} for name in "ab"]


def weights(app: Any) -> Any:
    return app.server.engine.models["m"].learner.learner.model.theta.copy()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_breaks_half_way_leaves_no_trace_in_a_batch(local: Any) -> None:
    async def go() -> None:
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            body = {"items": SAME}
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
            body = {"items": SAME}
            assert (await client.post("/v1/models/m/choose", json=body)).status_code == 200
            app.server.engine.models["m"].learner.learner.model.theta[0] = 1e300
            wild = {"items": [{"id": name, "vector": [1e15, 0, 0]} for name in "ab"]}
            reply = await client.post("/v1/models/m/choose", json=wild)
            assert reply.status_code == 422, reply.text
            assert "overflows: the items' largest value is 1e+15" in reply.text
            assert (await client.post("/v1/models/m/choose", json=body)).status_code == 200
            assert (await client.get("/v1/models/m")).json()["position"] == 2

    run(go())


# Every registered algorithm can be served: it chooses, learns, is forgotten and read back to the same bits.


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


@pytest.mark.parametrize("cached", [True, False])
def test_rows_of_one_event_are_bounded_and_its_answers_can_be_undone(local, monkeypatch, cached):
    """They are read at once, those of answers that were undone and of their corrections too."""
    monkeypatch.setattr(decisions, "ANSWERS", 6)

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 4}})
            offer, other = await choose(client), await choose(client)
            path = f"/v1/models/m/events/{offer['event_id']}"

            async def undo(voter):
                return (await client.post(f"{path}/undo", json={"voter": voter})).status_code

            async def answered(voter):
                if not cached:
                    app.server.engine.models.clear()
                reply = await tell(client, offer, offer["left"], voter=voter)
                return reply.json()["error"]["code"] if reply.status_code == 409 else reply.json()["status"]

            for _ in range(2):
                assert (await answered("ann"), await undo("ann")) == ("learnt", 200)
            assert [await answered(voter) for voter in ("bob", "cy")] == ["learnt"] * 2
            assert [await answered(voter) for voter in ("ann", "di")] == ["too_many_answers"] * 2
            assert await answered("bob") == "repeat"
            assert [await undo(voter) for voter in ("bob", "cy", "cy")] == [200, 200, 409]
            assert await answered("bob") == "too_many_answers"
            assert (await tell(client, other, other["left"], voter="ann")).json()["status"] == "learnt"

    run(go())
