"""When a kernel is interpreted and when compiled, what its machine code is kept under, and what compiles it."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import conquer
from conquer.kernels.core import background, cache, kernel

PACKAGE = Path(conquer.__file__).parent


def run(code, folder, cwd=None, arguments=(), **environment):
    env = {**os.environ, "CONQUER_CACHE": str(folder), "CONQUER_TIER": "auto", **environment}
    command = [sys.executable, *arguments, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=cwd, check=False)
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


def test_a_short_program_never_imports_the_compiler(tmp_path):
    plain, _ = run(SHORT, tmp_path)
    assert plain.startswith("False ")
    assert not list(tmp_path.rglob("*.nbi"))
    compiled, _ = run(SHORT, os.environ.get("CONQUER_CACHE", ""), CONQUER_TIER="compiled")
    assert compiled.split(" ", 1) == ["True", plain.split(" ", 1)[1]]


DRAW = """
import sys
import numpy as np
from conquer.kernels.core import background, tickets
def draw():
    out = np.zeros(3)
    tickets.ticket_uniforms(np.uint64(5), np.arange(3, dtype=np.uint64), out)
    return out.tolist()
first = draw()
assert "numba" not in sys.modules
background.compile_all()
assert draw() == first
assert background.pending() == 1
assert [name for name, _ in background.finish()] == ["conquer.kernels.core.tickets.ticket_uniforms"]
assert list(tickets.ticket_uniforms.kernel.made) == [np.uint64]
assert draw() == first
print(first)
"""


def test_machine_code_is_made_in_the_background_and_found_by_the_next_process(tmp_path):
    said, problems = run(DRAW, tmp_path)
    assert problems == ""
    assert list(tmp_path.rglob("ticket_uniforms-*.made"))
    without = "background.Compiler.compile = lambda *_: 'compiled again'\n"
    again, problems = run(DRAW.replace("background.compile_all()", "background.compile_all()\n" + without), tmp_path)
    assert (json.loads(said), problems) == (json.loads(again), "")


HEAVY = """
import numpy as np
from conquer.kernels.core import tickets
out = np.zeros(200_000, np.uint64)
tickets.fill_tickets(np.uint64(5), 0, out)
print(int(out[-1]))
"""


def test_a_large_call_waits_for_machine_code_and_reports_it(tmp_path):
    first, line = run(HEAVY, tmp_path)
    assert line in ("", "conquer: compiling kernels.core.tickets.fill_tickets, once ...\n")
    assert list(tmp_path.rglob("tickets.fill_tickets-*.nbi"))
    second, _ = run(HEAVY, tmp_path)
    assert first == second


def test_a_failing_compiler_is_reported_with_its_reason_and_a_large_call_compiles_here(tmp_path):
    cut = "from conquer.kernels.core import background\nbackground._CHILD = 'raise RuntimeError(12345)'\n"
    out, said = run(cut + HEAVY, tmp_path)
    assert "fill_tickets stays interpreted: the compiling process ended with code 1: RuntimeError: 12345" in said
    assert out == run(HEAVY, tmp_path)[0]


def test_the_compiling_process_imports_nothing_from_the_current_folder(tmp_path):
    trap = "open('trapped', 'w').write(__name__)\nraise ImportError('the wrong module')\n"
    for name in ("numpy", "numba", "json", "secrets"):
        (tmp_path / f"{name}.py").write_text(trap)
    # On the path of a script or an interactive session the current folder is by its name or as "".
    code = DRAW.replace("import sys\n", f"import sys\nsys.path += ['', {str(tmp_path)!r}]\n", 1)
    _, problems = run(code, tmp_path / "cache", cwd=tmp_path, arguments=["-P"], PYTHONPATH=str(PACKAGE.parent))
    assert problems == ""
    assert not (tmp_path / "trapped").exists()


def test_the_compiling_process_finds_a_package_that_was_found_through_sys_path(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "here" / "conquer", copy_function=shutil.copyfile)
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'here')!r})\n" + DRAW
    code += f"import conquer\nassert conquer.__file__.startswith({str(tmp_path)!r})\n"
    _, problems = run(code, tmp_path / "cache", cwd=tmp_path, PYTHONPATH="")
    assert problems == ""


def test_without_a_folder_small_work_stays_interpreted_and_the_program_ends_at_once(tmp_path):
    cut = "from conquer.kernels.core import cache\ncache._usable = lambda folder: False\n"
    cut += "import os; del os.environ['CONQUER_CACHE']\n"
    assert run(cut + HEAVY, tmp_path)[0] == run(HEAVY, tmp_path)[0]
    hot = "background._work.spent = 1.0\nimport atexit, time\nbegan = time.monotonic()\n"
    hot = "from conquer.kernels.core import background\n" + hot + HEAVY.replace("200_000", "20")
    code = cut + hot + "assert not background._work.requests\nassert 'numba' not in __import__('sys').modules\n"
    began = time.monotonic()
    run(code, tmp_path)
    assert time.monotonic() - began < 20


def test_without_a_folder_for_temporary_files_there_is_memory(monkeypatch):
    def refuse():
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.delenv("CONQUER_CACHE", raising=False)
    monkeypatch.setattr("tempfile.gettempdir", refuse)
    assert [folder.parts[1] for folder in cache._candidates("key")][-1] == "dev"


def test_a_program_may_end_while_machine_code_is_loaded(tmp_path):
    code = "from conquer.kernels.core import background\nbackground.compile_all()\n" + HEAVY.replace("200_000", "20")
    for _ in range(4):
        assert int(run(code, tmp_path)[0]) > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only POSIX forks")
def test_a_forked_process_has_threads_of_its_own(tmp_path):
    code = """
