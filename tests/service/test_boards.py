"""Boards over HTTP are the session's, null where infinite; ranking uses no round; a model that has enough says done."""

import asyncio
import contextlib
import json
import threading
import time

import numpy as np
import pytest

import conquer
from conquer.boards import Evidence
from conquer.service.engine import engine as queue
from conquer.service.errors import RefusalError
from conquer.service.model import pick_learner
from conquer.service.work import boards
from conquer.service.work.boards import Look

NAMES = ["ash", "birch", "cedar", "elm"]
ITEMS = [{"id": name, "vector": [float(name == other) for other in NAMES]} for name in NAMES]
FULL = {"name": "m", "algorithm": "gnr", "model": "full", "features": {"dim": 4}, "believe": None}


async def answers(client, count, name="m"):
    """The alphabetically first of two always wins; returns the rounds as a learner sees them."""
    seen = []
    for _ in range(count):
        offer = (await client.post(f"/v1/models/{name}/choose", json={"items": ITEMS})).json()
        shown = [one["id"] for one in offer["shown"]]
        await client.post(f"/v1/models/{name}/events/{offer['event_id']}/answer", json={"winner": min(shown)})
        seen.append((shown, 1.0 if min(shown) == shown[0] else -1.0))
    return seen


@contextlib.asynccontextmanager
async def serving(local, **settings):
    app = local()
    async with app.running() as client:
        made = await client.post("/v1/models", json={**FULL, **settings})
        assert made.status_code == 201, made.text
        yield client, app.server


@pytest.mark.parametrize("believe", [None, "voters"])
async def test_the_board_is_the_learners_own(local, believe):
    async with serving(local, believe=believe) as (client, server):
        empty = (await client.get("/v1/models/m/board")).json()
        assert empty["error"]["code"] == "no_items"
        await client.post("/v1/models/m/choose", json={"items": ITEMS})
        first = (await client.get("/v1/models/m/board?stop=0.5")).json()
        assert [(one["low"], one["high"], one["best"]) for one in first["items"]] == [(None, None, True)] * 4
        assert first["stop"]["done"] is False
        assert first["stop"]["more"] is None or first["stop"]["more"] > 0
        await answers(client, 60)
        served = server.engine.models["m"].learner
        refused = (await client.get("/v1/models/m/board?interval=anytime")).json()["error"]
        assert (refused["code"], "design='fixed'" in refused["message"]) == ("no_board", True)
        for interval in ("proved", "fixed"):
            told = (await client.get(f"/v1/models/m/board?interval={interval}&delta=0.1&stop=0.5")).json()
            board = served.learner.board(np.eye(4), delta=0.1, interval=interval, names=NAMES, evidence=served.evidence)
            assert board.answered.total == 60
            assert (told["fit_p"], told["warnings"]) == (board.fit_p, list(board.warnings))
            assert [one["id"] for one in told["items"]] == [NAMES[k] for k in board.order]
            for one in told["items"]:
                k = NAMES.index(one["id"])
                assert (one["score"], one["low"], one["high"]) == (board.scores[k], board.low[k], board.high[k])
                assert one["better"] == board.better[k].sum()
                assert one["best"] == (k in board.best)
            assert told["pairs"] == [int(board.better.sum()), 6]
            assert told["stop"]["text"] == board.stop(0.5).text
        short = (await client.get("/v1/models/m/board?limit=2")).json()
        assert [one["rank"] for one in short["items"]] == [1, 2]
        # Intervals are about the mean of all, which the first two do not tell.
        assert short["mean"] == pytest.approx(board.scores.mean())
        for one in short["items"]:
            assert one["low"] <= one["score"] - short["mean"] <= one["high"]


