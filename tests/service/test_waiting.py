"""Who waits for a model: nobody for ever, nobody in another's place, and the model goes on meanwhile."""

import asyncio
import threading
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest

from conquer.service.errors import RefusalError
from conquer.service.log import fold, records
from conquer.service.log.loading import load
from conquer.service.store.log_table import headers
from conquer.service.writer import batch as batches
from conquer.service.writer.work import QueuedWork, deliver

from .conftest import run
from .folds import loaded, slow_fold, sqlite
from .test_rows import MADE, play


def held_back(writer, name: str) -> threading.Event:
    """Jobs of this model wait for the event, in the thread that goes on with others meanwhile."""
    gate, begin = threading.Event(), writer._folding._fold

    def slowly(wanted):
        job = begin(wanted)
        while wanted == name and not gate.wait(0.001):
            yield
        found = yield from job
        return found

    writer._folding._fold = slowly
    return gate


def test_an_undo_of_a_model_that_is_made_anew_gets_its_reply(local) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 5)
            gate = held_back(app.server.writer, "m")
            undo = asyncio.create_task(client.post("/v1/models/m/events/event-1/undo", json={}))
            while not app.server.writer.models["m"].stale:
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
    monkeypatch.setattr(batches, "_NEAR", 4)

    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 10)
            writer = app.server.writer
            gate = held_back(writer, "m")
            undo = asyncio.create_task(client.post("/v1/models/m/events/event-1/undo", json={}))
            await play(client, 5, seed=1)
            gate.set()
            assert (await undo).json()["reason"] == "undone"
            await play(client, 2, seed=2)
            assert not writer.models["m"].stale

    run(go())
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


def test_who_comes_after_a_fold_found_no_model_is_not_told_so(local) -> None:
    """The fold has ended and says that there is none, the model has been made, and its maker waits for another fold."""

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            writer = app.server.writer
            gate = held_back(writer, "m")
            writer.batches.forget("m")
            asked = asyncio.create_task(client.get("/v1/models/m"))
            while not writer.waiting:
                await asyncio.sleep(0.001)
            writer._arrive("m", None)
            while writer._waiting._arrived:
                await asyncio.sleep(0.001)
            gate.set()
            assert (await asyncio.wait_for(asked, 60)).status_code == 200

    run(go())


def test_a_fold_that_missed_the_correction_is_begun_anew(local) -> None:
    """Nobody but the waiting one needs the model: gone on with, the fold would come back without the correction."""

    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 5)
            writer = app.server.writer
            with app.server.database.reading() as connection:
                early = load(connection, headers(connection, ["m"])["m"], writer.build)
            await client.post("/v1/models/m/events/event-1/undo", json={})
            correction = writer.models.pop("m").position
            assert correction == early.position + 1
            writer.batches.fresh["m"] = early
            await asyncio.wait_for(writer.call("m", lambda turn: None, generation=(early.id, correction)), 60)
            assert writer.models["m"].generation == correction
            assert not writer.models["m"].stale

    run(go())


def test_a_fold_that_is_too_far_behind_is_not_used_and_not_lost(local, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(batches, "_NEAR", 3)

    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 5)
            writer = app.server.writer
            with app.server.database.reading() as connection:
                early = load(connection, headers(connection, ["m"])["m"], writer.build)
            await play(client, 5, seed=1)
            old = writer.models["m"]
            writer.batches.fresh["m"] = early
            await play(client, 1, seed=2)
            # The old one has served, and the other has been folded on from where it was.
            assert writer.models["m"] in (old, early)
            while "m" in writer.batches.fresh or writer.models["m"] is not early:
                await play(client, 1, seed=len(writer.models["m"].events))
            assert early.position >= 22

    run(go())
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


def test_who_waits_for_one_model_takes_no_room_from_others(local) -> None:
    async def go():
        app = local(queue=40)
        async with app.running() as client:
            for name in ("m", "n"):
                await client.post("/v1/models", json={**MADE, "name": name})
            writer = app.server.writer
            gate = held_back(writer, "m")
            writer.batches.forget("m")
            waiting = [asyncio.create_task(client.get("/v1/models/m")) for _ in range(60)]
            while sum(one.done() for one in waiting) < 50:
                await asyncio.sleep(0.001)
            await play(client, 3, name="n")
            gate.set()
            codes = sorted(reply.status_code for reply in await asyncio.gather(*waiting))
            assert codes == [200] * 10 + [429] * 50

    run(go())


def test_a_stop_tells_those_who_wait_for_another_server(local) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            writer = app.server.writer
            prepare = writer.batches.prepare

            def locked(works, *rest, **more):
                prepared = prepare([], *rest, **more)
                prepared.locked = works
                return prepared

            writer.batches.prepare = locked
            asked = writer.call("m", lambda turn: None)
            while not writer._waiting._later:
                await asyncio.sleep(0.001)
            writer.batches.prepare = prepare
            writer._waiting.close()
            with pytest.raises(RefusalError, match="stopping"):
                await asked

    run(go())


def test_a_digest_counts_once_its_row_is_committed(local, monkeypatch) -> None:
    monkeypatch.setattr(fold, "COMPARED", 3)

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 1)
            writer = app.server.writer
            writer.database.shared = True
            try:

                def breaks(turn):
                    turn.append(records.Measured(1, 0.5, 1), None)
                    raise OSError("gone")

                with pytest.raises(RefusalError):
                    await writer.call("m", breaks)
            finally:
                writer.database.shared = False
            assert not writer.batches.digests

    run(go())


def test_rounds_that_a_fold_reads_are_counted(local, tmp_path) -> None:
    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            items = [{"id": name, "vector": [1, 2, 3, 4]} for name in "abc"]
            for _ in range(5):
                assert (await client.post("/v1/models/m/choose", json={"items": items})).status_code == 200
            app.server.writer.batches.forget("m")
            await client.get("/v1/models/m")
            folded = app.server.writer.models["m"]
            assert folded.event_bytes == sum(event.size for event in folded.events.values())

    run(go())


def test_one_who_cannot_be_told_keeps_nobody_else_waiting(caplog):
    class Deaf:
        def done(self) -> bool:
            return False

        def set_result(self, result: Any) -> None:
            raise RuntimeError("the line is dead")

    hears: Future[Any] = Future()
    deliver([QueuedWork("m", print, (), one, result=7) for one in (Deaf(), hears)])
    assert hears.result(0) == 7
    assert "the line is dead" in caplog.text
