"""Answers that come while an erased voter is being unlearnt wait, and are weighed as if that voter had never been."""

import asyncio
import json
import threading

from conquer.service.writer import queue

from .conftest import run
from .test_voters import ITEMS, answered, same, weights


def test_an_answer_during_an_erasure_is_weighed_without_the_erased(local, monkeypatch):
    may, load = threading.Event(), queue.load_in_slices
    may.set()

    def held(*given):
        while not may.wait(0.001):
            yield
        return (yield from load(*given))

    monkeypatch.setattr(queue, "load_in_slices", held)

    async def go():
        app = local()
        async with app.running() as client:
            await answered(client, 100)
            offers = [(await client.post("/v1/models/m/choose", json={"items": ITEMS})).json() for _ in range(2)]
            ids = [offer["event_id"] for offer in offers]
            may.clear()
            erasing = asyncio.ensure_future(client.post("/v1/models/m/erase", json={"voter": "lefty"}))
            while not app.server.writer.models["m"].stale:
                await asyncio.sleep(0.001)
            said = [{"winner": offer["left"], "voter": "ann"} for offer in offers]
            one = asyncio.ensure_future(client.post(f"/v1/models/m/events/{ids[0]}/answer", json=said[0]))
            batch = {"answers": [{"event_id": ids[1], **said[1]}]}
            two = asyncio.ensure_future(client.post("/v1/models/m/answers", json=batch))
            # Choices go on meanwhile.
            chosen = await client.post("/v1/models/m/choose", json={"items": ITEMS})
            await asyncio.wait({one, two}, timeout=0.3)
            early = one.done(), two.done()
            may.set()
            assert (chosen.status_code, early) == (200, (False, False))
            assert (await erasing).status_code == 200
            assert (await one).json()["status"] == "learnt"
            assert (await two).json()["results"][0]["status"] == "learnt"
            ledger = (await client.get("/v1/models/m/log?format=ledger")).text
            body = {"name": "n", "algorithm": "gnr", "model": "full", "features": {"dim": 5}}
            await client.post("/v1/models", json=body)
            rows = [json.loads(line) for line in ledger.splitlines()]
            assert not any(row.get("voter") == "lefty" for row in rows)
            assert (await client.post("/v1/models/n/log", content=ledger.encode())).status_code == 200
            logs = [(await client.get(f"/v1/models/{name}/log")).text for name in "mn"]
            assert weights(logs[0]) == weights(logs[1])
            assert same(*(app.server.writer.models[name].learner.learner.arrays() for name in "mn"))

    run(go())
