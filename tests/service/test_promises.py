"""The contract over HTTP: shapes, statuses, repeats, conflicts, late answers, undo."""

import asyncio
import json

import numpy as np
import pytest

from .conftest import run

ITEMS = [{"id": name, "vector": [float(name == other) for other in "abc"]} for name in "abc"]


MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 3}, "believe": None}


def conversation(local, work, **options):
    async def go():
        app = local(**options)
        async with app.running() as client:
            made = await client.post("/v1/models", json=MADE)
            assert made.status_code == 201, made.text
            return await work(client, app.server)

    return run(go())


async def choose(client, expect=200, **body):
    reply = await client.post("/v1/models/m/choose", json={"items": ITEMS, **body})
    assert reply.status_code == expect, reply.text
    return reply.json()


async def answer(client, event, winner, expect=200, **body):
    reply = await client.post(f"/v1/models/m/events/{event}/answer", json={"winner": winner, **body})
    assert reply.status_code == expect, reply.text
    return reply.json()


def test_choose_and_answer_have_the_documented_shape(local):
    async def work(client, _server):
        offer = await choose(client)
        assert offer["query"] == "duel"
        assert {one["id"] for one in offer["shown"]} < {"a", "b", "c"}
        assert offer["left"] in {one["id"] for one in offer["shown"]}
        assert len(offer["scores"]) == 3
        assert await answer(client, offer["event_id"], offer["shown"][0]["id"]) == {
            "status": "learnt",
            "event_id": offer["event_id"],
        }
        repeat = await answer(client, offer["event_id"], offer["shown"][0]["id"])
        assert repeat["status"] == "repeat"
        conflict = await answer(client, offer["event_id"], offer["shown"][1]["id"], expect=409)
        assert conflict["error"]["code"] == "answered"
        info = (await client.get(f"/v1/models/m/events/{offer['event_id']}")).json()
        assert info["answers"][0]["winner"] == offer["shown"][0]["id"]
        assert info["items"] == ITEMS

    conversation(local, work)


def test_an_event_id_makes_choose_repeatable(local):
    async def work(client, server):
        first = await choose(client, event_id="mine")
        assert await choose(client, event_id="mine") == first
        other = await choose(client, 409, event_id="mine", items=ITEMS[:2])
        assert other["error"]["code"] == "event_exists"
        server.engine.models["m"].events.clear()
        assert await choose(client, event_id="mine") == first

    conversation(local, work)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"items": []}, 422),
        ({"items": ITEMS[:1]}, 422),
        ({"items": [ITEMS[0], ITEMS[0]]}, 422),
        ({"items": [{"id": "tie", "vector": [0, 0, 1]}, ITEMS[0]]}, 422),
        ({"items": [{"id": "x", "vector": [0, 1]}, ITEMS[0]]}, 422),
        ({"items": [{"id": "x"}, ITEMS[0]]}, 422),
        ({"items": [{"id": "x", "text": "a", "features": {}}, ITEMS[0]]}, 422),
        ({"items": [{"id": "x", "text": "a", "vector": [0, 1]}, ITEMS[0]]}, 422),
        ({"items": ITEMS, "unknown": 1}, 422),
        ({"items": "abc"}, 422),
        ({"items": ITEMS, "event_id": ""}, 422),
        ({"items": ITEMS, "event_id": "a\u0000"}, 422),
        ({}, 422),
        ([], 422),
    ],
)
def test_malformed_rounds_are_refused_and_change_nothing(local, body, status):
    async def work(client, server):
        reply = await client.post("/v1/models/m/choose", json=body)
        assert reply.status_code == status, reply.text
        assert reply.json()["error"]["message"]
        assert server.engine.models["m"].position == 0

    conversation(local, work)


def test_unknown_things_are_404_and_non_json_is_400(local):
    async def work(client, _server):
        assert (await client.post("/v1/models/none/choose", json={"items": ITEMS})).status_code == 404
        await answer(client, "none", "a", expect=404)
        assert (await client.get("/v1/models/m/events/none")).status_code == 404
        assert (await client.get("/nowhere")).json()["error"]["code"] == "not_found"
        assert (await client.put("/v1/models", json={})).status_code == 405
        for raw in (b"", b"{", b"\xff\xfe", b"NaN", b"[" * 100_000):
            reply = await client.post("/v1/models/m/choose", content=raw)
            assert reply.status_code in (400, 422), (raw[:10], reply.text)

    conversation(local, work)


