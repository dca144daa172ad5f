"""tob and sep: their formulas, their ties, and the chances they state."""

import math

import numpy as np
import pytest

from conquer import policies
from conquer.boards.widths import Width
from conquer.kernels.rounds import choice as board
from conquer.kernels.rounds import settings as st
from conquer.policies import GREEDY, SEPARATION, Policy
from conquer.registry import make
from conquer.saving import dumps
from conquer.types import Choice, Query

VARIANCES = [1e-300, 1e-12, 0.01, 0.25, 1.0, 50.0, 1e12]


def taught(name, count, answers, seed=0, **parameters):
    learner, X, rng = make(name, dim=count, model="full", **parameters), np.eye(count), np.random.default_rng(seed)
    for _ in range(answers):
        choice = learner.choose(X, rng)
        learner.learn(X, choice, float(rng.choice([-1.0, 1.0])))
    return learner


@pytest.mark.parametrize("tests", [1, 9])
def test_the_challengers_width_is_a_boards(tests):
    width, zero = Width("anytime", delta=0.05, tau2=st.MIXING, lam=0.0, gains=(), answers=1), np.zeros(len(VARIANCES))
    ours = [math.sqrt(board.anytime(v, 2 * math.log(tests / 0.05))) for v in VARIANCES]
    np.testing.assert_allclose(ours, width.half(np.array(VARIANCES), zero, zero, tests), rtol=1e-12)
    assert board.anytime(0.0, 6.0) == 0.0


@pytest.mark.parametrize("gap", [0.0, 0.3, -2.0])
def test_separation_is_its_formula(gap):
    for v in VARIANCES[2:]:
        sigma2 = v * v / (4 + v)
        expected = math.log(math.sqrt(sigma2)) - gap * gap / (2 * sigma2)
        assert board.separation(gap, v) == pytest.approx(expected, rel=1e-12)
    assert board.separation(gap, 0.0) == -math.inf


def test_sep_shows_the_pair_that_brute_force_finds_and_the_better_first():
    learner = taught("sep", 7, 60)
    scores = learner.scores(np.eye(7))
    best, shown = -math.inf, ()
    for i in range(7):
        for j in range(i):
            v = learner.model.contrasts(np.eye(7), i)[j]
            value = math.log(v) - math.log(4 + v) / 2 - ((scores[i] - scores[j]) / v) ** 2 * (4 + v) / 2
            if value > best:
                best, shown = value, (i, j) if scores[i] > scores[j] else (j, i)
    assert learner.choose(np.eye(7), 3).shown == shown


def test_tob_shows_who_may_lead_the_leader_by_most():
    learner = taught("tob", 6, 40, lam=0.5)
    scores = learner.scores(np.eye(6))
    leader = int(scores.argmax())
    v = learner.model.contrasts(np.eye(6), leader)
    upper = scores + 0.5 * v + np.sqrt([board.anytime(each, st.CHALLENGE) for each in v])
    upper[leader] = -np.inf
    assert learner.choose(np.eye(6), 3).shown == (leader, int(upper.argmax()))


def test_tob_chooses_among_the_items_it_is_given():
    learner, X = taught("tob", 6, 40), np.eye(6)
    order = np.argsort(-learner.scores(X))
    among = np.sort(order[[1, 3, 4]])
    choice = learner.choose(X, 3, among)
    assert choice.shown[0] == order[1]
    assert set(choice.shown) <= set(among.tolist())
    assert learner.choose(X.take(among, axis=0), 3).shown == tuple(among.tolist().index(k) for k in choice.shown)


@pytest.mark.parametrize("model", ["diagonal", "full", "kernel"])
def test_equal_items_are_shown_equally_often(model):
    """Rows 1 and 3 are the same: which of them meets another item is the ticket's choice, with the chance it says."""
    X = np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.0], [0.3, 0.0, 1.0], [0.0, 1.0, 0.0]])
    learner, rng = make("sep", dim=3, model=model), np.random.default_rng(0)
    for answer in (1.0, -1.0, 1.0, 1.0, -1.0):
        learner.learn(X, learner.choose(X, rng), answer)
    counts: dict[tuple[int, ...], int] = {}
    chances = {}
    for ticket in range(4000):
        choice = learner.choose(X, ticket)
        counts[choice.shown] = counts.get(choice.shown, 0) + 1
        chances[choice.shown] = choice.memo["chance"]
    assert sum(chances.values()) == pytest.approx(1.0)
    for shown, chance in chances.items():
        # Five standard deviations of a binomial count.
        assert abs(counts[shown] - 4000 * chance) <= 5 * math.sqrt(4000 * chance * (1 - chance))


def test_the_first_pair_is_any_pair():
    learner, counts = make("sep", dim=4, model="full"), np.zeros((4, 4))
    for ticket in range(6000):
        choice = learner.choose(np.eye(4), ticket)
        counts[choice.shown] += 1
        assert choice.memo["chance"] == pytest.approx(1 / 12)
    off = counts[~np.eye(4, dtype=bool)]
    assert np.abs(off - 500).max() <= 5 * math.sqrt(6000 / 12 * 11 / 12)
    assert board.pick_once(np.zeros(3), 3, 1, np.uint64(5), np.uint64(0))[0] != 1


def test_a_pair_rule_cannot_be_half_of_a_policy():
    with pytest.raises(ValueError, match="chooses a pair"):
        Policy(first=GREEDY, second=SEPARATION)


@pytest.mark.parametrize("rule", ["THOMPSON", "RELATIVE_UCB", "CHALLENGER", "ALONE", "EXPLORE"])
def test_rules_that_need_a_first_item_are_never_first(rule):
    with pytest.raises(ValueError, match=f"{rule} can only be the second rule"):
        Policy(first=getattr(policies, rule), second=GREEDY)


def test_the_challenger_has_no_gate_and_built_in_rules_are_named():
    with pytest.raises(ValueError, match="CHALLENGER has a width without eta"):
        Policy(first=GREEDY, second=policies.CHALLENGER, gate=policies.CONFIDENT)
    with pytest.raises(ValueError, match="the second rule CHALLENGER of a custom policy cannot be saved"):
        dumps(make(policies.TOB, dim=3))
    python = Policy(first=lambda model, X, first, eta, ticket: model.scores(X), second=policies.THOMPSON)
    with pytest.raises(ValueError, match="THOMPSON cannot be combined with a rule written in Python"):
        make(python, dim=3).choose(np.eye(3), 0)


def test_far_apart_items_are_still_told_apart():
    """Where sigma exp(-d^2/(2 sigma^2)) would be 0 for all pairs, the least settled one is shown all the same."""
    learner, X = make("sep", dim=3, model="full", lam=1e-3), np.eye(3)
    for pair, times in (((0, 1), 4000), ((1, 2), 2000)):
        for _ in range(times):
            learner.learn(X, Choice(pair, Query.DUEL, 0, {}), 1.0)
    assert {learner.choose(X, ticket).shown for ticket in range(20)} == {(1, 2)}
