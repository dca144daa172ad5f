"""After a commit nothing fails the reply; while one is under way its outcome is found out, or said to be unknown."""

import asyncio
import sqlite3
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from sqlalchemy.exc import OperationalError, PendingRollbackError

from conquer.service.errors import Kind
from conquer.service.writer.failures import as_told

from .conftest import run
from .folds import loaded, rows_of, slow_fold, sqlite
from .slow_disk import Lost
from .test_rows import MADE, play, weights


def cutting(app, before: bool):
    """Let the next commit end without a reply, made (`before` False) or not made."""
    store = app.server.writer.batches._store
    begin, commit = store.begin, store.commit_straight

    def lost(made):
        store.begin, store.commit_straight = begin, commit
        store._writes.connection.driver_connection.execute("ROLLBACK") if before else made()
        raise OperationalError("COMMIT", None, Lost("the connection was lost"))

    def cut():
        connection, transaction = begin()
        return connection, SimpleNamespace(commit=lambda: lost(transaction.commit))

    store.begin, store.commit_straight = cut, lambda: lost(commit)


@pytest.mark.parametrize("before", [True, False])
def test_a_commit_without_a_reply_is_looked_up(local, tmp_path, before) -> None:
    """Whether it was made or not, the client gets the true reply, and nothing is there twice."""

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 2)
            for seed in (1, 2, 3):
                cutting(app, before)
                await play(client, 1, seed=seed)

    run(go())
    _, rows = rows_of(sqlite(tmp_path), "m")
    kinds = [(row.kind, row.event) for row in rows]
    assert len(kinds) == len(set(kinds)) == 10
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


def test_an_outcome_that_cannot_be_found_out_is_told_so(local, tmp_path, monkeypatch) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 1)
            monkeypatch.setattr(type(app.server.writer.batches), "_find_out", lambda self, prepared: None)
            cutting(app, before=False)
            items = [{"id": name, "vector": [1, 2, 3, 4]} for name in "ab"]
            body = {"items": items, "event_id": "lost"}
            reply = await client.post("/v1/models/m/choose", json=body)
            assert (reply.status_code, reply.json()["error"]["code"]) == (504, "indeterminate")
            assert reply.headers["retry-after"] == "1"
            again = await client.post("/v1/models/m/choose", json=body)
            assert again.status_code == 200

    run(go())
    assert [row.event for row in rows_of(sqlite(tmp_path), "m")[1]].count("lost") == 1


def test_undo_holds_up_nobody_else(local, tmp_path) -> None:
    """While one model's log is folded again, the others and the model itself are served; the undo's reply waits."""

    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            for name in ("m", "n"):
                await client.post("/v1/models", json={**MADE, "name": name})
            await play(client, 30)
            writer, gate = app.server.writer, threading.Event()
            fold = writer._folding._fold

            def slowly(name):
                job = fold(name)
                if name == "m":
                    while not gate.wait(0):
                        yield
                found = yield from job
                return found

            writer._folding._fold = slowly
            before = weights(app)
            undo = asyncio.create_task(client.post("/v1/models/m/events/event-1/undo", json={}))
            await play(client, 5, seed=1, name="n")
            await play(client, 5, seed=2)
            assert not undo.done()
            gate.set()
            assert (await undo).json()["reason"] == "undone"
            assert not np.array_equal(weights(app), before)
            (await client.get("/v1/models/m")).raise_for_status()
            assert not writer.models["m"].stale

    run(go())
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


def test_many_undos_at_once_are_folded_together(local, tmp_path) -> None:
    async def go():
        app = local(snapshot_every=7)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            events = await play(client, 30)
            undone = [client.post(f"/v1/models/m/events/{event}/undo", json={}) for event in events[::2]]
            replies = await asyncio.gather(*undone, play(client, 10, seed=1))
            assert all(one.json()["reason"] == "undone" for one in replies[:-1])
            assert (await client.get("/v1/models/m")).json()["summary"]["answers"]["learnt"] == 25

    run(go())
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


def test_another_process_that_holds_the_store_stops_no_other_request(local, tmp_path) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 1)
            other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            try:
                waiting = asyncio.create_task(play(client, 1, seed=1))
                for _ in range(20):
                    assert (await client.get("/healthz")).status_code == 200
                assert not waiting.done()
            finally:
                other.execute("ROLLBACK")
                other.close()
            assert await waiting

    run(go())


def test_one_bad_request_in_a_batch_is_told_alone(local, tmp_path) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 1)

            def breaks(turn):
                turn.folded.learner.learner.model.table[:] = 7.0
                raise ZeroDivisionError("half-way")

            writer = app.server.writer
            good = [asyncio.ensure_future(play(client, 1, seed=seed)) for seed in range(1, 9)]
            bad = [writer.call("m", breaks) for _ in range(3)]
            found = await asyncio.gather(*good, *bad, return_exceptions=True)
            assert all(isinstance(one, ZeroDivisionError) for one in found[8:])
            assert all(isinstance(one, list) for one in found[:8])

    run(go())
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


def test_an_undo_that_was_made_is_told_so_although_the_store_is_gone_for_the_fold(local, tmp_path) -> None:
    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 5)
            folding = app.server.writer._folding
            fold, broken = folding._fold, [True]

            def gone(name):
                if broken[0]:
                    raise OSError("the store is gone")
                yield from ()
                found = yield from fold(name)
                return found

            folding._fold = gone
            reply = await client.post("/v1/models/m/events/event-1/undo", json={})
            assert (reply.status_code, reply.json()["reason"]) == (200, "undone")
            assert "fold:m" in dict(app.server.alarms.standing())
            refused = await client.get("/v1/models/m/file")
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "storage")
            broken[0] = False
            assert (await client.get("/v1/models/m/file")).status_code == 200
            assert not app.server.writer.models["m"].stale

    run(go())
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


def test_a_transaction_on_a_lost_connection_is_a_matter_of_the_store() -> None:
    told = as_told(PendingRollbackError("Can't reconnect until invalid transaction is rolled back."))
    assert (told.kind, told.code) == (Kind.UNAVAILABLE, "storage")
