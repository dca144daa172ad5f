"""Learners, sessions, traces and algorithms as text; learners copied and pickled; traces drawn."""

import copy
import pickle

import numpy as np
import pytest

from conquer.learners.conquer import Conquer
from conquer.models.full import Full
from conquer.policies import GREEDY, UCB, Policy
from conquer.registry import algorithms, make
from conquer.rows import Rounds
from conquer.session import Session
from conquer.simulation import simulate
from conquer.study.plots.curves import plot_trace
from conquer.types import Source


@pytest.mark.parametrize("name", [row.name for row in algorithms()])
def test_a_learner_names_itself(name):
    learner = make(name, dim=4)
    assert repr(learner) == f"<{name}: dim 4, model {learner.parameters['model']}, answers 0>"
    assert repr(pickle.loads(pickle.dumps(learner))) == repr(copy.deepcopy(learner)) == repr(learner)


def test_an_own_policy_is_custom():
    learner = Conquer(Full(3), Policy(first=UCB, second=GREEDY, eta=0.1))
    assert repr(learner) == repr(make(learner.policy, dim=3, model="full")) == "<custom: dim 3, model full, answers 0>"


@pytest.mark.parametrize("believe", ["voters", "people"])
@pytest.mark.parametrize("explore", [0.0, 0.2])
def test_a_learner_that_weighs_voters_is_copied_as_any_other(believe, explore):
    learner, X = make("gnr", dim=3, model="full", believe=believe, trust=2.0, explore=explore), np.eye(3)
    assert repr(learner) == "<gnr: dim 3, model full, answers 0>"
    sources = [Source("ann", 1), Source("bob", -1), Source("bot", 1, "judge")]
    for ticket in range(30):
        learner.learn(X, learner.choose(X, ticket), 1.0 - 2.0 * (ticket % 2), sources[ticket % 3])
    for copied_by in (lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy):
        copied = copied_by(learner)
        assert copied.voters() == learner.voters()
        for ticket in range(30, 60):
            for each in (copied, learner):
                each.learn(X, each.choose(X, ticket), 1.0, sources[ticket % 3])
        assert copied.voters() == learner.voters()
        assert all((copied.arrays()[name] == array).all() for name, array in learner.arrays().items())
    session = pickle.loads(pickle.dumps(Session(learner, stop=0.5)))
    assert session.tell(session.ask(X).id, "first", voter="ann") == "learnt"


def test_sessions_traces_and_algorithms_show_themselves():
    session = Session(make("gnr", dim=8), seed=3)
    session.ask(["a", "b", "c"])
    assert repr(session) == "<Session: <gnr: dim 8, model diagonal, answers 0>, rounds 1, open 1, seed 3>"
    trace = simulate("gnr", Rounds(np.eye(3), [[0, 1, 2]] * 50, [1.0, 0.0, -1.0]))
    assert repr(trace).startswith("<Trace: gnr, rounds 50, regret ")
    assert repr(algorithms()[0]).startswith("<ttg: Top Two Greedy: the two best scores; lam=1.0")


def test_a_trace_is_drawn_in_one_call():
    rounds = Rounds(np.eye(3), [[0, 1, 2]] * 50, [1.0, 0.0, -1.0])
    one, two = simulate("gnr", rounds), simulate("gnc", rounds)
    figure = plot_trace(one)
    left, right = figure.axes
    assert left.lines[0].get_ydata()[-1] == pytest.approx(one.regret.sum())
    assert [text.get_text() for text in left.texts] == ["gnr"]
    assert right.lines[0].get_ydata()[-1] == 1.0
    both = plot_trace({"mine": one, "yours": two}, window=10)
    assert [text.get_text() for text in both.axes[0].texts] == ["mine", "yours"]
    assert both.axes[1].lines[1].get_ydata()[-1] == pytest.approx((two.query[-10:] != 0).mean())
    with pytest.raises(ValueError, match="at least one round"):
        plot_trace({})
