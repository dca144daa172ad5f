"""What a lead changes and watches, over HTTP: titles, pauses, settled flags, progress; and that all of it lasts."""

import json
import random

import numpy as np
import pytest

from conquer.models.full import Full
from conquer.service.model.pick_learner import weight_spread
from conquer.service.work import insight

from .folds import rows_of, sqlite

ITEMS = "\n".join(json.dumps({"id": f"i{k}", "text": f"word{k} tea"}) for k in range(3)).encode()
MADE = {"name": "teas", "algorithm": "gnr", "model": "full", "features": {"dim": 32}, "quota": 2}
ROOT = "/v1/models/teas"


async def begun(client, **settings):
    assert (await client.post("/v1/models", json={**MADE, **settings})).status_code == 201
    assert (await client.post(f"{ROOT}/items", content=ITEMS)).is_success


async def asked(client, voter):
    return (await client.post(f"{ROOT}/next", json={"voter": voter})).json()


async def answered(client, voter, winner=None):
    question = await asked(client, voter)
    event = question["event"]["event_id"]
    said = {"winner": winner or question["event"]["left"], "voter": voter}
    assert (await client.post(f"{ROOT}/events/{event}/answer", json=said)).is_success
    return event


async def test_a_title_is_for_people_and_the_name_stays(local):
    async with local().running() as client:
        await begun(client)
        assert "title" not in (await client.get(ROOT)).json()
        reply = await client.patch(ROOT, json={"title": "  Lines for the window  "})
        assert (reply.status_code, reply.json()["title"]) == (200, "Lines for the window")
        assert (await client.get(ROOT)).json()["name"] == "teas"
        assert (await client.get(f"{ROOT}/task")).json()["title"] == "Lines for the window"
        assert (await client.get("/v1/models")).json()["models"][0]["title"] == "Lines for the window"
        for bad in ({"title": "x" * 201}, {"title": "two\nlines"}, {"title": "x\n"}, {"title": 3}, {"name": "x"}):
            assert (await client.patch(ROOT, json=bad)).status_code == 422, bad
        assert (await client.patch("/v1/models/other", json={"title": "x"})).status_code == 404
        before = (await client.get(ROOT)).json()["position"]
        assert "title" not in (await client.patch(ROOT, json={"title": ""})).json()
        # Neither is a row of the log: what is learnt does not know of them.
        assert (await client.get(ROOT)).json()["position"] == before
    async with local().running() as client:
        assert "title" not in (await client.get("/v1/models")).json()["models"][0]
        await client.patch(ROOT, json={"title": "Window"})
        assert (await client.get("/v1/models")).json()["models"][0]["title"] == "Window"
    async with local().running() as client:
        # Listed from the store, before anybody has used the model.
        assert (await client.get("/v1/models")).json()["models"][0]["title"] == "Window"


async def test_a_pause_asks_nothing_new_and_loses_no_answer(local):
    async with local().running() as client:
        await begun(client)
        held = (await asked(client, "ann"))["event"]["event_id"]
        assert (await client.patch(ROOT, json={"paused": True})).json()["paused"] is True
        assert (await asked(client, "ann"))["event"]["event_id"] == held
        told = await asked(client, "bob")
        assert (told["event"], told["paused"], "done" in told) == (None, True, False)
        assert told["reason"].startswith("paused")
        said = {"winner": "tie", "voter": "ann"}
        assert (await client.post(f"{ROOT}/events/{held}/answer", json=said)).json()["status"] == "learnt"
        assert (await asked(client, "ann"))["paused"] is True
        # Rounds of a product are no questions of the pool: it goes on.
        items = [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}]
        assert (await client.post(f"{ROOT}/choose", json={"items": items})).status_code == 200
    async with local().running() as client:
        assert (await asked(client, "bob"))["paused"] is True
        assert (await client.get(f"{ROOT}/task")).json()["paused"] is True
        assert "paused" not in (await client.patch(ROOT, json={"paused": False})).json()
        assert (await asked(client, "bob"))["event"] is not None


async def test_flags_are_settled_once_logged_and_stay_so(local, tmp_path):
    async with local().running() as client:
        await begun(client)
        first, second = await answered(client, "ann"), await answered(client, "bob")
        assert (await client.post(f"{ROOT}/events/{first}/settle")).json()["error"]["code"] == "not_flagged"
        for event, voter in ((first, "ann"), (first, "bob"), (second, "bob")):
            said = {"voter": voter, "comment": f"odd, says {voter}"}
            assert (await client.post(f"{ROOT}/events/{event}/flag", json=said)).is_success
        assert (await client.post(f"{ROOT}/events/{first}/settle")).json()["reason"] == "settled"
        assert (await client.post(f"{ROOT}/events/{first}/settle")).json()["status"] == "repeat"
        assert (await client.post(f"{ROOT}/events/none/settle")).status_code == 404
        await client.post(f"{ROOT}/events/{first}/flag", json={"voter": "ann", "comment": "again"})
        await client.post(f"{ROOT}/erase", json={"voter": "cyd"})
    async with local().running() as client:
        summary = (await client.get(ROOT)).json()["summary"]
        assert (summary["flags"], summary["settled"]) == (4, 2)
        rows = (await client.get(f"{ROOT}/latest?kind=flags")).json()["rows"]
        assert [(row["event"], row["voter"], row["settled"]) for row in rows] == [
            (first, "ann", False), (second, "bob", False), (first, "bob", True), (first, "ann", True)
        ]  # fmt: skip
        left = (await client.get(f"{ROOT}/latest?kind=open")).json()["rows"]
        assert [(row["event"], row["comment"]) for row in left] == [(first, "again"), (second, "odd, says bob")]
        # Who is erased takes the settling of their flags along: the counts fit what is left.
        assert (await client.post(f"{ROOT}/erase", json={"voter": "bob"})).is_success
        summary = (await client.get(ROOT)).json()["summary"]
        assert (summary["flags"], summary["settled"]) == (2, 1)
    assert {"flag", "settle"} <= {row.kind for row in rows_of(sqlite(tmp_path), "teas")[1]}


