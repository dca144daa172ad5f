"""What goes, goes: erased text leaves the disk, pruned ids are not used twice, and neither holds other models up."""

import asyncio
import contextlib
import json
import threading

import httpx
import numpy as np
import pytest

from conquer.service import admin
from conquer.service.engine.loading import load
from conquer.service.jobs import retention
from conquer.service.jobs.retention import prune_all
from conquer.service.jobs.upkeep import sweep_deleted
from conquer.service.store.database import Database
from conquer.service.store.log import headers
from conquer.service.work import erasure
from conquer.service.work.erasure import Gone, erase_person

from .folds import loaded, rows_of, slow_fold, sqlite

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
ITEMS = [{"id": f"i{k}", "vector": [0.1 * k, 1 - 0.2 * k, 0.3, k % 2]} for k in range(3)]
DAY = 86400.0


async def ask(client, event=None, voter=None, items=ITEMS):
    reply = await client.post("/v1/models/m/choose", json={"items": items, "event_id": event, "voter": voter})
    return reply


async def tell(client, event, winner, voter=None):
    return await client.post(f"/v1/models/m/events/{event}/answer", json={"winner": winner, "voter": voter})


async def some(client, count, prefix="e", voter=None):
    for k in range(count):
        offer = (await ask(client, f"{prefix}{k}", voter)).json()
        (await tell(client, offer["event_id"], offer["shown"][k % 2]["id"], voter)).raise_for_status()


def copies(folder, text):
    return sum(path.read_bytes().count(text) for path in folder.iterdir() if path.name.startswith("store.db"))


async def test_answers_after_an_erasure_are_folded_again(local):
    """The erasure's row empties the cache of events, also half-way through the rows that are read at once."""
    app = local(snapshot_every=10**6)
    async with app.running() as client:
        await client.post("/v1/models", json=MADE)
        await ask(client, "gone", "zoe")
        shown = (await ask(client, "open")).json()["shown"]
        assert (await client.post("/v1/models/m/erase", json={"voter": "zoe"})).json()["rows"] == 1
        await tell(client, "open", shown[0]["id"])
        live = app.server.engine.models["m"]
        with app.server.database.reading() as connection:
            again = load(connection, headers(connection, ["m"])["m"], app.server.engine.build)
        assert (again.tally.learnt, again.tally.ignored) == (1, {})
        assert again.digest() == live.digest()


@pytest.mark.parametrize("how", ["http", "shell"])
def test_erased_text_leaves_the_disk_while_the_server_runs(start, tmp_path, how):
    server = start(snapshot_every=20)
    url = f"{server.address}/v1/models/m"
    httpx.post(f"{server.address}/v1/models", json={**MADE, "features": {"dim": 64}}).raise_for_status()
    items = [{"id": "a", "text": "PLANTEDMARK one"}, {"id": "b", "text": "PLANTEDMARK two"}]
    for k in range(60):
        body = {"items": items, "event_id": f"e{k}", "voter": "MARKEDVOTER"}
        httpx.post(f"{url}/choose", json=body).raise_for_status()
        body = {"winner": "a", "voter": "MARKEDVOTER"}
        httpx.post(f"{url}/events/e{k}/answer", json=body).raise_for_status()
    assert copies(tmp_path, b"PLANTEDMARK") > 0
    if how == "http":
        gone = httpx.post(f"{url}/erase", json={"voter": "MARKEDVOTER"}, timeout=60).json()
        assert gone == {"rows": 120}
    else:
        server.kill()
        assert admin.erase("MARKEDVOTER", store=sqlite(tmp_path)) == {"m": Gone(120)}
    assert copies(tmp_path, b"PLANTEDMARK") == 0
    assert copies(tmp_path, b"MARKEDVOTER") == 0


def test_a_reader_of_an_older_state_is_waited_for(tmp_path):
    database = Database(sqlite(tmp_path), create=True)
    with contextlib.closing(database):
        with database.reading() as old:
            old.exec_driver_sql("SELECT * FROM models").all()
            with database.writing() as connection:
                connection.exec_driver_sql("INSERT INTO secrets VALUES ('a', 'b')")
            assert not database.scrub()
        assert database.scrub()
        assert (tmp_path / "store.db-wal").stat().st_size == 0


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(erasure, "_SLICE", 7)
    monkeypatch.setattr(retention, "_SLICE", 7)


class _CrashError(Exception):
    pass


