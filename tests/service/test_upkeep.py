"""Backups of a store in use, stores of another format, retention, the commands, a bounded start."""

import asyncio
import contextlib
import json
import random
import sqlite3
from functools import partial

import httpx
import numpy as np
import pytest

from conquer.service import admin
from conquer.service.engine.loading import load
from conquer.service.engine.memory import _write_piece
from conquer.service.jobs.retention import prune_all
from conquer.service.settings import Settings
from conquer.service.store import log, snapshots
from conquer.service.store.database import Database, StoreError
from conquer.service.web.server import Server
from conquer.service.work.erasure import Gone
from conquer.service.work.tasks import build

from . import cluster
from .conftest import run
from .folds import loaded, rows_of, slow_fold, sqlite
from .test_crashes import Diary, worker

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}, "believe": None}


async def some_load(address: str, answers: int, during=None) -> Diary:
    diary = Diary(random.Random(8))
    diary.left, diary.enough = answers, asyncio.Event()
    async with httpx.AsyncClient(base_url=address, timeout=60) as client:
        tasks = [asyncio.create_task(worker(client, diary)) for _ in range(4)]
        await diary.enough.wait()
        if during is not None:
            await asyncio.get_running_loop().run_in_executor(None, during)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return diary


def test_backup_while_running_and_restore(start, tmp_path):
    server = start(snapshot_every=10)
    httpx.post(f"{server.address}/v1/models", json=MADE)
    copy = tmp_path / "copy.db"
    asyncio.run(some_load(server.address, 60, lambda: admin.backup(copy, store=sqlite(tmp_path))))
    server.stop()
    with pytest.raises(StoreError, match="never overwrites"):
        admin.backup(copy, store=sqlite(tmp_path))
    with pytest.raises(StoreError, match="there is no folder"):
        admin.backup(tmp_path / "nowhere" / "copy.db", store=sqlite(tmp_path))
    again = f"sqlite:///{tmp_path}/again.db"
    counts = admin.restore(copy, store=again)
    assert counts["log"] >= 120
    assert np.array_equal(slow_fold(again, "m"), loaded(again, "m"))
    _, whole = rows_of(sqlite(tmp_path), "m")
    _, part = rows_of(again, "m")
    assert [row.event for row in part] == [row.event for row in whole[: len(part)]]
    with pytest.raises(StoreError, match="must be empty"):
        admin.restore(copy, store=again)


@pytest.mark.skipif(cluster.programs() is None, reason="needs PostgreSQL's server programs")
def test_a_sqlite_backup_moves_to_postgresql_and_on(start, tmp_path):
    server = start()
    httpx.post(f"{server.address}/v1/models", json=MADE)
    asyncio.run(some_load(server.address, 10))
    server.stop()
    with cluster.running() as address:
        admin.backup(tmp_path / "copy.db", store=sqlite(tmp_path))
        admin.restore(tmp_path / "copy.db", store=address)
        moved = start(store=address)
        assert httpx.post(f"{moved.address}/v1/models", json={**MADE, "name": "n"}).status_code == 201
        asyncio.run(some_load(moved.address, 5))
        moved.stop()
        assert np.array_equal(slow_fold(address, "m"), loaded(address, "m"))


@pytest.mark.parametrize("served", [False, True])
@pytest.mark.parametrize(
    ("change", "number"),
    [("UPDATE version SET format = 2", 2), ("DROP TABLE version", 0), ("DELETE FROM version", 0)],
)
def test_a_store_of_another_format_is_refused_untouched(tmp_path, change, number, served):
    store = sqlite(tmp_path)
    admin.keys_add("ann", roles=["admin"], store=store)
    admin.backup(tmp_path / "copy.db", store=store)
    for path in (tmp_path / "store.db", tmp_path / "copy.db"):
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute(change)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other = contextlib.closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None))
    with other as connection:
        if served:
            # As of another program: rows that are in the write-ahead log alone.
            connection.execute("INSERT INTO secrets VALUES ('a', 'b')")
        before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if "shm" not in path.name}
        for look in (
            lambda: Server(Settings(store=store)),
            lambda: Server(Settings(store=store, host="0.0.0.0", key="x" * 40)),
            lambda: admin.keys_list(store=store),
            lambda: admin.keys_add("eve", roles=["admin"], store=store),
            lambda: admin.keys_revoke("1a2b3c4d", store=store),
            lambda: admin.backup(tmp_path / "other.db", store=store),
            lambda: admin.erase("ann", store=store),
            lambda: admin.restore(tmp_path / "copy.db", store=f"sqlite:///{tmp_path}/new.db"),
        ):
            with pytest.raises(StoreError, match=f"this store has format {number}, this program reads 1: open .*"):
                look()
        after = {path.name: path.read_bytes() for path in tmp_path.iterdir() if "shm" not in path.name}
        assert {name: data for name, data in after.items() if data or name in before} == before


