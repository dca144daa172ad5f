"""Rounds and answers that are done together come to what they do one by one: the same rows, replies and weights."""

import asyncio
import json
import math
import random
import sqlite3
import threading
from contextlib import closing
from typing import Any

import msgspec
import numpy as np
import pytest

from conquer.service.engine.engine import Engine
from conquer.service.errors import RefusalError, invalid
from conquer.service.model import state as fold
from conquer.service.model.records import FOLD, checksum
from conquer.service.model.schemas import AnswerRequest, BatchAnswer, ChooseRequest, FeatureSettings, ModelSettings, Raw
from conquer.service.settings import Settings
from conquer.service.web.server import Server
from conquer.service.work import decisions
from conquer.service.work.tasks import build, create

from .conftest import run
from .folds import rows_of, slow_fold

DIM = 6
MODELS = {
    "everyday": {"algorithm": "gnr", "believe": "voters"},
    "believing nobody": {"algorithm": "gnc"},
    "on a full model": {"algorithm": "gnu", "model": "full", "believe": "people"},
    "with draws": {"algorithm": "gnt"},
    "diverging": {"algorithm": "ttg", "parameters": {"update": "margin", "lam": 1e-100}},
    "one item shown": {"algorithm": "confidit"},
}


def vectors(rng: random.Random, count: int, width: int = DIM) -> list[dict[str, Any]]:
    return [{"id": f"i{k}", "vector": [round(rng.gauss(0, 1), 2) for _ in range(width)]} for k in range(count)]


def a_round(rng: random.Random) -> ChooseRequest:
    """Mostly plain vectors; now and then one that has to be read alone, or refused."""
    width = rng.choice((DIM, DIM, DIM, 2))
    items: Any = vectors(rng, rng.randint(2, 6), width)
    context, kind = b"null", rng.random()
    if kind < 0.06:
        items = items[:1]
    elif kind < 0.12:
        items[1]["id"] = items[0]["id"]
    elif kind < 0.18:
        items = [{"id": "a", "text": "green tea"}, {"id": "b", "text": "black tea"}]
    elif kind < 0.22:
        items[0]["id"] = "gr\u00fcn"
    elif kind < 0.26:
        items[0]["vector"] = [1e14] * width
    elif kind < 0.30:
        context = b'{"warm":true}'
    elif kind < 0.33:
        items = [{"id": f"i{k}", "vector": [0.5] * DIM, "label": "x" * 300} for k in range(60)]
    event = rng.choice((None, None, None, f"e{rng.randint(0, 9)}"))
    return ChooseRequest(Raw(json.dumps(items).encode()), Raw(context), event)


def an_answer(rng: random.Random, names: tuple[str, ...]) -> AnswerRequest:
    winner = rng.choice([*names, *names, *names, "tie", "skip", "both_bad", "nobody"])
    voter = rng.choice((None, None, None, None, "ann"))
    return AnswerRequest(winner, voter, strength=rng.choice((None, None, 0.25)) if winner in names else None)


class World:
    """A store of its own, and a script that is carried out on it, together or one by one."""

    def __init__(self, folder: Any, settings: dict[str, Any], together: bool) -> None:
        self.address, self.together = f"sqlite:///{folder}/{together}.db", together
        self.server = Server(Settings(store=self.address))
        self.server.engine.start()
        made = ModelSettings(**{"features": FeatureSettings(dim=DIM), **settings})
        self.server.engine.call_now(None, lambda connection: create(connection, "m", made))

    def close(self) -> None:
        self.server.engine.stop()
        self.server.database.close()

    def _do(self, many: Any, requests: list[Any]) -> list[Any]:
        parts = [requests] if self.together else [[one] for one in requests]

        def work(turn: Any) -> list[Any]:
            turn.end = math.inf
            return [one for part in parts for one in many(turn, part)]

        try:
            return self.server.engine.call_now("m", work)
        except RefusalError as refusal:
            if not refusal.tainted:
                raise
            # An answer that may have changed the learner half-way rolls its transaction back.
            return [refusal] * len(requests)

    def choose(self, requests: list[ChooseRequest]) -> list[Any]:
        return self._do(decisions.decide, requests)

    def answer(self, requests: list[tuple[str, AnswerRequest]]) -> list[Any]:
        made = [BatchAnswer(event_id=event, **msgspec.structs.asdict(said)) for event, said in requests]
        return self._do(decisions.decide, made)

    def tally(self) -> Any:
        return self.server.engine.call_now("m", lambda turn: turn.state.tally)

    def weights(self) -> bytes:
        return self.server.engine.call_now("m", lambda turn: turn.state.learner.dumps(""))


