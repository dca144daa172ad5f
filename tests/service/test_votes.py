"""Votes from elsewhere: learnt once, in the order of the file, undone, erased, exported and replayed like answers."""

import contextlib
import csv
import io
import json

import numpy as np
import pytest

from conquer import saving
from conquer.learners.believer import believer
from conquer.registry import make
from conquer.service.engine.turn import Turn
from conquer.service.work import votes
from conquer.service.work.tasks import imported
from conquer.types import Choice, Query, Source

from .folds import loaded, slow_fold, sqlite

LINES = ["left,right,winner,voter", "tea,mug,left,ann", "mug,pot,tie,bob", "pot,tea,right,ann", "tea,pot,left,cy"]
CSV = "\n".join(LINES).encode()


@contextlib.asynccontextmanager
async def serving(local, limits=None, **settings):
    app = local(**limits or {})
    async with app.running() as client:
        await fresh(client, "m", **settings)
        yield client, app.server


async def send(client, data=CSV, query="", name="m"):
    return await client.post(f"/v1/models/{name}/votes{query}", content=data)


def state(server, name="m"):
    return server.engine.models[name].learner.learner.arrays()


def same(one, two):
    return one.keys() == two.keys() and all(np.array_equal(one[key], two[key]) for key in one)


@pytest.mark.parametrize("believe", [None, "voters"])
async def test_votes_are_learnt_once_and_survive_everything(local, believe, tmp_path):
    async with serving(local, believe=believe) as (client, server):
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
        await fresh(client, believe=believe)
        replayed = await client.post("/v1/models/n/log", content=await ledger(client))
        assert replayed.json()["learnt"] == 4, replayed.text
        assert same(before, state(server, "n"))
        lines = (await client.get("/v1/models/m/log?format=preferences")).text.splitlines()
        assert [json.loads(line)["chosen_id"] for line in lines] == ["tea", "tea", "tea"]
        rows = [json.loads(line) for line in (await client.get("/v1/models/m/log")).text.splitlines()]
        undo = await client.post(f"/v1/models/m/events/{rows[3]['event_id']}/undo", json={"voter": "cy"})
        assert undo.status_code == 200, undo.text
        assert server.engine.models["m"].learner.learner.answers == 3
        gone = (await client.post("/v1/models/m/erase", json={"voter": "ann"})).json()
        assert gone == {"rows": 2}
        assert server.engine.models["m"].learner.learner.answers == 1
        assert "ann" not in (await client.get("/v1/models/m/log")).text
    assert np.array_equal(slow_fold(sqlite(tmp_path), "m"), loaded(sqlite(tmp_path), "m"))


async def test_votes_about_uploaded_items_take_their_contents(local):
    async with serving(local) as (client, _server):
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
async def test_bad_files_are_refused_whole(local, data):
    async with serving(local) as (client, _server):
        reply = await send(client, data)
        assert reply.status_code == 422, reply.text
        assert (await client.get("/v1/models/m")).json()["position"] == 0
        assert "/tmp" not in reply.text


async def test_an_upload_that_was_cut_off_goes_on(local):
    async with serving(local) as (client, server):
        whole = CSV + b"\n"
        head = b"\n".join(whole.splitlines()[:3])
        assert (await send(client, head, "?id=batch-7")).json()["learnt"] == 2
        assert (await send(client, whole, "?id=batch-7")).json() == {
            "votes": 4, "learnt": 2, "repeated": 2, "undone": 0, "ties": 1, "skipped": 0, "both_bad": 0,
        }  # fmt: skip
        assert server.engine.models["m"].learner.learner.answers == 4
        assert (await send(client, whole, "?id=../x")).status_code == 422


# What one file of votes may bring, how it is cut into turns, and what the reply says of votes that are there.