def test_a_refused_start_creates_nothing(tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    for settings in (
        Settings(store=store, host="0.0.0.0"),
        Settings(store=store, host="0.0.0.0", key="short"),
        Settings(store=store, cors="not an origin"),
    ):
        with pytest.raises((ValueError, StoreError)):
            Server(settings)
    assert list(tmp_path.iterdir()) == []


def test_erasing_after_pruning_leaves_no_name_and_unlearns_the_rest(local, tmp_path):
    """Rows past their retention cannot be unlearnt."""

    async def go():
        app = local(snapshot_every=9)
        now = [0.0]
        app.server.engine.clock = lambda: now[0]
        diary = Diary(random.Random(4))
        rounds: dict[str, tuple] = {}
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)

            async def ask(voter):
                event, items = diary.next()
                body = {"items": items, "event_id": event, "voter": voter}
                offer = (await client.post("/v1/models/m/choose", json=body)).json()
                rounds[event] = (items, [one["id"] for one in offer["shown"]])
                return event

            async def tell(event, voter):
                body = {"winner": rounds[event][1][len(event) % 2], "voter": voter}
                reply = await client.post(f"/v1/models/m/events/{event}/answer", json=body)
                assert reply.json()["status"] == "learnt", reply.text

            for k in range(15):
                await tell(await ask("zoe"), ("zoe-x", "dan")[k % 2])
                await tell(await ask("dan"), "dan")
            late = await ask("zoe-x")
            await tell(late, "dan")
            now[0] = 100 * 86400.0
            await tell(late, "zoe-x")
            await asyncio.to_thread(prune_all, app.server.engine, 30.0, 3)
            kept = []
            for k in range(8):
                voter = ("dan", "zoe-x")[k % 2]
                event = await ask(voter)
                await tell(event, voter)
                kept += [event] if voter == "dan" else []
            erase = "/v1/models/m/erase"
            gone = (await client.post(erase, json={"voter": "zoe-x"})).json()
            assert gone == {"rows": 11}
            await client.post(erase, json={"voter": "zoe"})
            assert (await client.post(erase, json={"voter": "nobody"})).json() == {"rows": 0}
            everything = (await client.get("/v1/models/m/log")).text + (await client.get("/v1/models/m")).text
            assert "zoe" not in everything
            weights = app.server.engine.models["m"].learner.learner.model.weights()
            database = app.server.database
            with database.reading() as connection:
                header = log.headers(connection, ["m"])["m"]
                assert header.base > 0
                begin, _ = build(header.settings, snapshots.read(connection, header.id, header.base)[0])
                for position in snapshots.complete(connection, header.id):
                    assert b"zoe" not in snapshots.read(connection, header.id, position)[0]
                rows, _, _ = log.events_within(connection, header.id, list(kept))
            for event in kept:
                items, _ = rounds[event]
                read = begin.read(json.dumps(items).encode(), b"null")
                begin.learn(read, rows[event].choice, 1.0 if len(event) % 2 == 0 else -1.0)
            assert np.array_equal(weights, begin.learner.model.weights())

    run(go())
    assert b"zoe" not in (tmp_path / "store.db").read_bytes()


async def six_old_rounds(app, client):
    """A model with six answers, of ann and bob in turn, which are past their retention now."""
    app.server.engine.clock = lambda: 0.0
    diary = Diary(random.Random(4))
    await client.post("/v1/models", json=MADE)
    for k in range(6):
        event, items = diary.next()
        body = {"items": items, "event_id": event, "voter": ("ann", "bob")[k % 2]}
        offer = (await client.post("/v1/models/m/choose", json=body)).json()
        await client.post(f"/v1/models/m/events/{event}/answer", json={"winner": offer["left"]})
    app.server.engine.clock = lambda: 100 * 86400.0


