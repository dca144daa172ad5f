"""What a learner refuses (choices, answers, parameters), and that learners on one model keep to themselves."""

import numpy as np
import pytest

from conquer.learners.conquer import Conquer
from conquer.models.full import Full
from conquer.policies import CONFIDENT, CONFIDIT, GNC, GNR, GNT, GNW, GREEDY, TTU, Policy
from conquer.registry import algorithms, make
from conquer.types import Choice, Query

X = np.eye(4)


@pytest.mark.parametrize(
    "choice",
    [
        Choice((0.5, 1), Query.DUEL, 1),
        Choice((0, 0), Query.DUEL, 1),
        Choice((-1, 0), Query.DUEL, 1),
        Choice((0, 4), Query.DUEL, 1),
        Choice((0,), Query.DUEL, 1),
        Choice((0, 1, 2), Query.DUEL, 1),
        Choice((0, 1), Query.BEST, 1),
        Choice((0, 1), Query.DUEL, -1),
        Choice((0, 1), Query.DUEL, 2**64),
        Choice((0, 1), Query.DUEL, "1"),
    ],
)
def test_a_choice_that_is_none_changes_nothing(choice):
    learner = make("gnr", dim=4)
    with pytest.raises((ValueError, TypeError)):
        learner.learn(X, choice, 1.0)
    assert learner.fresh
    assert not learner.model.weights().any()


def test_numpy_positions_are_positions_and_bools_are_no_answers():
    learner = make("gnr", dim=4)
    with pytest.raises(ValueError, match="True"):
        learner.learn(X, Choice((0, 1), Query.DUEL, 1), True)
    learner.learn(X, Choice((np.int64(2), np.int64(1)), Query.DUEL, np.uint64(1)), 1.0)
    learner.learn(X, Choice((2, 1), 1, 1), 1.0)  # a query by its number, as JSON has it
    assert learner.scores(X)[2] > 0 > learner.scores(X)[1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"lam": 1e-310},
        {"lam": 10**400},
        {"lam": np.inf},
        {"eta": 10**400},
        {"eta": np.nan},
        {"U": 1e200},
        {"Q": -1},
        {"delta": 0},
        {"delta": 1.0},
        {"eta": True},
    ],
)
def test_parameters_out_of_range_are_named(wrong):
    ((name, _),) = wrong.items()
    with pytest.raises(ValueError, match=name):
        make("gnc", dim=4, model="full", **wrong)


@pytest.mark.parametrize(
    "wrong", [{"budget": np.inf}, {"budget": 0}, {"degree": 2.5}, {"scale": 0}, {"kernel": "cubic"}]
)
def test_kernel_parameters_out_of_range_are_named(wrong):
    ((name, _),) = wrong.items()
    with pytest.raises(ValueError, match=name):
        make("gnc", dim=4, model="kernel", **wrong)


def test_the_registry_tells_the_defaults_that_are_used():
    for row in algorithms():
        learner = make(row.name, dim=3)
        told = {p.name: p.default for p in row.parameters if learner.parameters["model"] in p.models}
        used = {name: learner.parameters[name] for name in told}
        if row.name == "confidit":
            assert told.pop("lam") is None
            assert used.pop("lam") == 4.0
        assert used == told


def test_chances_that_depend_on_the_ticket_are_not_claimed():
    rng = np.random.default_rng(0)
    learner = make("ttg", dim=4, model="full", projection="sequential")
    for _ in range(30):
        Z = rng.normal(size=(4, 4))
        learner.learn(Z, learner.choose(Z, rng), 1.0)
    big = rng.normal(size=(6, 4)) * 20
    assert learner.choose(big, 1).memo["chance"] is None
    assert learner.choose(big * 1e-6, 1).memo["chance"] == 1.0
    bandit = make("banditron", dim=4, gamma=0.1)
    shown = [bandit.choose(X, t) for t in range(4000)]
    assert all(c.memo["chance"] == pytest.approx(0.25) for c in shown)
    assert abs(np.mean([c.shown == (2,) for c in shown]) - 0.25) < 4.5 * np.sqrt(0.1875 / 4000)


