"""Backups of a store in use, upgrades, retention, the commands, a bounded start."""

import asyncio
import contextlib
import json
import random

import httpx
import numpy as np
import pytest
from sqlalchemy import inspect

from conquer.service import admin
from conquer.service.jobs.retention import prune_all
from conquer.service.store import log_table, migrations, snapshots
from conquer.service.store.database import Database, StoreError
from conquer.service.store.schema import metadata
from conquer.service.tasks import build

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


def test_the_tables_are_those_of_the_schema(tmp_path):
    database = Database(sqlite(tmp_path))
    with contextlib.closing(database), database.reading() as connection:
        found = inspect(connection)
        for table in metadata.sorted_tables:
            columns = {column["name"]: column["nullable"] for column in found.get_columns(table.name)}
            assert set(columns) == {column.name for column in table.columns}, table.name
            key = found.get_pk_constraint(table.name)["constrained_columns"]
            assert sorted(key) == sorted(column.name for column in table.primary_key)
        made = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = 'log'").scalar_one()
        assert "WITHOUT ROWID" not in made, "a row of a kilobyte would take a page of its own"


@pytest.mark.parametrize("version", range(1, len(migrations.STEPS)))
def test_an_old_store_is_upgraded_with_its_data(local, tmp_path, monkeypatch, version):
    monkeypatch.setattr(migrations, "STEPS", migrations.STEPS[:version])
    monkeypatch.setattr(
        "conquer.service.store.database.upgrade", lambda connection: migrations.upgrade(connection, version)
    )
    old = Database(sqlite(tmp_path))
    with contextlib.closing(old), old.writing() as connection:
        connection.exec_driver_sql("INSERT INTO models (name, settings, position, created) VALUES ('m', '{}', 0, 1.0)")
    monkeypatch.undo()

    async def go():
        async with local().running() as client:
            items = [{"id": name, "text": name} for name in ("a", "b")]
            reply = await client.post("/v1/models/m/choose", json={"items": items})
            assert reply.status_code == 200

    run(go())
    newer = Database(sqlite(tmp_path))
    with contextlib.closing(newer), newer.writing() as connection:
        connection.exec_driver_sql("INSERT INTO migrations (number) VALUES (99)")
    with pytest.raises(ValueError, match="upgrade the program"):
        Database(sqlite(tmp_path))


def test_retention_keeps_what_was_learnt(local, tmp_path):
    async def go():
        app = local()
        now = [0.0]
        app.server.writer.clock = lambda: now[0]
        diary = Diary(random.Random(1))
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)

            async def ask():
                event, items = diary.next()
                reply = await client.post("/v1/models/m/choose", json={"items": items, "event_id": event})
                return event, reply.json()["shown"][0]["id"]

            async def tell(event, winner, expect=200):
                reply = await client.post(f"/v1/models/m/events/{event}/answer", json={"winner": winner})
                assert reply.status_code == expect, reply.text

            late, lost = await ask(), await ask()
            for _ in range(30):
                await tell(*(await ask()))
            now[0] = 100 * 86400.0
            await tell(*late)
            for _ in range(5):
                await tell(*(await ask()))
            folded = app.server.writer.models["m"]
            weights, position = folded.learner.learner.model.weights(), folded.position
            loop = asyncio.get_running_loop()
            gone = await loop.run_in_executor(None, prune_all, app.server.writer, 30.0, 10)
            assert gone == 61
            app.server.writer.models.clear()
            info = (await client.get("/v1/models/m")).json()
            assert info["position"] == position
            assert np.array_equal(app.server.writer.models["m"].learner.learner.model.weights(), weights)
            await tell(*lost, 409)
            await tell(*(await ask()))
            assert (await client.post("/v1/models/m/events/event-1/undo", json={})).status_code == 200

    run(go())
    assert loaded(sqlite(tmp_path), "m").any()


