"""Models of a kind share the pages of their tables that none of them has written."""

import copy
import gc
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conquer.models import tables
from conquer.models.diagonal import Diagonal
from conquer.registry import make
from conquer.rows import SparseRows
from conquer.saving import dumps, loads

DIM = 1 << 17
linux = pytest.mark.skipif(sys.platform != "linux", reason="tables are shared on Linux only")


def step(model, features, answer=1.0):
    ids = np.array(features, np.int32)
    rows = SparseRows(np.array([0, ids.size], np.int64), ids, np.ones(ids.size), model.dim)
    model.update(rows, {0: 1.0}, answer)


def several(count, **settings):
    """Models of one kind, the first of which has ordinary memory."""
    return [Diagonal(DIM, **settings) for _ in range(count)]


@linux
@pytest.mark.parametrize("settings", [{}, {"lam": 0.3}, {"lam": 7.0}])
def test_a_shared_table_is_that_of_ordinary_memory_bit_for_bit(settings):
    alone, shared = several(2, **settings)
    assert tables.own_bytes(alone.table) == alone.table.nbytes
    assert tables.own_bytes(shared.table) == 0
    rng = np.random.default_rng(1)
    for turn in range(20):
        features = np.sort(rng.choice(DIM, 5, replace=False))
        for model in (alone, shared):
            step(model, features, (-1.0) ** turn)
        assert alone.table.tobytes() == shared.table.tobytes()
    assert 0 < tables.own_bytes(shared.table) <= 2 * 100 * tables.PAGE < shared.table.nbytes
    for name, array in alone.arrays().items():
        np.testing.assert_array_equal(array, shared.arrays()[name])


@linux
def test_looking_takes_no_memory():
    _, shared = several(2)
    step(shared, [3, 70_000])
    own = tables.own_bytes(shared.table)
    shared.weights(), shared.precision(), shared.arrays()
    assert own == tables.own_bytes(shared.table) == 2 * tables.PAGE


@linux
def test_one_model_moves_no_other():
    first, one, other = several(3)
    step(one, [5])
    for copied in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        step(copied, [5])
        assert copied.weights()[5] != one.weights()[5] != 0.0
    assert not any(model.weights().any() for model in (first, other, Diagonal(DIM)))


@linux
def test_a_forked_process_moves_its_own():
    _, model = several(2)
    step(model, [5])
    before = model.weights()
    child = os.fork()
    if child == 0:
        step(model, [5, 6])
        os._exit(int(model.weights()[5] == before[5]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_array_equal(before, model.weights())


@linux
def test_a_restored_model_takes_memory_only_for_what_moved():
    kept = [make("gnr", dim=DIM) for _ in range(2)]
    step(kept[1].model, [1, 2, 90_000])
    restored, *_ = loads(dumps(kept[1]))
    assert restored.model.table.tobytes() == kept[1].model.table.tobytes()
    assert tables.own_bytes(restored.model.table) == 2 * tables.PAGE


def files():
    """How many templates this process holds open."""
    return sum("conquer-table" in os.path.realpath(link) for link in Path("/proc/self/fd").iterdir())


@linux
def test_templates_end_with_their_models_and_stay_within_their_room(monkeypatch):
    gc.collect()
    before = files()
    kinds = [several(2, lam=0.01 * k) for k in range(1, 4)]
    assert all(tables.own_bytes(pair[1].table) == 0 for pair in kinds)
    assert files() == before + 3
    del kinds
    assert files() == before
    monkeypatch.setattr(tables, "_ROOM", 3 * DIM * 16 // 2 + sum(one.bytes for one in tables._alive()))
    pairs = [several(2, lam=0.01 * k) for k in range(1, 4)]
    assert [tables.own_bytes(pair[1].table) for pair in pairs] == [0, DIM * 16, DIM * 16]


def test_without_files_in_memory_a_model_has_its_own(monkeypatch):
    monkeypatch.setattr(tables, "_can_share", False)
    models = several(3, lam=0.123)
    assert [tables.own_bytes(model.table) for model in models] == [DIM * 16] * 3


_MANY = """
import re
from pathlib import Path
from conquer.registry import make
from conquer.features.featurizer import Featurizer

def dirty():
    return 1024 * int(re.search(r"Private_Dirty: +([0-9]+)", Path("/proc/self/smaps_rollup").read_text())[1])

reading = Featurizer(dim=1 << 17)
rows = [reading([f"cup {k}", f"mug {k}"]) for k in range(3)]
def taught():
    learner = make("gnr", dim=1 << 17)
    for ticket, X in enumerate(rows):
        learner.learn(X, learner.choose(X, ticket), 1.0)
    return learner
warm = [taught(), taught()]
before = dirty()
models = [taught() for _ in range(200)]
print((dirty() - before) / sum(one.model.table.nbytes for one in models))
"""


@linux
def test_two_hundred_models_with_a_few_answers_take_a_tenth_of_full_copies():
    done = subprocess.run([sys.executable, "-c", _MANY], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 0.1


ANOTHER_FILE = """
import os, sys
from conquer.models import tables
from conquer.models.diagonal import Diagonal
first, second = Diagonal(1 << 17), Diagonal(1 << 17)
(template,) = tables._alive()
with open(sys.argv[1], "w+b") as short:
    os.dup2(short.fileno(), template.file)
third = Diagonal(1 << 17)
print(float(third.weights().sum()), float(second.weights().sum()))
"""


@linux
def test_a_table_is_mapped_from_no_other_file(tmp_path):
    """Where a program closes a descriptor twice, another file may get a template's: reading beyond its end is fatal."""
    run = [sys.executable, "-c", ANOTHER_FILE, str(tmp_path / "short")]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["0.0", "0.0"]), done.stderr
