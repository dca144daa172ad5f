"""An answer is learnt from the two rows that its event has held since the choice: the bits of a second reading."""

import json
import random
from contextlib import closing
from typing import Any

import pytest

from conquer.service.model.reading import ReadPair
from conquer.service.model.records import Event
from conquer.service.model.schemas import AnswerRequest, ChooseRequest, Raw
from conquer.service.settings import Settings
from conquer.service.web.server import Server
from conquer.service.work import decisions

from .folds import rows_of
from .test_together import DIM, MODELS, World, vectors

BULK = ("everyday", "believing nobody", "on a full model", "with draws")
WAYS = ("held", "read again", "some of each", "one by one")


def some_rounds(rng: random.Random, count: int) -> list[ChooseRequest]:
    """Vectors with and without zeros, short ones, and some that are nothing but zeros."""
    made = []
    for _ in range(count):
        items = vectors(rng, rng.randint(2, 5), rng.choice((DIM, DIM, 2)))
        for item in items:
            if rng.random() < 0.3:
                item["vector"] = [0.0 if rng.random() < 0.6 else value for value in item["vector"]]
            if rng.random() < 0.1:
                item["vector"] = [0] * len(item["vector"])
        made.append(ChooseRequest(Raw(json.dumps(items).encode())))
    return made


def some_answer(rng: random.Random, names: tuple[str, ...]) -> AnswerRequest:
    winner = rng.choice([*names, *names, "tie"])
    strength = rng.choice((None, None, 0.25)) if winner in names else None
    return AnswerRequest(winner, strength=strength, seconds=rng.choice((None, 1.5)))


def held(world: World) -> list[Event]:
    """The events that hold two rows; what they take is counted."""

    def look(turn: Any) -> list[Event]:
        state = turn.state
        assert state.event_bytes == sum(event.counted for event in state.events.values())
        assert all(event.counted == event.size for event in state.events.values())
        return [event for event in state.events.values() if isinstance(event.round, ReadPair)]

    return world.server.engine.call_now("m", look)


def reopened(world: World) -> None:
    world.close()
    world.server = Server(Settings(store=world.address))
    world.server.engine.start()


def forgotten(world: World, events: list[str]) -> None:
    """These events leave the cache."""
    world.server.engine.call_now("m", lambda turn: [turn.state.drop(event) for event in events])


def outcome(world: World) -> Any:
    """All that the log has come to, without the names and times that chance has made."""
    tally = world.tally()
    rows = [(row.position, row.kind, row.voter, row.text) for row in rows_of(world.address, "m")[1]]
    return world.weights(), tally, rows


@pytest.mark.parametrize("name", BULK)
def test_held_rows_teach_what_rows_read_again_teach(tmp_path, name):
    found = []
    for way in WAYS:
        (tmp_path / way).mkdir()
        rng = random.Random(name)
        with closing(World(tmp_path / way, MODELS[name], way != "one by one")) as world:
            for _ in range(3):
                replies = world.choose(some_rounds(rng, 30))
                asked = [reply for reply in replies if reply.query == "duel"]
                assert len(held(world)) == len(asked)
                if way == "read again":
                    reopened(world)
                elif way == "some of each":
                    forgotten(world, [reply.event_id for reply in asked[::3]])
                assert way != "read again" or not held(world)
                said = [(reply.event_id, some_answer(rng, tuple(item.id for item in reply.shown))) for reply in asked]
                assert {reply.status for reply in world.answer(said)} == {"learnt"}
                assert not held(world), "what was held for the answer goes with it"
            found.append(outcome(world))
    assert found[1:] == found[:1] * 3


def test_where_one_item_is_shown_nothing_is_held(tmp_path):
    with closing(World(tmp_path, MODELS["believing nobody"], True)) as world:
        rng, seen = random.Random(1), set()
        for _ in range(8):
            replies = world.choose(some_rounds(rng, 20))
            duels = {reply.event_id for reply in replies if len(reply.shown) == 2}
            assert {event.id for event in held(world)} == duels
            seen |= {len(reply.shown) for reply in replies}
            said = [(reply.event_id, AnswerRequest(reply.shown[0].id)) for reply in replies]
            told = world.answer(said)
            assert [getattr(one, "status", None) or one.code for one in told] == [
                "learnt" if reply.event_id in duels else "no_question" for reply in replies
            ]
        assert seen == {1, 2}


