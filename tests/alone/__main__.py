"""`python -m tests.alone [EXTRA ...]`: install each extra by itself under out/alone, and run what it is for."""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tests.alone.commands import COMMANDS

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "out" / "alone"


def installed(extra: str) -> Path:
    """The programs of an environment with this extra and nothing else; pip itself sees what is there already."""
    place = PLACE / (extra or "plain")
    programs = place / "bin"
    if not (programs / "python").exists():
        venv.create(place, with_pip=True, clear=True)
    wanted = f"{ROOT}[{extra}]" if extra else str(ROOT)
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "-c", str(ROOT / "constraints.txt")]
    # Not editable, so that what is missing in the package is missing here too; never an older copy of it.
    subprocess.run([*pip, wanted], check=True)
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wanted], check=True)
    return programs


def tried(extra: str) -> list[str]:
    """What went wrong with an extra, one line for each."""
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
    if wrong := [line for extra in chosen for line in tried(extra)]:
        raise SystemExit("\n".join(wrong))
