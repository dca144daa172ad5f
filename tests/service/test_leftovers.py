"""What a deletion, a pruning or a damage leaves behind: nothing that stops the model, the others, or an erasure."""

import asyncio
import sqlite3
import zlib

import pytest

from conquer.service.jobs.retention import prune_all

from .conftest import run

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


def left_over(folder, position=10):
    """A snapshot of before the base, as earlier versions left them."""
    with sqlite3.connect(folder / "store.db") as connection:
        connection.execute(
            "INSERT INTO snapshots SELECT model_id, ?, part, parts, at, format, summary, data FROM snapshots"
            " WHERE position = 40",
            [position],
        )


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
    left_over(tmp_path)
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


def test_an_erasure_reaches_snapshots_before_the_base(local, tmp_path):
    async def go():
        app = local()
        async with app.running() as client:
            await pruned(app, client)
            left_over(tmp_path)
            assert any(b"bob" in zlib.decompress(data) for _, data in snapshots(tmp_path))
            (await client.post("/v1/models/m/erase", json={"voter": "bob"})).raise_for_status()
            found = snapshots(tmp_path)
            assert 10 not in [position for position, _ in found]
            assert not any(b"bob" in zlib.decompress(data) for _, data in found)

    run(go())
