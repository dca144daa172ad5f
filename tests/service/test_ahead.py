"""While a batch is being written the next is decided in memory: nobody hears of it before it is in the store too."""

import asyncio
import sqlite3
import threading
from contextlib import closing

import numpy as np
import pytest
from sqlalchemy import insert

from conquer.service.store.schema import leases

from .conftest import run
from .folds import slow_fold, sqlite
from .slow_disk import MANY, a_slow_disk, answers, ask, check, many, stored
from .test_rows import weights


def test_the_next_batch_is_decided_while_one_is_being_written(local, tmp_path) -> None:
    async def go():
        async with a_slow_disk(local) as (app, client, disk):
            folded = app.server.writer.models["m"]
            first = ask(client, 1)
            await disk.until(1)
            second = ask(client, 2)
            while folded.position < 3 * MANY:
                await asyncio.sleep(0.001)
            assert not first.done()
            assert not second.done()
            assert stored(tmp_path) == MANY
            disk.open.set()
            said = answers(await first), answers(await second)
            for one in said:
                assert (await client.post("/v1/models/m/answers", json=one)).status_code == 200
            live = weights(app)
        assert np.array_equal(live, slow_fold(sqlite(tmp_path), "m"))

    run(go())
    check(tmp_path, 5 * MANY)


@pytest.mark.parametrize("how", ["refused", "lost, made", "lost, not made"])
def test_what_was_decided_ahead_of_a_failure_is_decided_again(local, tmp_path, how) -> None:
    """Whatever became of the first batch, both are told what is true, and nothing is there twice."""

    async def go():
        async with a_slow_disk(local) as (app, client, disk):
            before = app.server.writer.models["m"]
            first = ask(client, 1, "first")
            await disk.until(1)
            second, third = ask(client, 2, "second"), ask(client, 3, "third")
            while before.position < 4 * MANY:
                await asyncio.sleep(0.001)
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
            while before.position < 3 * MANY:
                await asyncio.sleep(0.001)

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


def test_other_work_waits_until_memory_and_store_are_even(local, tmp_path) -> None:
    """Who reads the log, as an export or an undo does, never meets rows in memory alone; and nobody overtakes."""

    async def go():
        async with a_slow_disk(local) as (app, client, disk):
            writer, folded = app.server.writer, app.server.writer.models["m"]
            first = ask(client, 1)
            await disk.until(1)
            second = ask(client, 2)
            while folded.position < 3 * MANY:
                await asyncio.sleep(0.001)
            told: list[str] = []

            def look(turn):
                rows = turn.connection.exec_driver_sql("SELECT COUNT(*) FROM log").scalar()
                return turn.folded.position, rows, turn.connection.exec_driver_sql("PRAGMA query_only").scalar()

            heavy = writer.call("m", look)
            third = ask(client, 3)
            heavy.add_done_callback(lambda _: told.append("heavy"))
            third.add_done_callback(lambda _: told.append("third"))
            await asyncio.sleep(0.05)
            assert folded.position == 3 * MANY
            disk.open.set()
            assert await heavy == (3 * MANY, 3 * MANY, 0)
            assert [(await one).status_code for one in (first, second, third)] == [200] * 3
            assert told == ["heavy", "third"]

    run(go())
    check(tmp_path, 4 * MANY)


def test_events_that_are_not_in_the_store_stay_in_memory(local, tmp_path) -> None:
    """The cache holds two: those decided ahead must not be looked for in the store, which does not have them."""

    async def go():
        async with a_slow_disk(local, events_cached=2) as (app, client, disk):
            folded = app.server.writer.models["m"]
            first = ask(client, 1, "first")
            await disk.until(1)
            second = ask(client, 2, "second")
            while folded.position < 3 * MANY:
                await asyncio.sleep(0.001)
            commit, gate = disk.commit, threading.Event()

            def slowly():
                assert gate.wait(60)
                commit()

            disk.store.commit_straight = slowly
            disk.open.set()
            assert (await first).status_code == 200
            # The second is being written now, and the first has been trimmed.
            assert {name.partition("-")[0] for name in folded.events} == {"second"}
            again = ask(client, 2, "second")
            while folded.position < 3 * MANY:
                await asyncio.sleep(0.001)
            gate.set()
            assert (await again).json() == (await second).json()

    run(go())
    check(tmp_path, 3 * MANY)


def test_snapshots_are_of_what_is_in_the_store(local, tmp_path) -> None:
    async def go():
        async with a_slow_disk(local, snapshot_every=50) as (_, client, disk):
            disk.open.set()

            async def play(seed: int) -> None:
                for turn in range(6):
                    reply = await ask(client, 10 * seed + turn)
                    assert (await client.post("/v1/models/m/answers", json=answers(reply))).status_code == 200

            await asyncio.gather(*map(play, range(1, 6)))

    run(go())
    check(tmp_path, 61 * MANY)


def test_a_voters_lease_goes_with_their_answer(local, tmp_path) -> None:
    """What an answer deletes besides its row is deleted with it, also when it is decided ahead."""

    async def go():
        async with a_slow_disk(local) as (app, client, disk):
            writer = app.server.writer
            disk.open.set()
            offer = (await client.post("/v1/models/m/choose", json={**many(1)["rounds"][0], "voter": "ann"})).json()
            held = {"subject": "a", "voter": "ann", "event_id": offer["event_id"], "until": 9e9}
            await writer.call(
                "m", lambda turn: turn.connection.execute(insert(leases).values(model_id=turn.folded.id, **held))
            )
            disk.open.clear()
            first = ask(client, 2)
            await disk.until(disk.waits + 1)
            said = {"winner": offer["shown"][0]["id"], "voter": "ann"}
            told = asyncio.create_task(client.post(f"/v1/models/m/events/{offer['event_id']}/answer", json=said))
            second = ask(client, 3)
            while writer.models["m"].position < 3 * MANY + 2:
                await asyncio.sleep(0.001)
            disk.open.set()
            assert [(await one).status_code for one in (first, told, second)] == [200] * 3
            count = "SELECT COUNT(*) FROM leases"
            assert await writer.call("m", lambda turn: turn.connection.exec_driver_sql(count).scalar()) == 0

    run(go())
    check(tmp_path, 3 * MANY + 2)


def test_while_another_process_holds_the_store_nobody_else_waits(local, tmp_path) -> None:
    async def go():
        async with a_slow_disk(local) as (app, client, disk):
            disk.open.set()
            folded = app.server.writer.models["m"]
            with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
                other.execute("BEGIN IMMEDIATE")
                first = ask(client, 1)
                while folded.position < 2 * MANY:
                    await asyncio.sleep(0.001)
                assert (await client.get("/healthz")).status_code == 200
                second = ask(client, 2)
                while folded.position < 3 * MANY:
                    await asyncio.sleep(0.001)
                assert not first.done()
                other.execute("ROLLBACK")
            assert [(await one).status_code for one in (first, second)] == [200, 200]

    run(go())
    check(tmp_path, 3 * MANY)
