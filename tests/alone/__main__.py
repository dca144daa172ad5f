"""`python -m tests.alone [EXTRA ...]`: install each extra by itself under out/alone, and run its commands.

The name `lowest` installs every extra with the stated lower bounds of pyproject.toml instead of constraints.txt.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

from tests.alone.commands import COMMANDS

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "out" / "alone"
_ALL = "study,serve,client"


def lower_bounds() -> str:
    """Constraints that pin every dependency to its stated lower bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(line for name in _ALL.split(",") for line in extras[name])]
    bounds = [re.fullmatch(r"([\w-]+)(\[\w+\])?>=([\d.]+)", line) for line in wanted]
    return "\n".join(sorted({f"{bound[1]}=={bound[3]}" for bound in bounds if bound}))


def installed(extra: str) -> Path:
    """The programs of an environment with this extra and nothing else; pip keeps what is installed already."""
    place = PLACE / (extra or "plain")
    programs = place / "bin"
    if not (programs / "python").exists():
        venv.create(place, with_pip=True, clear=True)
    constraints = ROOT / "constraints.txt"
    if extra == "lowest":
        extra, constraints = _ALL, place / "lowest.txt"
        constraints.write_text(lower_bounds())
    wanted = f"{ROOT}[{extra}]" if extra else str(ROOT)
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "-c", str(constraints)]
    # Not editable, so that a file missing from the package is missing here too; never an older copy of it.
    subprocess.run([*pip, wanted], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wanted], check=True)
    return programs


def failures(extra: str) -> list[str]:
    """Run the commands of an extra; one line for each failure."""
    programs, wrong = installed(extra), []
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("CONQUER_", "PYTHON"))}
    for command in COMMANDS[extra]:
        with tempfile.TemporaryDirectory() as room:
            fault = command(programs, Path(room), environ)
        print(f"{extra or 'plain':10} {command.__name__:24} {fault or 'ok'}", flush=True)
        wrong += [f"{extra or 'plain'}: {command.__name__}: {fault}"] if fault else []
    return wrong


if __name__ == "__main__":
    chosen = sys.argv[1:] or list(COMMANDS)
    if unknown := [name for name in chosen if name not in COMMANDS]:
        raise SystemExit(f"no extra {', '.join(unknown)}; there are {', '.join(filter(None, COMMANDS))}")
    if wrong := [line for extra in chosen for line in failures(extra)]:
        raise SystemExit("\n".join(wrong))