def taught(dim=5):
    """A full model that has learnt a little, the same one every time."""
    model, rng = Full(dim), np.random.default_rng(4)
    for _ in range(12):
        model.update(rng.normal(size=(2, dim)), {0: 0.5, 1: -0.5}, float(rng.choice([-1.0, 1.0])))
    return model


SETTINGS = [(GNC, 0.05), (GNC, 3.0), (TTU, 0.1), (TTU, 30.0), (GNR, None), (GNW, None), (GNT, 0.3), (CONFIDIT, 1.0)]


def test_learners_on_one_model_do_not_disturb_each_other():
    """Each chooses, and learns, as a learner of its policy does alone on an equal model."""
    shared = taught()
    together = [Conquer(shared, policy, eta=eta) for policy, eta in SETTINGS]
    alone = [Conquer(taught(), policy, eta=eta) for policy, eta in SETTINGS]
    rng = np.random.default_rng(5)
    for _ in range(40):
        Z, ticket = rng.normal(size=(6, 5)), int(rng.integers(0, 2**63))
        choices = [learner.choose(Z, ticket) for learner in together]
        assert choices == [learner.choose(Z, ticket) for learner in alone]
        assert [learner.eta for learner in together] == [learner.eta for learner in alone]
        turn = int(rng.integers(len(together)))
        if choices[turn].query != Query.NONE:
            together[turn].learn(Z, choices[turn], 1.0)
            for learner in alone:  # each model learns what the shared one learnt, by that learner's rule
                Conquer(learner.model, SETTINGS[turn][0], eta=SETTINGS[turn][1]).learn(Z, choices[turn], 1.0)
    assert len({choice.shown for choice in choices}) > 2
    assert shared.stats[0] > 10


@pytest.mark.parametrize("projection", [None, "exact", "sequential"])
@pytest.mark.parametrize("model", ["diagonal", "full", "kernel"])
@pytest.mark.parametrize("name", ["ttg", "gnc", "gnt", "gnw", "ttu", "random"])
def test_a_choice_comes_with_the_scores_of_its_round(name, model, projection):
    rng = np.random.default_rng(3)
    learner = make(name, dim=4, model=model, **({} if name == "random" else {"projection": projection}))
    for ticket in range(12):
        X = rng.normal(size=(5, 4))
        choice, scores = learner.choose_and_score(X, ticket)
        assert choice == learner.choose(X, ticket)
        assert scores.tolist() == learner.scores(X, ticket).tolist()
        if choice.query is not Query.NONE:
            learner.learn(X, choice, 1.0)


def relative(model, X, first, eta, ticket):
    return model.scores(X) + np.sqrt(eta * model.contrasts(X, first))


def unsure(model, X, first, second, eta):
    scores = model.scores(X)
    return not scores[first] - scores[second] > np.sqrt(eta * model.contrasts(X, first)[second])


def test_one_order_a_round_for_a_sequential_projection():
    """Codes, rules and gates in Python, scores and learning all project in the order of the round's ticket."""
    rng = np.random.default_rng(2)
    model = Full(4, lam=0.1, projection="sequential")
    compiled = Conquer(model, GNC, eta=0.5)
    plain = [Conquer(model, Policy(GREEDY, relative, gate), eta=0.5) for gate in (unsure, CONFIDENT)]
    orders = 0
    for ticket in range(200):
        X = rng.normal(size=(5, 4)) * 2
        choice, scores = compiled.choose_and_score(X, ticket)
        np.testing.assert_array_equal(scores, compiled.scores(X, ticket))
        assert scores[choice.shown[0]] == scores.max()
        assert [learner.choose(X, ticket).shown for learner in plain] == [choice.shown] * 2
        orders += not np.allclose(scores, compiled.scores(X))
        if len(choice.shown) == 2:
            compiled.learn(X, choice, 1.0 if X[choice.shown[0], 0] > X[choice.shown[1], 0] else -1.0)
    assert orders > 0
