"""While a batch is being written the next is decided in memory: nobody hears of it before it is in the store too."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from typing import Any

import numpy as np
from sqlalchemy import insert

from conquer.service.store.schema import leases

from .conftest import run
from .folds import slow_fold, sqlite
from .slow_disk import MANY, a_slow_disk, answers, ask, ask_once, check, many, reaches, stored
from .test_rows import MADE, weights


def test_the_next_batch_is_decided_while_one_is_being_written(local, tmp_path) -> None:
    async def go():
        async with a_slow_disk(local) as (app, client, disk):
            folded = app.server.writer.models["m"]
            first = ask(client, 1)
            await disk.until(1)
            second = ask(client, 2)
            await reaches(folded, 3 * MANY)
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


def test_other_work_waits_until_memory_and_store_are_even(local, tmp_path) -> None:
    """Who reads the log, as an export or an undo does, never meets rows in memory alone; and nobody overtakes."""

    async def go():
        async with a_slow_disk(local) as (app, client, disk):
            writer, folded = app.server.writer, app.server.writer.models["m"]
            first = ask(client, 1)
            await disk.until(1)
            second = ask(client, 2)
            await reaches(folded, 3 * MANY)
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
            await reaches(writer.models["m"], 3 * MANY + 2)
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
                await reaches(folded, 2 * MANY)
                assert (await client.get("/healthz")).status_code == 200
                second = ask(client, 2)
                await reaches(folded, 3 * MANY)
                assert not first.done()
                other.execute("ROLLBACK")
            assert [(await one).status_code for one in (first, second)] == [200, 200]

    run(go())
    check(tmp_path, 3 * MANY)


def test_events_that_are_not_in_the_store_stay_in_memory(local, tmp_path) -> None:
    """The cache holds two: those decided ahead must not be looked for in the store, which does not have them."""

    async def go():
        async with a_slow_disk(local, events_cached=2) as (app, client, disk):
            folded = app.server.writer.models["m"]
            first = ask(client, 1)
            await disk.until(1)
            once, second = ask_once(client, "once"), ask(client, 2)
            await reaches(folded, 3 * MANY + 1)
            commit, gate = disk.commit, threading.Event()

            def slowly():
                assert gate.wait(60)
                commit()

            disk.store.commit_straight = slowly
            disk.open.set()
            assert (await first).status_code == 200
            # The second is being written now, and the first has been trimmed.
            assert [event.position for event in folded.events.values()] == list(range(2 * MANY + 1, 3 * MANY + 2))
            again, third = ask_once(client, "once"), ask(client, 3)
            await reaches(folded, 4 * MANY + 1)
            gate.set()
            assert (await again).json() == (await once).json()
            assert [(await one).status_code for one in (second, third)] == [200, 200]

    run(go())
    check(tmp_path, 4 * MANY + 1)


def test_a_model_that_was_read_is_let_in_while_batches_follow_each_other(local, tmp_path) -> None:
    """Whoever waits for it would wait as long as batches come without a pause."""

    async def go():
        async with a_slow_disk(local) as (app, client, disk):
            writer = app.server.writer
            folded = writer.models["m"]
            await client.post("/v1/models", json={**MADE, "name": "n"})
            first = ask(client, 1)
            await disk.until(1)
            second = ask(client, 2)
            await reaches(folded, 3 * MANY)
            other = ask_once(client, "other", "n")
            writer._folding.want("n")
            while not writer._waiting._arrived:
                await asyncio.sleep(0.001)
            third = ask(client, 3)
            await asyncio.sleep(0.05)
            assert folded.position == 3 * MANY
            disk.open.set()
            assert [(await one).status_code for one in (first, second, third, other)] == [200] * 4

    run(go())
    check(tmp_path, 4 * MANY)


def test_what_may_take_long_is_not_done_on_the_loop(local) -> None:
    """Ids that must be looked for in the store, many rounds that must be read again, large ones, contexts."""

    async def go():
        async with a_slow_disk(local) as (app, client, disk):
            disk.open.set()
            batches, beside = app.server.writer.batches, []
            prepare = batches.prepare

            def noted(*arguments):
                beside.append(threading.current_thread().name.startswith("conquer-writer"))
                return prepare(*arguments)

            async def is_light(path: str, body: dict[str, Any]) -> bool:
                beside.clear()
                assert (await client.post(f"/v1/models/m/{path}", json=body)).status_code == 200
                assert all(beside)
                return not beside

            batches.prepare = noted
            rounds = many(1)["rounds"]
            assert await is_light("choose/batch", {"rounds": rounds})
            assert not await is_light("choose/batch", {"rounds": [{**one, "event_id": "e"} for one in rounds[:1]]})
            assert not await is_light("choose/batch", {"rounds": rounds * 2})
            assert not await is_light("choose/batch", {"rounds": [{**one, "context": "x" * 4000} for one in rounds]})
            said = answers(await ask(client, 2))
            for event in app.server.writer.models["m"].events.values():
                event.pair, event.own = None, 4000
            assert not await is_light("answers", said)
            assert await is_light("answers", answers(await ask(client, 3)))
            said = answers(await ask(client, 4))
            app.server.writer.models["m"].trim(0)
            assert not await is_light("answers", said)

    run(go())
