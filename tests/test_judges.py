"""Judges: the laws they claim, and noisy the same law as linear."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.judges import LawJudge, make_judge, rewards_of
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
