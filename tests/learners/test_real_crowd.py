"""Weighing voters: biased workers of a real crowd are found, and simulated ones cost little."""

import csv
import gzip

import numpy as np
import pytest

from conquer.learners.voters import wilson
from conquer.registry import make
from conquer.types import Choice, Query, Source

CROWD, JUDGE = "crowd-comparisons.csv.gz", "gpt4-comparisons.csv.gz"
VALUES = {"left": 1.0, "right": -1.0, "tie": 0.0}


def read_llmfao(folder):
    """(votes of the crowd, votes of the judge, names of the models) of the LLMFAO files."""
    found = [_table(folder / CROWD), _table(folder / JUDGE)]
    names = sorted({row[side] for rows in found for row in rows for side in ("left", "right")})
    places = {name: place for place, name in enumerate(names)}

    def vote(row):
        source = Source(row["worker"], 1) if "worker" in row else Source("gpt-4", 1, "judge")
        return places[row["left"]], places[row["right"]], VALUES[row["winner"]], source

    return [vote(row) for row in found[0]], [vote(row) for row in found[1]], names


def _table(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def trained(rows, count, **parameters):
    """A full model of one-hot items that has learnt these answers."""
    learner = make("gnr", dim=count, model="full", **parameters)
    return train(learner, rows)


def train(learner, rows):
    """The same learner after learning these answers."""
    X = np.eye(learner.dim)
    for first, second, answer, source in rows:
        learner.learn(X, Choice((first, second), Query.DUEL, 0, {}), answer, source)
    return learner


def left_share(rows):
    """(share, interval, count) of the decisive answers that chose the left item."""
    decisive = [answer * source.side > 0 for _, _, answer, source in rows if answer * source.side]
    return float(np.mean(decisive)), wilson(sum(decisive), len(decisive)), len(decisive)


def simulated(seed, items=10, voters=20, bad=4, answers=2000):
    """(rewards, votes) of a simulated crowd whose first `bad` voters always pick the left item."""
    rng = np.random.default_rng(seed)
    rewards, rows = rng.uniform(-1, 1, items), []
    for _ in range(answers):
        first, second = rng.permutation(items)[:2].tolist()
        voter, side = int(rng.integers(voters)), int(rng.choice([-1, 1]))
        honest = 1.0 if rng.random() < (1 + (rewards[first] - rewards[second]) / 2) / 2 else -1.0
        rows.append((first, second, float(side) if voter < bad else honest, Source(f"v{voter}", side)))
    return rewards, rows


def simulated_errors(seeds):
    """(4,): mean error of the scores: unweighted, weighted, and both without the bad voters' answers."""
    bad, found = {f"v{voter}" for voter in range(4)}, []
    for seed in range(seeds):
        rewards, rows = simulated(seed)
        good = [row for row in rows if row[3].voter not in bad]
        runs = ((rows, None), (rows, "voters"), (good, None), (good, "voters"))
        scores = [trained(part, 10, believe=believe).scores(np.eye(10)) for part, believe in runs]
        found.append([np.std(one - rewards) for one in scores])
    return np.asarray(np.mean(found, axis=0))


@pytest.fixture(scope="module")
def llmfao(shared_data):
    folder = shared_data / "votes" / "llmfao"
    if not folder.is_dir():
        pytest.skip(f"LLMFAO's votes are not at {folder}")
    return read_llmfao(folder)


def test_the_crowds_side_and_its_doubtful_workers_are_found(llmfao):
    crowd, _, names = llmfao
    share, (low, high), decisive = left_share(crowd)
    assert len(crowd) == 8931
    assert decisive == 5460
    assert share == pytest.approx(0.533, abs=5e-4)
    assert 0.5 < low < share < high
    learner = trained(crowd, len(names), believe="voters", voters=128)
    found = {voter.name: voter for voter in learner.voters()}
    assert len(found) == 124
    for worker, left in (("20", 0.70), ("37", 0.74)):
        assert found[worker].left == pytest.approx(left, abs=0.005)
        assert found[worker].left_interval[0] > 0.5
        assert found[worker].side_interval[0] > 0
        assert found[worker].doubtful
    assert sum(voter.doubtful for voter in found.values()) <= 10


def test_a_judge_is_worth_a_few_percent_of_the_crowd(llmfao):
    crowd, judge, names = llmfao
    learner = trained([*crowd, *judge], len(names), believe="people", voters=128)
    # About 6 % by held-out votes; far below the 24 % that its number of votes would be.
    assert 0.02 < learner.worth() / len(crowd) < 0.1


def test_voters_who_always_pick_the_left_cost_little():
    uncorrected, weighted, without, _ = simulated_errors(2)
    assert weighted < 1.15 * without < uncorrected
