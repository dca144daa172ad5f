"""What cannot be read, or is larger than any number should be, is refused at the door and nobody else notices."""

import json
import re
from typing import Any

from conquer.service.model.schemas import LARGEST
from conquer.service.web.app import document

from .conftest import run

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
GOOD = b'[{"id":"a","vector":[1,0]},{"id":"b","vector":[0,1]}]'
LONG = b"9" * 400
LONGER = b"9" * 5000


def nested(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


def vectors(value: bytes) -> bytes:
    return b'[{"id":"a","vector":[%s,0]},{"id":"b","vector":[0,1]}]' % value


ITEMS = {
    "bad bytes": b'[{"id":"a","text":"\xff"},{"id":"b","text":"x"}]',
    "half a sign": b'[{"id":"a","text":"\xed\xa0\x80"},{"id":"b","text":"x"}]',
    "too large": vectors(b"1.7e308"),
    "a little too large": vectors(b"1.0001e15"),
    "beyond a float": vectors(b"1e400"),
    "many digits": vectors(LONG),
    "more digits": vectors(LONGER),
    "a large feature": b'[{"id":"a","features":{"x":1e16}},{"id":"b","features":{"x":1}}]',
    "a newline": b'[{"id":"a\\n","vector":[1,0]},{"id":"b","vector":[0,1]}]',
    **{f"nested {depth}": nested(depth) for depth in (100, 900, 960, 965, 970, 971, 972, 973, 974, 980, 5000)},
}
CONTEXTS = {
    "bad bytes": b'"\xff"',
    "bad bytes in a name": b'{"\xff":1}',
    "beyond a float": b'{"x":1e400}',
    "too large": b'{"x":-1e16}',
    "many digits": b'{"x":%s}' % LONG,
    "more digits": b'{"x":%s}' % LONGER,
    **{f"nested {depth}": nested(depth) for depth in (900, 965, 971, 972, 973, 980)},
}
MODELS = {
    "nested": b'{"name":"x","parameters":{"lam":%s}}' % nested(971),
    "nested as objects": b'{"name":"x","parameters":{"lam":%s1%s}}' % (b'{"a":' * 971, b"}" * 971),
    "many digits": b'{"name":"x","parameters":{"lam":%s}}' % LONG,
    "more digits": b'{"name":"x","parameters":{"lam":%s}}' % LONGER,
    "a list": b'{"name":"x","parameters":{"lam":[1]}}',
    "a long word": b'{"name":"x","parameters":{"update":"%s"}}' % (b"x" * 1000),
    "a newline": b'{"name":"x\\n"}',
    "pace": b'{"name":"x","algorithm":"epoch-greedy","parameters":{"pace":1e300}}',
}
UPLOADS = {
    "many digits": b'{"id":"a","features":{"x":%s}}\n{"id":"b","features":{"x":1}}\n' % LONG,
    "more digits": b'{"id":%s,"text":"x"}\n{"id":"b","text":"y"}\n' % LONGER,
    "a prompt of digits": b'{"prompt":%s,"text":"x"}\n{"prompt":1,"text":"y"}\n' % LONG,
    "too large": b'{"id":"a","vector":[1e16]}\n{"id":"b","vector":[1]}\n',
    "nested": b'{"id":"a","text":%s}\n' % nested(971),
    "a nested prompt": b'{"prompt":%s,"text":"x"}\n' % nested(500),
    "bad bytes": b'{"id":"a","text":"\xff"}\n',
}
CHOOSE = "/v1/models/m/choose"
CASES = [
    *((f"choose: {name}", CHOOSE, b'{"items":%s}' % raw) for name, raw in ITEMS.items()),
    *((f"choose again: {name}", CHOOSE, b'{"event_id":"e","items":%s}' % raw) for name, raw in ITEMS.items()),
    *((f"context: {name}", CHOOSE, b'{"items":%s,"context":%s}' % (GOOD, raw)) for name, raw in CONTEXTS.items()),
    *(
        (f"context again: {name}", CHOOSE, b'{"event_id":"e","items":%s,"context":%s}' % (GOOD, raw))
        for name, raw in CONTEXTS.items()
    ),
    *((f"model: {name}", "/v1/models", raw) for name, raw in MODELS.items()),
    *((f"upload: {name}", "/v1/models/m/items", raw) for name, raw in UPLOADS.items()),
    ("voter", "/v1/models/m/choose", b'{"voter":"v\\n","items":%s}' % GOOD),
    ("event", "/v1/models/m/choose", b'{"event_id":"f\\n","items":%s}' % GOOD),
    ("answer", "/v1/models/m/events/e/answer", b'{"winner":"a","voter":"v\\n"}'),
    ("winner", "/v1/models/m/events/e/answer", b'{"winner":"\xff"}'),
]  # fmt: skip


def test_whatever_cannot_be_read_is_refused_and_the_model_stays(local: Any) -> None:
    async def go() -> None:
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            event = b'{"event_id":"e","items":%s}' % GOOD
            assert (await client.post("/v1/models/m/choose", content=event)).status_code == 200
            state = app.server.engine.models["m"]
            for name, path, body in CASES:
                reply = await client.post(path, content=body)
                # Another round under the event's id is a conflict; all else cannot be read or makes no sense.
                expected = (400, 409, 422) if "again" in name else (400, 422)
                assert reply.status_code in expected, (name, reply.status_code, reply.text[:300])
                assert len(reply.content) < 2000, name
                assert app.server.engine.models.get("m") is state, f"{name}: the model was read again"
                assert (await client.post("/v1/models/m/choose", content=event)).status_code == 200, name
            assert (await client.get("/v1/models/m")).json()["position"] == 1

    run(go())


def test_words_of_any_number_of_digits_are_refused(local: Any) -> None:
    async def go() -> None:
        async with local().running() as client:
            made = {"name": "p", "task": "parse", "algorithm": "parser", "parameters": {"bits": 4}}
            assert (await client.post("/v1/models", json=made)).status_code == 201
            line = "{}\tw\t_\tX\t_\t_\t{}\tdep\t_\t_\n"
            for number, head in ((LONGER.decode(), "0"), ("1", LONGER.decode()), ("1-" + LONGER.decode(), "0")):
                text = line.format(number, head) + "\n"
                reply = await client.post("/v1/models/p/items", content=text.encode())
                assert reply.status_code in (200, 422), reply.text
                body = {"items": [{"id": "s", "text": text}]}
                assert (await client.post("/v1/models/p/choose", json=body)).status_code in (200, 422)
            good = {"items": [{"id": "s", "text": line.format(1, 0) + line.format(2, 1)}]}
            assert (await client.post("/v1/models/p/choose", json=good)).status_code == 200

    run(go())


def test_a_repeated_round_is_told_by_what_it_says_not_by_its_bytes(local: Any) -> None:
    async def go() -> None:
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            first = await client.post("/v1/models/m/choose", content=b'{"event_id":"e","items":%s}' % GOOD)
            other = b'{"items": [{"vector": [1.0, 0], "id": "a"}, {"id": "b", "vector": [0, 1]}], "event_id": "e"}'
            assert (await client.post("/v1/models/m/choose", content=other)).json() == first.json()
            changed = await client.post("/v1/models/m/choose", content=other.replace(b"1.0", b"1.5"))
            assert changed.status_code == 409

    run(go())


def test_the_largest_numbers_are_taken(local: Any) -> None:
    async def go() -> None:
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            items = [{"id": name, "vector": [sign * LARGEST, 0]} for name, sign in (("a", 1), ("b", -1))]
            for _ in range(40):
                chosen = await client.post("/v1/models/m/choose", json={"items": items})
                assert chosen.status_code == 200, chosen.text
                path = f"/v1/models/m/events/{chosen.json()['event_id']}/answer"
                assert (await client.post(path, json={"winner": "a"})).status_code == 200

    run(go())


def test_no_pattern_lets_a_newline_follow() -> None:
    text = json.dumps(document())
    patterns = {json.loads(f'"{found}"') for found in re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', text)}
    assert len(patterns) == 5
    for pattern in patterns:
        good = "/a1" if "png" in pattern else "a1"
        assert re.search(pattern, good), pattern
        for text in (f"{good}\n", f"\n{good}", f"{good}\nb"):
            assert not re.search(pattern, text), (pattern, text)


def test_a_misspelt_parameter_is_told(local: Any) -> None:
    async def go() -> None:
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            for path in ("/v1/models/m/features?cuont=3", "/v1/models/m?x", "/v1/models?all=1"):
                reply = await client.get(path)
                assert reply.status_code == 422
                assert re.search("no parameters|unknown field `cuont`", reply.json()["error"]["message"])
            assert (await client.get("/v1/models/m/features?count=3")).status_code == 200
            for path in ("/healthz?probe=1", "/metrics?x=1", "/?x=1"):
                assert (await client.get(path)).status_code == 200

    run(go())


def test_where_a_body_may_be_empty_there_need_be_none(local: Any) -> None:
    async def go() -> None:
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            await client.post("/v1/models/m/choose", content=b'{"event_id":"e","items":%b}' % GOOD)
            await client.post("/v1/models/m/events/e/answer", json={"winner": "a"})
            assert (await client.post("/v1/models/m/events/e/flag")).json()["reason"] == "flagged"
            assert (await client.post("/v1/models/m/events/e/undo")).json()["reason"] == "undone"
            assert (await client.post("/v1/models/m/events/e/answer")).status_code == 400

    run(go())