def test_erasing_says_what_retention_has_made_permanent(local, tmp_path):
    """Rows past their retention cannot be unlearnt: the reply counts them, no name stays, the rest is unlearnt."""

    async def go():
        app = local(snapshot_every=9)
        now = [0.0]
        app.server.writer.clock = lambda: now[0]
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

            async def prune():
                await asyncio.get_running_loop().run_in_executor(None, prune_all, app.server.writer, 30.0, 3)

            for k in range(15):
                await tell(await ask("zoe"), ("zoe-x", "dan")[k % 2])
                await tell(await ask("dan"), "dan")
            late = await ask("zoe-x")
            await tell(late, "dan")
            taken_back = await ask("zoe-x")
            await tell(taken_back, "zoe-x")
            await client.post(f"/v1/models/m/events/{taken_back}/undo", json={"voter": "zoe-x"})
            now[0] = 100 * 86400.0
            await tell(late, "zoe-x")
            await prune()
            kept = []
            for k in range(8):
                voter = ("dan", "zoe-x")[k % 2]
                event = await ask(voter)
                await tell(event, voter)
                kept += [event] if voter == "dan" else []
            erase = "/v1/models/m/erase"
            gone = (await client.post(erase, json={"voter": "zoe-x"})).json()
            # Eight answers of hers and one of Dan's to a round made for her are part of the weights for ever.
            assert gone == {"rows": 11, "remaining": 9}
            assert (await client.post(erase, json={"voter": "zoe-x"})).json() == {"rows": 0, "remaining": 9}
            assert (await client.post(erase, json={"voter": "zoe"})).json()["remaining"] == 15
            assert (await client.post(erase, json={"voter": "nobody"})).json() == {"rows": 0, "remaining": 0}
            everything = (await client.get("/v1/models/m/log")).text + (await client.get("/v1/models/m")).text
            assert "zoe" not in everything
            weights = app.server.writer.models["m"].learner.learner.model.weights()
            database = app.server.database
            with database.reading() as connection:
                header = log_table.headers(connection, ["m"], lock=False)["m"]
                assert header.base > 0
                begin, _ = build(header.settings, snapshots.read(connection, header.id, header.base))
                for position in snapshots.complete(connection, header.id):
                    assert b"zoe" not in snapshots.read(connection, header.id, position)
                rows, _, _ = log_table.events_within(connection, header.id, list(kept))
            for event in kept:
                items, _ = rounds[event]
                read = begin.read(json.dumps(items).encode(), b"null")
                begin.learn(read, rows[event].choice, 1.0 if len(event) % 2 == 0 else -1.0)
            assert np.array_equal(weights, begin.learner.model.weights())

    run(go())
    assert b"zoe" not in (tmp_path / "store.db").read_bytes()


def test_pruning_leaves_alone_what_was_erased_meanwhile(local, monkeypatch):
    """An erasure between the folding beside the writer and the swap must not come back with the snapshot."""
    from conquer.service.jobs import retention
    from conquer.service.jobs.erasure import erase_person

    async def go():
        app = local()
        now = [0.0]
        app.server.writer.clock = lambda: now[0]
        diary = Diary(random.Random(4))
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            for k in range(6):
                event, items = diary.next()
                body = {"items": items, "event_id": event, "voter": ("ann", "bob")[k % 2]}
                offer = (await client.post("/v1/models/m/choose", json=body)).json()
                await client.post(f"/v1/models/m/events/{event}/answer", json={"winner": offer["left"]})
            now[0] = 100 * 86400.0
            folding = retention.load_up_to

            def slowly(*arguments):
                folded = folding(*arguments)
                erase_person(app.server.writer, "m", "bob")
                return folded

            monkeypatch.setattr(retention, "load_up_to", slowly)
            loop = asyncio.get_running_loop()
            assert await loop.run_in_executor(None, prune_all, app.server.writer, 30.0, 3) == 0
            monkeypatch.undo()
            assert await loop.run_in_executor(None, prune_all, app.server.writer, 30.0, 3) > 0
            app.server.writer.models.clear()
            assert (await client.get("/v1/models/m")).json()["summary"]["answers"]["learnt"] == 3

    run(go())