def told(one: Any) -> Any:
    return (one.code, one.message) if isinstance(one, RefusalError) else one


def without_id(one: Any) -> Any:
    """A reply without the part of its event's id that chance has made."""
    if isinstance(one, RefusalError):
        return told(one)
    return [getattr(one, field) if field != "event_id" else None for field in one.__struct_fields__]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", range(2))
def test_together_is_one_by_one(tmp_path, monkeypatch, name, seed):
    monkeypatch.setattr(fold, "COMPARED", 7)
    monkeypatch.setattr(decisions, "COMPARED", 7)
    rng = random.Random(f"{name}{seed}")
    monkeypatch.setattr(decisions, "TOGETHER", (1000, 4000)[seed])
    with closing(World(tmp_path, MODELS[name], True)) as one, closing(World(tmp_path, MODELS[name], False)) as other:
        open_events: list[tuple[str, str, tuple[str, ...]]] = []
        for _ in range(6):
            asked = [a_round(rng) for _ in range(rng.randint(1, 12))]
            first, second = one.choose(asked), other.choose(asked)
            assert [without_id(reply) for reply in first] == [without_id(reply) for reply in second]
            open_events += [
                (a.event_id, b.event_id, tuple(item.id for item in a.shown))
                for a, b in zip(first, second, strict=True)
                if not isinstance(a, RefusalError)
            ]
            picked = [rng.choice([*open_events, ("none", "none", ("i0", "i1"))]) for _ in range(rng.randint(1, 12))]
            says = [an_answer(rng, names) for *_, names in picked]
            heard = one.answer([(event, say) for (event, _, _), say in zip(picked, says, strict=True)])
            slow = other.answer([(event, say) for (_, event, _), say in zip(picked, says, strict=True)])
            assert [getattr(reply, "status", None) or reply.code for reply in heard] == [
                getattr(reply, "status", None) or reply.code for reply in slow
            ]
        counts, others = one.tally(), other.tally()
        assert one.weights() == other.weights()
        assert counts == others
        assert counts.learnt or name == "diverging"
    texts = [
        [(row.position, row.kind, row.voter, row.text) for row in rows_of(w.address, "m")[1]] for w in (one, other)
    ]
    assert texts[0] == texts[1]
    assert np.isfinite(slow_fold(one.address, "m")).all()


def test_servers_that_compare_find_the_same_at_the_same_position(tmp_path, monkeypatch):
    """Nothing behind a compared position has been learnt or counted when it is reached."""
    monkeypatch.setattr(fold, "COMPARED", 5)
    monkeypatch.setattr(decisions, "COMPARED", 5)
    rng = random.Random(3)
    digests: dict[bool, list[Any]] = {True: [], False: []}
    asked = [ChooseRequest(Raw(json.dumps(vectors(rng, 3)).encode())) for _ in range(12)]
    for together in (True, False):
        with closing(World(tmp_path, MODELS["everyday"], together)) as world:

            def watch(turn: Any) -> None:
                state = turn.state
                state.compares = True
                state.digest = lambda: (state.tally.rounds, len(state.events), state.learner.dumps(""))

            world.server.engine.call_now("m", watch)
            events = [reply.event_id for reply in world.choose(asked)]
            world.answer([(event, AnswerRequest("tie")) for event in events])
            digests[together] = list(world.server.engine.digests)
    assert len(digests[True]) > 2
    assert digests[True] == digests[False]


def test_many_rows_of_a_turn_are_stored_as_they_are_sealed(tmp_path):
    """More than one statement writes; every row has its own place, sum and text, and all have one time."""
    rng = random.Random(1)
    with closing(World(tmp_path, MODELS["everyday"], True)) as world:
        request = ChooseRequest(Raw(json.dumps(vectors(rng, 2)).encode()), voter="ann")
        events = [reply.event_id for reply in world.choose([request] * 1203)]
    rows = rows_of(world.address, "m")[1]
    assert [(row.position, row.event, row.voter, row.kind) for row in rows] == [
        (place, event, "ann", "choose") for place, event in enumerate(events, 1)
    ]
    assert len({row.at for row in rows}) == 1
    assert [row.text for row in rows] == [msgspec.json.encode(row.body) for row in rows]
    with closing(sqlite3.connect(world.address.removeprefix("sqlite:///"))) as store:
        assert store.execute("SELECT checksum, format FROM log ORDER BY position").fetchall() == [
            (checksum(row), FOLD) for row in rows
        ]


