"""The house itself: files are short, folders small, names unique, and a learner brings only what it needs."""

import ast
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from statistics import median

import pytest

import conquer

PACKAGE = Path(conquer.__file__).parent
ROOT = PACKAGE.parent
FILES = sorted(PACKAGE.rglob("*.py"))


def lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def classes(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef)]


def test_files_are_short():
    sizes = {path: lines(path) for path in FILES}
    everywhere = sizes | {path: lines(path) for path in (ROOT / "tests").rglob("*.py")}
    assert {str(path.relative_to(ROOT)): size for path, size in everywhere.items() if size > 300} == {}
    assert median(size for path, size in sizes.items() if path.name != "__init__.py") <= 120


@pytest.mark.skipif(not (ROOT / "tests").is_dir(), reason="an installed package has no tests beside it")
def test_test_files_are_short():
    sizes = {str(path.relative_to(ROOT)): lines(path) for path in sorted((ROOT / "tests").rglob("*.py"))}
    assert {path: size for path, size in sizes.items() if size > 400} == {}


def test_folders_are_small():
    count = Counter(str(path.parent.relative_to(PACKAGE)) for path in FILES if path.name != "__init__.py")
    assert {folder: size for folder, size in count.items() if size > 20} == {}


def test_class_names_are_unique():
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for name in classes(path):
            homes.setdefault(name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: found for name, found in homes.items() if len(found) > 1 and not name.startswith("_")} == {}


def test_names_say_something():
    empty = {"utils", "helpers", "base", "manager", "misc", "common"}
    assert [str(path.relative_to(PACKAGE)) for path in FILES if path.stem in empty] == []


def test_a_learner_brings_only_what_it_needs():
    code = (
        "import conquer, sys; conquer.make('gnc', dim=3);"
        "print(*sorted(m for m in sys.modules if m.split('.')[0] == 'conquer'))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert len(found) <= 45, found
    assert not [name for name in found if name.startswith(("conquer.rivals", "conquer.service", "conquer.study"))]


def test_the_contract_inside_the_service_names_every_module_of_its_mixed_rooms():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["name"] == "inside the service")
    named = {module for line in layers for module in line.split(" | ")}
    for room in ("http", "log"):
        there = {f"{room}.{path.stem}" for path in (PACKAGE / "service" / room).glob("*.py")} - {f"{room}.__init__"}
        assert there <= named
