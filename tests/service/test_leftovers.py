"""What a deletion, a pruning or a damage leaves behind: nothing that stops the model, the others, or an erasure."""

import asyncio
import sqlite3
import threading
import time

import pytest

from conquer.service.admin import backup
from conquer.service.jobs import upkeep
from conquer.service.jobs.retention import prune_all
from conquer.service.jobs.upkeep import sweep_deleted
from conquer.service.web import server as running

from . import cluster
from .conftest import run
from .folds import sqlite

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
ITEMS = [{"id": f"i{k}", "vector": [0.1 * k, 1 - 0.2 * k, 0.3, k % 2]} for k in range(3)]
DAY = 86400.0


async def play(client, rounds, prefix="e", voter="bob", name="m"):
    for k in range(rounds):
        body = {"items": ITEMS, "event_id": f"{prefix}{k}", "voter": voter}
        offer = (await client.post(f"/v1/models/{name}/choose", json=body)).json()
        body = {"winner": offer["shown"][k % 2]["id"], "voter": voter}
        (await client.post(f"/v1/models/{name}/events/{prefix}{k}/answer", json=body)).raise_for_status()


async def pruned(app, client):
    """A model whose first forty rows are past their retention, and four more."""
    engine = app.server.engine
    await client.post("/v1/models", json=MADE)
    engine.clock = lambda: 0.0
    await play(client, 20)
    engine.clock = lambda: 40 * DAY
    await play(client, 2, "young")
    assert await asyncio.to_thread(prune_all, engine, 30.0, 3) == 40


def test_a_clock_that_was_ahead_does_not_stop_pruning(local):
    async def go():
        app, now = local(), [1000.0]
        app.server.engine.clock = lambda: now[0]
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)

            async def ask(event):
                (await client.post("/v1/models/m/choose", json={"items": ITEMS, "event_id": event})).raise_for_status()

            await ask("a")
            now[0] += 100 * DAY
            await ask("ahead")
            now[0] -= 100 * DAY
            for k in range(4):
                await ask(f"b{k}")
            now[0] += 40 * DAY
            await ask("young")
            assert await asyncio.to_thread(prune_all, app.server.engine, 30.0, 1) == 6

    run(go())


def snapshots(folder):
    with sqlite3.connect(folder / "store.db") as connection:
        return connection.execute("SELECT position, data FROM snapshots ORDER BY position").fetchall()


