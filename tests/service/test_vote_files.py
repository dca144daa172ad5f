"""What one file of votes may bring, how it is cut into turns, and what the reply says of votes that are there."""

import csv
import io
import json

import numpy as np
import pytest

from conquer import saving
from conquer.learners.believer import believer
from conquer.registry import make
from conquer.service.work import votes
from conquer.service.work.tasks import imported
from conquer.types import Choice, Query, Source

from .test_votes import LINES, same, send, serving, state


async def items(client, size):
    rows = [{"id": name, "text": f"{name} " * (size // 2)} for name in "ab"]
    sent = await client.post("/v1/models/m/items", content="\n".join(map(json.dumps, rows)).encode())
    assert sent.status_code == 200, sent.text


@pytest.mark.parametrize("lines", ["a,b,a,1\n" * 7, "a,b,a,7\n"], ids=["lines", "a count"])
def test_the_bytes_of_a_file_are_those_that_are_stored(local, monkeypatch, lines):
    """A line of six letters may stand for two long texts; so many may come at once, and not one more."""
    monkeypatch.setattr(votes, "STORED", 1 << 20)

    async def work(client, _server):
        await items(client, 80_000)
        head = "left,right,winner,count\n"
        reply = await send(client, (head + lines).encode())
        assert reply.status_code == 422
        line = 1 + lines.count("\n")
        told = f"line {line}: a request's votes take at most 1,048,576 bytes with their items"
        assert told in reply.json()["error"]["message"]
        assert (await client.get("/v1/models/m")).json()["position"] == 0
        assert (await send(client, (head + "a,b,a,6\n").encode())).json()["learnt"] == 6

    serving(local, work)


def test_the_features_of_a_file_have_a_bound(local, monkeypatch):
    monkeypatch.setattr(votes, "CELLS", 100)

    async def work(client, _server):
        reply = await send(client, b"left,right,winner,count\na,b,left,2\na,b,left,1\n")
        assert reply.status_code == 422
        assert "line 3: the items of a request's votes have at most 100 features" in reply.text
        assert (await send(client, b"left,right,winner,count\na,b,left,2\n")).json()["learnt"] == 2

    serving(local, work)


@pytest.mark.parametrize(("tick", "turns"), [(0.0, 1), (0.008, 2), (1.0, 4)])
def test_a_turn_ends_when_its_time_is_up(local, monkeypatch, tick, turns):
    """However long a vote takes, every turn learns one at least, and all turns together learn the file."""
    now, work_on, sizes = [0.0], votes._learn, []

    def clock():
        now[0] += tick
        return now[0]

    def counted(*arguments, **named):
        done = work_on(*arguments, **named)
        sizes.append(done.total())
        return done

    async def work(client, server):
        await send(client)
        whole = state(server)
        await client.post(
            "/v1/models", json={"name": "n", "algorithm": "gnr", "model": "full", "features": {"dim": 32}}
        )
        monkeypatch.setattr(votes, "monotonic", clock)
        monkeypatch.setattr(votes, "_learn", counted)
        assert (await send(client, name="n")).json()["learnt"] == 4
        assert same(whole, state(server, "n"))

    serving(local, work)
    assert (len(sizes), sum(sizes)) == (turns, 4)


def test_a_turn_looks_up_some_bytes_at_most(local, monkeypatch):
    monkeypatch.setattr(votes, "_BYTES", 100_000)
    sizes, work_on = [], votes._learn

    def counted(turn, part):
        sizes.append(len(part))
        return work_on(turn, part)

    async def work(client, _server):
        await items(client, 20_000)
        monkeypatch.setattr(votes, "_learn", counted)
        await send(client, b"left,right,winner,count\na,b,a,5\n")

    serving(local, work)
    assert max(sizes) == 3


OTHERS = {
    "another winner": "tea,mug,right,ann",
    "another item": "tea,pot,left,ann",
    "another side": "mug,tea,right,ann",
    "another voter": "tea,mug,left,dee",
    "nobody": "tea,mug,left,",
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_other_votes_under_the_same_id_are_refused(local, other):
    async def work(client, _server):
        await send(client, query="?id=f1")
        reply = await send(client, "\n".join([LINES[0], other, *LINES[2:], "pot,mug,left,eve"]).encode(), "?id=f1")
        assert (reply.status_code, reply.json()["error"]["code"]) == (409, "other_votes")
        assert (await client.get("/v1/models/m")).json()["position"] == 4

    serving(local, work)


def test_a_round_under_a_votes_id_is_no_vote(local):
    async def work(client, _server):
        shown = [{"id": one, "features": {"id": one}} for one in ("tea", "mug")]
        await client.post("/v1/models/m/choose", json={"items": shown, "event_id": "vote-f1-0"})
        reply = await send(client, query="?id=f1")
        assert (reply.status_code, reply.json()["error"]["code"]) == (409, "other_votes")

    serving(local, work)


def test_the_reply_says_which_votes_stay_undone(local):
    async def work(client, server):
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

    serving(local, work)


def test_refusals_are_in_words(local):
    async def work(client, _server):
        name = await send(client, b"left,right,winner,voter\na,b,left,x/y\n")
        assert "regex" not in name.text
        assert "line 2: Expected `str` without control characters" in name.json()["error"]["message"]
        empty = await send(client, b"left,right,winner\n")
        assert empty.json()["error"]["message"] == "the file: no votes found"

    serving(local, work)


def test_a_table_has_no_formulas(local):
    async def work(client, _server):
        texts = ["\n=1", " =1+1", "\t@x", "+1", "tea", "mug\r=1+1", "pot\r\n-1"]
        rows = [{"chosen": text, "rejected": "mug"} for text in texts]
        assert (await send(client, json.dumps(rows).encode(), "?content=texts")).json()["learnt"] == len(texts)
        table = list(csv.DictReader(io.StringIO((await client.get("/v1/models/m/log?format=csv")).text)))
        assert [row["first"] for row in table] == ["'\n=1", "' =1+1", "'\t@x", "'+1", *texts[4:]]

    serving(local, work)


def test_names_of_a_model_file_are_numbered_in_one_pass():
    learner = make("gnr", dim=4, believe="voters")
    names = ["forgotten-1", "ann", "forgotten-0", *(f"v{k}" for k in range(5000))]
    for name in names:
        learner.learn(np.eye(4), Choice((0, 1), Query.DUEL, 0), 1.0, Source(name))
    _, state_bytes = imported(saving.dumps(learner))
    again = believer(saving.loads(state_bytes)[0]).table
    assert list(again.names) == [("person", f"forgotten-{k}") for k in range(len(names))]
