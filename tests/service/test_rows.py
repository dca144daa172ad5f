"""What was written can be read, or is passed over: rows and snapshots that a disk, a bug or a hand has spoilt."""

import random
import sqlite3
import zlib
from pathlib import Path

import httpx
import numpy as np
import pytest

from conquer.service.errors import RefusalError
from conquer.service.model.records import FOLD, Answered

from .conftest import run
from .folds import rows_of, sqlite
from .test_crashes import Diary

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}


async def play(client: httpx.AsyncClient, rounds: int, seed: int = 0, name: str = "m") -> list[str]:
    """So many rounds asked and answered; their event ids."""
    diary = Diary(random.Random(seed))
    diary.count = seed * 1000
    events = []
    for _ in range(rounds):
        event, items = diary.next()
        offer = (await client.post(f"/v1/models/{name}/choose", json={"items": items, "event_id": event})).json()
        body = {"winner": offer["shown"][0]["id"]}
        assert (await client.post(f"/v1/models/{name}/events/{event}/answer", json=body)).status_code == 200
        events.append(event)
    return events


def spoil(folder: Path, statement: str, *values: object) -> None:
    with sqlite3.connect(folder / "store.db") as connection:
        assert connection.execute(statement, values).rowcount > 0


def weights(app) -> np.ndarray:
    return app.server.engine.models["m"].learner.learner.model.weights()


SPOILT = {
    "no JSON": ("UPDATE log SET body = '{' WHERE position = 4", 4),
    "a null": ("UPDATE log SET body = replace(body, '\"scores\":[', '\"scores\":[null,') WHERE position = 3", 3),
    "no UTF-8": ("UPDATE log SET body = CAST(x'7b22ff' AS TEXT) WHERE position = 4", 4),
    "an unknown kind": ("UPDATE log SET kind = 'dream' WHERE position = 4", 4),
    "another answer": ("UPDATE log SET body = '{\"winner\":\"i0\",\"value\":-1.0}' WHERE position = 4", 4),
    "another voter": ("UPDATE log SET voter = 'eve' WHERE position = 4", 4),
    "without a checksum, no JSON": ("UPDATE log SET body = '', checksum = NULL WHERE position = 4", 4),
}  # fmt: skip


@pytest.mark.parametrize("what", SPOILT)
def test_a_row_that_cannot_be_read_is_passed_over(local, tmp_path, what) -> None:
    statement, position = SPOILT[what]

    async def fill():
        async with local(snapshot_every=10**6).running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 6)

    async def again():
        app = local()
        async with app.running() as client:
            info = (await client.get("/v1/models/m")).json()
            assert info["summary"]["quarantined"]["rows"] == 1
            assert info["summary"]["quarantined"]["first"][0][0] == position
            assert ("quarantine:m" in dict(app.server.alarms.standing())) if hasattr(app.server, "alarms") else True
            listed = (await client.get("/v1/models")).json()["models"]
            assert listed[0]["summary"]["quarantined"]["rows"] == 1
            await play(client, 3, seed=1)
            assert (await client.get("/v1/models/m/log")).status_code == 200
            assert (await client.get("/v1/models/m/file")).status_code == 200
            undo = await client.post("/v1/models/m/events/event-1/undo", json={})
            assert undo.json()["reason"] == "undone"
            assert (await client.delete("/v1/models/m")).status_code == 204

    run(fill())
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("DELETE FROM snapshots")
    spoil(tmp_path, statement)
    run(again())


def test_a_log_that_is_whole_has_no_quarantine(local, tmp_path) -> None:
    async def go():
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 6)
            assert (await client.get("/v1/models/m")).json()["summary"]["quarantined"] == {"rows": 0, "first": []}

    run(go())
    with sqlite3.connect(tmp_path / "store.db") as connection:
        rows = connection.execute("SELECT format, checksum FROM log").fetchall()
    assert len(rows) == 12
    assert all(form == FOLD and isinstance(total, int) for form, total in rows)


SNAPSHOTS = {
    "garbage": "UPDATE snapshots SET data = x'00ff00'",
    "another model's bytes": zlib.compress(b"nothing of ours"),
    "a newer version's": "UPDATE snapshots SET format = 99",
    "cut": "UPDATE snapshots SET data = substr(data, 1, 40)",
}


@pytest.mark.parametrize("what", SNAPSHOTS)
def test_a_snapshot_that_cannot_be_read_is_folded_anew(local, tmp_path, what) -> None:
    found = []

    async def fill():
        app = local(snapshot_every=5)
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 20)
            found.append(weights(app))

    async def again():
        app = local()
        async with app.running() as client:
            listed = (await client.get("/v1/models")).json()["models"]
            info = (await client.get("/v1/models/m")).json()
            assert info["summary"]["answers"]["learnt"] == listed[0]["summary"]["answers"]["learnt"] == 20
            assert np.array_equal(weights(app), found[0])
            await play(client, 1, seed=1)

    run(fill())
    change = SNAPSHOTS[what]
    if isinstance(change, str):
        spoil(tmp_path, change)
    else:
        spoil(tmp_path, "UPDATE snapshots SET data = ?, part = 0, parts = 1", change)
    run(again())
    with sqlite3.connect(tmp_path / "store.db") as connection:
        left = connection.execute("SELECT DISTINCT position FROM snapshots").fetchall()
    assert left == [(42,)]


def test_the_settings_of_one_model_do_not_hide_the_others(local, tmp_path) -> None:
    async def fill():
        async with local().running() as client:
            for name in ("m", "n"):
                await client.post("/v1/models", json={**MADE, "name": name})

    async def again():
        app = local()
        async with app.running() as client:
            assert [one["name"] for one in (await client.get("/v1/models")).json()["models"]] == ["n"]
            reply = await client.get("/v1/models/m")
            assert (reply.status_code, reply.json()["error"]["code"]) == (503, "unreadable_model")
            await play(client, 1, name="n")
            assert (await client.delete("/v1/models/m")).status_code == 204
            assert (await client.get("/v1/models/m")).status_code == 404

    run(fill())
    spoil(tmp_path, "UPDATE models SET settings = '{\"algorithm\": 3}' WHERE name = 'm'")
    run(again())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_row_that_could_not_be_read_is_not_written(local, tmp_path, value) -> None:
    """Refused before anything moves: the model stays in memory and goes on."""

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            (event,) = await play(client, 1)
            before, state = weights(app), app.server.engine.models["m"]
            said = Answered("i0", None, None, value)
            with pytest.raises(RefusalError, match="cannot be stored"):
                await app.server.engine.call("m", lambda turn: turn.append(said, event, "x"))
            assert app.server.engine.models["m"] is state
            assert np.array_equal(weights(app), before)
            await play(client, 1, seed=1)

    run(go())
    assert len(rows_of(sqlite(tmp_path), "m")[1]) == 4


def test_rows_of_a_newer_program_are_refused(local, tmp_path) -> None:
    async def fill():
        async with local(snapshot_every=10**6).running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 2)

    async def again():
        async with local().running() as client:
            reply = await client.get("/v1/models/m")
            assert (reply.status_code, reply.json()["error"]["code"]) == (503, "newer_rows")

    run(fill())
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("DELETE FROM snapshots")
        connection.execute("UPDATE log SET format = 99 WHERE position = 2")
    run(again())
