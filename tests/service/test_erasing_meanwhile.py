"""Answers that come while an erased voter is being unlearnt wait, and are weighed as if that voter had never been."""

import asyncio
import json
import threading

import pytest

from conquer.service.engine import engine as queue
from conquer.service.model.records import Erasure
from conquer.service.model.schemas import BatchAnswer
from conquer.service.work import ledgers

from .test_voters import ITEMS, answered, same, weights


@pytest.fixture
def may(monkeypatch):
    """Models are folded only while this is set."""
    gate, load = threading.Event(), queue.load_in_slices
    gate.set()

    def held(*given):
        while not gate.wait(0.001):
            yield
        return (yield from load(*given))

    monkeypatch.setattr(queue, "load_in_slices", held)
    return gate


async def stale(app, name="m"):
    while not app.server.engine.models[name].stale:
        await asyncio.sleep(0.001)


async def fed_again(app, client):
    """The weights of m, and those of a model that is fed its ledger, must be the same to the bit."""
    ledger = (await client.get("/v1/models/m/log?format=ledger")).text
    assert not any(json.loads(line).get("voter") == "lefty" for line in ledger.splitlines())
    await client.post("/v1/models", json={"name": "n", "algorithm": "gnr", "model": "full", "features": {"dim": 5}})
    assert (await client.post("/v1/models/n/log", content=ledger.encode())).status_code == 200
    logs = [(await client.get(f"/v1/models/{name}/log")).text for name in "mn"]
    assert weights(logs[0]) == weights(logs[1])
    assert same(*(app.server.engine.models[name].learner.learner.arrays() for name in "mn"))


@pytest.mark.parametrize("what", ["answers", "votes"])
async def test_what_is_sent_during_an_erasure_is_weighed_without_the_erased(local, may, what):
    app = local()
    async with app.running() as client:
        await answered(client, 100)
        if what == "answers":
            offers = [(await client.post("/v1/models/m/choose", json={"items": ITEMS})).json() for _ in range(2)]
            said = [{"winner": offer["left"], "voter": "ann"} for offer in offers]
            batch = {"answers": [{"event_id": offers[1]["event_id"], **said[1]}]}
            bodies = {f"events/{offers[0]['event_id']}/answer": {"json": said[0]}, "answers": {"json": batch}}
        else:
            lines = ["left,right,winner,voter"]
            lines += [f"ash,{other},ash,ann\n{other},elm,elm,bob" for other in ("birch", "cedar", "fir")]
            await client.post("/v1/models/m/items", json=ITEMS)
            bodies = {"votes": {"content": "\n".join(lines).encode()}}
        may.clear()
        erasing = asyncio.ensure_future(client.post("/v1/models/m/erase", json={"voter": "lefty"}))
        await stale(app)
        sent = [asyncio.ensure_future(client.post(f"/v1/models/m/{path}", **body)) for path, body in bodies.items()]
        # Choices go on meanwhile.
        chosen = await client.post("/v1/models/m/choose", json={"items": ITEMS})
        done, _ = await asyncio.wait(sent, timeout=0.3)
        may.set()
        assert (chosen.status_code, done) == (200, set())
        assert (await erasing).status_code == 200
        for one in sent:
            assert '"learnt"' in (await one).text
        await fed_again(app, client)


async def test_an_answer_in_the_batch_of_an_erasure_waits_for_the_replay(local, may):
    app = local()
    async with app.running() as client:
        await answered(client, 20)
        offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS})).json()
        engine, gate, position = app.server.engine, threading.Event(), app.server.engine.models["m"].position
        may.clear()
        # While the engine waits, both come into the queue; one batch takes them.
        held = engine.call(None, lambda connection: gate.wait(60))
        await asyncio.sleep(0.05)
        erased = engine.call("m", lambda turn: turn.append(Erasure(1, 0), None))
        said = engine.decide("m", [BatchAnswer(offer["left"], voter="ann", event_id=offer["event_id"])])
        gate.set()
        await held
        await erased
        await asyncio.wait({said}, timeout=0.3)
        assert (said.done(), engine.models["m"].position) == (False, position + 1)
        may.set()
        assert [reply.status for reply in await said] == ["learnt"]


async def test_a_ledger_goes_on_when_an_erased_voter_is_unlearnt(local, may, monkeypatch):
    monkeypatch.setattr(ledgers, "_BATCH", 10)
    app = local()
    async with app.running() as client:
        await answered(client, 60)
        ledger = (await client.get("/v1/models/m/log?format=ledger")).content
        body = {"name": "n", "algorithm": "gnr", "model": "full", "features": {"dim": 5}}
        await client.post("/v1/models", json=body)
        loop, call_now = asyncio.get_running_loop(), app.server.engine.call_now
        half, on = asyncio.Event(), threading.Event()
        steps = iter(range(1000))

        def slow(*given, **more):
            # The copy to try it on, then five parts; the sixth waits for the erasure.
            if given[0] == "n" and more.get("learns") and next(steps) == 6:
                loop.call_soon_threadsafe(half.set)
                assert on.wait(60)
            return call_now(*given, **more)

        monkeypatch.setattr(app.server.engine, "call_now", slow)
        feeding = asyncio.ensure_future(client.post("/v1/models/n/log", content=ledger))
        await half.wait()
        may.clear()
        erasing = asyncio.ensure_future(client.post("/v1/models/n/erase", json={"voter": "lefty"}))
        await stale(app, "n")
        position = app.server.engine.models["n"].position
        on.set()
        await asyncio.wait({feeding}, timeout=0.3)
        early = feeding.done(), app.server.engine.models["n"].position - position
        may.set()
        assert early == (False, 0)
        assert (await erasing).status_code == 200
        assert (await feeding).status_code == 200
