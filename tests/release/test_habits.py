"""The files by which a project is joined, run and released say what is true."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import conquer

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def read(path):
    return yaml.safe_load((ROOT / path).read_text())


def stages():
    """The Dockerfile's stages, each a list of (instruction, rest), continued lines joined."""
    text = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text())
    found = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        word, rest = line.split(None, 1)
        if word == "FROM":
            found.append([])
        found[-1].append((word, rest))
    return found


def test_the_version_has_one_source():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "conquer.__version__"}
    assert re.fullmatch(r"\d+\.\d+\.\d+", conquer.__version__)
    assert f"version: {conquer.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## (\[Unreleased\]|\[?{conquer.__version__})", (ROOT / "CHANGELOG.md").read_text(), re.M)


def test_the_changelog_keeps_its_form():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert text.startswith("# Changelog\n")
    versions = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert versions[0] == "[Unreleased]"
    assert all(re.match(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$", one) for one in versions[1:]), versions
    known = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= known


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_call_targets_that_people_call(path):
    workflow = read(path)
    steps = [step for job in workflow["jobs"].values() for step in job.get("steps", [])]
    commands = [step["run"] for step in steps if "run" in step]
    for command in commands:
        words = command.removeprefix("sudo ").split()
        assert words[0] == "make", command
        assert words[1] in TARGETS, command
    assert all("@" in step["uses"] for step in steps if "uses" in step)
    assert workflow["permissions"] == {"contents": "read"}


def test_every_supported_python_is_tested():
    matrix = read(".github/workflows/test.yml")["jobs"]["test"]["strategy"]["matrix"]["python"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = [one.rpartition(" ")[2] for one in project["classifiers"] if "Python :: 3." in one]
    assert matrix == said
    assert project["requires-python"] == f">={matrix[0]}"


def test_a_release_needs_no_password():
    workflow = read(".github/workflows/release.yml")
    assert workflow["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert workflow["jobs"]["publish"]["needs"] == "build"
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()


def test_hooks_run_what_make_check_runs():
    hooks = {hook["id"]: hook["entry"] for repo in read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]}
    check = (ROOT / "Makefile").read_text().split("\ncheck:")[1].split("\n\n")[0]
    for program in ("ruff check", "ruff format --check", "mypy", "lint-imports"):
        assert f"$(BIN)/{program}" in check
        assert any(entry.startswith(f".venv/bin/{program}") for entry in hooks.values())


def test_the_image_has_two_stages_is_pinned_and_does_not_run_as_root():
    build, final = stages()
    for stage in (build, final):
        image = stage[0][1].split()[0]
        assert re.fullmatch(r"[a-z]+:\d+\.\d+\.\d+-[a-z-]+", image), f"{image}: a full version, no registry's address"
    words = [word for word, _ in final]
    user = dict(final)["USER"]
    assert user == "conquer"
    assert ("RUN", "/opt/conquer/bin/conquer warmup") in final
    assert words.index("USER") < words.index("HEALTHCHECK") < words.index("CMD")
    assert final.index(("USER", user)) < final.index(("RUN", "/opt/conquer/bin/conquer warmup"))
    assert "-c constraints.txt" in " ".join(rest for word, rest in build if word == "RUN")
    assert "ADD" not in [word for stage in (build, final) for word, _ in stage]


def test_what_the_image_copies_is_let_through():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    copied = [rest.split()[:-1] for word, rest in stages()[0] if word == "COPY"]
    for name in (name for names in copied for name in names):
        assert (ROOT / name).exists()
        assert f"!{name}" in ignored


def test_compose_waits_for_a_healthy_database_and_opens_only_the_proxy():
    services = read("compose.yaml")["services"]
    assert services["service"]["depends_on"]["database"]["condition"] == "service_healthy"
    assert re.fullmatch(r"postgres:\d+\.\d+-\w+", services["database"]["image"])
    assert [name for name, one in services.items() if "ports" in one] == ["proxy"]
    address = services["proxy"]["networks"]["default"]["ipv4_address"]
    assert services["service"]["environment"]["CONQUER_PROXY"] == address
    assert "reverse_proxy service:8000" in (ROOT / "Caddyfile").read_text()
    assert "${POSTGRES_PASSWORD:?" in services["database"]["environment"]["POSTGRES_PASSWORD"]
    mounted = {name.split(":")[0] for one in services.values() for name in one["volumes"]}
    assert mounted == {"./Caddyfile", *read("compose.yaml")["volumes"]}


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "SECURITY.md", "CONTRIBUTING.md", "LICENSE", ".editorconfig"])
def test_it_is_there(name):
    assert (ROOT / name).read_text().strip()