import os
from conquer.kernels.core import background
background.compile_all()
import numpy as np
from conquer.kernels.core import tickets
tickets.fill_tickets(np.uint64(5), 0, np.zeros(2, np.uint64))
child = os.fork()
if child == 0:
    assert background.pending() == 0
    tickets.fill_tickets(np.uint64(5), 0, np.zeros(200_000, np.uint64))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("both")
"""
    assert run(code, tmp_path)[0] == "both\n"


def test_an_unknown_tier_is_refused(monkeypatch):
    monkeypatch.setenv("CONQUER_TIER", "warp")
    with pytest.raises(ValueError, match="auto, plain or compiled, got 'warp'"):
        kernel.tier()


def test_described_types_are_those_the_compiler_distinguishes():
    numba = pytest.importorskip("numba")
    array = np.zeros((4, 6))
    fixed = array.copy()
    fixed.flags.writeable = False
    values = (array, array.T, array[:, ::2], fixed, np.uint64(3), np.float32(1), 1, 1.5, True, (array, 2))
    types = background.describe(values)
    assert numba.typeof(background.example(types)) == numba.typeof(values)
    assert numba.typeof(background.example(json.loads(json.dumps(types)))) == numba.typeof(values)
    with pytest.raises(TypeError, match="'a'"):
        background.describe(("a",))


def test_numbas_own_cache_folder_is_left_alone(tmp_path):
    code = "import numba; numba.config.CACHE_DIR = 'mine'\n" + HEAVY + "assert numba.config.CACHE_DIR == 'mine'\n"
    run(code, tmp_path)


def test_the_key_covers_everything_a_kernel_calls():
    used = cache._sources(".models.diagonal", {})
    assert {".models.diagonal", ".core.sparse", ".core.tickets", ".core.kernel"} <= set(used)
    assert ".models.full" not in used
    # The parser's kernels compile the diagonal model's steps in.
    assert {".models.diagonal", ".parsing.edges"} <= set(cache._sources(".parsing.training", {}))


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
    code = "import conquer; conquer.make('gnr', dim=2).choose([[1, 0], [0, 1]], 1)"
    with pytest.raises(AssertionError, match=str(tmp_path / "file")):
        run(code, tmp_path / "file", CONQUER_TIER="compiled")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="users without a home are a matter of POSIX")
def test_a_user_without_a_home_has_a_cache(monkeypatch):
    monkeypatch.delenv("CONQUER_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert not any("~" in str(folder) for folder in cache._candidates("key"))
