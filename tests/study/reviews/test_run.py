"""The same numbers in one process, in several, on a cluster that loses a worker, and after being killed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from study.studies import numbers, tiny

from conquer.study.backends import choose, processes
from conquer.study.progress import RUNNING, Quiet
from conquer.study.reviews import domains, outcomes, rounds, sources
from conquer.study.reviews.run import study
from conquer.study.reviews.spec import CEILING


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory):
    return study(tiny(), tmp_path_factory.mktemp("serial"))


def test_every_cell_is_there_and_makes_sense(finished) -> None:
    results = finished.results
    assert results.height == 2 * 2 * 5 * 2
    assert set(results["algorithm"]) == {"ttg", "gnc", "banditron", "random", CEILING}
    assert results["error"].is_between(0, 1).all()
    means = {
        row["algorithm"]: row["error"] for row in results.group_by("algorithm").agg(pl.col("error").mean()).to_dicts()
    }
    assert means[CEILING] < means["ttg"] < means["random"]
    learners = results.filter(pl.col("algorithm") != CEILING)
    assert (
        learners["trained"] == learners["answers"] + (learners["trained"] * (1 - learners["query_rate"])).round(0)
    ).all()
    assert sorted(p.name for p in finished.folder.iterdir()) == [
        "cells",
        "curves.parquet",
        "domains",
        "results.parquet",
    ]
    assert pl.read_parquet(finished.folder / "results.parquet").equals(results)


def test_the_golden_study(finished) -> None:
    """The numbers of record: if a change moves them on purpose, write golden.json anew and say why."""
    golden = json.loads((Path(__file__).parent / "golden.json").read_text())
    assert len(golden) == finished.results.height
    for row in finished.results.to_dicts():
        error, answers, regret = golden[f"{row['domain']} {row['items']} {row['algorithm']} {row['repetition']}"]
        assert row["error"] == pytest.approx(error, abs=1e-8)
        assert row["answers"] == answers
        assert row["regret"] == (None if regret is None else pytest.approx(regret, abs=1e-8))


def test_rounds_are_paired(finished) -> None:
    sets = finished.results.filter(pl.col("algorithm") != CEILING)
    assert (
        sets.group_by("domain", "items", "repetition").agg(pl.col("equal_in_sets").n_unique())["equal_in_sets"] == 1
    ).all()


def test_curves_end_where_the_cells_do(finished) -> None:
    last = finished.curves.sort("round").group_by("domain", "items", "algorithm", "repetition").last()
    joined = last.join(finished.results, on=["domain", "items", "algorithm", "repetition"], suffix="_cell")
    assert joined.height == last.height
    for name in ("regret", "answers", "error"):
        assert (joined[name] == joined[f"{name}_cell"]).all()


def test_processes_give_the_same(finished, tmp_path: Path) -> None:
    other = study(tiny(), tmp_path, processes(2))
    assert numbers(other.results) == numbers(finished.results)
    assert numbers(other.curves) == numbers(finished.curves)


class KillsOneWorker(Quiet):
    """Ends a worker process when the first cells come in."""

    def __init__(self, workers) -> None:
        self.workers, self.stage, self.killed = workers, "", False

    def begin(self, stage: str, work: float) -> None:
        self.stage = stage

    def advance(self, work: float) -> None:
        if self.stage == RUNNING and not self.killed:
            os.kill(self.workers[0].process.pid, signal.SIGKILL)
            self.killed = True


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_loses_a_worker_gives_the_same(finished, tmp_path: Path) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as local:
        progress = KillsOneWorker(list(local.workers.values()))
        other = study(tiny(), tmp_path, choose(2, local.scheduler_address), progress)
    assert progress.killed
    assert numbers(other.results) == numbers(finished.results)
    assert numbers(other.curves) == numbers(finished.curves)


def test_killed_anywhere_it_goes_on(finished, tmp_path: Path) -> None:
    code = "from study.studies import tiny; from conquer.study.reviews.run import study; study(tiny(), {!r})"
    paths = [str(Path(__file__).parents[2]), str(Path(__file__).parents[3])]
    for more in (1, 12):
        process = subprocess.Popen(
            [sys.executable, "-c", code.format(str(tmp_path))], env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
        )
        before = len(list(tmp_path.glob("cells/*/*.json")))
        while process.poll() is None and len(list(tmp_path.glob("cells/*/*.json"))) < before + more:
            time.sleep(0.005)
        process.kill()
        process.wait()
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("cells/*/*.json")}
    assert len(kept) >= 13
    other = study(tiny(), tmp_path)
    assert numbers(other.results) == numbers(finished.results)
    assert numbers(other.curves) == numbers(finished.curves)
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


def test_a_larger_study_runs_only_what_is_new(finished, tmp_path: Path) -> None:
    study(tiny(repetitions=1, algorithms=("ttg", "random")), tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("cells/*/*.json")}
    other = study(tiny(), tmp_path)
    assert numbers(other.results) == numbers(finished.results)
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


def test_a_worker_that_cannot_see_the_folder_builds_its_own(
    finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domains.tempfile, "gettempdir", lambda: str(tmp_path))
    source = sources.sources(tiny())[0]
    built = domains.load(source, str(tmp_path / "nowhere"))
    direct, _ = domains.build(source)
    assert np.array_equal(built.rows.data, direct.rows.data)
    assert np.array_equal(built.hashes, direct.hashes)


def test_passes_and_other_models(tmp_path: Path) -> None:
    spec = tiny(passes=3, domains=("android",), items=(3,), repetitions=1, algorithms=("gnc", "banditron"))
    result = study(spec, tmp_path).results.filter(pl.col("algorithm") == "gnc")
    assert result["query_rates"].list.len().to_list() == [3]
    assert result["trained"][0] == 3 * (result["trained"][0] // 3)
    other = study(tiny(features="idf", update="coordinate", domains=("android",), items=(3,), repetitions=1), tmp_path)
    assert set(other.results["features"]) == {"idf"}
    assert set(other.results["update"]) == {"coordinate"}
    spec = tiny(model="kernel", domains=("android",), items=(3,), repetitions=1, algorithms=("ttg", "banditron"))
    assert study(spec, tmp_path).results["error"].max() < 0.6


def test_digits(tmp_path: Path) -> None:
    spec = tiny(data="digits", domains=None, items=(10,), algorithms=("gnr",), repetitions=1, test_sets=300)
    results = study(spec, tmp_path).results
    error = {row["algorithm"]: row["error"] for row in results.to_dicts()}
    assert error[CEILING] < 0.12
    assert error["gnr"] < 0.75  # blind: 0.9; an answer is right three times in four


def test_an_error_with_digits_is_a_wrong_label(tmp_path: Path) -> None:
    """Whatever the rewards, the error is the share of wrong labels, on test sets and online."""
    spec = tiny(data="digits", domains=None, items=(10,), algorithms=("confidit",), repetitions=1, test_sets=300)
    source = sources.sources(spec)[0]
    domains.store(source, tmp_path)
    domain = domains.load(source, str(tmp_path))
    part = rounds.restricted(domain, np.arange(300), np.arange(300, 600), spec.features)
    right = (part.stars == 5).astype(float)
    assert [rounds.test_error(part, part.groups[300:600], s) for s in (right, -right)] == [0.0, 1.0]
    assert rounds.test_error(part, part.groups[300:600], 0 * right) == pytest.approx(0.9)
    course = rounds.course(part, rounds.draw(part, part.learning, 300, 10, 0), 1, 50, (1.0,), "digits")
    outcome = outcomes.follow(spec, "confidit", {}, part, course)
    wrong = (outcome.traces[0].rewards[:, 0] < 1).mean()
    found = outcomes.measured(outcome, 1, part.span)
    assert 0 < wrong < 1
    assert (found["online_error"], found["regret"]) == (pytest.approx(wrong), pytest.approx(300 * wrong))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithms": ("nobody",)}, "unknown algorithm 'nobody'"),
        ({"domains": ("nowhere",)}, "unknown domain nowhere in synthetic"),
        ({"items": (50,)}, "too few for rounds of 50 items in every part"),
        ({"judge": "raters"}, "no individual ratings"),
        ({"data": "/no/such/place", "domains": None}, "no such"),
    ],
)
def test_refusals(tmp_path: Path, changes, message: str) -> None:
    with pytest.raises((ValueError, OSError), match=f"(?i){message}"):
        study(tiny(**changes), tmp_path)


def test_choosing_a_backend() -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        choose(0, None)
