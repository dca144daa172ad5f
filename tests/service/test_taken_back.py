"""What was decided ahead and then taken back has left no trace: not in the log, not in a snapshot, not in a reply."""

import asyncio
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import insert

from conquer.service.commands.answers import answer_all
from conquer.service.http.schemas import AnswerRequest
from conquer.service.store.schema import leases

from .conftest import run
from .slow_disk import MANY, a_slow_disk, answers, ask, ask_once, check, many, reaches


@pytest.mark.parametrize("how", ["refused", "lost, made", "lost, not made"])
def test_what_was_decided_ahead_of_a_failure_is_decided_again(local, tmp_path, how) -> None:
    """Whatever became of the first batch, both are told what is true, and nothing is there twice."""

    async def go():
        async with a_slow_disk(local) as (app, client, disk):
            before = app.server.writer.models["m"]
            first = ask(client, 1)
            await disk.until(1)
            second, third = ask(client, 2), ask(client, 3)
            await reaches(before, 4 * MANY)
            disk.fails = how
            disk.open.set()
            replies = [await first, await second, await third]
            assert [reply.status_code for reply in replies] == [200] * 3
            for reply in replies:
                told = [one["event_id"] for one in reply.json()["results"]]
                assert len(set(told)) == MANY
                assert (await client.post("/v1/models/m/answers", json=answers(reply))).status_code == 200
            assert before.void
            ordinals = [one["ordinal"] for reply in replies for one in reply.json()["results"]]
            assert len(set(ordinals)) == 3 * MANY

    run(go())
    check(tmp_path, 7 * MANY)


def test_work_that_cannot_be_done_ahead_takes_nobody_with_it(local, tmp_path, monkeypatch) -> None:
    """It fails in memory, where the others' work was done too: each of them is then done alone."""

    async def go():
        async with a_slow_disk(local) as (app, client, disk):
            writer, before = app.server.writer, app.server.writer.models["m"]
            first = ask(client, 1)
            await disk.until(1)
            second = ask(client, 2)
            await reaches(before, 3 * MANY)

            def breaks(turn):
                raise ZeroDivisionError("never mind")

            def writes(turn):
                values = {"model_id": turn.folded.id, "subject": "a", "voter": "v", "event_id": "e", "until": 9e9}
                turn.connection.execute(insert(leases).values(**values))
                return "written"

            broken = writer.call("m", breaks, light=True, rounds=MANY)
            written = writer.call("m", writes, light=True, rounds=MANY)
            while not before.void:
                await asyncio.sleep(0.001)
            disk.open.set()
            with pytest.raises(ZeroDivisionError):
                await broken
            assert await written == "written"
            replies = [await first, await second]
            assert [len({one["event_id"] for one in reply.json()["results"]}) for reply in replies] == [MANY, MANY]
            assert writer.models["m"] is not before

    run(go())
    check(tmp_path, 3 * MANY)


def test_a_model_that_was_taken_back_leaves_no_snapshot(local, tmp_path) -> None:
    """One is due when the batch under way lands, and the model in memory has learnt more than was written."""

    async def go():
        async with a_slow_disk(local, snapshot_every=100) as (app, client, disk):
            writer = app.server.writer
            disk.open.set()
            early = (await ask(client, 5)).json()["results"]
            late = await ask(client, 6)
            while writer.models["m"].since_snapshot >= 100:
                await asyncio.sleep(0.001)
            disk.open.clear()
            waits, before = disk.waits, writer.models["m"]
            first = ask(client, 1)
            await disk.until(waits + 1)
            said = [(one["event_id"], AnswerRequest(one["shown"][1]["id"])) for one in early]

            def learns(turn):
                answer_all(turn, said)
                raise ZeroDivisionError("never mind")

            ahead = writer.call("m", learns, light=True, rounds=MANY)
            while not before.void:
                await asyncio.sleep(0.001)
            disk.open.set()
            assert (await first).status_code == 200
            with pytest.raises(ZeroDivisionError):
                await ahead
            assert (await client.post("/v1/models/m/answers", json=answers(late))).status_code == 200

    run(go())
    check(tmp_path, 5 * MANY)


def test_after_work_that_failed_the_store_is_read_as_it_is(local, tmp_path) -> None:
    """What looks events up on the loop does not stay in the past: an event would be there twice."""

    async def go():
        async with a_slow_disk(local, events_cached=2) as (app, client, disk):
            disk.open.set()
            await ask_once(client, "old")
            await ask(client, 1)

            def breaks(turn):
                raise ZeroDivisionError("never mind")

            with pytest.raises(ZeroDivisionError):
                await app.server.writer.call("m", breaks, events=("old",), light=True)
            named = [{**one, "event_id": f"new-{number}"} for number, one in enumerate(many(2)["rounds"][:3])]
            told = (await client.post("/v1/models/m/choose/batch", json={"rounds": named})).json()["results"][0]
            assert "new-0" not in app.server.writer.models["m"].events
            assert (await client.post("/v1/models/m/choose", json=named[0])).json() == told
            assert app.server.database.scrub()

    run(go())
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection:
        count = "SELECT COUNT(*) FROM log WHERE event_id = 'new-0'"
        assert connection.execute(count).fetchone()[0] == 1