def test_what_is_held_is_an_events_own_and_counted_as_what_it_takes(tmp_path):
    with closing(World(tmp_path, MODELS["everyday"], True)) as world:
        world.choose(some_rounds(random.Random(2), 50))
        events = held(world)
        assert len(events) == 50
        for event in events:
            arrays = (event.round.indices, event.round.data)
            assert all(array.base is None or array.base.nbytes == array.nbytes for array in arrays), (
                "a view would keep all rounds of the call in memory"
            )
            taken = sum(array.nbytes for array in arrays)
            assert taken <= event.held <= taken + 1000

        def trimmed(turn: Any) -> int:
            turn.state.trim(1000, turn.state.event_bytes // 2)
            return len(turn.state.events)

        assert world.server.engine.call_now("m", trimmed) <= 25
        assert len(held(world)) <= 25


def test_held_rows_are_learnt_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(decisions, "TOGETHER", 3000)
    with closing(World(tmp_path, MODELS["everyday"], True)) as world:
        learner = world.server.engine.call_now("m", lambda turn: turn.state.learner)
        events = [reply.event_id for reply in world.choose(some_rounds(random.Random(4), 60))]
        learn, counts = learner.learn_many, []
        monkeypatch.setattr(
            learner, "learn_many", lambda reads, *rest: counts.append(len(reads)) or learn(reads, *rest)
        )
        assert {reply.status for reply in world.answer([(event, AnswerRequest("tie")) for event in events])} == {
            "learnt"
        }
        assert sum(counts) == 60
        assert max(counts) < 25


def test_an_answer_that_was_taken_back_is_given_again(tmp_path):
    """Its rows are no longer held: they are read, and come to the same."""
    found = []
    for together in (True, False):
        rng = random.Random(5)
        with closing(World(tmp_path, MODELS["everyday"], together)) as world:
            replies = world.choose(some_rounds(rng, 12))
            world.answer([(reply.event_id, AnswerRequest(reply.shown[0].id)) for reply in replies])
            again = replies[2:5]

            def undone(turn: Any, again: Any = again) -> None:
                for reply in again:
                    decisions.undo(turn, reply.event_id, None)

            world.server.engine.call_now("m", undone)
            reopened(world)
            more = world.choose(some_rounds(rng, 4))
            assert len(held(world)) == 4
            said = [(reply.event_id, AnswerRequest(reply.shown[1].id)) for reply in (*again, *more)]
            assert {reply.status for reply in world.answer(said)} == {"learnt"}
            found.append(outcome(world))
    assert found[0] == found[1]


def test_what_is_no_everyday_answer_is_heard_as_ever(tmp_path):
    """Held or not, the same is said of answers that are refused, repeated, late or somebody's."""
    found = []
    for together in (True, False):
        with closing(World(tmp_path, {**MODELS["everyday"], "window_seconds": 1e9}, together)) as world:
            asked = some_rounds(random.Random(6), 8)
            asked = [ChooseRequest(one.items, event_id=f"e{place}") for place, one in enumerate(asked)]
            asked[1] = ChooseRequest(asked[1].items, event_id="e1", voter="ann")
            names = [[item.id for item in reply.shown] for reply in world.choose(asked)]
            said = [
                ("e0", AnswerRequest(names[0][0])),
                ("e1", AnswerRequest(names[1][0])),
                ("e2", AnswerRequest(names[2][0], "bob")),
                ("e2", AnswerRequest(names[2][1])),
                ("e3", AnswerRequest("nobody")),
                ("e3", AnswerRequest(names[3][1], kind="judge")),
                ("e3", AnswerRequest(names[3][1])),
                ("e3", AnswerRequest(names[3][1])),
                ("e3", AnswerRequest(names[3][0])),
                ("e4", AnswerRequest("skip")),
                ("e5", AnswerRequest("both_bad")),
                ("e6", AnswerRequest(names[6][0], strength=0.5)),
                ("none", AnswerRequest("a")),
            ]
            told = world.answer(said)
            found.append([(one.code, one.message) if isinstance(one, Exception) else one for one in told])
            held(world)
            found.append(outcome(world))
    assert found[:2] == found[2:]
    assert [one[0] for one in found[0] if isinstance(one, tuple)] == [
        "invalid", "invalid", "answered", "unknown_event",
    ]  # fmt: skip