async def test_erasing_in_slices_gives_what_erasing_at_once_gives(local, tmp_path, small, monkeypatch):
    """Also after a crash between two slices, with answers that come meanwhile and snapshots that were made."""
    app = local(snapshot_every=10)
    async with app.running() as client:
        await client.post("/v1/models", json=MADE)
        for turn in range(6):
            await some(client, 4, f"ann{turn}-", "ann")
            await some(client, 4, f"bob{turn}-", "bob")
        offer = (await ask(client, "open", "bob")).json()
        (await tell(client, "open", offer["shown"][0]["id"], "ann")).raise_for_status()
        engine, turns = app.server.engine, []
        call_now = engine.call_now

        def crashing(name, work, *rest, **more):
            turns.append(name)
            if len(turns) == 4:
                raise _CrashError
            return call_now(name, work, *rest, **more)

        monkeypatch.setattr(engine, "call_now", crashing)
        with pytest.raises(_CrashError):
            await engine.long.run("", erase_person(engine, "m", "bob"))
        # What is emptied is over: nobody answers it any more.
        assert (await tell(client, "open", "i0", "eve")).status_code == 404
        await some(client, 3, "meanwhile", "bob")
        turns[:] = [""] * 10
        gone, position = await engine.long.run("", erase_person(engine, "m", "bob"))
        assert position == (engine.models["m"].id, engine.models["m"].position)
        assert gone.rows == 50 - 2 * 7 + 6
        assert len(turns) > 10 + 3
    _, rows = rows_of(sqlite(tmp_path), "m")
    assert sum(row.kind == "erased" for row in rows) == 56
    assert not any(row.voter == "bob" for row in rows)
    database = Database(sqlite(tmp_path))
    with contextlib.closing(database), database.reading() as connection:
        sums = connection.exec_driver_sql("SELECT checksum FROM log WHERE kind = 'erased'").scalars().all()
    assert len({*sums} - {None}) == 56
    assert np.array_equal(slow_fold(sqlite(tmp_path), "m"), loaded(sqlite(tmp_path), "m"))


async def test_a_pruned_event_is_over_for_good(local, tmp_path, small):
    app = local()
    async with app.running() as client:
        await client.post("/v1/models", json=MADE)
        engine = app.server.engine
        engine.clock = lambda: 0.0
        made = (await ask(client)).json()
        await some(client, 12)
        kept = (await ask(client, "kept")).json()
        engine.clock = lambda: 40 * DAY
        (await tell(client, "kept", kept["shown"][0]["id"])).raise_for_status()
        await some(client, 2, "young")
        before = (await client.get("/v1/models/m/file")).content
        assert await asyncio.to_thread(prune_all, engine, 30.0, 3) == 25
        for event in ("e0", "e11", made["event_id"]):
            for reply in (
                await ask(client, event),
                await tell(client, event, "i0"),
                await tell(client, event, "i1"),
            ):
                assert (reply.status_code, reply.json()["error"]["code"]) == (409, "pruned"), reply.text
        assert (await tell(client, "kept", "i0" if kept["shown"][0]["id"] != "i0" else "i1")).status_code == 409
        assert (await tell(client, "never", "i0")).status_code == 404
        assert (await client.get("/v1/models/m/file")).content == before
        assert (await client.post("/v1/models/m/events/kept/undo", json={})).status_code == 200
        assert (await ask(client, "new")).status_code == 200
        # An id is kept as a digest that tells nobody what it was.
        with app.server.database.reading() as connection:
            marks = connection.exec_driver_sql("SELECT event FROM retired").scalars().all()
        assert len(marks) == 12
        assert all(len(mark) == 32 and int(mark, 16) >= 0 for mark in marks)
        await client.delete("/v1/models/m")
        await asyncio.to_thread(sweep_deleted, engine)
        with app.server.database.reading() as connection:
            assert connection.exec_driver_sql("SELECT COUNT(*) FROM retired").scalar() == 0


async def test_pruning_that_broke_off_leaves_nothing_to_read_and_is_finished(local, tmp_path, small, monkeypatch):
    app = local()
    async with app.running() as client:
        await client.post("/v1/models", json=MADE)
        engine = app.server.engine
        engine.clock = lambda: 0.0
        await some(client, 12)
        engine.clock = lambda: 40 * DAY
        await some(client, 2, "young")
        before = (await client.get("/v1/models/m/file")).content
        monkeypatch.setattr(retention, "_delete_up_to", lambda *_: 0)
        assert await asyncio.to_thread(prune_all, engine, 30.0, 3) == 0
        assert (await tell(client, "e3", "i0")).json()["error"]["code"] == "pruned"
        assert (await ask(client, "e3")).status_code == 409
        monkeypatch.undo()
        assert (await client.get("/v1/models/m/file")).content == before
    async with (again := local()).running() as client:
        assert (await client.get("/v1/models/m/file")).content == before
        again.server.engine.clock = lambda: 40 * DAY
        assert await asyncio.to_thread(prune_all, again.server.engine, 30.0, 1000) == 24
        lines = (await client.get("/v1/models/m/log")).text.splitlines()
        assert [json.loads(line)["position"] for line in lines] == [25, 26, 27, 28]


@pytest.mark.parametrize("what", ["erasure", "import"])
async def test_long_work_of_others_keeps_nobody_waiting(local, what):
    """Three owners are busy without end: an import has its turns among theirs, an erasure waits for no turn at all."""
    app, done = local(), threading.Event()

    def busy():
        while not done.wait(0.01):
            if what == "import":
                yield

    async with app.running() as client:
        assert (await client.post("/v1/models", json=MADE)).status_code == 201
        await some(client, 3, voter="ann")
        file = (await client.get("/v1/models/m/file")).content
        others = [app.server.engine.long.run(f"owner {k}", busy()) for k in range(3)]
        try:
            async with asyncio.timeout(20):
                if what == "import":
                    reply = await client.put("/v1/models/n/file", content=file)
                    assert reply.status_code == 201, reply.text
                else:
                    assert (await client.post("/v1/models/m/erase", json={"voter": "ann"})).json()["rows"] > 0
            assert not any(other.done() for other in others)
        finally:
            done.set()
            await asyncio.gather(*others)
