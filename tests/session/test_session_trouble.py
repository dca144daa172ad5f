"""Sessions when things go wrong: ledgers that fail, interruptions, files that lie."""

import json

import numpy as np
import pytest
from session.test_session import world

from conquer.answers import AnswerError
from conquer.files import FileError, pack, unpack
from conquer.learners.conquer import Conquer
from conquer.models.full import Full
from conquer.policies import GREEDY, WORST, Policy
from conquer.registry import make
from conquer.session import MemoryLedger, Session, replay, restore
from conquer.simulation import simulate


class FailingLedger:
    """A ledger whose disk fills up at the third row."""

    def __init__(self):
        self.kept = []

    def append(self, row):
        if len(self.kept) == 2:
            raise OSError("no space left on device")
        self.kept.append(row)

    def rows(self):
        return iter(self.kept)


def test_a_ledger_that_fails_stops_the_session():
    session = Session(make("gnr", dim=4), seed=0, ledger=FailingLedger())
    offer = session.ask(np.eye(4))
    with pytest.raises(OSError, match="no space"):
        session.tell(offer.id, "first")
    with pytest.raises(RuntimeError, match="replay"):
        session.tell(offer.id, "first")
    assert replay(session.ledger).answers == 0


def test_replay_with_other_parameters_and_from_a_trained_start():
    rounds = world()
    start = simulate("gnc", rounds, model="full", seed=5).learner
    session = Session(start, seed=1, ledger=MemoryLedger())
    for here in rounds:
        offer = session.ask(here.items)
        if offer.choice.query:
            session.tell(offer.id, "first")
    np.testing.assert_array_equal(replay(session.ledger).model.weights(), session.learner.model.weights())
    other = replay(session.ledger, make("gnc", dim=6, model="full", lam=10.0))
    assert other.parameters["lam"] == 10.0
    assert other.answers > 0
    with pytest.raises(ValueError, match="empty"):
        replay(MemoryLedger())
    with pytest.raises(ValueError, match="begin"):
        replay([{"kind": "tell", "id": "0", "answer": 1.0}])


def test_vectors_are_taken_as_given_in_any_container():
    for items in (np.diag([3.0, 0.5]), [[3.0, 0.0], [0.0, 0.5]], {"a": [3.0, 0.0], "b": np.array([0.0, 0.5])}):
        session = Session(make("gnr", dim=2), seed=0, ledger=MemoryLedger())
        session.ask(items)
        np.testing.assert_array_equal(list(session.ledger.rows())[-1]["rows"].dense(), [[3.0, 0.0], [0.0, 0.5]])
    with pytest.raises(ValueError, match="features"):
        Session(make("gnr", dim=3), seed=0, ledger=MemoryLedger()).ask([[3.0, 0.0], [0.0, 0.5]])


@pytest.mark.parametrize("answer", [10**400, np.array([1, 2]), np.complex128(1), {}, b"first"])
def test_strange_answers_are_answer_errors(answer):
    session = Session(make("gnr", dim=2), seed=0)
    offer = session.ask(np.eye(2))
    with pytest.raises(AnswerError):
        session.tell(offer.id, answer)
    with pytest.raises(AnswerError):
        session.tell([], "first")
    assert session.learner.answers == 0