async def test_ranking_uses_no_round(local):
    async with serving(local) as (client, server):
        await answers(client, 12)
        before = (await client.get("/v1/models/m")).json()["position"]
        ranked = (await client.post("/v1/models/m/rank", json={"items": ITEMS})).json()["items"]
        scores = server.engine.models["m"].learner.learner.scores(np.eye(4))
        assert [one["id"] for one in ranked] == [NAMES[k] for k in np.argsort(-scores, kind="stable")]
        assert (await client.get("/v1/models/m")).json()["position"] == before
        assert (await client.post("/v1/models/m/rank", json={"items": []})).status_code == 422


@pytest.mark.parametrize("query", ["delta=0", "delta=1", "delta=x", "interval=wide", "stop=-1", "limit=0", "group=x"])
async def test_bad_questions_about_a_board(local, query):
    async with serving(local) as (client, _server):
        reply = await client.get(f"/v1/models/m/board?{query}")
        assert reply.status_code == 422, reply.text


async def test_a_diagonal_model_ranks_and_refuses_a_board_with_the_remedy(local):
    async with serving(local, model="diagonal") as (client, _server):
        await answers(client, 5)
        reply = await client.get("/v1/models/m/board")
        assert (reply.status_code, reply.json()["error"]["code"]) == (409, "no_board")
        assert "kernel" in reply.json()["error"]["message"]
        assert (await client.post("/v1/models/m/rank", json={"items": ITEMS})).status_code == 200
        body = {"name": "n", "algorithm": "gnr", "stop": 0.5, "features": {"dim": 4}}
        assert (await client.post("/v1/models", json=body)).status_code == 422


async def test_a_projected_model_has_the_board_whose_interval_holds(local):
    async with serving(local, parameters={"projection": "exact"}) as (client, _server):
        await answers(client, 5)
        refused = await client.get("/v1/models/m/board?interval=fixed")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no_board")
        assert "interval='proved'" in refused.json()["error"]["message"]
        assert (await client.get("/v1/models/m/board?interval=proved")).status_code == 200


async def test_a_choice_says_done_when_its_items_are_told_apart(local):
    async with serving(local, stop=0.9, delta=0.1) as (client, server):
        done = []
        for _ in range(250):
            offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS[:2]})).json()
            served = server.engine.models["m"].learner
            board = served.learner.board(np.eye(4)[:2], delta=0.1, evidence=served.evidence, ids=NAMES[:2])
            assert offer["done"] == board.stop(0.9).done
            done.append(offer["done"])
            event = offer["event_id"]
            await client.post(f"/v1/models/m/events/{event}/answer", json={"winner": "ash"})
        again = (await client.post("/v1/models/m/choose", json={"items": ITEMS[:2], "event_id": event})).json()
        assert again["done"] == done[-1]
        assert done[0] is False
        assert done[-1] is True


async def test_a_pool_that_has_enough_ends_with_its_board(local):
    async with serving(local, stop=0.9) as (client, _server):
        lines = "\n".join(json.dumps(item) for item in ITEMS[:2])
        await client.post("/v1/models/m/items", content=lines.encode())
        for number in range(400):
            voter = f"v{number}"
            question = (await client.post("/v1/models/m/next", json={"voter": voter})).json()
            if question["event"] is None:
                break
            event = question["event"]["event_id"]
            await client.post(f"/v1/models/m/events/{event}/answer", json={"winner": "ash", "voter": voter})
        assert question["done"] is True
        assert question["reason"].startswith("you may stop: nothing is better than ash")
        assert question["board"]["items"][0]["id"] == "ash"
        assert 1 < number < 399


async def test_a_board_after_an_upload_has_the_new_items(local):
    async with serving(local) as (client, _server):
        for count, items in ((2, ITEMS[:2]), (4, ITEMS[2:])):
            await client.post("/v1/models/m/items", content=json.dumps(items).encode())
            assert len((await client.get("/v1/models/m/board")).json()["items"]) == count


