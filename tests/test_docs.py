"""Everything a reader can copy runs: the Python of every page, each page in a fresh interpreter's namespace."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY", "CODE_OF_CONDUCT")),
    *sorted((ROOT / "examples").rglob("*.md")),
    *sorted((ROOT / "clients").glob("*/*.md")),
    *sorted((ROOT / ".github").rglob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "results").glob("*.md")),
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
]
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


SERVED = {"serving.md", "annotate.md"}
"""Pages that need a running server: tests/service/test_docs.py runs them."""


def named(page):
    return str(page.relative_to(ROOT))


def blocks(page):
    for indent, code in BLOCK.findall(page.read_text()):
        if page.name in SERVED or code.lstrip().startswith(">>>"):
            continue  # prompts are doctests, which pytest collects by itself
        yield "\n".join(line.removeprefix(indent) for line in code.splitlines())


@pytest.mark.parametrize("page", [page for page in PAGES if any(blocks(page))], ids=named)
def test_python_examples_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": page.stem}
    for code in blocks(page):
        exec(compile(code, page.name, "exec"), namespace)
    if page.name == "README.md":
        assert capsys.readouterr().out == "tea juice\n"


def test_the_readme_example_has_fifteen_lines():
    (code,) = blocks(ROOT / "README.md")
    assert len([line for line in code.splitlines() if line.strip()]) <= 15


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{named(page)} links to {target}"


def test_every_promise_names_a_test_that_is_there():
    named_tests = re.findall(r"`([\w/]+\.py)::(\w+)`", (ROOT / "docs" / "security.md").read_text())
    assert len(named_tests) > 40
    for file, name in named_tests:
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(), f"{file} has no {name}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_prose_is_a_hundred_columns_wide(page):
    """Tables and code are as wide as they must be."""
    prose = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert [line for line in prose.splitlines() if len(line) > 100 and not re.match(r" *\||    ", line)] == []


def test_a_version_says_everything_once() -> None:
    for version in re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]:
        headings = re.findall(r"^### .*", version, re.MULTILINE)
        assert len(headings) == len(set(headings)), headings
        items = [" ".join(item.split("\n\n")[0].split()) for item in re.split(r"^- ", version, flags=re.MULTILINE)[1:]]
        assert len(items) == len(set(items)), sorted(item for item in items if items.count(item) > 1)
