"""A uniform share on top of a learner: what is drawn, how likely it was, and that it travels in files."""

import itertools
import math

import numpy as np
import pytest

from conquer.registry import make
from conquer.saving import dumps, loads


def test_explored_sets_are_uniform_and_their_chances_true():
    learner, n = make("rank-breaking", dim=4, model="full", show=3, explore=1.0), 3000
    counts = dict.fromkeys(itertools.permutations(range(4), 3), 0)
    for ticket in range(n):
        choice = learner.choose(np.eye(4), ticket)
        assert choice.memo["chance"] == pytest.approx(1 / 24)
        counts[choice.shown] += 1
    assert max(abs(c / n - 1 / 24) for c in counts.values()) < 4.5 * math.sqrt(23 / 24**2 / n)


def test_explore_travels_with_the_learner():
    learner, rng = make("ttg", dim=4, model="full", explore=0.2), np.random.default_rng(8)
    for _ in range(50):
        X = rng.normal(size=(4, 4))
        learner.learn(X, learner.choose(X, rng), float(rng.choice([-1.0, 1.0])))
    again = loads(dumps(learner))[0]
    X = rng.normal(size=(4, 4))
    assert again.parameters["explore"] == 0.2
    assert [again.choose(X, t) for t in range(30)] == [learner.choose(X, t) for t in range(30)]
    with pytest.raises(ValueError, match="two items"):
        make("banditron", dim=3, explore=0.1)
    with pytest.raises(ValueError, match="explore"):
        make("ttg", dim=3, explore=1.5)


def test_one_item_is_explored_with_its_true_chance():
    learner, X, n = make("confidit", dim=4, model="full", eta=0.0, explore=0.3), np.eye(4), 4000
    assert {learner.choose(X, t).memo["chance"] for t in range(40)} == {0.25}
    learner.learn(X, learner.choose(X, 0), +1)
    best = int(learner.scores(X).argmax())
    counts = np.zeros(4)
    for ticket in range(n):
        choice = learner.choose(X, ticket)
        assert choice.query.name == "BEST"
        assert choice.memo["chance"] == pytest.approx(0.7 * (choice.shown[0] == best) + 0.3 / 4)
        counts[choice.shown[0]] += 1
    expected = 0.7 * (np.arange(4) == best) + 0.3 / 4
    assert np.abs(counts / n - expected).max() < 4.5 * 0.5 / math.sqrt(n)


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("name", ["ttg", "gnr", "unr", "gnu", "gnc", "gnw", "random", "confidit"])
def test_chances_are_the_frequencies_also_of_rules_that_draw_and_of_ties(name, equal):
    """Over many tickets of one round every outcome comes as often as its recorded chance says."""
    parameters = {"eta": 0.3} if name in ("gnc", "gnu", "unr", "confidit") else {}
    learner, n = make(name, dim=4, explore=0.4, **({} if name == "random" else {"model": "full", **parameters})), 3000
    X = np.eye(4)
    for ticket in range(60):
        choice = learner.choose(X, ticket)
        if choice.query.name != "NONE":
            learner.learn(X, choice, 1.0 if choice.shown[0] < choice.shown[-1] else -1.0)
    X = X[[0, 0, 1, 2]] if equal else X
    seen = {}
    for ticket in range(n):
        choice = learner.choose(X, ticket)
        seen.setdefault(choice.shown, []).append(choice.memo["chance"])
    for shown, chances in seen.items():
        (chance,) = {round(chance, 12) for chance in chances}
        assert abs(len(chances) / n - chance) < 5 * math.sqrt(chance * (1 - chance) / n), shown
    assert sum(chances[0] for chances in seen.values()) == pytest.approx(1.0)


def test_a_chance_without_closed_form_stays_unknown():
    learner = make("gnt", dim=4, model="full", explore=0.4)
    assert {learner.choose(np.eye(4), ticket).memo["chance"] for ticket in range(20)} == {None}