async def test_boards_wait_apart_and_not_without_end(local, monkeypatch):
    monkeypatch.setattr(boards, "WAITING", 0)
    async with serving(local) as (client, _server):
        await answers(client, 2)
        replies = await asyncio.gather(client.get("/v1/models/m/board"), client.get("/healthz"))
        assert [reply.status_code for reply in replies] == [429, 200]


async def test_only_few_small_rounds_of_a_request_take_a_board(local, monkeypatch):
    """Tests inside the turn hold others up: large rounds and large models go without, and a turn takes few."""
    looked = []
    race = Evidence.race

    def slow_race(self, ids, *options):
        looked.append(len(ids))
        time.sleep(0.03)
        return race(self, ids, *options)

    async with serving(local, stop=0.3) as (client, server):
        many = [{"id": f"i{k}", "vector": [k / 100, 1.0]} for k in range(pick_learner.STOP_ITEMS + 1)]
        # The first ones are quick, so that the engine takes many at once.
        path, rounds = "/v1/models/m/choose", [{"items": many}] * 80 + [{"items": ITEMS}] * 20
        for _ in range(2):
            await client.post(f"{path}/batch", json={"rounds": rounds[:80]})
        monkeypatch.setattr(Evidence, "race", slow_race)
        batch, between, passed = asyncio.create_task(client.post(f"{path}/batch", json={"rounds": rounds})), [], 0
        while not batch.done():
            await server.engine.call("m", lambda turn: None, owner="other", reads=True)
            between.append(len(looked) - passed)
            passed = len(looked)
        assert ["done" in one for one in (await batch).json()["results"]] == [False] * 80 + [True] * 20
        assert looked == [4] * 20
        assert max(between) <= 8
        monkeypatch.setattr(pick_learner, "STOP_BYTES", 100)
        assert "done" not in (await client.post(path, json={"items": ITEMS})).json()
        assert looked == [4] * 20
        # The model's own board says it, whatever its size.
        assert (await client.get("/v1/models/m/board")).json()["stop"]["done"] is False


# Boards wait their turn: of settled models, a share for each model and key, and none for a server that stops.


LOOKS = [Look(0.05 + k / 100, "proved", None) for k in range(5)]


@pytest.fixture
def held(monkeypatch):
    """The first board is not done before this is set."""
    may = threading.Event()
    compute = boards.compute

    def held_up(*given):
        while not may.wait(0.001):
            yield
        return (yield from compute(*given))

    monkeypatch.setattr(boards, "compute", held_up)
    yield may
    may.set()


async def waiting(server, count):
    """Until this many boards are not done."""
    while sum(not order.board.done() for order in server.boards._orders.values()) < count:
        await asyncio.sleep(0.001)


async def test_a_board_after_an_undo_is_the_one_without_the_answer(local, monkeypatch):
    """Asked for before the model is folded again, and then once more."""
    may, load = threading.Event(), queue.load_in_slices
    may.set()

    def held_up(*given):
        while not may.wait(0.001):
            yield
        return (yield from load(*given))

    monkeypatch.setattr(queue, "load_in_slices", held_up)
    async with serving(local) as (client, server):
        await answers(client, 10)
        before = (await client.get("/v1/models/m/board")).json()
        offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS})).json()
        path = f"/v1/models/m/events/{offer['event_id']}"
        await client.post(f"{path}/answer", json={"winner": offer["left"]})
        during = (await client.get("/v1/models/m/board")).json()
        may.clear()
        undoing = asyncio.ensure_future(client.post(f"{path}/undo", json={}))
        while not server.engine.models["m"].stale:
            await asyncio.sleep(0.001)
        asking = asyncio.ensure_future(client.get("/v1/models/m/board"))
        await asyncio.wait({asking}, timeout=0.2)
        may.set()
        await undoing
        assert during["items"] != before["items"]
        for after in ((await asking).json(), (await client.get("/v1/models/m/board")).json()):
            assert (after["items"], after["answers"]) == (before["items"], before["answers"])