def test_an_interruption_in_mid_learning_stops_the_session(monkeypatch):
    session = Session(make("gnr", dim=3), seed=0)
    offer = session.ask(np.eye(3))
    learn = session.learner.learn

    def interrupted(*arguments):
        learn(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(session.learner, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.tell(offer.id, "first")
    with pytest.raises(RuntimeError, match="replay"):
        session.tell(offer.id, "first")


def test_a_loaded_session_replays_with_its_open_offers():
    session = Session(make("gnc", dim=4), seed=0, ledger=MemoryLedger())
    offers = [session.ask(np.eye(4) * k) for k in (1.0, 2.0, 3.0)]
    twin = restore(session.dumps(), ledger=MemoryLedger())
    for one in (session, twin):
        one.tell(offers[1].id, "first")
        one.tell(one.ask(np.eye(4)).id, "second")
    for copied in (twin.learner, replay(twin.ledger), replay(session.ledger)):
        for key, array in session.learner.arrays().items():
            np.testing.assert_array_equal(copied.arrays()[key], array, err_msg=key)


def furthest(model, X, first, eta, ticket):
    return -model.scores(X)


@pytest.mark.parametrize("second", [WORST, furthest, lambda *given: furthest(*given)])
def test_an_own_policy_replays_into_a_fresh_learner(second):
    def fresh():
        return Conquer(Full(3), Policy(first=GREEDY, second=second))

    session = Session(fresh(), seed=0, ledger=MemoryLedger())
    session.tell(session.ask(np.eye(3)).id, "first")
    if callable(second):  # its code is not in the ledger
        with pytest.raises(ValueError, match="fresh learner|your second rule"):
            replay(session.ledger)
    else:
        np.testing.assert_array_equal(replay(session.ledger).model.w, session.learner.model.w)
    np.testing.assert_array_equal(replay(session.ledger, fresh()).model.w, session.learner.model.w)


def broken_sessions():
    """Session files in which one stored thing lies."""
    session = Session(make("gnr", dim=4), seed=1)
    session.tell(session.ask(np.eye(4)).id, "first")
    session.ask(np.eye(4))
    header, arrays = unpack(session.dumps())
    stored = json.loads(arrays["session"].tobytes())
    lies = [
        ("ordinal", -5),
        ("ordinal", 0),
        ("ordinal", 2**70),
        ("ordinal", 1.5),
        ("seed", "x"),
        ("open_offers", 0),
        ("board", {"delta": 2}),
        ("closed", {"0": [1, ["tie", "x"], "x", False, True, [], 1.0, "answered"]}),
        ("closed", {"0": [1, ["a", "b"], "a", False, True, [], 7.0, "answered"]}),
        ("closed", {"0": [1, ["a", "b"], "c", False, True, [], 1.0, "answered"]}),
        ("closed", {"0": [1, ["a", "b"], "a", False, True, [], 1.0, "lost"]}),
        ("closed", {"zero": [1, ["a", "b"], "a", False, True, [], 1.0, "answered"]}),
        ("open", 5),
    ]
    of_open = [
        ("items", 10**13),
        ("items", 0),
        ("ticket", -1),
        ("ticket", "abc"),
        ("ticket", None),
        ("memo", 5),
        ("shown", [0.2, 1.7]),
        ("shown", [0, 0]),
        ("shown", [0, 9]),
        ("shown_ids", []),
        ("shown_ids", [["a"], "b"]),
        ("id", "0"),
        ("id", "77"),
        ("query", 0),
        ("query", 9),
    ]
    for name, value in lies:
        yield f"{name}={value}", header, arrays, stored | {name: value}
    for name, value in of_open:
        yield f"open {name}={value}", header, arrays, stored | {"open": [stored["open"][0] | {name: value}]}


@pytest.mark.parametrize(("header", "arrays", "stored"), [pytest.param(*rest, id=n) for n, *rest in broken_sessions()])
def test_a_session_file_that_lies_is_refused(header, arrays, stored):
    data = np.frombuffer(json.dumps(stored).encode(), np.uint8)
    with pytest.raises(FileError):
        restore(pack(header, arrays | {"session": data}))


def test_a_session_may_have_told_more_than_a_header_holds(monkeypatch):
    monkeypatch.setattr("conquer.files._LARGEST_HEADER", 4096)
    session = Session(make("gnr", dim=2), seed=0)
    for _ in range(200):
        session.tell(session.ask(np.eye(2)).id, "first")
    assert restore(session.dumps()).tell("0", "first") == "repeat"


def test_seeds_are_numbers_of_any_type():
    offers = [Session(make("gnr", dim=9), seed=seed).ask(np.eye(9)) for seed in (3, np.int64(3))]
    assert offers[0] == offers[1]
    rounds = world()
    one, two = (simulate("gnr", rounds, seed=seed) for seed in (3, np.int64(3)))
    np.testing.assert_array_equal(one.shown, two.shown)
    for bad in (None, True, 1.5):
        with pytest.raises(TypeError, match="seed"):
            simulate("gnr", rounds, seed=bad)


def test_wrong_settings_are_refused():
    with pytest.raises(TypeError, match="seed"):
        Session(make("gnc", dim=3), seed="x")


def test_a_name_is_no_learner():
    with pytest.raises(TypeError, match=r"a session takes a learner: make\('gnr', dim=...\), got"):
        Session("gnr")
