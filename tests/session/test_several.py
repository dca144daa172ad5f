"""More than two shown, all the way: session, ledger, replay, files, simulation and regret."""

import math

import numpy as np
import pytest

from conquer.answers import AnswerError, leftmost, shares_of
from conquer.judges import LawJudge
from conquer.registry import make
from conquer.rows import Rounds
from conquer.session import MemoryLedger, Session, replay, restore
from conquer.simulation import simulate
from conquer.types import Query

DIM, COUNT = 5, 70
LEARNERS = [
    ("rank-breaking", {"show": 3, "model": "full"}, LawJudge("linear")),
    ("rank-breaking", {"show": 4, "explore": 0.3}, "noisy"),
    ("ucb-mnl", {"show": 3}, LawJudge("logistic", 3.0, outside=True)),
    ("ucb-mnl", {"show": 2}, LawJudge("logistic", 3.0, outside=True)),
    ("cppl", {"show": 4}, "linear"),
    ("partial-feedback", {"show": 3, "a": 0.8}, LawJudge("linear", outside=True)),
]


def world():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, DIM))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    sets = np.array([rng.choice(40, 6, replace=False) for _ in range(COUNT)])
    sets[::9, 3:] = -1  # fewer items than are shown
    return Rounds(X, sets, X[:, 0])


def words(trace, t):
    """The trace's answer in people's words: the id of the best, or that none will do."""
    shown = [k for k in trace.shown[t] if k >= 0]
    if trace.query[t] == Query.NONE:
        return None
    if trace.query[t] == Query.BEST:
        return "yes" if trace.answers[t] > 0 else "no"
    picked = int(shares_of(float(trace.answers[t]), len(shown)).argmax())
    return "both_bad" if picked == len(shown) else f"item {shown[picked]}"


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize(("name", "settings", "judge"), LEARNERS)
def test_session_simulation_replay_and_file_agree_bit_for_bit(name, settings, judge, delay):
    rounds = world()
    trace = simulate(name, rounds, judge=judge, seed=11, delay=delay, **settings)
    assert trace.shown.shape == (COUNT, settings["show"])
    assert (trace.shown >= 0).sum(axis=1).max() == settings["show"]
    session = Session(make(name, dim=DIM, **settings), seed=11)
    offers = []
    for t in range(COUNT + delay):
        if t == 30:  # with open offers, where answers are late
            stored = session.dumps()
            session = restore(stored)
            assert session.dumps() == stored
        if t < COUNT:
            items = rounds[t].items
            offers.append(session.ask(items, ids=[f"item {k}" for k in range(len(items))]))
        if t >= delay:
            session.tell(offers[t - delay].id, words(trace, t - delay))
    shown = [(*offer.choice.shown, *[-1] * settings["show"])[: settings["show"]] for offer in offers]
    np.testing.assert_array_equal(shown, trace.shown)
    for t in (0, 40, 69):
        assert session.tell(offers[t].id, words(trace, t)) == "repeat"
    for key, array in trace.learner.arrays().items():
        np.testing.assert_array_equal(session.learner.arrays()[key], array, err_msg=key)


@pytest.mark.parametrize(("name", "settings", "judge"), LEARNERS)
def test_the_ledger_rebuilds_the_learner(name, settings, judge):
    rounds = world()
    trace = simulate(name, rounds, judge=judge, seed=2, **settings)
    session = Session(make(name, dim=DIM, **settings), seed=2, ledger=MemoryLedger())
    for t, here in enumerate(rounds):
        offer = session.ask(here.items, ids=[f"item {k}" for k in range(len(here.items))])
        assert offer.left == offer.shown[leftmost(offer.choice.ticket, len(offer.shown))]
        session.tell(offer.id, words(trace, t))
    for key, array in replay(session.ledger).arrays().items():
        np.testing.assert_array_equal(array, trace.learner.arrays()[key], err_msg=key)


def test_what_can_be_said_of_three():
    session = Session(make("rank-breaking", dim=4, show=3), seed=0)
    offer = session.ask(np.eye(4), ids=["a", "b", "c", "d"])
    before = session.learner.arrays()["answers"].copy()
    for bad in ("tie", 0.25, 0.5, -0.5, 0, 1.0, 2, math.nan, True, "nobody", "yes", [1]):
        with pytest.raises(AnswerError):
            session.tell(offer.id, bad)
    assert session.learner.arrays()["answers"] == before
    assert session.tell(offer.id, offer.shown[1]) == "learnt"
    assert session.tell(offer.id, "second") == "repeat"
    with pytest.raises(AnswerError, match="before"):
        session.tell(offer.id, "first")


@pytest.mark.parametrize("show", [2, 3])
def test_none_of_these_is_learnt_where_the_learner_has_an_answer_for_it(show):
    for name, told in (("rank-breaking", "skipped"), ("ucb-mnl", "learnt")):
        session = Session(make(name, dim=4, show=show), seed=0)
        offer = session.ask(np.eye(4))
        assert session.tell(offer.id, "both_bad") == told
        assert session.tell(offer.id, "both_bad") == "repeat"
        scores = session.learner.scores(np.eye(4))
        shown = list(offer.choice.shown)
        assert (scores[shown] < 0).all() if name == "ucb-mnl" else (scores == 0).all()
        again = restore(session.dumps())
        assert again.tell(offer.id, "both_bad") == "repeat"


def test_another_item_of_the_round_is_a_no_to_best(tmp_path):
    session = Session(make("confidit", dim=3), seed=1)
    offer, later = (session.ask({"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0], "c": [0.0, 0.0, 1.0]}) for _ in range(2))
    other, last = (name for name in "abc" if name not in offer.shown)
    assert session.tell(offer.id, other) == "learnt"
    with pytest.raises(AnswerError, match="answered -1.0 before"):
        session.tell(offer.id, "yes")
    again = restore(session.dumps())
    for each in (session, again):
        assert each.tell(offer.id, other) == "repeat"
        assert each.tell(offer.id, "no") == "repeat"
        with pytest.raises(AnswerError, match="one of"):
            each.tell(offer.id, last)
        with pytest.raises(AnswerError, match="one of"):
            each.tell(later.id, "d")
        assert each.tell(later.id, next(name for name in "abc" if name not in later.shown)) == "learnt"
    assert (session.learner.model.weights() == again.learner.model.weights()).all()


def test_an_answered_session_keeps_no_more_than_the_item_that_was_named():
    few, many = (Session(make("confidit", dim=3), seed=1) for _ in range(2))
    for session, count in ((few, 3), (many, 60)):
        for _ in range(40):
            items = {f"item {k}": [float(k == 0), float(k == 1), float(k > 1)] for k in range(count)}
            offer = session.ask(items)
            session.tell(offer.id, next(name for name in items if name not in offer.shown))
    assert len(many.dumps()) < 1.1 * len(few.dumps())
