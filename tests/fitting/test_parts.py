"""Sums over parts: the same bits wherever the parts are summed, in processes, on a cluster, with a worker killed."""

import json
import os
import signal
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from fits import fit_in_parts

import conquer
from conquer.data.compression import DataError
from conquer.data.tables import cut, sniff
from conquer.fitting.parts import PartTask, merge, sum_part
from conquer.fitting.workers import spread

distributed = pytest.importorskip("distributed")


@pytest.fixture
def log(tmp_path):
    """Three files of votes with strengths, whose sums depend on the order in which they are added."""
    rng = np.random.default_rng(5)
    for k in range(3):
        lines = [
            f"m{a},m{(a + d) % 12},{y:.6f},{w:.6f}"
            for a, d, y, w in zip(
                rng.integers(12, size=400), rng.integers(1, 12, size=400), rng.uniform(-1, 1, 400),
                rng.uniform(0, 1, 400), strict=True
            )
        ]  # fmt: skip
        (tmp_path / f"{k}.csv").write_text("\n".join(["left,right,answer,weight", *lines]) + "\n")
    return [tmp_path / f"{k}.csv" for k in range(3)]


@pytest.fixture
def vectors(tmp_path):
    rng = np.random.default_rng(6)
    path = tmp_path / "vectors.jsonl"
    rows = [
        f'{{"chosen": {rng.normal(size=4).tolist()}, "rejected": {rng.normal(size=4).tolist()}}}' for _ in range(300)
    ]
    path.write_text("\n".join(rows) + "\n")
    return path


def parts_of(paths, size):
    return [part for path in paths for part in cut(sniff(path), size)]


def state(session):
    model = session.learner.model
    return model.weights().tobytes(), model.inverse.tobytes(), model.stats.tobytes(), session.catalog.names


def test_the_sum_of_parts_is_that_of_the_whole(log):
    whole, parts = conquer.fit(log), fit_in_parts(2_000, log)
    np.testing.assert_allclose(whole.learner.model.inverse, parts.learner.model.inverse, atol=1e-9)
    assert whole.catalog.names == parts.catalog.names
    assert whole.learner.answers == parts.learner.answers == 1200


def test_processes_give_the_same_bits(log, vectors):
    assert state(fit_in_parts(4_000, log, jobs=2)) == state(fit_in_parts(4_000, log))
    assert state(fit_in_parts(9_000, vectors, jobs=2)) == state(fit_in_parts(9_000, vectors))


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as running:
        yield running


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_the_same_bits(log, vectors, cluster):
    address = cluster.scheduler_address
    assert state(fit_in_parts(4_000, log, cluster=address)) == state(fit_in_parts(4_000, log))
    assert state(fit_in_parts(9_000, vectors, cluster=address)) == state(fit_in_parts(9_000, vectors))
    log[1].write_text("left,right,answer,weight\nm1,m2,0.5,7\n")
    with pytest.raises(DataError, match=r"1.csv, line 2: a weight must be"):
        conquer.fit(log, cluster=address)


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_dies_changes_no_bit(log, cluster):
    tasks = [PartTask(source, {"content": "ids"}) for source in parts_of(log, 4_000)]
    expected = merge(tasks, spread(sum_part, tasks))
    worker, results = next(iter(cluster.workers.values())), []
    for result in spread(sum_part, tasks, cluster=cluster.scheduler_address):
        if not results:
            os.kill(worker.process.pid, signal.SIGKILL)
        results.append(result)
    found = merge(tasks, iter(results))
    assert found.sums.squares.tobytes() == expected.sums.squares.tobytes()
    assert found.sums.gains.tobytes() == expected.sums.gains.tobytes()


def test_no_scheduler_is_told_at_once(log):
    with pytest.raises(OSError, match="no Dask scheduler answers"):
        conquer.fit(log, cluster="tcp://127.0.0.1:9")


@pytest.mark.parametrize("how", [{}, {"model": "diagonal"}])
@pytest.mark.parametrize(("last", "listed"), [("a blue mug", 3), ("an iron pot", None)])
def test_texts_are_listed_up_to_a_number_over_all_parts(how, last, listed, tmp_path, monkeypatch):
    monkeypatch.setattr("conquer.fitting.parts.MOST_LISTED", 3)
    monkeypatch.setattr("conquer.fitting.warm_start.MOST_LISTED", 3)
    paths = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for path, losers in zip(paths, [("a blue mug", "an old can"), (last,)], strict=True):
        path.write_text("\n".join(json.dumps({"chosen_text": "green tea", "rejected_text": text}) for text in losers))
    catalog = conquer.fit(paths, dim=32, **how).catalog
    assert (None if catalog is None else len(catalog)) == listed


def test_every_text_is_listed_under_a_name_of_its_own():
    """Texts that are reserved words, or differ only in spaces or at their ends, have names that a session accepts."""
    texts = ["tie", "tea", " tea", "x" * 80, "x" * 81, "x" * 82]
    votes = [{"chosen": one, "rejected": two} for one, two in pairwise(texts)]
    names = conquer.fit(votes, content="texts", dim=32).catalog.names
    assert len(names) == len({*names}) == len(texts)
    assert {"tea", "x" * 80} <= {*names}
    assert not {"tie", " tea"} & {*names}


_FITS = """
import hashlib
import pathlib
import tempfile
import numpy as np
import conquer
from conquer.fitting.style import without_style

rng = np.random.default_rng(0)
ids = [f"i{k}" for k in range(300)]
votes = [(*rng.choice(ids, 2, replace=False), float(rng.uniform(-1, 1))) for _ in range(3000)]
vectors = {name: rng.normal(size=100).tolist() for name in ids}
pairs = [(vectors[one], vectors[two], y) for one, two, y in votes]
styled = [{"first": one, "second": two, "answer": y, "note": y / 2} for one, two, y in votes]
some = [",".join(map(str, rng.permutation(300) + 1)) for _ in range(9)]
orders = "# NUMBER ALTERNATIVES: 300\\n" + "".join(f"1: {order}\\n" for order in some)
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "some.soc"
    path.write_text(orders)
    ranked = conquer.fit(path)
style = conquer.fit(styled, style=["note"])
for session in conquer.fit(votes), conquer.fit(votes, vectors), conquer.fit(pairs), ranked, style, without_style(style):
    state = session.learner.arrays()
    print(hashlib.sha256(b"".join(state[name].tobytes() for name in sorted(state))).hexdigest())
"""


def test_any_number_of_threads_gives_the_same_bits():
    """In processes of their own that compile nothing before: BLAS reads the number of its threads when it is loaded."""
    own = {name: value for name, value in os.environ.items() if name != "CONQUER_TIER"}
    found = {
        subprocess.run(
            [sys.executable, "-c", _FITS],
            env={**own, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
            check=True, capture_output=True, text=True,
        ).stdout
        for threads in ("1", "2")
    }  # fmt: skip
    assert len(found) == 1
    assert len(found.pop().splitlines()) == 6
