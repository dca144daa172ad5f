"""Sessions: late answers in any order, each once; the ledger rebuilds the learner; parity with simulate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conquer.answers import AnswerError, leftmost
from conquer.registry import find, make
from conquer.rows import Rounds
from conquer.session import MemoryLedger, Session, replay, restore
from conquer.simulation import simulate
from conquer.types import Query

OURS = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr", "gnt", "gnw", "confidit", "banditron")


def world(seed=0, rounds=80, dim=6, count=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    w = rng.normal(size=dim)
    return Rounds(X, rng.integers(0, 30, (rounds, count)), np.clip(X @ w / np.linalg.norm(w), -1, 1))


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize("name", OURS)
def test_a_session_is_bit_identical_to_simulate_and_to_its_replay(name, delay):
    rounds = world()
    for model in find(name).models:
        trace = simulate(name, rounds, model=model, seed=11, delay=delay)
        session = Session(make(name, dim=6, model=model), seed=11, ledger=MemoryLedger())
        offers = []
        for t, here in enumerate(rounds):
            offers.append(session.ask(here.items))
            if t >= delay:
                told = offers[t - delay]
                session.tell(told.id, None if not told.choice.query else float(trace.answers[t - delay]))
        for t in range(len(rounds) - delay, len(rounds)):
            session.tell(offers[t].id, None if not offers[t].choice.query else float(trace.answers[t]))
        shown = [(*o.choice.shown, -1)[:2] for o in offers]
        np.testing.assert_array_equal(shown, trace.shown)
        again = replay(session.ledger)
        for copy in (session.learner, again):
            for key, array in trace.learner.arrays().items():
                np.testing.assert_array_equal(copy.arrays()[key], array, err_msg=key)


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from(["first", "second", "tie", "skip", "0.5", "id"])), max_size=40
    )
)
@settings(max_examples=60)
def test_each_answer_exactly_once_in_any_order(calls):
    rounds = world(rounds=10)
    session = Session(make("gnr", dim=6), seed=1, ledger=MemoryLedger())
    offers = [session.ask(here.items, ids=[f"item {k}" for k in range(5)]) for here in rounds]
    first_answers, learnt = {}, 0
    for number, word in calls:
        offer = offers[number]
        answer = {"0.5": 0.5, "id": offer.shown[0]}.get(word, word)
        meaning = {"first": 1.0, "second": -1.0, "tie": 0.0, "skip": None, "0.5": 0.5, "id": 1.0}[word]
        before = session.learner.model.weights()
        if number not in first_answers:
            first_answers[number] = meaning
            assert session.tell(offer.id, answer) == ("skipped" if meaning is None else "learnt")
            learnt += meaning is not None
            continue
        if first_answers[number] == meaning:
            assert session.tell(offer.id, answer) == "repeat"
        else:
            with pytest.raises(AnswerError, match="before"):
                session.tell(offer.id, answer)
        np.testing.assert_array_equal(session.learner.model.weights(), before)
    assert session.learner.answers == learnt
    np.testing.assert_array_equal(replay(session.ledger).model.weights(), session.learner.model.weights())


def test_bad_asks_change_nothing():
    session = Session(make("gnc", dim=16), seed=0, ledger=MemoryLedger())
    rows = len(list(session.ledger.rows()))
    for bad in (
        {},
        [],
        {"a": "one item"},
        {"tie": "x", "b": "y"},
        {"": "x", "b": "y"},
        {1: "x", "1": "y"},
        {1.5: "x", "b": "y"},
        ["text", {"mixed": 1}],
        np.full((3, 16), np.nan),
        np.eye(3),
    ):
        with pytest.raises((ValueError, TypeError)):
            session.ask(bad)
    with pytest.raises(ValueError, match="unique as strings"):
        session.ask(["a", "b"], ids=["x", "x"])
    with pytest.raises(ValueError, match="one id per item"):
        session.ask(["a", "b"], ids=["x", "y", "z"])
    assert session.ordinal == 0
    assert len(list(session.ledger.rows())) == rows


def test_bad_answers_change_nothing():
    session = Session(make("gnr", dim=8), seed=0)
    offer = session.ask(np.eye(8)[:3], ids=["x", "y", "z"])
    (other,) = {"x", "y", "z"} - set(offer.shown)
    for bad in (other, "unknown", 1.5, float("nan"), True, ["x"], "yes"):
        with pytest.raises(AnswerError):
            session.tell(offer.id, bad)
    with pytest.raises(AnswerError, match="no offer"):
        session.tell("99", "first")
    assert session.pending == (offer.id,)
    assert session.learner.answers == 0


def test_a_silent_offer_takes_no_answer():
    rounds = world(rounds=300)
    session = Session(make("gnc", dim=6, eta=0.05), seed=0)
    silent = None
    for here in rounds:
        offer = session.ask(here.items)
        if offer.choice.query == Query.NONE:
            silent = offer
            break
        session.tell(offer.id, "first")
    assert silent is not None
    assert len(silent.shown) == 1
    with pytest.raises(AnswerError, match="asks nothing"):
        session.tell(silent.id, "first")
    with pytest.raises(AnswerError, match="asks nothing and cannot be cancelled"):
        session.cancel(silent)
    assert session.tell(silent.id, None) == restore(session.dumps()).tell(silent.id, "skip") == "skipped"


def test_best_questions_take_yes_and_no():
    session = Session(make("confidit", dim=4), seed=0)
    offer = session.ask(np.eye(4))
    assert offer.choice.query == Query.BEST
    assert session.tell(offer.id, "yes") == "learnt"
    assert session.tell(offer.id, offer.shown[0]) == "repeat"
    offer = session.ask(np.eye(4))
    with pytest.raises(AnswerError):
        session.tell(offer.id, 0.5)
    assert session.tell(offer.id, "no") == "learnt"


def test_a_context_changes_what_is_learnt():
    items = {"tea": {"drink": "tea"}, "coffee": {"drink": "coffee"}}
    session = Session(make("ttg", dim=2**12), seed=0)
    for t in range(60):
        time = ("morning", "evening")[t % 2]
        offer = session.ask(items, context={"time": time})
        session.tell(offer.id, "coffee" if time == "morning" else "tea")
    picks = {time: session.ask(items, context={"time": time}).shown[0] for time in ("morning", "evening")}
    assert picks == {"morning": "coffee", "evening": "tea"}


def test_sides_are_fair_and_recorded():
    sides = [leftmost(ticket, 2) for ticket in range(4000)]
    assert abs(np.mean(sides) - 0.5) < 4 * 0.5 / np.sqrt(4000)
    session = Session(make("gnr", dim=4), seed=0, ledger=MemoryLedger())
    for _ in range(20):
        offer = session.ask(np.eye(4))
        row = list(session.ledger.rows())[-1]
        assert row["left"] == offer.left
        assert offer.left in offer.shown
        assert offer.left == (offer.shown[leftmost(offer.choice.ticket, 2)])


def test_chances_are_those_of_the_pair():
    session = Session(make("gnr", dim=4), seed=0)
    assert session.ask(np.eye(4)).chance == pytest.approx(1 / 4 / 3)
    learner = make("gnr", dim=4)
    pairs = [learner.choose(np.eye(4), t).shown for t in range(12_000)]
    share = pairs.count((2, 1)) / len(pairs)
    assert abs(share - 1 / 12) < 4 * np.sqrt(1 / 12 * 11 / 12 / 12_000)
    assert Session(make("gnt", dim=4), seed=0).ask(np.eye(4)).chance is None
