"""Votes from elsewhere: learnt once, in the order of the file, undone, erased, exported and replayed like answers."""

import json

import numpy as np
import pytest

from .conftest import run
from .folds import loaded, slow_fold, sqlite

LINES = ["left,right,winner,voter", "tea,mug,left,ann", "mug,pot,tie,bob", "pot,tea,right,ann", "tea,pot,left,cy"]
CSV = "\n".join(LINES).encode()


def serving(local, work, **settings):
    async def go():
        app = local()
        async with app.running() as client:
            body = {"name": "m", "algorithm": "gnr", "model": "full", "features": {"dim": 32}, **settings}
            assert (await client.post("/v1/models", json=body)).status_code == 201
            return await work(client, app.server)

    return run(go())


async def send(client, data=CSV, query="", name="m"):
    return await client.post(f"/v1/models/{name}/votes{query}", content=data)


def state(server, name="m"):
    return server.engine.models[name].learner.learner.arrays()


def same(one, two):
    return one.keys() == two.keys() and all(np.array_equal(one[key], two[key]) for key in one)


@pytest.mark.parametrize("believe", [None, "voters"])
def test_votes_are_learnt_once_and_survive_everything(local, believe, tmp_path):
    async def work(client, server):
        reply = (await send(client)).json()
        told = {"votes": 4, "learnt": 4, "repeated": 0, "undone": 0, "ties": 1, "skipped": 0, "both_bad": 0}
        assert reply == told
        assert (await send(client)).json() == {**told, "learnt": 0, "repeated": 4}
        items = [{"id": one, "features": {"id": one}} for one in ("pot", "mug", "tea")]
        ranked = (await client.post("/v1/models/m/rank", json={"items": items})).json()["items"]
        assert ranked[0]["id"] == "tea"
        board = (await client.get("/v1/models/m/board")).json()
        assert (board["items"][0]["id"], len(board["items"]), board["answers"]) == ("tea", 3, 4)
        before = state(server)
        assert server.engine.models["m"].learner.learner.answers == 4
        server.engine.models.clear()
        info = (await client.get("/v1/models/m")).json()
        assert (info["summary"]["votes"], info["summary"]["voters"]) == (4, {"ann": 2, "bob": 1, "cy": 1})
        assert same(before, state(server))
        ledger = (await client.get("/v1/models/m/log?format=ledger")).content
        made = {"name": "n", "algorithm": "gnr", "model": "full", "features": {"dim": 32}, "believe": believe}
        await client.post("/v1/models", json=made)
        replayed = await client.post("/v1/models/n/log", content=ledger)
        assert replayed.json()["learnt"] == 4, replayed.text
        assert same(before, state(server, "n"))
        lines = (await client.get("/v1/models/m/log?format=preferences")).text.splitlines()
        assert [json.loads(line)["chosen_id"] for line in lines] == ["tea", "tea", "tea"]
        rows = [json.loads(line) for line in (await client.get("/v1/models/m/log")).text.splitlines()]
        undo = await client.post(f"/v1/models/m/events/{rows[3]['event_id']}/undo", json={"voter": "cy"})
        assert undo.status_code == 200, undo.text
        assert server.engine.models["m"].learner.learner.answers == 3
        gone = (await client.post("/v1/models/m/erase", json={"voter": "ann"})).json()
        assert gone == {"rows": 2, "remaining": 0}
        assert server.engine.models["m"].learner.learner.answers == 1
        assert "ann" not in (await client.get("/v1/models/m/log")).text

    serving(local, work, believe=believe)
    assert np.array_equal(slow_fold(sqlite(tmp_path), "m"), loaded(sqlite(tmp_path), "m"))


def test_votes_about_uploaded_items_take_their_contents(local):
    async def work(client, _server):
        items = b'{"id":"tea","text":"green leaf"}\n{"id":"mug","text":"blue mug"}'
        await client.post("/v1/models/m/items", content=items)
        reply = await send(client, b'[{"chosen":"tea","rejected":"mug"}]')
        assert reply.json()["learnt"] == 1, reply.text
        line = (await client.get("/v1/models/m/log?format=preferences")).json()
        assert (line["chosen"], line["rejected"]) == ("green leaf", "blue mug")
        unknown = await send(client, b"left,right,winner\ntea,mug,left\ntea,pot,left\n")
        assert unknown.status_code == 422
        assert "line 3" in unknown.json()["error"]["message"]
        assert "pot" in unknown.json()["error"]["message"]

    serving(local, work)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x1f\x8b\x08", b"left,right,winner\na,b,c\n", b"left,right,winner\na,a,left\n", b"left,winner\na,left\n",
        b"left,right,winner,voter\na,b,left," + b"x" * 10_000, b"left,right,winner,weight\na,b,left,2\n",
        b"\xff\xfe\x00",
        b"[{", b"left,right,winner\n\"a/b\",c,left\n", b"left,right,winner,count\na,b,left,99999999\n",
        b"left,right,winner,kind\na,b,left,judge\n",
    ],
)  # fmt: skip
def test_bad_files_are_refused_whole(local, data):
    async def work(client, _server):
        reply = await send(client, data)
        assert reply.status_code == 422, reply.text
        assert (await client.get("/v1/models/m")).json()["position"] == 0
        assert "/tmp" not in reply.text

    serving(local, work)


def test_an_upload_that_was_cut_off_goes_on(local):
    async def work(client, server):
        whole = CSV + b"\n"
        head = b"\n".join(whole.splitlines()[:3])
        assert (await send(client, head, "?id=batch-7")).json()["learnt"] == 2
        assert (await send(client, whole, "?id=batch-7")).json() == {
            "votes": 4, "learnt": 2, "repeated": 2, "undone": 0, "ties": 1, "skipped": 0, "both_bad": 0,
        }  # fmt: skip
        assert server.engine.models["m"].learner.learner.answers == 4
        assert (await send(client, whole, "?id=../x")).status_code == 422

    serving(local, work)
