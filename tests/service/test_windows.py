"""Answer windows by a clock that can be wrong, and questions asked again."""

import asyncio

import numpy as np
import pytest

from conquer.service.jobs.expiry import Seen, sweep
from conquer.service.jobs.retention import prune_all

from .conftest import run
from .test_pools import LINES
from .test_pools import ask as ask_next
from .test_pools import tell as tell_next

ITEMS = [{"id": f"i{k}", "vector": [0.1 * k, 1 - 0.2 * k, 0.3, k % 2]} for k in range(3)]
MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}, "window_seconds": 60, "default_answer": -1}
DAY = 86400.0


def with_clock(local, work, **settings):
    async def go():
        app, now = local(sweep_seconds=1e6), [1000.0]
        app.server.engine.clock = lambda: now[0]
        async with app.running() as client:
            assert (await client.post("/v1/models", json={**MADE, **settings})).status_code == 201
            seen = Seen()

            async def expired():
                """The model's count of closed windows after another sweep."""
                await asyncio.to_thread(sweep, app.server.engine, seen)
                return (await client.get("/v1/models/m")).json()["summary"]["answers"]["expired"]

            await work(client, app.server, now, expired)

    run(go())


async def ask(client, event):
    (await client.post("/v1/models/m/choose", json={"items": ITEMS, "event_id": event})).raise_for_status()


@pytest.mark.parametrize("rows", [1, 3])
def test_a_clock_that_was_ahead_does_not_keep_later_windows_open(local, monkeypatch, rows):
    """Also where the next row of now is beyond those that are looked at together."""
    monkeypatch.setattr("conquer.service.jobs.expiry._ROWS", 2)

    async def work(client, server, now, expired):
        await ask(client, "before")
        now[0] += DAY
        for k in range(rows):
            await ask(client, f"ahead{k}")
        now[0] -= DAY
        # No row of now tells how old those are: nothing is closed too early.
        now[0] += 61
        assert await expired() == 1
        assert await expired() == 1
        await ask(client, "after")
        now[0] += 30
        assert await expired() == 1
        now[0] += 31
        assert await expired() == 2 + rows

    with_clock(local, work)


def test_a_clock_that_was_ahead_does_not_stop_pruning(local):
    async def work(client, server, now, expired):
        await ask(client, "a")
        now[0] += 100 * DAY
        await ask(client, "ahead")
        now[0] -= 100 * DAY
        for k in range(4):
            await ask(client, f"b{k}")
        now[0] += 40 * DAY
        await ask(client, "young")
        loop = asyncio.get_running_loop()
        assert await loop.run_in_executor(None, prune_all, server.engine, 30.0, 1) == 6

    with_clock(local, work)


def test_a_question_asked_again_teaches_nothing_by_silence(local):
    async def work(client, server, now, expired):
        await client.post("/v1/models/m/items", content=LINES)
        for _ in range(20):
            await tell_next(client, await ask_next(client, "ann"), "ann")
        weights = server.engine.models["m"].learner.learner.model.weights().copy()
        again = 0
        while not again:
            question = await ask_next(client, "ann")
            event = server.engine.models["m"].events[question["event"]["event_id"]]
            again = event.chosen.planted is not None
            if not again:
                await tell_next(client, question, "ann", "skip")
        now[0] += 61
        assert await expired() == 1
        assert np.array_equal(server.engine.models["m"].learner.learner.model.weights(), weights)

    with_clock(local, work, planted=0.5, features={"dim": 256})
