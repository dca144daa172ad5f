"""Uploads that meet each other or a lost commit, and long bodies that are read and written a piece at a time."""

import asyncio
import json
import threading

import pytest

from conquer.service.annotation.uploading import upload
from conquer.service.annotation.uploads import read_groups
from conquer.service.errors import Kind, RefusalError

from .conftest import run
from .test_outcomes import cutting
from .test_rows import MADE

TEXTS = {"name": "m", "algorithm": "gnr", "features": {"dim": 64}}


def lines(prefix: str, count: int = 12) -> bytes:
    return b"\n".join(json.dumps({"id": f"{prefix}{k}", "text": f"word {k}"}).encode() for k in range(count))


async def count_items(client, app) -> int:
    """Of a model that is read from the store once more."""
    app.server.writer.models.clear()
    return (await client.get("/v1/models/m/task")).json()["items"]


@pytest.mark.parametrize("step", [1, 2, 3])
def test_an_upload_that_another_overtakes_is_refused_and_leaves_nothing(local, step) -> None:
    """Whichever step the other comes in before: what either was told is what the store holds."""

    async def go():
        app = local()
        async with app.running() as client:
            assert (await client.post("/v1/models", json=TEXTS)).status_code == 201
            writer, steps = app.server.writer, []

            def ask(work):
                return writer.call_now("m", work)

            def interrupted(work):
                if len(steps) == step:
                    assert upload(ask, lambda settings, first: read_groups(lines("new"))) == (12, 1)
                steps.append(work)
                return ask(work)

            def first() -> None:
                with pytest.raises(RefusalError) as caught:
                    upload(interrupted, lambda settings, first: read_groups(lines("old")))
                assert (caught.value.kind, caught.value.code) == (Kind.CONFLICT, "uploaded")

            await asyncio.to_thread(first)
            assert await count_items(client, app) == 12
            reply = await client.post("/v1/models/m/items", content=lines("old"))
            assert reply.json() == {"items": 12, "groups": 1}
            assert await count_items(client, app) == 24

    run(go())


def test_an_upload_that_began_later_wins_before_it_has_shown_anything(local) -> None:
    """The later one clears what the earlier one wrote: the earlier one may not show rows that are gone."""

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=TEXTS)
            writer, told = app.server.writer, []

            def ask(work):
                return writer.call_now("m", work)

            def later(work):
                if len(told) == 2:
                    # It has begun and cleared; only now does the earlier one go on.
                    resume.set()
                    assert ended.wait(120)
                told.append(work)
                return ask(work)

            def earlier(work):
                if len(seen) == 3:
                    reached.set()
                    assert resume.wait(120)
                seen.append(work)
                return ask(work)

            seen, resume, reached, ended = [], threading.Event(), threading.Event(), threading.Event()

            def old():
                try:
                    return upload(earlier, lambda settings, first: read_groups(lines("old")))
                finally:
                    ended.set()

            def new():
                assert reached.wait(120)
                return upload(later, lambda settings, first: read_groups(lines("new")))

            found = await asyncio.gather(asyncio.to_thread(old), asyncio.to_thread(new), return_exceptions=True)
            assert getattr(found[0], "code", found[0]) == "uploaded"
            assert found[1] == (12, 1)
            assert await count_items(client, app) == 12

    run(go())


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_an_upload_whose_commit_gets_no_reply_is_told_the_truth(local, before, step) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=TEXTS)
            writer, steps = app.server.writer, []

            def ask(work):
                if len(steps) == step:
                    cutting(app, before)
                steps.append(work)
                return writer.call_now("m", work)

            told = await asyncio.to_thread(upload, ask, lambda settings, first: read_groups(lines("i")))
            assert told == (12, 1)
            assert await count_items(client, app) == 12

    run(go())


def test_work_that_writes_no_row_is_not_taken_for_undone(local) -> None:
    """It may have written elsewhere: whether a commit without a reply was made is not known."""

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            runs = []
            cutting(app, before=False)
            with pytest.raises(RefusalError) as caught:
                await asyncio.to_thread(app.server.writer.call_now, "m", runs.append)
            assert caught.value.kind is Kind.INDETERMINATE
            assert len(runs) == 1

    run(go())
