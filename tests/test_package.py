"""The package as a whole: light to import, public names there, the command line's manners."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import conquer
from conquer import cli


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_is_lazy():
    heavy = run("import conquer, sys; print([m for m in ('numba', 'scipy', 'sklearn', 'numpy') if m in sys.modules])")
    assert heavy.strip() == "[]"


def test_making_a_learner_needs_numba_and_nothing_heavier():
    code = "import conquer, sys; conquer.make('gnc', dim=3); print([m for m in HEAVY if m in sys.modules])"
    heavy = "('sklearn', 'polars', 'matplotlib', 'uvicorn', 'starlette', 'sqlalchemy', 'typer', 'joblib', 'dask')"
    assert run(code.replace("HEAVY", heavy)).strip() == "[]"


@pytest.mark.parametrize(("name", "most", "rivals"), [("gnc", 45, set()), ("rucb", 50, {"arms"})])
def test_making_a_learner_imports_no_other_algorithm(name, most, rivals):
    loaded = run(f"import conquer, sys; conquer.make({name!r}, dim=3); print(*sys.modules)").split()
    modules = [m for m in loaded if m.partition(".")[0] == "conquer"]
    assert len(modules) <= most, sorted(modules)
    rooms = ("arms", "contextual.", "single", "several", "estimators.")
    inside = {m.removeprefix("conquer.rivals.") for m in modules if m.startswith("conquer.rivals.")}
    found = {m for m in inside if m.startswith(rooms) and not m.endswith(".method")}
    assert found == rivals
    assert bool(inside) == bool(rivals)


def test_help_imports_only_typer():
    code = "import sys; import conquer.cli; print([m for m in ('numpy', 'numba', 'scipy', 'rich') if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_only_figures_draw():
    package = Path(conquer.__file__).parent
    drawing = [p for p in package.rglob("*.py") if re.search(r"^\s*(import|from) matplotlib", p.read_text(), re.M)]
    assert {p.parent for p in drawing} == {package / "study" / "plots"}


def test_every_public_name_is_there():
    for name in conquer.__all__:
        assert getattr(conquer, name) is not None
        assert name in dir(conquer)
    with pytest.raises(AttributeError, match="no_such"):
        _ = conquer.no_such


@pytest.mark.parametrize("call", [["algorithms", "no-such"], ["no-such"], ["algorithms", "--no-such"]])
def test_a_wrong_call_is_one_message_and_exit_code_2(call, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["conquer", *call])
    assert cli.main() == 2
    error = capsys.readouterr().err
    assert "no-such" in error
    assert "Traceback" not in error


def test_algorithms_are_listed(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["conquer", "algorithms"])
    assert cli.main() == 0
    out = capsys.readouterr().out
    assert all(row.name in out for row in conquer.algorithms())
    monkeypatch.setattr(sys, "argv", ["conquer", "algorithms", "gnc"])
    assert cli.main() == 0
    assert "eta" in capsys.readouterr().out


def test_the_default_algorithm_is_the_same_everywhere():
    from conquer.cli.votes import fit as fit_command
    from conquer.client import Client
    from conquer.fitting.warm_start import fit
    from conquer.service.model.schemas import ModelSettings

    calls = (fit, Client.create, fit_command)
    defaults = [inspect.signature(call).parameters["algorithm"].default for call in calls]
    assert {*defaults, ModelSettings().algorithm} == {"gnr"}
