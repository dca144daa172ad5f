"""The page about the house is true: its tree, its layers, and every file and function on its walks."""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "conquer"
PAGE = ROOT / "docs" / "architecture.md"
STOP = re.compile(r"`(conquer/[\w/]+\.py)`((?:(?:,? |, and | and | or )`[A-Za-z_][\w.]*`)*)")
NAME = re.compile(r"`([A-Za-z_]\w*|[A-Z]\w*\.\w+)`")


def text():
    """The page on one line per paragraph: stops may be broken over two lines."""
    return re.sub(r"(?<!\n)\n(?=\S)(?!\n)|\n +(?=\S)", " ", PAGE.read_text())


@cache
def defined(path):
    """Functions, classes, methods and module variables of a file."""
    names = set()
    for node in ast.parse((ROOT / path).read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            inner = node.body if isinstance(node, ast.ClassDef) else []
            names |= {
                f"{node.name}.{one.name}" for one in inner if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            }
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def walks():
    """The sections with stops: all but the tree and the layers."""
    sections = text().split("\n## ")[1:]
    found = [section for section in sections if not section.startswith(("The tree", "The layers"))]
    assert len(found) == len(sections) - 2
    return found


def block(page, first):
    """The indented block whose first line is `first`."""
    lines = page.read_text().splitlines()
    start = lines.index(first)
    end = next(k for k in range(start, len(lines) + 1) if k == len(lines) or not lines[k].strip())
    return [line.removeprefix("    ") for line in lines[start:end]]


def test_every_file_on_the_page_is_there():
    named = re.findall(r"`(conquer/[\w/]+\.py)`", PAGE.read_text())
    assert len(named) > 60
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_function_named_after_its_file_is_in_it():
    found = [(path, name) for path, names in STOP.findall(text()) for name in NAME.findall(names)]
    assert len(found) > 80
    assert [(path, name) for path, name in found if name not in defined(path)] == []


def test_every_other_function_is_in_a_file_of_its_walk():
    for walk in walks():
        known = set().union(*(defined(path) for path, _ in STOP.findall(walk)))
        assert [name for name in NAME.findall(STOP.sub("", walk)) if name not in known] == [], walk.splitlines()[0]


def test_the_tree_names_every_folder_and_every_top_level_file():
    drawn, rooms = set(), []
    for line in block(PAGE, "    conquer/")[1:]:
        name, depth = line.split()[0], (len(line) - len(line.lstrip())) // 2
        rooms = [*rooms[: depth - 1], name]
        drawn.add("".join(rooms))
    found = (*PACKAGE.glob("*.py"), *PACKAGE.glob("service/*.py"))
    modules = {str(path.relative_to(PACKAGE).with_suffix("")) for path in found if not path.stem.startswith("__")}
    folders = {f"{path.parent.relative_to(PACKAGE)}/" for path in PACKAGE.rglob("__init__.py")} - {"./"}
    assert drawn == modules | folders


def contracts():
    """{container: layers}, top first."""
    found = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return {one["containers"][0]: one["layers"] for one in found if one["type"] == "layers" and "containers" in one}


@pytest.mark.parametrize("container", contracts())
def test_the_layers_are_those_of_the_contracts(container):
    layers = contracts()[container]
    assert block(PAGE, f"    {layers[0]}") == layers


def test_contributors_see_the_outer_layers():
    layers = contracts()["conquer"]
    assert block(ROOT / "CONTRIBUTING.md", f"    {layers[0]}") == layers
