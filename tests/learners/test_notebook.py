"""Learners as people look at them, and as scikit-learn clones and changes them."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from conquer.learners.conquer import Conquer
from conquer.models.full import Full
from conquer.policies import GREEDY, UCB, Policy
from conquer.registry import algorithms, make
from conquer.rows import Rounds
from conquer.session import Session
from conquer.simulation import simulate
from conquer.study.plots.traces import plot_trace
from conquer.types import Source

NAMES = [row.name for row in algorithms()]


@pytest.mark.parametrize("name", NAMES)
def test_every_algorithm_can_be_cloned(name):
    learner = make(name, dim=4)
    other = clone(learner)
    assert other is not learner
    assert type(other) is type(learner)
    assert other.get_params() == learner.get_params() == {"dim": 4, **learner.parameters}
    assert repr(learner) == repr(other)
    assert repr(learner).startswith(f"<{name}: dim 4")
    assert f"<b>{name}</b>" in learner._repr_html_()


def test_a_clone_has_learnt_nothing_and_goes_its_own_way():
    learner, X = make("gnc", dim=3, eta=2.0, explore=0.5), np.eye(3)
    learner.learn(X, learner.choose(X, 1), 1.0)
    other = clone(learner)
    assert (learner.answers, other.answers) == (1, 0)
    assert repr(learner) == "<gnc: dim 3, model diagonal, eta 2.0, explore 0.5, answers 1>"
    fresh = make("gnc", dim=3, eta=2.0, explore=0.5)
    assert [other.choose(X, t).shown for t in range(20)] == [fresh.choose(X, t).shown for t in range(20)]


def test_parameters_change_before_anything_is_learnt():
    learner, X = make("gnc", dim=3), np.eye(3)
    assert learner.set_params(eta=0.5, lam=0.1) is learner
    assert (learner.eta, learner.model.lam, learner.get_params()["lam"]) == (0.5, 0.1, 0.1)
    assert learner.set_params(model="full").get_params()["model"] == "full"
    assert learner.get_params()["eta"] == 0.5
    for wrong in ({"nothing": 1}, {"lam": -1.0}):
        before = learner.get_params()
        with pytest.raises(ValueError, match="nothing|lam"):
            learner.set_params(**wrong)
        assert learner.get_params() == before
    learner.learn(X, learner.choose(X, 1), 1.0)
    with pytest.raises(ValueError, match="has learnt 1 answers with these parameters: clone it first"):
        learner.set_params(eta=1.0)
    assert learner.set_params() is learner


def test_another_model_keeps_exploring_and_believing():
    learner = make("gnr", dim=3, explore=0.1, update="margin").set_params(model="full")
    assert repr(learner) == "<gnr: dim 3, model full, explore 0.1, answers 0>"
    learner = make("gnr", dim=3, believe="voters", trust=2.0).set_params(model="full")
    known = learner.get_params()
    assert (known["model"], known["believe"], known["trust"]) == ("full", "voters", 2.0)
    with pytest.raises(ValueError, match="explore= makes another kind of learner"):
        make("gnr", dim=3, explore=0.1).set_params(explore=0)


@pytest.mark.parametrize("believe", ["voters", "people"])
@pytest.mark.parametrize("explore", [0.0, 0.2])
def test_a_learner_that_weighs_voters_is_shown_cloned_and_sent_as_any_other(believe, explore):
    made = {"dim": 3, "model": "full", "believe": believe, "trust": 2.0, **({"explore": explore} if explore else {})}
    learner, X = make("gnr", **made), np.eye(3)
    assert repr(learner).startswith(f"<gnr: dim 3, model full, believe {believe}, ")
    assert "<b>gnr</b>" in learner._repr_html_()
    assert clone(learner).get_params() == learner.get_params()
    assert learner.set_params(lam=0.5).model.lam == 0.5
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
    assert clone(copied).get_params() == learner.get_params()


def test_a_policy_of_ones_own_shows_itself_and_says_why_it_has_no_parameters():
    learner = Conquer(Full(3), Policy(first=UCB, second=GREEDY, eta=0.1))
    assert repr(learner) == "<a policy of one's own: dim 3, model full, answers 0>"
    with pytest.raises(ValueError, match="only learners made by name"):
        clone(learner)


def test_sessions_traces_and_algorithms_show_themselves():
    session = Session(make("gnr", dim=8), seed=3)
    offer = session.ask(["a", "b", "c"])
    assert repr(session) == "<Session: learner gnr, dim 8, model diagonal, answers 0, rounds 1, open 1, seed 3>"
    session.tell(offer.id, "first")
    assert "<th>answers</th><td>1</td>" in session._repr_html_()
    rounds = Rounds(np.eye(3), [[0, 1, 2]] * 50, [1.0, 0.0, -1.0])
    trace = simulate("gnr", rounds)
    assert repr(trace).startswith("<Trace: rounds 50, regret ")
    assert "<caption><b>Trace</b>" in trace._repr_html_()
    row = algorithms()[0]
    assert repr(row).startswith("<ttg: Top Two Greedy: the two best scores; lam=1.0")
    assert "<td>lam</td><td>1.0</td>" in row._repr_html_()


def test_what_people_wrote_is_no_markup():
    learner = make("gnr", dim=3)
    learner.name = "<script>"
    assert "<script>" not in learner._repr_html_()


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


@pytest.mark.parametrize("name", ["gnc", "confidit", "colstim", "rucb"])
def test_learners_can_be_sent_to_other_processes_and_cloned_there(name):
    learner = make(name, dim=4)
    there = pickle.loads(pickle.dumps(learner))
    assert repr(there) == repr(learner) == repr(clone(there)) == repr(copy.deepcopy(learner))


def test_a_row_that_cannot_be_sent_stays_behind():
    learner = make("gnc", dim=3)
    learner.made_by = replace(learner.made_by, builder=lambda name, dim, model, values: learner)
    assert pickle.loads(pickle.dumps(learner)).made_by is None
