"""The application as its server sees it: ASGI's start and end, and a start that fails."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from conquer.service.model.schemas import BatchAnswers, BatchChoose, Strict, decoded, decoder

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


# A batch whose names are looked at all at once is taken and refused as if each had been looked at alone.


NAMES = [
    *(f"a{chr(code)}b" for code in (*range(0x180), 0x2028, 0x1F600)),
    *("", ".", "..", "...", ".a", "a\n", "\n", "a" * 200, "a" * 201, "é" * 200, "é" * 201, 7, None, [], {}),
]
KINDS = [
    (BatchAnswers, "answers", {"event_id": "e", "winner": "a"}),
    (BatchChoose, "rounds", {"items": [{"id": "a"}], "event_id": "e"}),
]


def result(decode: Callable[[bytes], Strict], raw: bytes) -> Any:
    """What the body holds, or why it is refused."""
    try:
        return msgspec.json.decode(msgspec.json.encode(decoded(decode, raw, "the body")))
    except ValueError as refusal:
        return str(refusal)


@pytest.mark.parametrize(("kind", "name", "one"), KINDS)
@pytest.mark.parametrize("field", ["event_id", "voter", "winner", "other"])
def test_names_are_refused_as_one_by_one(kind, name, one, field):
    together, alone = decoder(kind), msgspec.json.Decoder(kind).decode
    for value in NAMES:
        raw = msgspec.json.encode({name: [one, {**one, field: value}, one]})
        assert result(together, raw) == result(alone, raw), value


@pytest.mark.parametrize(("kind", "name", "one"), KINDS)
def test_the_first_fault_is_told(kind, name, one):
    together, alone = decoder(kind), msgspec.json.Decoder(kind).decode
    good, bad = (msgspec.json.encode({**one, "event_id": event}) for event in ("e", "a/b"))
    deep = good[:-1] + b',"voter":' + b"[" * 100_000 + b"}"
    bodies = [b"", b"{}", b"[]", b'{"%s":[]}' % name.encode(), b'{"%s":{}}' % name.encode()]
    faulty = [[bad, b"no JSON"], [good, b"no JSON", bad], [bad, deep], [deep, bad], [good, b"\xff", bad], [good] * 3]
    bodies += [b'{"%s":[%s]}' % (name.encode(), b",".join(parts)) for parts in faulty]
    for raw in bodies:
        assert result(together, raw) == result(alone, raw), raw[:100]
