"""Names are unique and say something, and making a learner imports little."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import conquer
from conquer.service.model.schemas import ModelSettings

PACKAGE = Path(conquer.__file__).parent
ROOT = PACKAGE.parent
FILES = sorted(PACKAGE.rglob("*.py"))


def classes(path: Path) -> list[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef)]


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


def test_pages_name_the_default_algorithm_of_a_model():
    """Defaults are left out of replies, so the pages fill them in."""
    default = ModelSettings().algorithm
    pages = (ROOT / "conquer/service/web/pages").glob("*.js")
    filled = [name for page in pages for name in re.findall(r'settings\.algorithm \?\? "(\w+)"', page.read_text())]
    assert filled == [default, default]
