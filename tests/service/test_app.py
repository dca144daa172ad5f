"""The application: what is not in its table, and batches, decoded all at once as one by one."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from conquer.service.model.schemas import BatchAnswers, BatchChoose, Strict, decoded, decoder

from .conftest import run


def test_what_is_not_in_the_table(local):
    async def go():
        async with local().running() as client:
            reply = await client.get("/v2/nothing")
            assert reply.status_code == 404
            assert reply.json() == {"error": {"code": "not_found", "message": "there is no GET /v2/nothing"}}
            headers = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
            reply = await client.options("/v1/models", headers=headers)
            assert reply.status_code == 405
            assert reply.headers["allow"] == "GET, HEAD, POST"
            assert reply.json()["error"]["code"] == "method_not_allowed"
            assert not any(name.startswith("access-control") for name in reply.headers)
            for path in ("//", "/v1/models/", "/models/m//", "//evil.example/", "/v1/models/m/nothing/"):
                assert (await client.get(f"http://localhost{path}")).status_code == 404, path
            got, head = await client.get("/healthz"), await client.head("/healthz")
            assert head.status_code == got.status_code == 200
            assert head.headers == got.headers
            assert (await client.get("/v1/models/%7B%7D")).json()["error"]["code"] == "unknown_model"

    run(go())


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
