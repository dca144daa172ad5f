"""What is missing is named with the command that brings it, wherever the package came from."""

import json
import shlex
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from conquer import cli
from conquer.cli import extras

ROOT = Path(__file__).parents[2]


def test_every_extra_brings_what_its_commands_import():
    """By the names in pyproject.toml; a package is called otherwise in Python where the table says so."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    spelt = {"sklearn": "scikit-learn", "distributed": "dask", "prometheus_client": "prometheus-client"}

    def brought(extra: str) -> str:
        inner = [part.partition("[")[2].partition("]")[0].split(",") for part in declared[extra] if "bandits[" in part]
        return " ".join([*declared[extra], *(brought(name) for names in inner for name in names)]).lower()

    for extra, names in extras.EXTRAS.items():
        for name in names:
            assert spelt.get(name, name) in brought(extra), (extra, name)


def test_a_clone_is_installed_from_its_folder(monkeypatch):
    monkeypatch.chdir(ROOT)
    line = shlex.split(extras.pip_line("serve", "study"))
    assert line[1:] == ["-m", "pip", "install", "-e", f"{ROOT}[serve,study]"]


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        (None, ["conquer-bandits[serve]"]),
        ("https://host/conquer.whl", ["conquer-bandits[serve] @ https://host/conquer.whl"]),
        (ROOT.as_uri(), ["-e", f"{ROOT}[serve]"]),
        ("file:///gone/away", ["conquer-bandits[serve]"]),
    ],
)
def test_a_package_is_installed_from_where_it_came(monkeypatch, tmp_path, url, wanted):
    class Kept:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return None if url is None else json.dumps({"url": url})

    monkeypatch.setattr(extras, "__file__", str(tmp_path / "lib" / "conquer" / "cli" / "extras.py"))
    monkeypatch.setattr(metadata, "distribution", lambda name: Kept())
    assert shlex.split(extras.pip_line("serve"))[4:] == wanted


def test_a_missing_package_is_one_line_with_its_extra(monkeypatch, capsys):
    monkeypatch.setitem(extras.EXTRAS, "serve", ("msgspec", "no_such_package"))
    monkeypatch.setattr("sys.argv", ["conquer", "serve"])
    assert cli.main() == 2
    said = capsys.readouterr().err
    assert said.startswith("conquer: no_such_package not installed; run: ")
    assert said.rstrip().endswith("[serve]'")


def test_an_import_that_fails_on_the_way_names_its_extra():
    lost = ModuleNotFoundError("No module named 'msgspec.json'", name="msgspec.json")
    assert extras.remedy(lost).startswith("msgspec not installed; run: ")
    other = ModuleNotFoundError("No module named 'elsewhere'", name="elsewhere")
    assert extras.remedy(other) == "No module named 'elsewhere'"