async def test_a_model_and_a_key_have_their_share_and_others_theirs(local, held):
    async with serving(local) as (client, server):
        await answers(client, 2)
        await client.post("/v1/models", json={**FULL, "name": "n"})
        await answers(client, 2, "n")
        read = server.boards.read
        asked = [asyncio.ensure_future(read("m", LOOKS[0], "key"))]
        # The same board is made once.
        asked += [asyncio.ensure_future(read("m", LOOKS[1], "key")) for _ in range(3)]
        await waiting(server, 2)
        with pytest.raises(RefusalError, match="2 boards of model 'm' are being computed"):
            await read("m", LOOKS[2], "other")
        with pytest.raises(RefusalError, match="2 boards for this key are being computed"):
            await read("n", LOOKS[2], "key")
        asked.append(asyncio.ensure_future(read("n", LOOKS[0], "other")))
        held.set()
        assert [board.delta for board in await asyncio.gather(*asked)] == [
            look.delta for look in (*LOOKS[:2], *LOOKS[1:2] * 2, LOOKS[0])
        ]
        # A board is kept while its model does not change.
        assert await read("m", LOOKS[1]) is await asked[1]


async def test_a_server_that_stops_tells_who_waits_for_a_board(local, held):
    async with serving(local) as (client, server):
        await answers(client, 2)
        await client.post("/v1/models", json={**FULL, "name": "n"})
        await answers(client, 2, "n")
        first = asyncio.ensure_future(client.get("/v1/models/m/board"))
        await waiting(server, 1)
        second = asyncio.ensure_future(client.get("/v1/models/n/board"))
        await waiting(server, 2)
        server.boards.turn_away()
        for one in (first, second):
            assert ((await one).status_code, (await one).json()["error"]["code"]) == (503, "stopping")
        assert (await client.get("/v1/models/n/board")).status_code == 503


async def test_a_question_does_not_wait_for_room_for_a_board(local, monkeypatch):
    monkeypatch.setattr(boards, "WAITING", 0)
    async with local().running() as client:
        await client.post("/v1/models", json={**FULL, "stop": 0.5})
        lines = "\n".join(json.dumps(item) for item in ITEMS)
        await client.post("/v1/models/m/items", content=lines.encode())
        question = await client.post("/v1/models/m/next", json={"voter": "ann"})
        assert question.json().get("event") is not None, question.text


@pytest.mark.parametrize("algorithm", ["gnr", "tob"])
async def test_a_server_keeps_the_evidence_of_a_session(local, algorithm):
    """Also after it has forgotten the model, and not of rounds in a context."""
    async with serving(local, algorithm=algorithm, stop=0.5) as (client, server):
        session = conquer.Session(conquer.make(algorithm, dim=4, model="full"), seed=0, stop=0.5)
        items = {one["id"]: one["vector"] for one in ITEMS}
        for turn in range(40):
            offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS})).json()
            mine = session.ask(items)
            assert ([one["id"] for one in offer["shown"]], offer["done"]) == (list(mine.shown), mine.done)
            winner = min(mine.shown)
            await client.post(f"/v1/models/m/events/{offer['event_id']}/answer", json={"winner": winner})
            session.tell(mine, winner=winner)
            if turn % 9 == 5:
                server.engine.models.clear()
        kept = server.engine.models["m"].learner.evidence
        wanted = session.evidence.array()
        wanted[:, 5] = 2  # the server does not keep how many items a round had
        assert kept.array().tolist() == wanted.tolist()
        items = [{"id": name, "features": {name: 1}} for name in NAMES]
        offer = (await client.post("/v1/models/m/choose", json={"items": items, "context": {"hour": 8}})).json()
        answer = f"/v1/models/m/events/{offer['event_id']}/answer"
        assert (await client.post(answer, json={"winner": offer["left"]})).json()["status"] == "learnt"
        served = server.engine.models["m"].learner
        assert (len(served.evidence), served.learner.answers) == (40, 41)
