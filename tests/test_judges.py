"""Judges: the laws they claim for two and for several, and noisy the same law as linear."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.answers import shares_of
from conquer.judges import LawJudge, make_judge, rewards_of
from conquer.rows import Rounds
from conquer.simulation import simulate
from conquer.types import Choice, Query

N = 40_000
DUEL = Choice((0, 1), Query.DUEL, 0)


def share_of_first(judge, rewards, seed=0):
    rng = np.random.default_rng(seed)
    return np.mean([judge(DUEL, rewards, rng) > 0 for _ in range(N)])


@pytest.mark.parametrize("law", ["linear", "noisy"])
@pytest.mark.parametrize("rewards", [(1.0, -1.0), (0.5, -0.25), (-1.0, 0.5), (0.0, 0.0), (-0.5, -0.5)])
def test_linear_and_noisy_have_one_law(law, rewards):
    chance = (1 + (rewards[0] - rewards[1]) / 2) / 2
    margin = 4.5 * np.sqrt(chance * (1 - chance) / N)
    assert abs(share_of_first(LawJudge(law), np.array(rewards)) - chance) <= margin


def test_logistic_is_bradley_terry():
    chance = 1 / (1 + np.exp(-3 * 0.4))
    share = share_of_first(LawJudge("logistic", scale=3.0), np.array([0.6, 0.2]))
    assert abs(share - chance) <= 4.5 * np.sqrt(chance * (1 - chance) / N)


def test_raters_draw_one_real_rating_each():
    ratings = np.array([[3.0, 1.0, 2.0], [2.0, np.nan, np.nan]])
    rng = np.random.default_rng(0)
    answers = [LawJudge("raters")(DUEL, ratings, rng) for _ in range(6000)]
    for value in (1.0, 0.0, -1.0):
        assert abs(answers.count(value) / 6000 - 1 / 3) < 4.5 * np.sqrt(2 / 9 / 6000)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=6), st.integers(0, 5))
def test_best_asks_whether_it_is(rewards, shown):
    shown %= len(rewards)
    answer = make_judge("best")(Choice((shown,), Query.BEST, 0), np.array(rewards), 3)
    assert answer == (1.0 if rewards[shown] == max(rewards) else -1.0)


def test_perfect_knows_ties_and_nobody_answers_silence():
    judge = LawJudge("perfect")
    assert judge(DUEL, np.array([0.5, 0.5]), 1) == 0
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert judge(Choice((0,), Query.NONE, 0), np.array([0.5, 0.5]), rng) is None
    assert rng.bit_generator.state != before


def test_wrong_judges_and_stars_are_named():
    with pytest.raises(ValueError, match="judge must be one of"):
        make_judge("fair")
    with pytest.raises(ValueError, match="scale"):
        LawJudge("logistic", scale=0.0)
    with pytest.raises(ValueError, match="ratings"):
        LawJudge("raters")(DUEL, np.array([0.0, 1.0]), 1)
    with pytest.raises(ValueError, match="stars"):
        rewards_of([0, 5])


@pytest.mark.parametrize("law", ["linear", "logistic"])
@pytest.mark.parametrize("outside", [False, True])
def test_picks_come_as_often_as_the_law_says(law, outside):
    rewards, shown, n = np.array([0.6, -0.2, 0.1, -0.9]), (2, 0, 3), 6000
    judge = LawJudge(law, 2.0, outside)
    choice = Choice(shown, Query.DUEL, 0, {"outside": True})
    counts = sum(shares_of(judge(choice, rewards, ticket), 3) for ticket in range(n)) / n
    worth = np.append(rewards[list(shown)], [0.0] if outside else [])
    if law == "logistic":
        expected = np.exp(2 * worth) / np.exp(2 * worth).sum()
    else:
        expected, up = np.zeros(worth.size), (1 + worth) / 2
        for bits in np.ndindex(*[2] * worth.size):
            chance = math.prod(p if b else 1 - p for p, b in zip(up, bits, strict=True))
            best = np.flatnonzero(np.array(bits) == max(bits))
            expected[best] += chance / best.size
    expected = np.append(expected, [] if outside else [0.0])
    np.testing.assert_array_less(np.abs(counts - expected), 5 * np.sqrt(expected * (1 - expected) / n) + 1e-9)


@pytest.mark.parametrize("law", ["linear", "noisy", "logistic", "perfect"])
def test_of_two_the_judge_of_several_is_the_judge_of_duels(law):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rounds = Rounds(X, [rng.choice(40, 6, replace=False) for _ in range(70)], X[:, 0])
    one = simulate("gnr", rounds, judge=law, seed=4)
    two = simulate("gnr", rounds, judge=LawJudge(law), seed=4)
    np.testing.assert_array_equal(one.answers, two.answers)
    with pytest.raises(ValueError, match="judge must be"):
        LawJudge("nobody")


def test_raters_name_the_best_of_several_by_drawn_ratings():
    ratings = np.tile([[1.0, 3.0, np.nan]], (4, 1))
    ratings[2] = [2.0, np.nan, np.nan]
    rounds = Rounds(np.eye(4), [[0, 1, 2, 3]] * 2000, [0.0] * 4, ratings)
    trace = simulate("rank-breaking", rounds, judge="raters", show=4, lam=1e6, seed=0)
    third = sum(
        shares_of(float(answer), 4)[list(shown).index(2)]
        for answer, shown in zip(trace.answers, trace.shown, strict=True)
    )
    # Item 2 wins where the three others all draw 1.
    assert abs(third / 2000 - 1 / 8) < 4.5 * math.sqrt(7 / 64 / 2000)
