"""Short ways of everyday requests come to what the long ones do: plain vectors, whole batches, replies in one piece."""

import socket
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.service.commands import reading
from conquer.service.commands.reading import Reader
from conquer.service.errors import RefusalError
from conquer.service.http.connection import BoundedProtocol
from conquer.service.http.schemas import FeatureSettings
from conquer.service.settings import Limits

from .conftest import run
from .test_connections import HOST
from .test_door import ITEMS

ROUNDS = {
    **ITEMS,
    "plain": b'[{"id":"a","vector":[1,0.5,-2]},{"id":"b","vector":[0,1e-300,0]}]',
    "shorter": b'[{"id":"a","vector":[1]},{"id":"b","vector":[0]}]',
    "spaces": b' [ { "vector" : [ 1 , 2 ] , "id" : "\\u00e4" } ] ',
    "signs beyond ASCII": '[{"id":"\u00e4","vector":[1]},{"id":"\U0001f642","vector":[0]}]'.encode(),
    "zeros": b'[{"id":"a","vector":[0,0]},{"id":"b","vector":[0,-0.0]}]',
    "none": b"[]",
    "no numbers": b'[{"id":"a","vector":[]},{"id":"b","vector":[]}]',
    "other lengths": b'[{"id":"a","vector":[1]},{"id":"b","vector":[1,2]}]',
    "too long": b'[{"id":"a","vector":[1,2,3,4,5]}]',
    "twice": b'[{"id":"a","vector":[1]},{"id":"a","vector":[2]}]',
    "a word": b'[{"id":"tie","vector":[1]},{"id":"b","vector":[2]}]',
    "no id": b'[{"id":"","vector":[1]},{"id":"b","vector":[2]}]',
    "a slash": b'[{"id":"a/b","vector":[1]},{"id":"b","vector":[2]}]',
    "a long id": b'[{"id":"%s","vector":[1]}]' % (b"a" * 201),
    "the longest id": b'[{"id":"%s","vector":[1]}]' % (b"a" * 200),
    "the largest": b'[{"id":"a","vector":[1e15]},{"id":"b","vector":[-1e15]}]',
    "mixed": b'[{"id":"a","vector":[1]},{"id":"b","text":"x"}]',
    "both": b'[{"id":"a","vector":[1],"text":"x"}]',
    "a null beside": b'[{"id":"a","vector":[1],"text":null}]',
    "no vector": b'[{"id":"a","vector":null}]',
    "unknown": b'[{"id":"a","vector":[1],"size":3}]',
    "twice a field": b'[{"id":"a","vector":[1],"vector":[2]}]',
}


def outcome(raw: bytes, room: int = 10_000) -> Any:
    reader = Reader(FeatureSettings(dim=4), Limits())
    try:
        ids, rows, cells = reader.read(raw, b"null", room)
    except RefusalError as refusal:
        return refusal.code, refusal.message
    arrays = rows.indptr, rows.indices, rows.data, rows.rows
    return ids, [(str(one.dtype), one.flags.writeable, one.tobytes()) for one in arrays], rows.shape, cells


