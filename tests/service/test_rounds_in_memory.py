"""What a round takes is counted before it is made, and what is kept of it is counted as what it is."""

import asyncio
import json
import random
import tracemalloc
from typing import Any

import numpy as np
import pytest

from conquer.features.hashing import Memo
from conquer.rows import as_rows
from conquer.service.errors import RefusalError
from conquer.service.model.pick_learner import build
from conquer.service.model.reading import Reader
from conquer.service.model.records import Decision, Entry, Event
from conquer.service.model.schemas import LARGEST, FeatureSettings, ModelSettings, Raw
from conquer.service.settings import Limits

from .conftest import run

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4096}}


def items(kind: str, count: int, size: int, rng: random.Random) -> bytes:
    values = {
        "vector": lambda: [rng.gauss(0, 1) for _ in range(size)],
        "text": lambda: " ".join(f"w{rng.randrange(10**6)}" for _ in range(size)),
        "features": lambda: {f"f{place}": rng.random() for place in range(size)},
    }
    return json.dumps([{"id": f"item-{place}", kind: values[kind]()} for place in range(count)]).encode()


@pytest.mark.parametrize("kind", ["vector", "text", "features"])
@pytest.mark.parametrize(("count", "size"), [(4, 10), (10, 100), (300, 5), (2, 2000)])
def test_an_event_is_counted_as_what_it_takes(
    kind: str, count: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Memo, "MOST", 0)  # names that are remembered are no part of an event
    learner, _ = build(ModelSettings(algorithm="gnr", features=FeatureSettings(dim=4096)), None)
    rng = random.Random(0)

    def event(raw: bytes) -> Event:
        read = learner.read(raw, b"null")
        choice, scores = learner.choose(read, 5)
        names = learner.names(read, choice)
        chosen = Decision(
            1, choice.ticket, int(choice.query), choice.shown, names, names[0], Raw(raw), scores, memo=dict(choice.memo)
        )
        made = Event.of(Entry(1, 0.0, f"{rng.random()}", f"{rng.random()}", chosen))
        made.hold(read)
        return made

    event(items(kind, count, size, rng))
    raws = [items(kind, count, size, rng) for _ in range(20)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    events = [event(bytes(bytearray(raw))) for raw in raws]
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert 0.7 * taken < sum(one.size for one in events) < 1.3 * taken
    assert all(one.round is None or one.round.nbytes <= max(64 << 10, 4 * one.own) for one in events)


def test_a_long_context_is_refused_before_its_products_are_made(local: Any) -> None:
    """A body of 100 KB would have been 200 MB of products, and as much again in the cache."""

    async def go() -> None:
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            context = {f"c{k}": 1.0 for k in range(2000)}
            many = [{"id": f"i{k}", "features": {f"f{j}": 1.0 for j in range(20)}} for k in range(200)]
            # Loads what the first round of a process loads.
            await client.post("/v1/models/m/choose", json={"items": many[:2], "context": {"c": 1.0}})
            tracemalloc.start()
            reply = await client.post("/v1/models/m/choose", json={"items": many, "context": context})
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert reply.status_code == 422
            assert "4000 features of items and 2000 of their context give 8000000 products" in reply.text
            assert peak < 30_000_000
            few = {"items": many[:20], "context": context}
            event = (await client.post("/v1/models/m/choose", json=few)).json()["event_id"]
            state = app.server.engine.models["m"]
            kept = state.events[event]
            assert len(kept.round.rows) == 2, "of a duel the two shown rows are kept for its answer"
            assert kept.held == kept.round.nbytes >= 12 * kept.round.data.size
            assert state.event_bytes == sum(one.size for one in state.events.values()) < 150_000
            reply = await client.post(f"/v1/models/m/events/{event}/answer", json={"winner": "i0"})
            assert reply.status_code in (200, 422), reply.text
            shown = (await client.get(f"/v1/models/m/events/{event}")).json()["event"]["shown"][0]["id"]
            answer = await client.post(f"/v1/models/m/events/{event}/answer", json={"winner": shown})
            assert answer.json()["status"] in ("learnt", "repeat")

    run(go())


def test_rounds_of_a_batch_with_many_products_are_in_memory_one_at_a_time(
    local: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has about 200 features and 220,000 products; a batch may have more of them than a round may."""
    together: list[int] = []
    read_many = Reader.read_many
    monkeypatch.setattr(
        Reader,
        "read_many",
        lambda self, rounds, room=None: together.append(len(rounds)) or read_many(self, rounds, room),
    )

    async def go() -> None:
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            one = [{"id": name, "features": {f"f{j}": 1.0 for j in range(100)}} for name in "ab"]
            context = {f"c{k}": 1.0 for k in range(1100)}
            quick = [{"items": [{"id": name, "features": {name: 1.0}} for name in "ab"]}] * 100
            rounds = [*quick, *[{"items": one, "context": context}] * 8]
            reply = await client.post("/v1/models/m/choose/batch", json={"rounds": rounds})
            assert not any("error" in result for result in reply.json()["results"])
            assert sum(together) == len(rounds)
            assert max(together) > 1
            assert together[-8:] == [1] * 8

    run(go())


def test_a_text_of_many_words_counts_without_a_context(local: Any) -> None:
    async def go() -> None:
        async with local().running() as client:
            wide = {"dim": 1 << 22, "ngrams": [1, 8]}
            assert (await client.post("/v1/models", json={**MADE, "features": wide})).status_code == 201
            texts = [" ".join(f"{j:x}" for j in range(k, k + 30_000)) for k in (0, 30_000, 60_000, 90_000, 120_000)]
            body = {"items": [{"id": f"t{k}", "text": text} for k, text in enumerate(texts)]}
            reply = await client.post("/v1/models/m/choose", json=body)
            assert reply.status_code == 422
            assert f"{Limits().cells} fit in" in reply.text

    run(go())


def test_a_round_of_a_batch_keeps_its_own_bytes_alone(local: Any) -> None:
    async def go() -> None:
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            rounds = [{"items": json.loads(items("vector", 2, 3, random.Random(k)))} for k in range(500)]
            results = (await client.post("/v1/models/m/choose/batch", json={"rounds": rounds})).json()["results"]
            chosen = app.server.engine.models["m"].events[results[0]["event_id"]].chosen
            whole = memoryview(chosen.items).obj
            held = memoryview(whole).nbytes if isinstance(whole, bytes) else memoryview(chosen.items).nbytes
            assert held < 1000

    run(go())


def test_a_round_of_a_batch_is_no_larger_than_one_alone(local: Any) -> None:
    async def go() -> None:
        async with local().running() as client:
            await client.post("/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 16}})
            small = [{"id": name, "vector": [1.0]} for name in "ab"]
            large = [{"id": name, "text": "a" * (7 << 20)} for name in "ab"]
            rounds = [{"items": large}, {"items": small}]
            reply = await client.post("/v1/models/m/choose/batch", json={"rounds": rounds})
            first, second = reply.json()["results"]
            assert f"at most {12 << 20} bytes" in first["error"]["message"]
            assert second["shown"]

    run(go())


def test_rounds_without_features_take_turns_too(local: Any) -> None:
    """Every item takes time, even an empty one: a batch of many is carried out in several turns, others between."""

    async def go() -> None:
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 16}})
            items = [{"id": f"i{number}", "features": {}} for number in range(1000)]
            engine, passed = app.server.engine, 0
            batch = asyncio.create_task(
                client.post("/v1/models/m/choose/batch", json={"rounds": [{"items": items}] * 100})
            )
            first = engine.commits
            while not batch.done():
                await engine.call("m", lambda turn: None, owner="other", reads=True)
                passed += engine.commits > first
            assert not any("error" in one for one in (await batch).json()["results"])
            assert engine.commits - first >= 4
            assert passed >= 4

    run(go())


@pytest.mark.parametrize(("count", "width"), [(1, 1), (5, 32), (100, 384)])
def test_vectors_are_read_as_the_library_reads_them(count: int, width: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((count, width)) * (rng.random((count, width)) < 0.9)
    values[0, 0] = LARGEST
    raw = json.dumps([{"id": f"i{k}", "vector": row.tolist()} for k, row in enumerate(values)]).encode()
    read = Reader(FeatureSettings(dim=width), Limits()).read(raw, b"null", 10**6)
    expected = as_rows(values, width)
    for name in ("indptr", "indices", "data", "rows"):
        assert getattr(read.rows, name).tobytes() == getattr(expected, name).tobytes()
        assert not getattr(read.rows, name).flags.writeable
    raw = raw.replace(b"1000000000000000.0", b"-1e16")
    with pytest.raises(RefusalError, match=r"^items: Expected `float` >= -1000000000000000.0 - at `.\[0\].vector"):
        Reader(FeatureSettings(dim=width), Limits()).read(raw, b"null", 10**6)


def test_the_shown_vectors_are_kept_for_the_answer(local: Any) -> None:
    async def go() -> None:
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 384}})
            rng = random.Random(0)
            many = [{"id": f"i{k}", "vector": [rng.gauss(0, 1) for _ in range(384)]} for k in range(100)]
            event = (await client.post("/v1/models/m/choose", json={"items": many})).json()["event_id"]
            state = app.server.engine.models["m"]
            kept = state.events[event].round
            assert kept.rows.shape == (2, 384)
            assert kept.data.size == 2 * 384

    run(go())