def test_every_answer_is_accounted_for(local):
    async def work(client, server):
        sent = 0
        for winner in ("first", "tie", "both_bad", "skip", "nobody"):
            offer = await choose(client)
            name = offer["shown"][0]["id"] if winner == "first" else winner
            await answer(client, offer["event_id"], name, 422 if winner == "nobody" else 200)
            await answer(client, offer["event_id"], name, 422 if winner == "nobody" else 200)
            sent += 2
        text = (await client.get("/metrics")).text
        counted = [line for line in text.splitlines() if line.startswith("conquer_answers_total{")]
        assert sum(float(line.rsplit(" ", 1)[1]) for line in counted) == sent
        summary = (await client.get("/v1/models/m")).json()["summary"]
        assert summary["answers"] == {"learnt": 2, "ignored": {"both_bad": 1, "skip": 1}, "undone": 0}

    conversation(local, work)


def test_voters_answer_once_each(local):
    async def work(client, _server):
        offer = await choose(client)
        first, second = (one["id"] for one in offer["shown"])
        assert (await answer(client, offer["event_id"], first, voter="ann"))["status"] == "learnt"
        assert (await answer(client, offer["event_id"], second, voter="bob"))["status"] == "learnt"
        assert (await answer(client, offer["event_id"], first, voter="ann"))["status"] == "repeat"
        await answer(client, offer["event_id"], first, 409, voter="bob")

    conversation(local, work)


def test_a_late_answer_is_logged_as_late_and_never_recomputed(local, tmp_path):
    async def go():
        app = local()
        now = [1000.0]
        app.server.engine.clock = lambda: now[0]
        async with app.running() as client:
            body = {"name": "m", "algorithm": "gnr", "features": {"dim": 3}, "window_seconds": 60}
            await client.post("/v1/models", json=body)
            offer = await choose(client)
            now[0] += 61
            reply = await answer(client, offer["event_id"], offer["shown"][0]["id"])
            assert (reply["status"], reply["reason"]) == ("ignored", "late")
            now[0] = 1000.0
            app.server.engine.models.clear()
            again = await answer(client, offer["event_id"], offer["shown"][0]["id"])
            assert (again["status"], again["reason"]) == ("repeat", "late")
            assert not app.server.engine.models["m"].learner.learner.model.weights().any()

    run(go())


def test_undo_is_the_fold_without_the_answer(local):
    async def work(client, server):
        offers = []
        for turn in range(12):
            offer = await choose(client)
            offers.append(offer)
            await answer(client, offer["event_id"], offer["shown"][turn % 2]["id"])
        reply = await client.post(f"/v1/models/m/events/{offers[4]['event_id']}/undo", json={})
        assert reply.status_code == 200
        undone = server.engine.models["m"].learner.learner.model.weights()
        expected = _fold(server, offers, skip={4})
        assert np.array_equal(undone, expected)
        assert (await client.post(f"/v1/models/m/events/{offers[4]['event_id']}/undo", json={})).status_code == 409
        await answer(client, offers[4]["event_id"], "tie")
        summary = (await client.get("/v1/models/m")).json()["summary"]
        assert summary["answers"]["undone"] == 1
        assert summary["answers"]["learnt"] == 12

    conversation(local, work)


def _fold(server, offers, skip):
    """The weights that a fresh learner has after the answers in order, without those skipped."""
    from conquer.registry import make
    from conquer.types import Choice, Query

    learner = make("gnr", dim=3)
    positions = {item["id"]: k for k, item in enumerate(ITEMS)}
    X = np.array([item["vector"] for item in ITEMS])
    state = server.engine.models["m"]
    for turn, offer in enumerate(offers):
        if turn in skip:
            continue
        ticket = state.events[offer["event_id"]].chosen.ticket if offer["event_id"] in state.events else 0
        shown = tuple(positions[one["id"]] for one in offer["shown"])
        learner.learn(X, Choice(shown, Query.DUEL, ticket, {"chance": None}), 1.0 if turn % 2 == 0 else -1.0)
    return learner.model.weights()


# What the service promises of batches, files, limits and many models.


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