def test_pruning_leaves_alone_what_was_erased_meanwhile(local, monkeypatch):
    """An erasure between the folding beside the writer and the swap must not come back with the snapshot."""
    from conquer.service.jobs import retention
    from conquer.service.work.erasure import erase_person

    async def go():
        app = local()
        async with app.running() as client:
            await six_old_rounds(app, client)
            folding = retention.load

            def slowly(*arguments):
                state = folding(*arguments)
                app.server.engine.long.submit("", erase_person(app.server.engine, "m", "bob")).result()
                return state

            monkeypatch.setattr(retention, "load", slowly)
            assert await asyncio.to_thread(prune_all, app.server.engine, 30.0, 3) == 0
            monkeypatch.undo()
            assert await asyncio.to_thread(prune_all, app.server.engine, 30.0, 3) > 0
            app.server.engine.models.clear()
            assert (await client.get("/v1/models/m")).json()["summary"]["answers"]["learnt"] == 3

    run(go())


# Start-up, the store's commands, and snapshots that come late.


def test_start_up_reads_a_snapshot_and_a_short_tail(start, tmp_path):
    server = start(snapshot_every=20)
    httpx.post(f"{server.address}/v1/models", json=MADE)
    asyncio.run(some_load(server.address, 100))
    server.stop()
    database = Database(sqlite(tmp_path))
    with contextlib.closing(database), database.reading() as connection:
        header = log.headers(connection, ["m"])["m"]
        assert snapshots.complete(connection, header.id)[0] == header.position
        state = load(connection, header, build)
        assert state.since_snapshot == 0


def test_commands_erase_and_replay(start, tmp_path):
    server = start()
    httpx.post(f"{server.address}/v1/models", json=MADE)
    asyncio.run(some_load(server.address, 20))
    with pytest.raises(StoreError, match="being served"):
        admin.erase("ann", store=sqlite(tmp_path))
    ledger = tmp_path / "ledger.jsonl"
    ledger.write_bytes(httpx.get(f"{server.address}/v1/models/m/log?format=ledger").content)
    server.stop()
    assert admin.erase("ann", store=sqlite(tmp_path)) == {"m": Gone(0)}
    fresh = f"sqlite:///{tmp_path}/fresh.db"
    done = admin.replay(ledger, name="again", store=fresh, model=tmp_path / "again.safetensors")
    assert done["learnt"] >= 20
    answered = {row["event_id"] for row in map(json.loads, ledger.read_text().splitlines()) if row["kind"] == "answer"}
    assert done["learnt"] == len(answered)
    admin.replay(ledger, name="other", algorithm="ttg", parameters={"lam": 3.0}, store=fresh)
    assert not np.array_equal(loaded(fresh, "again"), loaded(fresh, "other"))


def test_serve_with_a_file_of_items(start, tmp_path):
    items = tmp_path / "my teas!.csv"
    items.write_text("id,text\na,green tea\nb,black tea\nc,no tea\n")
    server = start(items=items)
    question = httpx.post(f"{server.address}/v1/models/my-teas-/next", json={"voter": "ann"}).json()
    assert len(question["items"]) == 2


def test_a_snapshot_that_comes_late_does_not_bring_pruned_rows_back(local):
    """Made before the pruning, stored after it: it may hold what was erased since."""

    async def go():
        app = local()
        async with app.running() as client:
            await six_old_rounds(app, client)
            state = app.server.engine.models["m"]
            (piece,), place = snapshots.pieces(state.dumps()), {"model": state.id, "position": 4, "generation": 0}
            late = partial(_write_piece, **place, part=0, count=1, piece=piece, summary="")
            assert await asyncio.to_thread(prune_all, app.server.engine, 30.0, 3) > 0
            assert app.server.engine.models["m"] is state
            assert not await asyncio.to_thread(app.server.engine.call_now, "m", late)
            with app.server.database.reading() as connection:
                assert 4 not in snapshots.complete(connection, state.id)

    run(go())


def test_a_store_that_is_not_there_is_not_made_by_looking(tmp_path):
    absent = f"sqlite:///{tmp_path}/typo.db"
    for look in (
        lambda: admin.backup(tmp_path / "copy.db", store=absent),
        lambda: admin.keys_list(store=absent),
        lambda: admin.keys_revoke("1a2b3c4d", store=absent),
        lambda: admin.erase("ann", store=absent),
    ):
        with pytest.raises(StoreError, match=r"there is no store .*typo\.db; say which with --store"):
            look()
    assert list(tmp_path.iterdir()) == []
