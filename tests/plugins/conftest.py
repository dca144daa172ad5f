"""The example package, installed into a folder of its own without a network, and processes that see it."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """The folder that `pip install --target` made of examples/plugin."""
    if find_spec("pip") is None or int(version("setuptools").split(".")[0]) < 77:
        pytest.skip("needs pip and setuptools 77")
    work = tmp_path_factory.mktemp("plugin")
    source, target = work / "source", work / "target"
    shutil.copytree(ROOT / "examples" / "plugin", source)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    done = subprocess.run([*command, "--target", target, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def run(installed, tmp_path):
    """A Python process that sees the package (and `beside`, another folder), in a folder of its own."""

    def start(*arguments, beside=None, check=True, **environment):
        places = [str(ROOT), str(installed), *([str(beside)] if beside else [])]
        known = {**os.environ, "PYTHONPATH": os.pathsep.join(places), **environment}
        done = subprocess.run(
            [sys.executable, *map(str, arguments)], cwd=tmp_path, env=known, capture_output=True, text=True, check=False
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    return start


def offer(folder, package, group, name, value, code=""):
    """A package as an installer leaves it: a module and what its dist-info says it offers."""
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[conquer.{group}]\n{name} = {value}\n")
    (folder / f"{package}.py").write_text(code)


@pytest.fixture
def offering():
    return offer
