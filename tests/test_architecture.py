"""The architecture page and CONTRIBUTING agree with the code: tree, layers, and every file and name they mention."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "conquer"
PAGES = [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md"]
STOP = re.compile(r"`(conquer/[\w/]+\.py)`(?:\s+`([A-Za-z_][\w.]*)`)?")
NAME = re.compile(r"`([A-Z]\w+\.\w+)`")


@cache
def defined(path):
    """Functions, classes, methods and module variables of a file."""
    names = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            if isinstance(node, ast.ClassDef):
                methods = (one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
                names |= {f"{node.name}.{one.name}" for one in methods}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def block(page, first):
    """The lines of the indented block that starts with `first`."""
    lines = page.read_text().splitlines()
    start = lines.index(f"    {first}")
    end = next(k for k in range(start, len(lines) + 1) if k == len(lines) or not lines[k].strip())
    return [line.removeprefix("    ") for line in lines[start:end]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_and_name_exists(page):
    stops = STOP.findall(page.read_text())
    assert len(stops) >= 5
    assert [path for path, _ in stops if not (ROOT / path).exists()] == []
    assert [(path, name) for path, name in stops if name and name not in defined(path)] == []
    known = set().union(*(defined(path) for path, _ in stops))
    assert [name for name in NAME.findall(page.read_text()) if name not in known] == []


def test_the_tree_names_every_module_and_folder():
    drawn, folder = set(), ""
    for line in block(PAGES[0], "conquer/")[1:]:
        name, inner = line.split()[0], line.startswith("    ")
        folder = folder if inner else name
        drawn.add(folder + name if inner else name)
    modules = {path.stem for path in PACKAGE.glob("*.py") if not path.stem.startswith("__")}
    found = {path.parent.relative_to(PACKAGE).as_posix() + "/" for path in PACKAGE.rglob("__init__.py")} - {"./"}
    assert drawn == modules | {folder for folder in found if folder.count("/") <= 2}


def test_the_layers_are_those_of_the_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["name"] == "layers")
    assert block(PAGES[0], layers[0]) == layers
