"""Uploads that meet each other or a lost commit, and long bodies that are read and written a piece at a time."""

import asyncio
import contextlib
import json

import pytest

from conquer.service.engine.long_work import finish
from conquer.service.errors import Kind, RefusalError
from conquer.service.store import log
from conquer.service.store.database import Database
from conquer.service.work.item_files import read_items
from conquer.service.work.pool import upload

from . import cluster
from .conftest import run
from .engines import losing
from .folds import sqlite
from .test_rows import MADE

TEXTS = {"name": "m", "algorithm": "gnr", "features": {"dim": 64}}


def lines(prefix: str, count: int = 12) -> bytes:
    return b"\n".join(json.dumps({"id": f"{prefix}{k}", "text": f"word {k}"}).encode() for k in range(count))


def add(run, prefix: str) -> int:
    """Upload these lines; returns the number of items."""
    return finish(upload(run, lambda settings: read_items(lines(prefix)))).items


async def count_items(client, app) -> int:
    """Of a model that is read from the store once more."""
    app.server.engine.models.clear()
    return (await client.get("/v1/models/m/task")).json()["items"]


class StoppedError(Exception):
    """An upload that goes no further."""


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("most", [2, 99])
async def test_an_upload_that_another_overtakes_is_refused_and_leaves_nothing(local, step, most) -> None:
    """Whichever step the other comes in before, and whether it has begun or is done: the later one has the model."""
    app = local()
    async with app.running() as client:
        assert (await client.post("/v1/models", json=TEXTS)).status_code == 201
        engine, steps, others = app.server.engine, [], []

        def other(work):
            others.append(work)
            if len(others) > most:
                raise StoppedError
            return engine.call_now("m", work)

        def interrupted(work):
            if len(steps) == step:
                with contextlib.suppress(StoppedError):
                    assert add(other, "new") == 12
            steps.append(work)
            return engine.call_now("m", work)

        def first() -> None:
            with pytest.raises(RefusalError) as caught:
                add(interrupted, "old")
            assert (caught.value.kind, caught.value.code) == (Kind.CONFLICT, "uploaded")

        await asyncio.to_thread(first)
        there = 12 if most > 2 else 0
        assert await count_items(client, app) == there
        reply = await client.post("/v1/models/m/items", content=lines("old"))
        assert reply.json() == {"items": 12, "groups": 1}
        assert await count_items(client, app) == there + 12


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("step", [0, 1, 2, 3])
async def test_an_upload_whose_commit_gets_no_reply_is_told_the_truth(local, made, step) -> None:
    """The last step is done again; before it the outcome is unknown, and sent again the items are there once."""
    app = local()
    async with app.running() as client:
        await client.post("/v1/models", json=TEXTS)
        engine, steps = app.server.engine, []

        def ask(work):
            steps.append(work)
            if len(steps) - 1 != step:
                return engine.call_now("m", work)
            with losing(app.server.database, made):
                return engine.call_now("m", work)

        if step == 3:
            assert await asyncio.to_thread(add, ask, "i") == 12
        else:
            with pytest.raises(RefusalError) as caught:
                await asyncio.to_thread(add, ask, "i")
            assert caught.value.kind is Kind.INDETERMINATE
            assert (await client.post("/v1/models/m/items", content=lines("i"))).status_code == 200
        assert await count_items(client, app) == 12


async def test_work_that_writes_no_row_is_not_taken_for_undone(local) -> None:
    """It may have written elsewhere: whether a commit without a reply was made is not known."""
    app = local()
    async with app.running() as client:
        await client.post("/v1/models", json=MADE)
        runs = []
        with losing(app.server.database, made=False), pytest.raises(RefusalError) as caught:
            await asyncio.to_thread(app.server.engine.call_now, "m", runs.append)
        assert caught.value.kind is Kind.INDETERMINATE
        assert len(runs) == 1


LONG = "ä" * 190_000


async def long_log(client, rounds: int) -> list[str]:
    """A model whose rows are long; the ids of its events."""
    assert (await client.post("/v1/models", json=TEXTS)).status_code == 201
    events = [f"e{number}" for number in range(rounds)]
    for event in events:
        items = [{"id": "a", "text": LONG}, {"id": "b", "text": LONG + event}]
        reply = await client.post("/v1/models/m/choose", json={"items": items, "event_id": event})
        assert reply.status_code == 200, reply.text
    return events


def check_chunks(address: str, rounds: int) -> None:
    database = Database(address)
    with contextlib.closing(database), database.reading() as connection:
        model = log.headers(connection, ["m"])["m"].id
        chunks: list[list[log.Entry]] = []
        while chunk := log.entries(connection, model, chunks[-1][-1].position if chunks else 0, 500):
            chunks.append(chunk)
        assert [row.position for chunk in chunks for row in chunk] == list(range(1, rounds + 1))
        assert all(sum(len(row.text) for row in chunk) < 12_000_000 for chunk in chunks)
        assert len(chunks) > 1
        assert len(log.entries(connection, model, 0, 2)) == 2


async def test_a_chunk_of_long_rows_is_a_short_one(local, tmp_path) -> None:
    """And whoever reads the log chunk by chunk reads all of it."""
    app = local()
    async with app.running() as client:
        events = await long_log(client, 30)
        check_chunks(sqlite(tmp_path), 30)
        rows = [json.loads(row) for row in (await client.get("/v1/models/m/log")).content.splitlines()]
        assert [row["event_id"] for row in rows] == events


@pytest.mark.skipif(cluster.programs() is None, reason="needs PostgreSQL's server programs")
def test_a_chunk_of_long_rows_is_a_short_one_on_postgresql(local) -> None:
    async def go(address):
        async with local(store=address).running() as client:
            await long_log(client, 30)

    with cluster.running() as address:
        run(go(address))
        check_chunks(address, 30)
