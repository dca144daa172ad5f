"""Both tiers of every kernel: interpreted and compiled, the same bits; and when which of them runs."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from conquer.kernels.core import tiers
from conquer.kernels.core.signatures import signature


def run(code, cache, **environment):
    env = {**os.environ, "CONQUER_CACHE": str(cache), "CONQUER_TIER": "auto", **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


SHORT = """
import sys
import numpy as np
from conquer import Session, make
session = Session(make("gnr", dim=4), seed=1)
for _ in range(5):
    session.tell(session.ask(np.eye(4)).id, "first")
print("numba" in sys.modules, session.learner.model.weights().tolist())
"""


def test_a_short_program_never_meets_the_compiler(tmp_path):
    plain, _ = run(SHORT, tmp_path)
    assert plain.startswith("False ")
    assert not list(tmp_path.rglob("*.nbi"))
    compiled, _ = run(SHORT, os.environ.get("CONQUER_CACHE", ""), CONQUER_TIER="compiled")
    assert compiled.split(" ", 1) == ["True", plain.split(" ", 1)[1]]


def test_machine_code_comes_beside_the_work_and_no_other_types_wait_for_it(tmp_path):
    code = """
import sys
import numpy as np
from conquer.kernels.core import building, tickets
def draw(kind):
    out = np.zeros(3, kind)
    tickets.ticket_uniforms(np.uint64(5), np.arange(3, dtype=np.uint64), out)
    return out.tolist()
first = draw(np.float64)
assert "numba" not in sys.modules
building.be_eager()
assert draw(np.float64) == first
assert building.pending() == 1
assert [name for name, _ in building.settle()] == ["conquer.kernels.core.tickets.ticket_uniforms"]
made = tickets.ticket_uniforms
assert [str(types[2].dtype) for types in made.overloads] == ["float64"]
assert draw(np.float64) == first
other = draw(np.float32)
assert building.pending() == 1
assert len(made.overloads) == 1, "compiled in this process, while somebody waited"
list(building.settle())
assert len(made.overloads) == 2
assert draw(np.float32) == other
print(first)
"""
    said, problems = run(code, tmp_path)
    assert problems == ""
    again, _ = run(code.replace("assert building.pending() == 1\n", ""), tmp_path)
    assert json.loads(said) == json.loads(again)


HEAVY = """
import numpy as np
from conquer.kernels.core import tickets
out = np.zeros(200_000, np.uint64)
tickets.fill_tickets(np.uint64(5), 0, out)
print(int(out[-1]))
"""


def test_a_long_call_waits_for_machine_code_and_says_so(tmp_path):
    first, line = run(HEAVY, tmp_path)
    assert line in ("", "conquer: compiling kernels.core.tickets.fill_tickets, once ...\n")
    assert list(tmp_path.rglob("tickets.fill_tickets-*.nbi"))
    second, _ = run(HEAVY, tmp_path)
    assert first == second


def test_without_a_compiler_process_a_long_call_compiles_here(tmp_path):
    cut = (
        "from conquer.kernels.core import builder\nbuilder._start = lambda: __import__('subprocess').Popen(['false'], "
    )
    cut += "stdin=-1, stdout=-1, text=True)\n"
    out, said = run(cut + HEAVY, tmp_path)
    assert "fill_tickets stays interpreted: its compiler" in said
    assert out == run(HEAVY, tmp_path)[0]


def test_without_a_folder_a_thread_compiles(tmp_path):
    cut = "from conquer.kernels.core import cache\ncache._usable = lambda folder: False\n"
    cut += "import os; del os.environ['CONQUER_CACHE']\n"
    assert run(cut + HEAVY, tmp_path)[0] == run(HEAVY, tmp_path)[0]


def test_a_program_may_end_while_machine_code_is_being_loaded(tmp_path):
    code = "from conquer.kernels.core import building\nbuilding.be_eager()\n" + HEAVY.replace("200_000", "20")
    for _ in range(4):
        assert int(run(code, tmp_path)[0]) > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only POSIX forks")
def test_a_forked_process_has_threads_of_its_own(tmp_path):
    code = """
import os
from conquer.kernels.core import building
building.be_eager()
import numpy as np
from conquer.kernels.core import tickets
tickets.fill_tickets(np.uint64(5), 0, np.zeros(2, np.uint64))
child = os.fork()
if child == 0:
    assert building.pending() == 0
    tickets.fill_tickets(np.uint64(5), 0, np.zeros(200_000, np.uint64))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("both")
"""
    assert run(code, tmp_path)[0] == "both\n"


def test_an_unknown_tier_is_refused(monkeypatch):
    monkeypatch.setenv("CONQUER_TIER", "warp")
    with pytest.raises(ValueError, match="auto, plain or compiled, got 'warp'"):
        tiers.tier()


def test_signatures_tell_apart_what_the_compiler_does():
    from conquer.kernels.core import native

    numba = pytest.importorskip("numba")
    array = np.zeros((4, 6))
    fixed = array.copy()
    fixed.flags.writeable = False
    values = (array, array.T, array[:, ::2], fixed, np.uint64(3), np.float32(1), 1, 1.5, True, (array, 2))
    assert native.types_of(signature(values)) == tuple(numba.typeof(value) for value in values)
    assert native.types_of(json.loads(json.dumps(signature(values)))) == native.types_of(signature(values))
    with pytest.raises(TypeError, match="'a'"):
        signature(("a",))
