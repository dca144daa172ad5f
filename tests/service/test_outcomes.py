"""After a commit nothing fails the reply; while one is under way its outcome is found out, or said to be unknown."""

import asyncio
import sqlite3
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sqlalchemy.exc import DBAPIError, PendingRollbackError

from conquer.service.engine import engine as engines
from conquer.service.engine.failures import as_told, is_rolled_back
from conquer.service.errors import Kind

from . import cluster
from .conftest import run
from .engines import held_back, losing
from .folds import loaded, rows_of, slow_fold, sqlite
from .test_rows import MADE, play, weights


@pytest.fixture(scope="module")
def postgres():
    with cluster.running() as address:
        yield address


async def ask(client: Any, event: str) -> Any:
    items = [{"id": name, "vector": [1, 2, 3, 4]} for name in "ab"]
    return await client.post("/v1/models/m/choose", json={"items": items, "event_id": event})


@pytest.mark.skipif(not cluster.programs(), reason="PostgreSQL is not installed")
def test_a_commit_without_a_reply_is_looked_up(local, postgres) -> None:
    """One that was made gets its true reply; one that was not has an unknown outcome, and is safe to repeat."""

    async def go():
        app = local(store=postgres)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            for number, made in enumerate([True, False, True, False]):
                await play(client, 1, seed=number)
                with losing(app.server.database, made) as lost:
                    reply = await ask(client, f"lost-{number}")
                assert lost == [made]
                assert reply.status_code == (200 if made else 504), reply.text
                assert (await ask(client, f"lost-{number}")).status_code == 200

    run(go())
    _, rows = rows_of(postgres, "m")
    kinds = [(row.kind, row.event) for row in rows]
    assert len(kinds) == len(set(kinds)) == 12
    assert np.array_equal(loaded(postgres, "m"), slow_fold(postgres, "m"))


@pytest.mark.parametrize("made", [True, False])
def test_an_outcome_that_cannot_be_found_out_is_told_so(local, tmp_path, made) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 1)
            with losing(app.server.database, made):
                reply = await ask(client, "lost")
            assert (reply.status_code, reply.json()["error"]["code"]) == (504, "indeterminate")
            assert reply.headers["retry-after"] == "1"
            assert (await ask(client, "lost")).status_code == 200
            await play(client, 1, seed=1)

    run(go())
    kinds = [(row.kind, row.event) for row in rows_of(sqlite(tmp_path), "m")[1]]
    assert len(kinds) == len(set(kinds)) == 5
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


def test_undo_holds_up_nobody_else(local, tmp_path, monkeypatch) -> None:
    """While one model's log is folded again, the others and the model itself are served; the undo's reply waits."""

    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            for name in ("m", "n"):
                await client.post("/v1/models", json={**MADE, "name": name})
            await play(client, 30)
            engine, gate = app.server.engine, held_back(monkeypatch, "m")
            before = weights(app)
            undo = asyncio.create_task(client.post("/v1/models/m/events/event-1/undo", json={}))
            await play(client, 5, seed=1, name="n")
            await play(client, 5, seed=2)
            assert not undo.done()
            gate.set()
            assert (await undo).json()["reason"] == "undone"
            assert not np.array_equal(weights(app), before)
            (await client.get("/v1/models/m")).raise_for_status()
            assert not engine.models["m"].stale

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
                turn.state.learner.learner.model.table[:] = 7.0
                raise ZeroDivisionError("half-way")

            engine = app.server.engine
            good = [asyncio.ensure_future(play(client, 1, seed=seed)) for seed in range(1, 9)]
            bad = [engine.call("m", breaks) for _ in range(3)]
            found = await asyncio.gather(*good, *bad, return_exceptions=True)
            assert all(isinstance(one, ZeroDivisionError) for one in found[8:])
            assert all(isinstance(one, list) for one in found[:8])

    run(go())
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


def test_an_undo_that_was_made_is_told_so_although_the_store_is_gone_for_the_fold(local, tmp_path, monkeypatch) -> None:
    async def go():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 5)
            load, broken = engines.load_in_slices, [True]

            def gone(*arguments):
                yield
                if broken[0]:
                    raise OSError("the store is gone")
                return (yield from load(*arguments))

            monkeypatch.setattr(engines, "load_in_slices", gone)
            reply = await client.post("/v1/models/m/events/event-1/undo", json={})
            assert (reply.status_code, reply.json()["reason"]) == (200, "undone")
            assert "load:m" in dict(app.server.alarms.standing())
            refused = await client.get("/v1/models/m/file")
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "storage")
            broken[0] = False
            assert (await client.get("/v1/models/m/file")).status_code == 200
            assert not app.server.engine.models["m"].stale

    run(go())
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


def test_a_transaction_on_a_lost_connection_is_a_matter_of_the_store() -> None:
    told = as_told(PendingRollbackError("Can't reconnect until invalid transaction is rolled back."))
    assert (told.kind, told.code) == (Kind.UNAVAILABLE, "storage")


@pytest.mark.parametrize(
    ("sqlstate", "sure"),
    [("23505", True), ("40001", True), ("57P01", False), ("08006", False), ("58030", False), ("XX000", False)],
)
def test_only_a_refused_commit_is_surely_rolled_back(sqlstate, sure) -> None:
    """PostgreSQL may have written the end of the transaction before it stopped with a system or an internal error."""
    psycopg = pytest.importorskip("psycopg")
    assert is_rolled_back(DBAPIError("COMMIT", None, psycopg.errors.lookup(sqlstate)())) is sure


def test_a_store_that_ends_says_nothing_of_its_commit() -> None:
    psycopg = pytest.importorskip("psycopg")
    error = type("Panic", (psycopg.errors.DiskFull,), {"diag": SimpleNamespace(severity_nonlocalized="PANIC")})()
    assert not is_rolled_back(DBAPIError("COMMIT", None, error))
    assert is_rolled_back(DBAPIError("COMMIT", None, psycopg.errors.DiskFull()))