async def test_progress_counts_towards_the_quota_and_by_person(local):
    async with local().running() as client:
        await begun(client)
        empty = (await client.get(f"{ROOT}/progress")).json()
        assert empty == {"pairs": 3, "covered": 0, "quota": 2, "answered": 0, "wanted": 6, "voters": []}
        for _ in range(3):
            last = await answered(client, "ann")
        await answered(client, "bob", "skip")
        told = (await client.get(f"{ROOT}/progress")).json()
        assert (told["covered"], told["answered"], told["wanted"]) == (3, 3, 6)
        assert told["voters"] == [{"name": "ann", "pairs": 3}, {"name": "bob", "pairs": 1}]
        await client.post(f"{ROOT}/events/{last}/undo", json={"voter": "ann"})
        told = (await client.get(f"{ROOT}/progress")).json()
        assert (told["covered"], told["answered"], told["voters"][0]["pairs"]) == (2, 2, 2)
    async with local().running() as client:
        assert (await client.get(f"{ROOT}/progress")).json() == told


@pytest.mark.parametrize("quota", [None, 1])
async def test_progress_without_a_quota_and_beyond_it(local, quota):
    async with local().running() as client:
        await begun(client, quota=quota)
        for _ in range(3):
            event = await answered(client, "ann")
        # A second answer to a pair counts no further than the quota.
        await client.post(f"{ROOT}/events/{event}/answer", json={"winner": "tie", "voter": "bob"})
        told = (await client.get(f"{ROOT}/progress")).json()
        assert (told["answered"], told["wanted"]) == ((3, 3) if quota else (None, None))
        assert told["covered"] == 3
        made = {"name": "news", "algorithm": "parser", "task": "parse", "parameters": {"bits": 8}}
        assert (await client.post("/v1/models", json=made)).status_code == 201
        # A parser is asked about words.
        assert (await client.get("/v1/models/news/progress")).json()["pairs"] == 0


def test_the_spread_is_that_of_weights_learnt_from_coins():
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(40, 2, 3)) * 0.7
    draws = []
    for _ in range(2000):
        model = Full(3)
        for pair in rows:
            model.update(pair, {0: 0.5, 1: -0.5}, float(rng.choice([-1.0, 1.0])))
        draws.append(model.weights())
    told = weight_spread(model)
    # The standard deviation of one of 2,000 draws is known to 1/sqrt(4000): four of these are 6.4 %.
    assert np.std(draws, axis=0) == pytest.approx(told, rel=0.064)


async def test_words_that_decide_stand_out_and_others_do_not(local):
    rng = random.Random(3)
    async with local().running() as client:
        await client.post("/v1/models", json={"name": "teas", "algorithm": "gnr"})
        for k in range(80):
            items = [
                {"id": side, "text": f"{word} {rng.choice('pqrs')}x"} for side, word in (("a", "good"), ("b", "bad"))
            ]
            event = (await client.post(f"{ROOT}/choose", json={"items": items})).json()["event_id"]
            await client.post(f"{ROOT}/events/{event}/answer", json={"winner": "a" if k % 10 else "b"})
        told = (await client.get(f"{ROOT}/features?count=50")).json()
    liked = {one["name"]: one for one in told["liked"]}
    assert liked["good"]["weight"] > 2 * liked["good"]["spread"] > 0
    assert all(one["weight"] < 2 * one["spread"] for name, one in liked.items() if name in ("px", "qx", "rx", "sx"))


# Names of features are looked for in a few recent rounds, however long these are.


@pytest.mark.parametrize("characters", [1, 200_000])
async def test_features_are_named_after_the_latest_rounds_within_bounds(local, monkeypatch, characters):
    monkeypatch.setattr(insight, "_CHARACTERS", characters)
    async with local().running() as client:
        await client.post("/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 4096}})
        for turn in range(60):
            items = [{"id": "a", "text": f"a{turn}"}, {"id": "b", "text": f"b{turn}"}]
            chosen = (await client.post("/v1/models/m/choose", json={"items": items})).json()
            path = f"/v1/models/m/events/{chosen['event_id']}/answer"
            assert (await client.post(path, json={"winner": "a"})).status_code == 200
        found = (await client.get("/v1/models/m/features?count=1000")).json()
        names = {one["name"] for one in (*found["liked"], *found["disliked"])}
        assert all(one["spread"] is not None for one in found["liked"])
        assert names == {"a59"} if characters == 1 else {"a10", "a59", "b59"} <= names
        assert "a9" not in names
