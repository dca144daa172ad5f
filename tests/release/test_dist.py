"""The files of a release hold what a user needs and nothing else."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "conquer"
SUFFIXES = {".py", ".html", ".css", ".js", ".svg", ".json", ".sql", ".typed"}

pytestmark = pytest.mark.skipif(
    find_spec("build") is None or find_spec("twine") is None, reason="needs build and twine (the test extra)"
)


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """A folder with sdist and wheel, built from a copy so that the tree stays as it is."""
    work = tmp_path_factory.mktemp("dist")
    source = work / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(PACKAGE, source / "conquer", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests" / "plugins", source / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", work / "out", source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return work / "out"


def test_the_wheel_is_the_package_and_nothing_else(dist):
    (wheel,) = dist.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    expected = {
        str(path.relative_to(ROOT))
        for path in PACKAGE.rglob("*")
        if path.suffix in SUFFIXES and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == expected
    assert "conquer/py.typed" in names
    assert "conquer/service/web/pages/index.html" in names


def test_the_sdist_builds_the_same_wheel(dist):
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "conquer/py.typed"} <= names
    assert not [name for name in names if name.startswith(("tests", "docs", "out"))]


def test_the_index_takes_them(dist):
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", *dist.iterdir()],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2
