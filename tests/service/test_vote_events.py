"""An event begun by a vote is an event like any other: answered, undone, folded again, exported and rehearsed."""

import json

import pytest

from .test_votes import CSV, same, send, serving, state


async def answer(client, event_id, **said):
    reply = await client.post(f"/v1/models/m/events/{event_id}/answer", json=said)
    assert reply.status_code == 200, reply.text
    return reply.json()["status"]


async def fresh(client, name="n", **settings):
    body = {"name": name, "algorithm": "gnr", "model": "full", "features": {"dim": 32}, **settings}
    assert (await client.post("/v1/models", json=body)).status_code == 201


async def ledger(client, name="m"):
    return (await client.get(f"/v1/models/{name}/log?format=ledger")).content


@pytest.mark.parametrize("believe", [None, "voters"])
def test_an_answer_to_a_votes_event_is_kept(local, believe):
    """The model read again from its rows, and one fed its ledger, are the one that learnt."""

    async def work(client, server):
        await send(client, query="?id=f1")
        assert await answer(client, "vote-f1-0", winner="mug", voter="dee") == "learnt"
        before = state(server)
        assert server.engine.models["m"].learner.learner.answers == 5
        server.engine.models.clear()
        info = (await client.get("/v1/models/m")).json()["summary"]
        assert (info["answers"]["learnt"], info["answers"]["ignored"]) == (1, {})
        assert same(before, state(server))
        await fresh(client, believe=believe)
        fed = await client.post("/v1/models/n/log", content=await ledger(client))
        assert fed.status_code == 200, fed.text
        assert fed.json()["learnt"] == 5
        assert same(before, state(server, "n"))

    serving(local, work, believe=believe)


@pytest.mark.parametrize("believe", [None, "voters"])
def test_a_vote_that_was_taken_back_leaves_its_question(local, believe):
    async def work(client, server):
        await send(client, query="?id=f1")
        undone = await client.post("/v1/models/m/events/vote-f1-0/undo", json={"voter": "ann"})
        assert undone.status_code == 200, undone.text
        await client.get("/v1/models/m/voters")
        assert await answer(client, "vote-f1-0", winner="mug", voter="dee") == "learnt"
        assert await answer(client, "vote-f1-0", winner="mug", voter="ann") == "learnt"
        server.engine.models.clear()
        await client.get("/v1/models/m")
        assert server.engine.models["m"].learner.learner.answers == 5
        await fresh(client, believe=believe)
        fed = await client.post("/v1/models/n/log", content=await ledger(client))
        assert fed.status_code == 200, fed.text
        assert fed.json()["learnt"] == 5
        server.engine.models.clear()
        one, two = [(await client.get(f"/v1/models/{name}")).json()["summary"] for name in "mn"]
        assert (one["votes"], one["answers"], one["voters"]) == (two["votes"], two["answers"], two["voters"])
        assert same(state(server), state(server, "n"))

    serving(local, work, believe=believe)


def changed(text, place, **body):
    rows = [json.loads(line) for line in text.splitlines()]
    rows[place]["body"] |= body
    return "\n".join(map(json.dumps, rows)).encode()


def test_a_ledger_of_votes_is_refused_whole(local):
    """An event twice, and votes that contradict themselves, after more rows than one transaction has."""

    async def work(client, server):
        many = b"left,right,winner,voter,count\ntea,mug,left,ann,1100\nmug,pot,right,bob,1\ntea,pot,tie,bob,1\n"
        await send(client, many, "?id=f1")
        text = await ledger(client)
        await fresh(client)
        lines = text.splitlines()
        cases = {
            "an event twice": b"\n".join([*lines, lines[1]]),
            "another winner": changed(text, 1101, winner="mug"),
            "no tie": changed(text, 1102, winner="tea"),
            "a tie": changed(text, 1101, winner="tie"),
        }
        for name, case in cases.items():
            reply = await client.post("/v1/models/n/log", content=case)
            assert reply.status_code == 422, (name, reply.text)
            assert (await client.get("/v1/models/n")).json()["position"] == 0, name
        assert (await client.post("/v1/models/n/log", content=text)).status_code == 200
        assert same(state(server), state(server, "n"))

    serving(local, work)


def test_a_model_with_votes_is_not_fresh(local):
    async def work(client, _server):
        await send(client, CSV, "?id=f1")
        text = await ledger(client)
        await fresh(client)
        await send(client, b"left,right,winner,voter\ntea,mug,left,ann\n", "?id=f2", "n")
        for _ in range(2):
            reply = await client.post("/v1/models/n/log", content=text)
            assert (reply.status_code, reply.json()["error"]["code"]) == (409, "not_fresh")
            await client.post("/v1/models/n/events/vote-f2-0/undo", json={"voter": "ann"})

    serving(local, work)


def test_who_has_answered_a_votes_event_is_not_asked_its_pair(local):
    async def work(client, server):
        items = b'{"id":"tea","text":"green leaf"}\n{"id":"mug","text":"blue mug"}'
        await client.post("/v1/models/m/items", content=items)
        await send(client, b"left,right,winner,voter\ntea,mug,left,ann\n", "?id=f1")
        assert await answer(client, "vote-f1-0", winner="mug", voter="dee") == "learnt"
        server.engine.models.clear()
        offers = [
            (await client.post("/v1/models/m/next", json={"voter": name})).json() for name in ("ann", "dee", "eve")
        ]
        assert [offer["event"] is None for offer in offers] == [True, True, False], offers

    serving(local, work)
