"""The contenders do the work they are timed for."""

import numpy as np
import pytest

from benchmarks import decisions, everyday
from benchmarks.timing import cores
from benchmarks.workload import draw_rounds, zipf_items

SMALL = decisions.Effort(rounds=4, turns=1, items=30, nonzeros=7, dim=200)


def test_a_small_run_has_every_contender(tmp_path):
    before = cores()
    race = decisions.measure(tmp_path, SMALL)
    assert cores() == before
    assert {*decisions.ALGORITHMS, "stream"} <= set(race.turns)
    assert all(turns.size == 1 for turns in race.turns.values())
    assert len(decisions.goals(race)) == (5 if "vw cache" in race.turns else 1)


def test_vowpal_wabbit_reads_the_rounds_it_is_given(tmp_path):
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the bench extra is not installed")
    rounds = draw_rounds(zipf_items(30, 7, 200, seed=0), 20, 10, seed=1)
    decisions.vowpal(rounds, tmp_path)()
    model = tmp_path / "model.txt"
    options = f"--cache_file {tmp_path / 'rounds.cache'} -d {tmp_path / 'rounds.vw'} --readable_model {model}"
    vowpalwabbit.Workspace(f"{decisions.VOWPAL} {options}").finish()
    assert sum(line[:1].isdigit() and ":" in line for line in model.read_text().splitlines()) > 10


def test_streaming_reads_every_entry():
    X = zipf_items(9, 7, 50, seed=0)
    sets = np.array([[0, 3], [8, 3]])
    ids = np.concatenate([X.indices[7 * row : 7 * row + 7] for row in sets.ravel()])
    total = sum(X.data[7 * row : 7 * row + 7].sum() for row in sets.ravel())
    assert decisions.read_rows(X.indptr, X.indices, X.data, sets) == pytest.approx(total + np.bitwise_xor.reduce(ids))


def test_a_learner_is_fresh_in_every_turn():
    rounds = draw_rounds(zipf_items(30, 7, 200, seed=0), 50, 5, seed=1)
    turn = decisions.simulated("gnc", rounds)
    learner = turn.__closure__[[*turn.__code__.co_freevars].index("learner")].cell_contents
    seen = []
    for _ in range(2):
        turn()
        seen.append(learner.model.weights().copy())
    np.testing.assert_array_equal(*seen)


def test_every_path_asks_and_learns():
    race = everyday.measure(quick=True)
    assert list(race.turns) == list(everyday.PATHS)
    assert len(everyday.goals(race)) == 2