def by_item(raw: bytes, room: int = 10_000) -> Any:
    """The same without the short way."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reading, "read_vectors", lambda *_: None)
        return outcome(raw, room)


@pytest.mark.parametrize("name", ROUNDS)
def test_plain_vectors_are_read_as_any_items(name):
    assert outcome(ROUNDS[name]) == by_item(ROUNDS[name])
    assert outcome(ROUNDS[name], 1) == by_item(ROUNDS[name], 1)


@given(st.lists(st.tuples(st.text(max_size=3), st.lists(st.floats(allow_nan=False, width=32), max_size=5)), max_size=4))
def test_any_vectors_are_read_as_any_items(drawn):
    raw = msgspec.json.encode([{"id": name, "vector": values} for name, values in drawn])
    assert outcome(raw) == by_item(raw)


def test_a_batch_is_its_rounds_one_by_one(local, tmp_path):
    def item(name: str, *vector: float) -> dict[str, Any]:
        return {"id": name, "vector": vector}

    some = [item("a", 1, 0), item("b", 0, 1), item("c", 1, 1)]
    rounds = [
        {"items": some},
        {"items": some, "event_id": "e"},
        {"items": [item("a", 1, 0), item("a", 0, 1)]},
        {"items": some[:2], "event_id": "e"},
        {"items": some, "event_id": "e"},
        {"items": some[:1], "event_id": "f"},
        {"items": some, "event_id": "f"},
        {"items": some, "deferred": True},
        {"items": [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}]},
    ]

    async def results(store: str, together: bool) -> list[Any]:
        async with local(store=f"sqlite:///{tmp_path}/{store}.db").running() as client:
            await client.post("/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 4}})
            if together:
                told = (await client.post("/v1/models/m/choose/batch", json={"rounds": rounds})).json()["results"]
            else:
                told = [(await client.post("/v1/models/m/choose", json=one)).json() for one in rounds]
            position = (await client.get("/v1/models/m")).json()["position"]
        for one, asked in zip(told, rounds, strict=True):
            one.get("error", {}).pop("status", None)
            if "event_id" not in asked:
                one.pop("event_id", None)
        return [*told, position]

    one_by_one = run(results("a", together=False))
    assert run(results("b", together=True)) == one_by_one
    assert [("error" in one) for one in one_by_one[:-1]] == [False, False, True, True, False, True, False, False, False]


def test_a_reply_is_the_same_in_one_piece_and_in_parts(start):
    """One that ends its connection, or answers another behind it, goes the long way."""
    server = start(probe="/healthz")
    request = b"GET /v1/models HTTP/1.1\r\n" + HOST + b"%b\r\n"

    def heads(*requests: bytes) -> list[list[bytes]]:
        found = b""
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            client.sendall(b"".join(requests))
            while found.count(b'{"models":[]}') < len(requests) and (part := client.recv(1 << 16)):
                found += part
        lines = [reply.partition(b"\r\n\r\n")[0].split(b"\r\n") for reply in found.split(b"HTTP/1.1 ")[1:]]
        return [[line for line in one if not line.startswith((b"date", b"connection"))] for one in lines]

    (alone,) = heads(request % b"")
    assert alone[0] == b"200 OK"
    assert len(alone) == 5
    assert heads(request % b"Connection: close\r\n") == [alone]
    assert heads(request % b"", request % b"", request % b"Connection: close\r\n") == [alone] * 3


def test_one_clock_watches_all_pauses_of_a_connection():
    """It rings while a request is under way, too early, and when the pause has lasted."""
    now, clocks, closed = [0.0], [], []
    loop = SimpleNamespace(time=lambda: now[0], call_later=lambda seconds, work: clocks.append(seconds) or clocks)
    transport = SimpleNamespace(is_closing=lambda: False, close=lambda: closed.append(True))
    one = object.__new__(BoundedProtocol)
    one.loop, one.transport, one.timeout_keep_alive, one.timeout_keep_alive_task = loop, transport, 10, None
    one.flow, one.server_state = SimpleNamespace(resume_reading=lambda: None), SimpleNamespace(total_requests=0)
    one.cycle, one.pipeline = SimpleNamespace(response_complete=True), []
    one._hangup, one._lingers, one._whole = SimpleNamespace(flush=lambda: None), False, True
    for now[0] in (0.0, 4.0):
        one.on_response_complete()
    now[0] = 10.0
    one.timeout_keep_alive_handler()
    assert (clocks, closed) == ([10, 4.0], [])
    one._whole, now[0] = False, 14.0
    one.timeout_keep_alive_handler()
    assert (clocks, closed, one.timeout_keep_alive_task) == ([10, 4.0], [], None)
    one._whole = True
    one.on_response_complete()
    now[0] = 24.0
    one.timeout_keep_alive_handler()
    assert (clocks, closed, one.server_state.total_requests) == ([10, 4.0, 10], [True], 3)
