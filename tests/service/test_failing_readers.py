"""Whoever only reads a model and fails hurts nobody else: the model stays in memory, the others' work is done."""

import asyncio

import pytest

from conquer.service.web.routes import results

from .conftest import run
from .test_voters import ITEMS, answered


class Broken(Exception):  # noqa: N818
    pass


def test_a_reader_that_fails_leaves_the_model_in_memory(local, monkeypatch, caplog):
    def broken(turn, *rest):
        raise Broken("a reader's own affair")

    async def go():
        app = local()
        async with app.running() as client:
            await answered(client, 10)
            held = app.server.engine.models["m"]
            offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS})).json()
            monkeypatch.setattr(results, "rank", broken)
            engine, commits = app.server.engine, app.server.engine.commits
            # Both in one batch: neither waits for the other, and nothing is done twice.
            reading = client.post("/v1/models/m/rank", json={"items": ITEMS})
            said = {"winner": offer["left"], "voter": "ann"}
            answer = client.post(f"/v1/models/m/events/{offer['event_id']}/answer", json=said)
            failed, learnt = await asyncio.gather(reading, answer)
            assert (failed.status_code, learnt.json()["status"]) == (500, "learnt")
            assert app.server.engine.models["m"] is held
            assert engine.commits > commits
            failed = await client.post("/v1/models/m/rank", json={"items": ITEMS})
            assert failed.status_code == 500
            assert app.server.engine.models["m"] is held

    run(go())
    assert "a reader's own affair" in caplog.text


@pytest.mark.parametrize("reads", [True, False])
def test_only_who_may_have_moved_the_model_has_it_read_again(local, reads):
    def broken(turn):
        raise Broken("somebody's own affair")

    async def go():
        app = local()
        async with app.running() as client:
            await answered(client, 10)
            held = app.server.engine.models["m"]
            with pytest.raises(Broken):
                await app.server.engine.call("m", broken, reads=reads)
            assert (app.server.engine.models.get("m") is held) == reads
            assert (await client.get("/v1/models/m")).status_code == 200

    run(go())


def test_a_reader_that_writes_is_no_reader(local):
    """What it has appended is not committed, whatever it called itself."""

    async def go():
        app = local()
        async with app.running() as client:
            await answered(client, 10)
            position = app.server.engine.models["m"].position

            def lies(turn):
                from conquer.service.model.records import Corrected

                turn.append(Corrected(position), None)
                raise Broken("and it fails")

            with pytest.raises(Broken):
                await app.server.engine.call("m", lies, reads=True)
            await client.get("/v1/models/m")
            assert app.server.engine.models["m"].position == position

    run(go())