DAMAGES = {
    "garbage": "UPDATE snapshots SET data = x'00ff00'",
    "its last byte": "UPDATE snapshots SET data = CAST(substr(data, 1, length(data) - 1) || x'00' AS BLOB)",
    "cut": "UPDATE snapshots SET data = substr(data, 1, length(data) - 9)",
    "gone": "DELETE FROM snapshots",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_model_whose_base_is_damaged_begins_there_and_says_so(local, tmp_path, damage):
    async def fill():
        app = local()
        async with app.running() as client:
            await pruned(app, client)

    async def again():
        async with local().running() as client:
            reply = await client.get("/v1/models")
            assert reply.status_code == 200
            (listed,) = reply.json()["models"]
            info = (await asyncio.wait_for(client.get("/v1/models/m"), 120)).json()
            assert info == listed
            assert info["summary"]["quarantined"]["first"][0][0] == 40
            assert info["summary"]["answers"]["learnt"] == 2
            await play(client, 2, "after")
            gone = await client.post("/v1/models/m/erase", json={"voter": "bob"})
            assert gone.json()["rows"] == 8
            assert (await client.delete("/v1/models/m")).status_code == 204

    run(fill())
    with sqlite3.connect(tmp_path / "store.db") as connection:
        # Those after the base would do as well as it.
        connection.execute("DELETE FROM snapshots WHERE position > 40")
        assert connection.execute(f"{DAMAGES[damage]} WHERE position = 40").rowcount > 0
    run(again())


def test_pruning_leaves_no_snapshot_before_the_base(local, tmp_path):
    async def go():
        app = local(snapshot_every=10)
        async with app.running() as client:
            await pruned(app, client)
            with app.server.database.writing() as connection:
                connection.exec_driver_sql("INSERT INTO snapshots SELECT id, 7, 0, 2, 0, 1, '', x'00' FROM models")
            await play(client, 20, "more")
            app.server.engine.clock = lambda: 90 * DAY
            assert await asyncio.to_thread(prune_all, app.server.engine, 30.0, 3) > 0
            assert min(position for position, _ in snapshots(tmp_path)) == 84

    run(go())


# Deleting and pruning among many models: none waits for another, and a broken one stops nobody.


TABLES = ("log", "snapshots", "items", "leases", "retired", "digests")


@pytest.fixture
def by_hand(monkeypatch):
    """Nothing is swept unless the test does it, and little at once."""
    monkeypatch.setattr(running.Server, "_sweep_deleted", lambda server: None)
    monkeypatch.setattr(upkeep, "_ROWS", 7)
    monkeypatch.setattr(upkeep, "_PIECES", 1)


async def three(client, engine):
    """Models a, b and c with rows in several tables."""
    engine.clock = lambda: 0.0
    for name in "abc":
        await client.post("/v1/models", json={**MADE, "name": name})
        await play(client, 12, f"{name}MARKED", name=name)
    engine.clock = lambda: 40 * DAY
    for name in "abc":
        await play(client, 8, f"{name}YOUNG", name=name)
    await asyncio.to_thread(prune_all, engine, 30.0, 3)


def rows(folder, model):
    with sqlite3.connect(folder / "store.db") as connection:
        found = [connection.execute(f"SELECT COUNT(*) FROM {table} WHERE model_id = ?", [model]) for table in TABLES]
        return [one.fetchone()[0] for one in found]


def test_a_deleted_model_leaves_the_disk_in_slices(local, tmp_path, by_hand):
    async def go():
        app = local(snapshot_every=5)
        async with app.running() as client:
            engine = app.server.engine
            await three(client, engine)
            others = rows(tmp_path, 1), rows(tmp_path, 3)
            assert rows(tmp_path, 2)[0] == 16
            assert (await client.delete("/v1/models/b")).status_code == 204
            # In the turn that others wait for only the name has gone.
            assert rows(tmp_path, 2)[0] == 16
            assert (await client.get("/v1/models/b")).status_code == 404
            assert [one["name"] for one in (await client.get("/v1/models")).json()["models"]] == ["a", "c"]
            (await client.post("/v1/models", json={**MADE, "name": "b"})).raise_for_status()
            assert (await client.get("/v1/models/b")).json()["position"] == 0
            # A backup, where the id might be given out again, is without it.
            copied = await asyncio.to_thread(backup, tmp_path / "copy.db", store=sqlite(tmp_path))
            assert copied["log"] == others[0][0] + others[1][0]
            assert await asyncio.to_thread(sweep_deleted, engine) > 4
            assert rows(tmp_path, 2) == [0] * len(TABLES)
            assert (rows(tmp_path, 1)[0], rows(tmp_path, 3)[0]) == (others[0][0], others[1][0])
            assert await asyncio.to_thread(sweep_deleted, engine) == 0
            await play(client, 1, "later", name="b")

    run(go())
    for path in tmp_path.glob("store.db*"):
        assert b"bYOUNG" not in path.read_bytes()


def test_what_a_crash_left_of_a_deleted_model_goes_with_the_next_start(local, tmp_path, monkeypatch):
    async def fill():
        monkeypatch.setattr(running.Server, "_sweep_deleted", lambda server: None)
        app = local()
        async with app.running() as client:
            await three(client, app.server.engine)
            await client.delete("/v1/models/c")
        assert rows(tmp_path, 3)[0] > 0

    async def again():
        monkeypatch.undo()
        app = local()
        async with app.running() as client:
            await until(lambda: sum(rows(tmp_path, 3)) == 0)
            # And after a deletion it looks again.
            assert (await client.delete("/v1/models/b")).status_code == 204
            await until(lambda: sum(rows(tmp_path, 2)) == 0)
            await play(client, 1, "more", name="a")

    run(fill())
    run(again())


async def until(condition):
    give_up = time.monotonic() + 120
    while not await asyncio.to_thread(condition):
        assert time.monotonic() < give_up
        await asyncio.sleep(0.02)


def broken(folder, name):
    """As when an algorithm is not installed any more: nothing can be made of the model."""
    with sqlite3.connect(folder / "store.db") as connection:
        statement = "UPDATE models SET settings = replace(settings, '\"gnr\"', '\"gone\"') WHERE name = ?"
        assert connection.execute(statement, [name]).rowcount == 1
        # A snapshot would still say what to make.
        connection.execute("DELETE FROM snapshots")


def test_a_broken_model_stops_no_job_and_can_be_deleted(local, tmp_path):

    async def fill():
        app = local()
        async with app.running() as client:
            app.server.engine.clock = lambda: 0.0
            for name in "ab":
                await client.post("/v1/models", json={**MADE, "name": name})
                await play(client, 5, name=name)

    async def again():
        app = local()
        async with app.running() as client:
            engine = app.server.engine
            engine.clock = lambda: 40 * DAY
            assert await asyncio.to_thread(prune_all, engine, 30.0, 3) > 0
            assert "prune:a" in dict(app.server.alarms.standing())
            assert "prune:b" not in dict(app.server.alarms.standing())
            assert (await client.delete("/v1/models/a")).status_code == 204
            assert (await client.delete("/v1/models/a")).status_code == 404
            assert not [kind for kind, _ in app.server.alarms.standing() if kind.endswith(":a")]

    run(fill())
    broken(tmp_path, "a")
    run(again())


def test_a_damaged_row_can_be_erased(local, tmp_path):
    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 6)
            with app.server.database.writing() as connection:
                # Text that is none can be erased too.
                connection.exec_driver_sql("UPDATE log SET body = CAST(x'7b22ff' AS TEXT) WHERE position = 3")
            gone = (await client.post("/v1/models/m/erase", json={"voter": "bob"})).json()
            assert gone == {"rows": 12}

    run(go())
    with sqlite3.connect(tmp_path / "store.db") as connection:
        left = connection.execute("SELECT body FROM log WHERE kind = 'erased' ORDER BY position").fetchall()
    assert [body for (body,) in left if "ordinal" in body] == [f'{{"ordinal":{k}}}' for k in (0, 2, 3, 4, 5)]


@pytest.mark.skipif(cluster.programs() is None, reason="needs PostgreSQL's server programs")
def test_a_server_whose_jobs_all_wait_is_still_seen(local):
    def seen(server):
        with server.database.reading() as connection:
            return connection.exec_driver_sql("SELECT MAX(seen) FROM servers").scalar()

    async def go(address):
        app, release = local(store=address), threading.Event()
        async with app.running():
            for k in range(8):
                app.server.engine.long.run(f"tenant {k}", release.wait)
            try:
                before = await asyncio.to_thread(seen, app.server)
                await until(lambda: seen(app.server) > before + 5)
            finally:
                release.set()

    with cluster.running() as address:
        run(go(address))
