"""Start-up, the store's commands, and snapshots that come late."""

import asyncio
import contextlib
import json
import random
from functools import partial

import httpx
import numpy as np
import pytest

from conquer.service import admin
from conquer.service.engine.loading import load
from conquer.service.engine.memory import _write_piece
from conquer.service.jobs.retention import prune_all
from conquer.service.store import log, snapshots
from conquer.service.store.database import Database, StoreError
from conquer.service.work.erasure import Gone
from conquer.service.work.tasks import build

from .conftest import run
from .folds import loaded, sqlite
from .test_crashes import Diary
from .test_upkeep import MADE, some_load


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
    assert admin.erase("ann", store=sqlite(tmp_path)) == {"m": Gone(0, 0)}
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
        now = [0.0]
        app.server.engine.clock = lambda: now[0]
        diary = Diary(random.Random(4))
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            for _ in range(6):
                event, items = diary.next()
                offer = (await client.post("/v1/models/m/choose", json={"items": items, "event_id": event})).json()
                await client.post(f"/v1/models/m/events/{event}/answer", json={"winner": offer["left"]})
            state = app.server.engine.models["m"]
            (piece,), place = snapshots.pieces(state.dumps()), {"model": state.id, "position": 4, "generation": 0}
            late = partial(_write_piece, **place, part=0, count=1, piece=piece, summary="")
            now[0] = 100 * 86400.0
            loop = asyncio.get_running_loop()
            assert await loop.run_in_executor(None, prune_all, app.server.engine, 30.0, 3) > 0
            assert app.server.engine.models["m"] is state
            assert not await loop.run_in_executor(None, app.server.engine.call_now, "m", late)
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
