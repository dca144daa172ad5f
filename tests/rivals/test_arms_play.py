"""What the learners of arms do over many rounds: they find the winner and settle."""

import math

import numpy as np
import pytest

from conquer.registry import make
from conquer.rows import Rounds
from conquer.saving import dumps, loads
from conquer.simulation import simulate
from conquer.types import Query


def play(name, P, rounds, seed, **parameters):
    """Shown pairs of a learner on a preference matrix."""
    K, rng = len(P), np.random.default_rng(seed)
    learner, shown = make(name, dim=K, **parameters), []
    for _ in range(rounds):
        choice = learner.choose(np.eye(K), rng)
        shown.append((choice.shown[0], choice.shown[-1]))
        coin = rng.random()
        if choice.query.name == "DUEL":
            learner.learn(np.eye(K), choice, 1.0 if coin < P[choice.shown] else -1.0)
    return learner, np.array(shown)


def ladder(K, gap=0.2):
    """Arm 0 beats all, every earlier arm every later one."""
    P = np.full((K, K), 0.5)
    P[np.triu_indices(K, 1)] += gap
    P[np.tril_indices(K, -1)] -= gap
    return P


@pytest.mark.parametrize("name", ["rucb", "double-thompson", "rmed1"])
def test_the_winner_is_found_and_regret_flattens(name):
    """All three prove logarithmic regret against a Condorcet winner: the last rounds cost little."""
    _, shown = play(name, ladder(5), 2500, 0)
    late = (shown[-800:] == 0).mean()
    assert late > 0.8, late


def test_cyclic_preferences_with_a_copeland_winner():
    """Double Thompson sampling needs no Condorcet winner: it ends among the Copeland winners."""
    P = ladder(5, 0.3)
    P[0, 1], P[1, 0] = 0.5 + 0.3, 0.5 - 0.3
    P[0, 4], P[4, 0] = 0.2, 0.8  # a cycle: 0 beats 1, 2, 3; 1 beats 2, 3, 4; 4 beats only 0
    _, shown = play("double-thompson", P, 2500, 1)
    assert np.isin(shown[-500:, 0], [0, 1]).mean() > 0.95


def test_the_interleaved_filter_ends_with_the_best_arm():
    """Its guarantee: with chance 1 - 1/T the best arm is the last. Six runs at T = 2000."""
    ends = [play("interleaved-filter", ladder(5, 0.48), 3000, seed, horizon=2000)[1][-1].tolist() for seed in range(6)]
    assert ends == [[0, 0]] * 6


def test_beat_the_mean_never_drops_the_best_arm_first():
    """Its elimination guarantee: with chance 1 - 1/T the best arm survives."""
    for seed in range(3):
        learner, _ = play("beat-the-mean", ladder(5, 0.48), 4000, seed, horizon=1000)
        assert learner.model.rule.alive[0]
        assert learner.model.rule.alive.sum() < 5


def test_rucb_wakes_up_as_often_as_its_clock_would():
    """A sure champion at time t would be challenged at t*: the mean number of silent rounds is t* - t."""
    learner = make("rucb", dim=2)
    X, t = np.eye(2), 0
    for _ in range(12):
        choice = learner.choose(X, t)
        while choice.query.name != "DUEL":
            t += 1
            choice = learner.choose(X, t)
        learner.learn(X, choice, 1.0 if choice.shown[0] == 0 else -1.0)
        t += 1
    wins, clock = learner.model.wins, learner.model.clock
    n = wins[0, 1] + wins[1, 0]
    due = math.ceil(math.exp(n * 0.25 / 0.51))
    asked = [learner.choose(X, 10_000 + k).query.name == "DUEL" for k in range(4_000)]
    chance = 1 / max(due - clock, 1)
    assert abs(np.mean(asked) - chance) < 5 * math.sqrt(chance / 4_000)


def test_the_challenger_comes_from_the_champions_column():
    """The transposed index of a popular package would challenge with the arm that the champion beats most."""
    learner = make("double-thompson", dim=3)
    learner.model.wins = np.array([[0.0, 90.0, 40.0], [10.0, 0.0, 40.0], [60.0, 60.0, 0.0]])
    learner.model.clock = 300.0
    shown = [learner.choose(np.eye(3), t).shown for t in range(200)]
    assert all(1 not in pair[1:] for pair in shown if pair[0] == 0)


def test_rounds_may_hold_more_arms_than_before_or_fewer():
    for name in ("interleaved-filter", "beat-the-mean", "rucb", "rmed1", "double-thompson"):
        learner, rng = make(name, dim=6), np.random.default_rng(0)
        for count in rng.integers(2, 7, 200):
            choice = learner.choose(np.eye(6)[:count], rng)
            assert max(choice.shown) < count
            if choice.query.name == "DUEL":
                learner.learn(np.eye(6)[:count], choice, 1.0 if choice.shown[0] < choice.shown[1] else -1.0)
        again = loads(dumps(learner))[0]
        assert again.choose(np.eye(6), 5) == learner.choose(np.eye(6), 5)


@pytest.mark.parametrize("explore", [0.0, 0.5])
def test_rmed1_chooses_however_sure_it_is(explore):
    """3,000 answers without noise: the divergence of the others is beyond any time that a clock can show."""
    rounds = Rounds(np.eye(3), [[0, 1, 2]] * 3000, [1.0, 0.0, -1.0])
    trace = simulate("rmed1", rounds, judge="perfect", delay=200, explore=explore)
    shown = trace.shown[-500:]
    if explore:
        assert 0.3 < (trace.query[-500:] != Query.NONE).mean() < 0.7  # the explored half, within 9 deviations
    else:
        assert (trace.query[-500:] == Query.NONE).all()
        assert (shown[:, 0] == 0).all()


@pytest.mark.parametrize("clock", [1.0, 1e14, 1e15, 1e16])
def test_rmed1_has_an_end_at_any_lead_and_any_time(clock):
    """Where the next arm is due before, at and after the last time there is."""
    learner = make("rmed1", dim=3)
    learner.model.clock = clock
    for n in (1.0, 10.0, 45.0, 49.0, 50.0, 51.0, 55.0, 1e3, 1e12):
        learner.model.wins, learner.model.rule.remaining = np.triu(np.full((3, 3), n), 1), [0]
        shown = {learner.choose(np.eye(3), t).shown for t in range(20)}
        assert all(0 in pair for pair in shown) or n == 1.0