@pytest.mark.parametrize("count", [40, 400])
def test_rounds_without_a_choice_cost_in_proportion_to_their_number(tmp_path, monkeypatch, count):
    """A batch of rounds that all fail costs in proportion to their number."""
    calls = [0]
    with closing(World(tmp_path, MODELS["everyday"], True)) as world:
        learner = world.server.engine.call_now("m", lambda turn: turn.state.learner)

        def choose(reads: Any, tickets: Any) -> list[RefusalError]:
            calls[0] += len(reads)
            return [invalid("not this one")] * len(reads)

        monkeypatch.setattr(learner, "choose_many", choose)
        rng = random.Random(0)
        request = ChooseRequest(Raw(json.dumps(vectors(rng, 3)).encode()))
        assert all(isinstance(one, RefusalError) for one in world.choose([request] * count))
        assert calls[0] <= 10 * count


def test_only_the_culprit_hears_of_its_failure(tmp_path):
    """Requests that are carried out together: one is refused, one breaks all of them, and the others are done."""
    world = World(tmp_path, MODELS["everyday"], True)
    world.close()
    seen: list[list[str]] = []

    def work(turn: Any, requests: list[str]) -> list[Any]:
        seen.append(requests)
        if "broken" in requests:
            raise RuntimeError("it broke")
        return [invalid("not this one") if one == "refused" else f"{one} done" for one in requests]

    def fail(connection: Any) -> None:
        raise RuntimeError("before the model's turn")

    async def told(*requests: str, together: bool = False) -> list[Any]:
        server = Server(Settings(store=world.address))
        server.engine = Engine(server.database, build, server.settings, decide=work)
        server.engine.start(asyncio.get_running_loop())
        try:
            assert await server.engine.call("m", lambda turn: turn.state.learner.quick)
            if together:
                # A batch that fails before the model's turn: the requests of a quick model run together, then alone.
                gate = threading.Event()
                held, failing = server.engine.call(None, lambda connection: gate.wait()), server.engine.call(None, fail)
                calls = [server.engine.decide("m", requests)]
                gate.set()
                assert await held
                assert isinstance((await asyncio.gather(failing, return_exceptions=True))[0], RuntimeError)
                return [str(one) for one in await calls[0]]
            calls = [server.engine.decide("m", [one]) for one in requests]
            found = await asyncio.gather(*calls, return_exceptions=True)
            return [str(one[0] if isinstance(one, list) else one) for one in found]
        finally:
            await asyncio.to_thread(server.engine.stop)
            server.database.close()

    assert run(told("a", "refused", "b")) == ["a done", "not this one", "b done"]
    assert [one for requests in seen for one in requests] == ["a", "refused", "b"]
    found = run(told("a", "broken", "b"))
    assert (found[0], found[2]) == ("a done", "b done")
    assert "done" not in found[1]
    assert run(told("a", "broken", "b", together=True)) == ["a done", "it broke", "b done"]


def test_the_rounds_of_answers_are_read_in_parts(tmp_path, monkeypatch):
    """A thousand answers to rounds of 16 KB would take a hundred times as much memory as one part of them."""
    monkeypatch.setattr(decisions, "TOGETHER", 3000)
    with closing(World(tmp_path, MODELS["everyday"], True)) as world:
        learner = world.server.engine.call_now("m", lambda turn: turn.state.learner)
        request = ChooseRequest(Raw(json.dumps(vectors(random.Random(0), 4)).encode()))
        events = [reply.event_id for reply in world.choose([request] * 60)]
        world.server.engine.call_now("m", lambda turn: turn.state.trim(0))
        read, sizes = learner.read_many, []

        def noted(texts: Any, room: Any = None) -> Any:
            sizes.append(sum(len(items) for items, _ in texts))
            return read(texts, room)

        monkeypatch.setattr(learner, "read_many", noted)
        replies = world.answer([(event, AnswerRequest("tie")) for event in events])
        assert {reply.status for reply in replies} == {"learnt"}
        assert len(sizes) > 3
        assert max(sizes) <= 3000 + len(bytes(request.items))