async def items(client, size):
    rows = [{"id": name, "text": f"{name} " * (size // 2)} for name in "ab"]
    sent = await client.post("/v1/models/m/items", content="\n".join(map(json.dumps, rows)).encode())
    assert sent.status_code == 200, sent.text


@pytest.mark.parametrize("lines", ["a,b,a,1\n" * 7, "a,b,a,7\n"], ids=["lines", "a count"])
async def test_the_bytes_of_a_file_are_those_that_are_stored(local, lines):
    """A line of six letters may stand for two long texts; an upload's bytes may come at once, and not one more."""
    async with serving(local, limits={"upload_bytes": 1 << 20}) as (client, _server):
        await items(client, 80_000)
        head = "left,right,winner,count\n"
        reply = await send(client, (head + lines).encode())
        assert reply.status_code == 422
        line = 1 + lines.count("\n")
        told = f"line {line}: at most 1,048,576 bytes of items, each vote with its own copy"
        assert told in reply.json()["error"]["message"]
        assert (await client.get("/v1/models/m")).json()["position"] == 0
        assert (await send(client, (head + "a,b,a,6\n").encode())).json()["learnt"] == 6


async def test_the_features_of_a_file_have_a_bound(local, monkeypatch):
    monkeypatch.setattr(votes, "CELLS", 100)
    async with serving(local) as (client, _server):
        reply = await send(client, b"left,right,winner,count\na,b,left,2\na,b,left,1\n")
        assert reply.status_code == 422
        assert "line 3: at most 100 features of these" in reply.text
        assert (await send(client, b"left,right,winner,count\na,b,left,2\n")).json()["learnt"] == 2


@pytest.mark.parametrize(("over", "turns"), [([], 1), ([True] * 4, 4), ([False, True, False, True], 2)])
async def test_a_turn_ends_when_its_time_is_up(local, monkeypatch, over, turns):
    """However long a vote takes, every turn learns one at least, and all turns together learn the file."""
    ends, learn, sizes = iter(over), votes._learn, []

    def counted(turn, part):
        done = learn(turn, part)
        sizes.append(done.total())
        return done

    async with serving(local) as (client, server):
        await send(client)
        whole = state(server)
        await fresh(client)
        monkeypatch.setattr(Turn, "is_over", property(lambda turn: next(ends, False)))
        monkeypatch.setattr(votes, "_learn", counted)
        assert (await send(client, name="n")).json()["learnt"] == 4
        assert same(whole, state(server, "n"))
    assert (len(sizes), sum(sizes)) == (turns, 4)


async def test_a_turn_looks_up_some_bytes_at_most(local, monkeypatch):
    monkeypatch.setattr(votes, "_BYTES", 100_000)
    sizes, work_on = [], votes._learn

    def counted(turn, part):
        sizes.append(len(part))
        return work_on(turn, part)

    async with serving(local) as (client, _server):
        await items(client, 20_000)
        monkeypatch.setattr(votes, "_learn", counted)
        await send(client, b"left,right,winner,count\na,b,a,5\n")
    assert max(sizes) == 3


OTHERS = {
    "another winner": "tea,mug,right,ann",
    "another item": "tea,pot,left,ann",
    "another side": "mug,tea,right,ann",
    "another voter": "tea,mug,left,dee",
    "nobody": "tea,mug,left,",
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
async def test_other_votes_under_the_same_id_are_refused(local, other):
    async with serving(local) as (client, _server):
        await send(client, query="?id=f1")
        reply = await send(client, "\n".join([LINES[0], other, *LINES[2:], "pot,mug,left,eve"]).encode(), "?id=f1")
        assert (reply.status_code, reply.json()["error"]["code"]) == (409, "other_votes")
        assert (await client.get("/v1/models/m")).json()["position"] == 4


async def test_a_round_under_a_votes_id_is_no_vote(local):
    async with serving(local) as (client, _server):
        shown = [{"id": one, "features": {"id": one}} for one in ("tea", "mug")]
        await client.post("/v1/models/m/choose", json={"items": shown, "event_id": "vote-f1-0"})
        reply = await send(client, query="?id=f1")
        assert (reply.status_code, reply.json()["error"]["code"]) == (409, "other_votes")


async def test_the_reply_says_which_votes_stay_undone(local):
    async with serving(local) as (client, server):
        await send(client, query="?id=f1")
        await client.post("/v1/models/m/events/vote-f1-0/undo", json={"voter": "ann"})
        again = (await send(client, query="?id=f1")).json()
        assert (again["learnt"], again["repeated"], again["undone"]) == (0, 3, 1)
        said = await client.post("/v1/models/m/events/vote-f1-0/answer", json={"winner": "tea", "voter": "ann"})
        assert said.json()["status"] == "learnt", said.text
        assert server.engine.models["m"].learner.learner.answers == 4
        assert (await send(client, query="?id=f1")).json()["undone"] == 1
        await client.post("/v1/models/m/erase", json={"voter": "cy"})
        again = (await send(client, query="?id=f1")).json()
        assert (again["learnt"], again["repeated"], again["undone"]) == (1, 2, 1)


async def test_refusals_are_in_words(local):
    async with serving(local) as (client, _server):
        name = await send(client, b"left,right,winner,voter\na,b,left,x/y\n")
        assert "regex" not in name.text
        assert "line 2: Expected `str` without control characters" in name.json()["error"]["message"]
        empty = await send(client, b"left,right,winner\n")
        assert empty.json()["error"]["message"] == "the file: no votes found"


async def test_a_table_has_no_formulas(local):
    async with serving(local) as (client, _server):
        texts = ["\n=1", " =1+1", "\t@x", "+1", "tea", "mug\r=1+1", "pot\r\n-1"]
        rows = [{"chosen": text, "rejected": "mug"} for text in texts]
        assert (await send(client, json.dumps(rows).encode(), "?content=texts")).json()["learnt"] == len(texts)
        table = list(csv.DictReader(io.StringIO((await client.get("/v1/models/m/log?format=csv")).text)))
        assert [row["first"] for row in table] == ["'\n=1", "' =1+1", "'\t@x", "'+1", *texts[4:]]


def test_names_of_a_model_file_are_numbered_in_one_pass():
    learner = make("gnr", dim=4, believe="voters")
    names = ["forgotten-1", "ann", "forgotten-0", *(f"v{k}" for k in range(5000))]
    for name in names:
        learner.learn(np.eye(4), Choice((0, 1), Query.DUEL, 0), 1.0, Source(name))
    _, state_bytes = imported(saving.dumps(learner))
    again = believer(saving.loads(state_bytes)[0]).table
    assert list(again.names) == [("person", f"forgotten-{k}") for k in range(len(names))]


# An event begun by a vote is an event like any other: answered, undone, folded again, exported and rehearsed.


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
async def test_an_answer_to_a_votes_event_is_kept(local, believe):
    """The model read again from its rows, and one fed its ledger, are the one that learnt."""
    async with serving(local, believe=believe) as (client, server):
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


@pytest.mark.parametrize("believe", [None, "voters"])
async def test_a_vote_that_was_taken_back_leaves_its_question(local, believe):
    async with serving(local, believe=believe) as (client, server):
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


def changed(text, place, **body):
    rows = [json.loads(line) for line in text.splitlines()]
    rows[place]["body"] |= body
    return "\n".join(map(json.dumps, rows)).encode()


async def test_a_ledger_of_votes_is_refused_whole(local):
    """An event twice, and votes that contradict themselves, after more rows than one transaction has."""
    async with serving(local) as (client, server):
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


async def test_a_model_with_votes_is_not_fresh(local):
    async with serving(local) as (client, _server):
        await send(client, CSV, "?id=f1")
        text = await ledger(client)
        await fresh(client)
        await send(client, b"left,right,winner,voter\ntea,mug,left,ann\n", "?id=f2", "n")
        for _ in range(2):
            reply = await client.post("/v1/models/n/log", content=text)
            assert (reply.status_code, reply.json()["error"]["code"]) == (409, "not_fresh")
            await client.post("/v1/models/n/events/vote-f2-0/undo", json={"voter": "ann"})


async def test_who_has_answered_a_votes_event_is_not_asked_its_pair(local):
    async with serving(local) as (client, server):
        items = b'{"id":"tea","text":"green leaf"}\n{"id":"mug","text":"blue mug"}'
        await client.post("/v1/models/m/items", content=items)
        await send(client, b"left,right,winner,voter\ntea,mug,left,ann\n", "?id=f1")
        assert await answer(client, "vote-f1-0", winner="mug", voter="dee") == "learnt"
        server.engine.models.clear()
        offers = [
            (await client.post("/v1/models/m/next", json={"voter": name})).json() for name in ("ann", "dee", "eve")
        ]
        assert [offer["event"] is None for offer in offers] == [True, True, False], offers
