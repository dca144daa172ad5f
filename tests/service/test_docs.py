"""What the documents show is run: every curl line and the Python snippet, in order, against a fresh server."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS, JAVASCRIPT = ROOT / "docs", ROOT / "clients" / "javascript"


def snippets(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / name).read_text(), re.S | re.M)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("name", ["serving.md", "annotate.md", "tutorial.md"])
def test_commands_for_the_shell(start, tmp_path, name):
    server = start()
    environ = {**os.environ, "SERVER": server.address}
    run = 0
    for block in snippets(name, "sh"):
        if "curl" not in block:
            continue
        script = "set -eo pipefail\n" + block.replace("curl -s", "curl -sS --fail-with-body")
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (block, done.stdout, done.stderr)
        assert '"error"' not in done.stdout, (block, done.stdout)
        run += 1
    assert run >= (7 if name == "serving.md" else 1)
    for block in snippets(name, "python") if name != "tutorial.md" else ():  # those run in tests/test_docs.py
        done = subprocess.run(
            [sys.executable, "-c", block], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
        )
        assert "learnt" in done.stdout or "none" in done.stdout or "True" in done.stdout


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node: make test-deps")
@pytest.mark.parametrize("page", [DOCS / "serving.md", JAVASCRIPT / "README.md"], ids=lambda page: page.name)
def test_javascript(start, tmp_path, page):
    """With the client installed as npm does it: a link in node_modules."""
    server = start()
    httpx.post(f"{server.address}/v1/models", json={"name": "teas"}).raise_for_status()
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "conquer-client").symlink_to(JAVASCRIPT)
    for number, block in enumerate(snippets(str(page), "js")):
        (tmp_path / f"{number}.mjs").write_text(block)
        done = subprocess.run(
            ["node", f"{number}.mjs"], cwd=tmp_path, env={**os.environ, "SERVER": server.address},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert re.match("learnt|none", done.stdout), done.stdout
    assert number == 0


def test_the_settings_are_those_of_the_program():
    from dataclasses import fields

    from conquer.service.settings import Settings

    text = (DOCS / "serving.md").read_text()
    named = set(re.findall(r"CONQUER_([A-Z_]+)", text))
    known = {field.name.upper() for field in fields(Settings) if "help" in field.metadata}
    assert named <= known
    assert known - named <= {"EVENTS_CACHED"}
