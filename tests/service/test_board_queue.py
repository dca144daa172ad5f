"""Boards wait their turn: of settled models, a share for each model and key, and none for a server that stops."""

import asyncio
import json
import threading

import pytest

from conquer.service.engine import engine as queue
from conquer.service.errors import RefusalError
from conquer.service.work import boards
from conquer.service.work.boards import Look

from .conftest import run
from .test_boards import FULL, ITEMS, answers, serving

LOOKS = [Look(0.05 + k / 100, "anytime", None) for k in range(5)]


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


def test_a_board_after_an_undo_is_the_one_without_the_answer(local, monkeypatch):
    """Asked for before the model is folded again, and then once more."""
    may, load = threading.Event(), queue.load_in_slices
    may.set()

    def held_up(*given):
        while not may.wait(0.001):
            yield
        return (yield from load(*given))

    monkeypatch.setattr(queue, "load_in_slices", held_up)

    async def work(client, server):
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

    serving(local, work)


def test_a_model_and_a_key_have_their_share_and_others_theirs(local, held):
    async def work(client, server):
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

    serving(local, work)


def test_a_server_that_stops_tells_who_waits_for_a_board(local, held):
    async def work(client, server):
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

    serving(local, work)


def test_a_question_does_not_wait_for_room_for_a_board(local, monkeypatch):
    monkeypatch.setattr(boards, "WAITING", 0)

    async def go():
        async with local().running() as client:
            await client.post("/v1/models", json={**FULL, "stop": 0.5})
            lines = "\n".join(json.dumps(item) for item in ITEMS)
            await client.post("/v1/models/m/items", content=lines.encode())
            question = await client.post("/v1/models/m/next", json={"voter": "ann"})
            assert question.json().get("event") is not None, question.text

    run(go())
