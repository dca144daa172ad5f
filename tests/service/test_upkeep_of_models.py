"""What follows a commit: snapshots, memory and upkeep fail no reply, and models come and go."""

import gc
import sqlite3

import numpy as np
import pytest

from conquer.service.engine.memory import LoadedModels
from conquer.service.model.state import ModelState

from .conftest import run
from .folds import loaded, rows_of, slow_fold, sqlite
from .test_rows import MADE, play


def test_a_failing_snapshot_fails_no_reply(local, tmp_path) -> None:
    """It is tried again, counted and shown, and the server stops in order."""

    async def go():
        app = local(snapshot_every=4)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            folded_class = type(app.server.engine.models["m"])
            dumps, broken = folded_class.dumps, [True]

            def fails(self):
                if broken[0]:
                    raise OverflowError("cannot convert float infinity to integer")
                return dumps(self)

            folded_class.dumps = fails
            try:
                await play(client, 20)
                alarms = app.server.engine.alarms
                assert "snapshot:m" in dict(alarms.standing())
                assert alarms.failures()["snapshot"] > 1
                broken[0] = False
                while "snapshot:m" in dict(alarms.standing()):
                    await play(client, 3, seed=len(rows_of(sqlite(tmp_path), "m")[1]))
            finally:
                folded_class.dumps = dumps

    run(go())


def test_models_that_come_and_go_leave_snapshots_and_no_memory(local, tmp_path) -> None:
    """More models than memory holds: each leaves a snapshot as it goes, and nothing keeps those that are gone."""

    async def go():
        app = local(cache_bytes=4000, snapshot_every=10)
        made = {**MADE, "features": {"dim": 64}, "believe": None}
        async with app.running() as client:
            names = [f"m{number}" for number in range(12)]
            for name in names:
                await client.post("/v1/models", json={**made, "name": name})
            for seed in range(1, 7):
                for name in names:
                    await play(client, 1, seed=seed, name=name)
            gc.collect()
            alive = [one for one in gc.get_objects() if type(one) is ModelState]
            # What is in memory, what is being read, and the one whose snapshot is being stored.
            assert len(alive) <= len(app.server.engine.models) + 3 < len(names)

    run(go())
    with sqlite3.connect(tmp_path / "store.db") as connection:
        stored = connection.execute("SELECT COUNT(DISTINCT model_id) FROM snapshots").fetchone()[0]
    assert stored >= 6
    for number in range(12):
        assert np.array_equal(loaded(sqlite(tmp_path), f"m{number}"), slow_fold(sqlite(tmp_path), f"m{number}"))


@pytest.mark.parametrize(("owner", "name", "again"), [(ModelState, "trim", False), (LoadedModels, "_warn", True)])
def test_upkeep_that_breaks_fails_no_reply(local, monkeypatch, owner, name, again) -> None:
    """After a commit, and while a model is loaded, where no reply could carry the error."""

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)

            def broken(self, *_):
                raise ZeroDivisionError("upkeep")

            monkeypatch.setattr(owner, name, broken)
            if again:
                app.server.engine.models.clear()
            await play(client, 2)
            assert "upkeep" in dict(app.server.engine.alarms.standing())
            assert app.server.engine.alarms.failures()["upkeep"] > 0

    run(go())
