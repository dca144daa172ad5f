"""The application as its server sees it: ASGI's start and end, and a start that fails."""

import asyncio

import pytest

from .conftest import run


def test_it_starts_and_stops_its_server_when_told(local):
    app = local()
    sent, orders = [], asyncio.Queue()

    async def send(message):
        sent.append(message["type"])

    async def go():
        orders.put_nowait({"type": "lifespan.startup"})
        life = asyncio.create_task(app.app({"type": "lifespan"}, orders.get, send))
        while not sent:
            await asyncio.sleep(0.01)
        assert (await app.server.engine.call(None, lambda connection: 7)) == 7
        orders.put_nowait({"type": "lifespan.shutdown"})
        await life

    run(go())
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_a_start_that_fails_says_why(local, monkeypatch):
    app = local()
    sent = []

    async def fail():
        raise OSError("the disk is gone")

    async def receive():
        return {"type": "lifespan.startup"}

    async def send(message):
        sent.append(message)

    monkeypatch.setattr(app.server, "start", fail)
    with pytest.raises(OSError, match="disk"):
        run(app.app({"type": "lifespan"}, receive, send))
    app.server.database.close()
    assert [one["type"] for one in sent] == ["lifespan.startup.failed"]
    assert "the disk is gone" in sent[0]["message"]
