"""The contenders do the work they are timed for: the same rounds, the same choices, each in its own files."""

import numpy as np
import pytest

from conquer.bench import decisions
from conquer.bench.timing import cores, running_on
from conquer.bench.work import draw_rounds, named_items, zipf_items
from conquer.kernels.bench.streaming import read_rows
from conquer.registry import make
from conquer.simulation import simulate

SMALL = decisions.Effort(rounds=4, turns=1, counts=(5, 10), orders=(True, False), items=30, nonzeros=7, dim=200)


def test_a_small_run_has_every_contender_at_every_size(tmp_path):
    notes, before = [], cores()
    races, missing = decisions.measure(tmp_path, SMALL, notes.append)
    assert cores() == before
    assert list(races) == ["K = 5, ids by frequency", "K = 10, ids by frequency", "K = 10, ids shuffled"]
    assert len(notes) == (3 if before else 4)
    for name, race in races.items():
        assert {*decisions.ALGORITHMS, "stream", "ttg calls", "gnc float32"} <= set(race.turns), name
        assert ("vw cache" in race.turns) == (missing == [])
        assert ("ttg dicts" in race.turns) == (name == "K = 10, ids by frequency")
        two = len(before) > 1 and missing == [] and "ttg dicts" in race.turns
        assert ("vw cache, two cores" in race.turns) == two
        for contender, turns in race.turns.items():
            assert turns.size == 1
            assert contender.startswith("vw") or turns[0] > 0.0


def test_a_race_stays_on_its_core_and_a_contender_may_leave_it():
    everywhere = cores()
    if len(everywhere) < 2:
        pytest.skip("one core only, or no way to choose")
    one = {min(everywhere)}
    with running_on(one):
        seen = []
        decisions.on_cores(lambda: seen.append(cores()) or 1.0, everywhere)()
        assert (seen, cores()) == ([everywhere], one)
    with pytest.raises(ZeroDivisionError), running_on(one):
        1 / 0  # noqa: B018
    assert cores() == everywhere


def test_vowpal_wabbit_reads_the_rounds_it_is_given(tmp_path):
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="the bench extra is not installed")
    from conquer.bench import vowpal

    for name, ordered in (("one", True), ("two", False)):
        rounds = draw_rounds(zipf_items(30, 7, 200, seed=0, ordered=ordered), 20, 10, seed=1)
        vowpal.contenders(rounds, tmp_path / name, named_items(rounds, 2))["vw cache"]()
        model = tmp_path / f"{name}.txt"
        cache = tmp_path / name / "rounds.cache"
        options = f"{vowpal.OPTIONS} --cache_file {cache} -d {tmp_path / name / 'rounds.vw'} --readable_model {model}"
        vowpalwabbit.Workspace(options).finish()
        found = [line for line in model.read_text().splitlines() if line[:1].isdigit() and ":" in line]
        assert len(found) > 10
    assert (tmp_path / "one.txt").read_text() != (tmp_path / "two.txt").read_text()
    with pytest.raises(FileExistsError):
        vowpal.contenders(rounds, tmp_path / "one", [])


def test_the_floor_reads_every_entry():
    X = zipf_items(9, 7, 50, seed=0)
    sets = np.array([[0, 3], [8, 3]])
    ids = np.concatenate([X.indices[7 * row : 7 * row + 7] for row in sets.ravel()])
    total = sum(X.data[7 * row : 7 * row + 7].sum() for row in sets.ravel())
    expected = total + np.bitwise_xor.reduce(ids)
    for ahead in (False, True):
        assert read_rows(X.indptr, X.indices, X.data, sets, ahead) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["ttg", "gnc", "gnt"])
def test_calls_make_the_choices_of_the_compiled_loop_in_every_turn(name):
    rounds = draw_rounds(zipf_items(30, 7, 200, seed=0), 200, 5, seed=1)
    trace = simulate(make(name, dim=200), rounds, seed=decisions.SEED)
    learner = make(name, dim=200)
    seen = []
    work = decisions.calls(learner, rounds)
    turn = decisions.anew(learner, lambda: seen.append(work()), len(rounds))
    assert turn() > 0.0
    assert turn() > 0.0
    for choices in seen:
        shown = [[*choice.shown, -1][:2] for choice in choices]
        np.testing.assert_array_equal(shown, trace.shown)
