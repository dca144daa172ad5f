"""The site is built from the pages, the docstrings and the OpenAPI document, with warnings as errors."""

import os
import re
import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml

ROOT = Path(__file__).parents[1]
SITE = runpy.run_path(str(ROOT / "docs" / "site.py"))


class Configuration(yaml.SafeLoader):
    """mkdocs.yml as plain data."""


def nav(entries):
    """Every page of the navigation."""
    for entry in entries:
        (value,) = entry.values()
        yield from nav(value) if isinstance(value, list) else [value]


def test_every_page_of_docs_is_in_the_navigation():
    named = set(nav(yaml.load((ROOT / "mkdocs.yml").read_text(), Configuration)["nav"]))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")}
    assert pages <= named
    assert {"index.md", "api.md", "http.md", "commands.md", "changelog.md", "examples.md"} <= named


def test_links_are_rewritten_or_become_text():
    target_of = SITE["target_of"]
    page = ROOT / "docs" / "decisions" / "README.md"
    assert target_of(page, "../study.md") == "../study.md"
    assert target_of(ROOT / "README.md", "docs/study.md#sizes") == "study.md#sizes"
    assert target_of(ROOT / "README.md", "conquer/reference.py") is None
    assert target_of(ROOT / "docs" / "study.md", "../CONTRIBUTING.md") == "contributing.md"
    assert target_of(page, "https://example.org/a") == "https://example.org/a"


def test_the_http_reference_has_every_route():
    pytest.importorskip("msgspec")
    from conquer.service.web.app import ENDPOINTS

    text = SITE["http"]()
    for endpoint in ENDPOINTS:
        assert endpoint.page or f"## `{endpoint.method} {endpoint.path}`" in text


def test_the_command_reference_has_every_command():
    text = SITE["commands"]()
    for name in ("study", "serve", "fit", "parse train", "keys add", "data get", "measure limits"):
        assert f"## conquer {name}\n" in text


def test_the_api_reference_has_every_public_name():
    import conquer

    text = SITE["api"]()
    named = {line.rpartition(".")[2] for line in text.splitlines() if line.startswith(":::")}
    assert set(conquer.__all__) <= named


@pytest.mark.skipif(
    find_spec("mkdocs") is None or find_spec("mkdocstrings") is None, reason="needs the docs extra: make docs"
)
def test_the_site_builds_without_a_warning_and_its_links_lead_somewhere(tmp_path):
    for name in ("docs", "conquer", "examples"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in (*ROOT.glob("*.md"), ROOT / "mkdocs.yml", ROOT / "pyproject.toml"):
        shutil.copy(path, tmp_path)
    known = {**os.environ, "PYTHONPATH": str(tmp_path), "NO_MKDOCS_2_WARNING": "1"}
    for command in (["docs/site.py"], ["-m", "mkdocs", "build", "--strict", "--quiet"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=known, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "out" / "site"
    pages = {page: page.read_text() for page in site.rglob("*.html")}
    assert len(pages) > 60
    for page, text in pages.items():
        if page.name == "404.html":
            continue
        for link in re.findall(r'(?:href|src)="([^"#?]+)(?:[#?][^"]*)?"', text):
            if not re.match(r"[a-z]+:|//", link):
                assert (page.parent / unquote(link)).exists(), f"{page.relative_to(site)} links to {link}"
    assert "fonts.googleapis" not in pages[site / "index.html"]
