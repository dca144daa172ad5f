"""Who waits for a model: nobody for ever, nobody in another's place, and the model goes on meanwhile."""

import asyncio
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from conquer.service.engine import engine as engines
from conquer.service.engine.loading import load
from conquer.service.errors import RefusalError
from conquer.service.model import records
from conquer.service.model import state as fold
from conquer.service.store.log import headers

from .conftest import run
from .engines import first_load, held_back, replace, soon
from .folds import loaded, slow_fold, sqlite
from .test_rows import MADE, play


def test_an_undo_of_a_model_that_is_made_anew_gets_its_reply(local, monkeypatch) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 5)
            gate = held_back(monkeypatch, "m")
            undo = asyncio.create_task(client.post("/v1/models/m/events/event-1/undo", json={}))
            while not app.server.engine.models["m"].stale:
                await asyncio.sleep(0.001)
            assert (await client.delete("/v1/models/m")).status_code == 204
            made = asyncio.create_task(client.post("/v1/models", json=MADE))
            await asyncio.sleep(0.01)
            gate.set()
            assert (await made).status_code == 201
            assert (await undo).json()["reason"] == "undone"

    run(go())


def test_the_model_goes_on_while_its_log_outruns_the_fold(local, tmp_path, monkeypatch) -> None:
    """A fold that arrives far behind goes on from where it is, and the old one serves until then."""
    monkeypatch.setattr(engines, "_NEAR", 4)

    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 10)
            engine = app.server.engine
            gate = held_back(monkeypatch, "m")
            undo = asyncio.create_task(client.post("/v1/models/m/events/event-1/undo", json={}))
            await play(client, 5, seed=1)
            gate.set()
            assert (await undo).json()["reason"] == "undone"
            await play(client, 2, seed=2)
            assert not engine.models["m"].stale

    run(go())
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


def test_a_load_that_looked_before_the_model_was_made_is_not_the_last(local, monkeypatch) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await replace(app.server.engine, "m")
            first_load(monkeypatch, None)
            assert (await soon(client.get("/v1/models/m"))).status_code == 200

    run(go())


def test_a_fold_that_missed_the_correction_is_begun_anew(local, monkeypatch) -> None:
    """Continued instead, it would end without the correction, again and again."""

    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 5)
            engine = app.server.engine
            with app.server.database.reading() as connection:
                early = load(connection, headers(connection, ["m"])["m"], engine.build)
            await client.post("/v1/models/m/events/event-1/undo", json={})
            correction = early.position + 1
            await replace(engine, "m")
            first_load(monkeypatch, early)
            found = await soon(engine.call("m", lambda turn: turn.state, after=(early.id, correction)))
            assert (found.generation, found.stale, early.stale) == (correction, False, True)

    run(go())


def test_a_load_that_is_far_behind_goes_on_from_where_it_is(local, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(engines, "_NEAR", 3)

    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 5)
            engine = app.server.engine
            with app.server.database.reading() as connection:
                early = load(connection, headers(connection, ["m"])["m"], engine.build)
            await play(client, 5, seed=1)
            await replace(engine, "m")
            first_load(monkeypatch, early)
            await play(client, 1, seed=2)
            assert engine.models["m"] is early
            assert early.position == 22

    run(go())
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


def test_a_model_without_the_undone_answer_takes_its_place_though_no_request_comes(local) -> None:
    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 3)
            engine = app.server.engine
            old = engine.models["m"]

            def undo(turn):
                # The second row of all: the answer to the first event.
                turn.append(records.Corrected(2), "event-0")
                turn.refold(2)

            await soon(engine.call("m", undo))
            async with asyncio.timeout(30):
                while engine.models.get("m") in (old, None):
                    await asyncio.sleep(0.005)
            assert not engine.models["m"].stale

    run(go())


def test_who_waits_for_one_model_takes_no_room_from_others(local, monkeypatch) -> None:
    async def go():
        app = local(queue=40)
        async with app.running() as client:
            for name in ("m", "n"):
                await client.post("/v1/models", json={**MADE, "name": name})
            engine = app.server.engine
            gate = held_back(monkeypatch, "m")
            await replace(engine, "m")
            waiting = [asyncio.create_task(client.get("/v1/models/m")) for _ in range(60)]
            while sum(one.done() for one in waiting) < 50:
                await asyncio.sleep(0.001)
            await play(client, 3, name="n")
            gate.set()
            codes = sorted(reply.status_code for reply in await asyncio.gather(*waiting))
            assert codes == [200] * 10 + [429] * 50

    run(go())


def test_a_digest_counts_once_its_row_is_committed(local, monkeypatch) -> None:
    monkeypatch.setattr(fold, "COMPARED", 3)

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 1)
            engine = app.server.engine

            def breaks(turn):
                turn.state.compares = True
                turn.append(records.Flagged("odd"), None)
                assert turn.state.digests
                raise OSError("gone")

            with pytest.raises(RefusalError):
                await engine.call("m", breaks)
            assert not engine.digests

    run(go())


def test_rounds_that_a_fold_reads_are_counted(local, tmp_path) -> None:
    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            items = [{"id": name, "vector": [1, 2, 3, 4]} for name in "abc"]
            for _ in range(5):
                assert (await client.post("/v1/models/m/choose", json={"items": items})).status_code == 200
            await replace(app.server.engine, "m")
            await client.get("/v1/models/m")
            state = app.server.engine.models["m"]
            assert state.event_bytes == sum(event.size for event in state.events.values())

    run(go())


def test_one_who_cannot_be_told_keeps_nobody_else_waiting(caplog):
    class Deaf:
        def done(self) -> bool:
            return False

        def set_result(self, result: Any) -> None:
            raise RuntimeError("the line is dead")

    hears: Future[Any] = Future()
    deaf: Any = Deaf()
    engines._set([(one, 7) for one in (deaf, hears)])
    assert hears.result(0) == 7
    assert "the line is dead" in caplog.text
