"""Questions for people: uploads, leases, resuming, repeats; and logs out and in."""

import json

import numpy as np
import pytest

from conquer.service.errors import Kind, RefusalError

from .conftest import read_groups, run
from .folds import slow_fold

LINES = b"\n".join(json.dumps({"id": f"i{k}", "text": f"word{k} and word{k % 3}"}).encode() for k in range(12))


def conversation(local, work, **settings):
    async def go():
        app = local()
        async with app.running() as client:
            body = {"name": "m", "algorithm": "gnr", "features": {"dim": 1024}, **settings}
            assert (await client.post("/v1/models", json=body)).status_code == 201
            reply = await client.post("/v1/models/m/items", content=LINES)
            assert reply.json() == {"items": 12, "groups": 1}
            return await work(client, app.server)

    return run(go())


async def ask(client, voter, **body):
    reply = await client.post("/v1/models/m/next", json={"voter": voter, **body})
    assert reply.status_code == 200, reply.text
    return reply.json()


async def tell(client, question, voter, winner=None):
    event = question["event"]["event_id"]
    body = {"winner": winner or question["event"]["left"], "voter": voter, "seconds": 1.5}
    reply = await client.post(f"/v1/models/m/events/{event}/answer", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def shown(question):
    return {one["id"] for one in question["event"]["shown"]}


def test_nobody_gets_what_another_is_answering(local):
    async def work(client, _server):
        questions = {voter: await ask(client, voter) for voter in ("ann", "bob", "cy", "di", "ed", "flo")}
        everything = [item for question in questions.values() for item in shown(question)]
        assert len(everything) == len(set(everything)) == 12
        last = await ask(client, "gus")
        assert last["event"] is None
        assert "others" in last["reason"]
        assert (await ask(client, "gus", shared=True))["event"] is not None
        assert await ask(client, "ann") == questions["ann"]
        await tell(client, questions["ann"], "ann")
        # Her two items are free, but she has met them.
        assert (await ask(client, "ann"))["event"] is None
        await tell(client, questions["bob"], "bob")
        assert shown(await ask(client, "ann")) != shown(questions["ann"])

    conversation(local, work)


def test_a_question_holds_its_items_in_full(local):
    async def work(client, _server):
        question = await ask(client, "ann")
        assert {item["id"] for item in question["items"]} == shown(question)
        assert all(item["text"].startswith("word") for item in question["items"])

    conversation(local, work)


def test_planted_repeats_measure_agreement_and_are_not_learnt(local):
    async def work(client, server):
        seen = []
        for _ in range(60):
            question = await ask(client, "ann")
            seen.append(await tell(client, question, "ann", min(shown(question))))
        planted = sum(one.get("reason") == "planted" for one in seen)
        summary = (await client.get("/v1/models/m")).json()["summary"]
        assert planted > 5
        assert summary["planted"] == {"answers": planted, "agreement": 1.0}
        assert summary["answers"]["learnt"] == 60 - planted
        assert summary["seconds_per_answer"] == 1.5
        liked = (await client.get("/v1/models/m/features?count=3")).json()["liked"]
        assert liked
        assert liked[0]["weight"] > 0

    conversation(local, work, planted=0.4)


def test_logs_go_out_and_a_ledger_trains_another_model(local, tmp_path):
    async def work(client, server):
        for turn in range(8):
            question = await ask(client, f"v{turn % 2}")
            await tell(client, question, f"v{turn % 2}", "tie" if turn == 3 else None)
        undone = question["event"]["event_id"]
        await client.post(f"/v1/models/m/events/{undone}/undo", json={"voter": "v1"})
        rows = [json.loads(line) for line in (await client.get("/v1/models/m/log")).text.splitlines()]
        assert [row["position"] for row in rows] == list(range(1, 18))
        pairs = [json.loads(x) for x in (await client.get("/v1/models/m/log?format=preferences")).text.splitlines()]
        assert len(pairs) == 6
        assert all(pair["chosen"] != pair["rejected"] for pair in pairs)
        ledger = (await client.get("/v1/models/m/log?format=ledger")).content
        for name, algorithm in (("same", "gnr"), ("other", "ttg")):
            made = {"name": name, "algorithm": algorithm, "features": {"dim": 1024}}
            await client.post("/v1/models", json=made)
            reply = await client.post(f"/v1/models/{name}/log", content=ledger)
            assert (reply.json()["rounds"], reply.json()["learnt"]) == (8, 7), reply.text
        weights = {name: server.engine.models[name].learner.learner.model.weights() for name in ("m", "same")}
        assert np.array_equal(weights["m"], weights["same"])
        assert (await client.post("/v1/models/same/log", content=ledger)).status_code == 409
        damaged = ledger.replace(b'"kind":"answer"', b'"kind":"answr"', 1)
        await client.post("/v1/models", json={"name": "bad", "algorithm": "gnr", "features": {"dim": 1024}})
        assert (await client.post("/v1/models/bad/log", content=damaged)).status_code == 422
        assert (await client.get("/v1/models/bad")).json()["position"] == 0

    conversation(local, work)


def test_erasing_a_voter_is_the_fold_without_their_rows(local, tmp_path):
    async def work(client, server):
        kept = []
        for turn in range(12):
            voter = ("ann", "bob", "cy")[turn % 3]
            question = await ask(client, voter)
            await tell(client, question, voter)
            kept += [turn] if voter != "bob" else []
        reply = await client.post("/v1/models/m/erase", json={"voter": "bob"})
        assert reply.json() == {"rows": 8, "remaining": 0}
        assert (await client.post("/v1/models/m/erase", json={"voter": "bob"})).json() == {"rows": 0, "remaining": 0}
        text = (await client.get("/v1/models/m/log")).text
        assert "bob" not in text
        summary = (await client.get("/v1/models/m")).json()["summary"]
        assert summary["answers"]["learnt"] == 8
        weights = server.engine.models["m"].learner.learner.model.weights()
        question = await ask(client, "ann")
        assert question["event"]["ordinal"] == 12
        return weights

    weights = conversation(local, work)
    assert np.array_equal(weights, slow_fold(f"sqlite:///{tmp_path}/store.db", "m"))
    assert b"bob" not in (tmp_path / "store.db").read_bytes()


@pytest.mark.parametrize(
    "data",
    [b"", b"  ", b"{", b"\xff\xfe\x00", b"id,text\na,b,c\n", b"id,text\na,one\n",
     b'{"id":"tie","text":"x"}\n{"text":"y"}',
     b'{"text":"x"}\n[]', b'{"items":[]}', b'{"items":5}', b'{"prompt":[[1]],"items":["a","b"]}', b"[" * 9999,
     b'{"id":"a","text":"x"}\n{"id":"a","text":"y"}', b'{"id":"a"}\n{"id":"b"}'],
)  # fmt: skip
def test_files_that_make_no_questions_are_refused(data):
    with pytest.raises(RefusalError) as caught:
        read_groups(data)
    assert caught.value.kind is Kind.INVALID


def test_prompts_keep_their_answers_together():
    data = b'{"prompt":"p","responses":["x","y","z"]}\n'
    data += b'{"prompt":"q","items":[{"id":"s","text":"1"},{"id":"t","text":"2"}]}'
    groups = read_groups(data)
    assert [(group.context, len(group.items)) for group in groups] == [("p", 3), ("q", 2)]
    table = read_groups(b"id,price,brand\na,3,x\nb,4.5,y\n")
    assert table[0].items[1].features == {"price": 4.5, "brand": "y"}
