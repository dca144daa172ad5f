"""What was written can be read, or is passed over: rows and snapshots that a disk, a bug or a hand has spoilt."""

import random
import sqlite3
from pathlib import Path

import httpx
import msgspec
import numpy as np
import pytest

from conquer.service.errors import RefusalError
from conquer.service.model.records import FOLD, Answered, Decision, Entry, Event, Raw, decoded, seal
from conquer.service.model.schemas import ModelSettings
from conquer.service.model.state import ModelState, OutOfTurnError
from conquer.service.model.tally import Tally
from conquer.tickets import stream, ticket
from conquer.types import Choice, Query

from .conftest import run
from .folds import loaded, rows_of, slow_fold, sqlite
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
    "another checksum": ("UPDATE log SET checksum = checksum + 1 WHERE position = 4", 4),
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
            assert "quarantine:m" in dict(app.server.alarms.standing())
            assert "quarantine" in (await client.get("/readyz")).text
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


SNAPSHOTS = {
    "garbage": "UPDATE snapshots SET data = x'00ff00'",
    "nothing of ours": "UPDATE snapshots SET part = 0, parts = 1, data = x'789ccbcb2fc9c8cc4b07000c0502f8'",
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
    spoil(tmp_path, SNAPSHOTS[what])
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


@pytest.mark.parametrize("fold", [FOLD, FOLD + 1])
def test_a_snapshot_folded_by_other_rules_is_passed_over(local, tmp_path, fold):
    """It can be read and holds other weights: only where the rules were today's is it taken for what the rows give."""

    async def go():
        app = local(snapshot_every=4)
        async with app.running() as client:
            for name, seed in (("m", 0), ("other", 5)):
                await client.post("/v1/models", json={**MADE, "name": name})
                await play(client, 6, seed=seed, name=name)

    run(go())
    address = sqlite(tmp_path)
    assert np.array_equal(loaded(address, "m"), slow_fold(address, "m"))
    spoil(
        tmp_path,
        """UPDATE snapshots SET format = ?, data = (
            SELECT s.data FROM snapshots s JOIN models o ON o.id = s.model_id
            WHERE o.name = 'other' ORDER BY s.position DESC LIMIT 1
        ) WHERE model_id = (SELECT id FROM models WHERE name = 'm')""",
        fold,
    )
    assert np.array_equal(loaded(address, "m"), slow_fold(address, "m")) == (fold != FOLD)


PICK = (
    '{"ordinal":3,"ticket":7,"query":1,"shown":[2,0],"names":["c","a"],"left":"a","items":[{"id":"a"}],'
    '"scores":[0.5,0.0,1.0],"memo":{"chance":0.25}%s}'
)
PARSE = (
    '{"ordinal":0,"ticket":7,"query":1,"shown":[1,2],"names":["0","3"],"left":"0","items":[{"id":"s"}],"scores":[],'
    '"memo":{"word":2,"heads":[0,3],"chance":null,"sentence":"s"}}'
)


def test_what_a_decision_says_of_its_question():
    pick, parse = (Event.of(Entry(1, 0.0, "e", None, decoded("choose", body))) for body in (PICK % "", PARSE))
    assert pick.choice == Choice((2, 0), Query.DUEL, 7, {"chance": 0.25})
    assert (pick.about, pick.subjects, pick.chosen.chance) == (None, ("c", "a"), 0.25)
    assert (parse.about, parse.subjects) == (("s", 2), ("s",))
    # A question asked again was not chosen.
    assert decoded("choose", PICK % ',"planted":"e0"').chance is None


@pytest.mark.parametrize(
    "items", [b"[]", b"null", b'[{"id":"\\"items\\":null","text":"\xc3\xa9"}]', b'[ {"id" : "a"} ]']
)
def test_items_stand_in_their_row_as_they_came(items):
    """Whatever the names before them say, and the memo behind them."""
    chosen = Decision(
        0,
        7,
        1,
        (0, 1),
        ('"items":null', 'b\\"'),
        '"items":null',
        Raw(items),
        [0.5],
        memo={"items": None, "chance": 0.5},
    )
    entry = Entry(1, 0.0, "e", None, chosen)
    seal(entry)
    assert entry.text == msgspec.json.encode(chosen)
    assert decoded("choose", entry.text.decode()) == chosen


def test_tickets_are_those_of_their_ordinals_in_any_order():
    state = ModelState(1, "m", ModelSettings(seed=5), None, 0, Tally())
    for ordinal in (0, 1, 2, 63, 64, 65, 1000, 3, 2**40):
        state.tally.ordinal = ordinal
        assert state.tickets(1)[0] == ticket(stream("policy", 5), ordinal)


def test_a_row_that_does_not_follow_is_refused():
    state = ModelState(1, "m", ModelSettings(), None, 7, Tally())
    chosen = Decision(0, 7, 1, (0, 1), ("a", "b"), "a", Raw(b"[1]"), [0.5])
    with pytest.raises(OutOfTurnError, match="row 7 cannot follow position 7"):
        state.apply(Entry(7, 2.5, "e", "ann", chosen))
