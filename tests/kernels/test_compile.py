"""The folder of compiled code: keyed by what it was made from, and nobody else's."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import conquer
from conquer.kernels.core import cache, native
from conquer.kernels.core.compile import part, toolchain


def run(code, **environment):
    env = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_key_covers_everything_a_kernel_calls():
    used = cache._sources(".models.diagonal_calls", {})
    rounds = {f".rounds.{name}" for name in ("steps", "loop", "settings", "primitives", "select", "project")}
    core = {f".core.{name}" for name in ("sparse", "tickets", "compile")}
    assert {".models.diagonal_calls", ".models.diagonal", *rounds, *core} <= set(used)
    assert ".models.full" not in used
    # The parser's kernels compile the diagonal model's steps in.
    wanted = {".models.diagonal", ".models.cells", ".rounds.steps", ".parsing.edges"}
    assert wanted - set(cache._sources(".parsing.training", {})) == {".rounds.steps"}


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path):
    assert cache._usable(tmp_path / "mine")
    assert (tmp_path / "mine").stat().st_mode & 0o077 == 0
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert not cache._usable(tmp_path / "open")
    (tmp_path / "file").write_text("")
    assert not cache._usable(tmp_path / "file" / "below")


def test_a_bad_override_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    code, said = run(
        "import conquer; conquer.make('gnr', dim=2).choose([[1, 0], [0, 1]], 1)",
        CONQUER_TIER="compiled",
        CONQUER_CACHE=str(tmp_path / "file"),
    )
    assert code != 0
    assert str(tmp_path / "file") in said


def test_two_copies_of_the_same_source_share_what_one_has_compiled(tmp_path):
    found = []
    for copy in ("one", "two"):
        shutil.copytree(Path(conquer.__file__).parent, tmp_path / copy / "conquer", copy_function=shutil.copyfile)
        code = (
            "import numpy as np\nfrom conquer.kernels.core import tickets\n"
            "tickets.fill_tickets(np.uint64(1), 0, np.zeros(2, np.uint64))\n"
            "print(sum(tickets.fill_tickets.stats.cache_hits.values()))"
        )
        place = {"PYTHONPATH": str(tmp_path / copy), "CONQUER_CACHE": str(tmp_path / "cache")}
        found.append(run(code, **place))
    assert found == [(0, "0\n"), (0, "1\n")]


def test_without_any_folder_it_still_compiles(monkeypatch):
    monkeypatch.setattr(cache, "_candidates", lambda key: iter(()))
    monkeypatch.delenv("CONQUER_CACHE", raising=False)
    cache.folder_of.cache_clear()
    try:
        assert native.dispatcher(lambda x: x + 1, None)(2) == 3
    finally:
        cache.folder_of.cache_clear()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="users without a home are a matter of POSIX")
def test_a_user_without_a_home_has_a_cache(monkeypatch):
    monkeypatch.delenv("CONQUER_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    folders = list(cache._candidates("key"))
    assert len(folders) == 2
    assert "~" not in str(folders[-1])


def test_a_kernel_is_optimised_once_with_all_its_parts(monkeypatch):
    numba = toolchain()
    from numba.core.codegen import CPUCodeLibrary

    native.dispatcher(lambda x: x[0], None)(np.ones(2))  # numba's own code for memory is made now

    @part
    def third(x):
        return np.sqrt(x.sum())

    @part
    def second(x):
        return third(x) + third(x[1:])

    optimised, optimise = [], CPUCodeLibrary._optimize_final_module

    def note(library):
        optimised.append(type(library).__name__)
        optimise(library)

    monkeypatch.setattr(CPUCodeLibrary, "_optimize_final_module", note)
    kernel = native.dispatcher(lambda x: second(x) - 1.0, None)
    assert kernel(np.ones(4)) == np.sqrt(4.0) + np.sqrt(3.0) - 1.0
    assert optimised == ["WholeLibrary"]
    # A function that is not ours may call the parts, and numba's own functions that were compiled with them.
    other = numba.njit(lambda x: second(x) + x.sum())
    assert other(np.ones(4)) == np.sqrt(4.0) + np.sqrt(3.0) + 4.0


CALLER = """
import numpy as np
from conquer.kernels.core import libraries
from conquer.kernels.core.compile import toolchain
from conquer.kernels.core.tickets import fill_tickets
compiled = toolchain().njit(pipeline_class=libraries.KernelCompiler)
out = np.zeros(3, np.uint64)
compiled(lambda seed, start, out: fill_tickets(seed, start, out))(np.uint64(5), 0, out)
again = np.zeros(3, np.uint64)
fill_tickets(np.uint64(5), 0, again)
print(out.tolist() == again.tolist() != [0, 0, 0], sum(fill_tickets.made.stats.cache_hits.values()))
"""


def test_a_kernel_that_another_one_calls_comes_from_disk_and_python_can_call_it(tmp_path):
    there = {"CONQUER_CACHE": str(tmp_path), "CONQUER_TIER": "compiled"}
    assert [run(CALLER, **there) for _ in range(2)] == [(0, "True 0\n"), (0, "True 1\n")]
