"""The tests with both cores kept busy, over and over: what fails by chance shows itself, and how often."""

import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

from . import state

WHOLE, OFTEN = 2, 10
ALL = ("tests", "conquer", "docs", "README.md")
CHANCY = ("tests/service", "tests/soak")
"""The service, crash, browser and PostgreSQL tests."""


def rounds() -> list[tuple[str, tuple[str, ...]]]:
    """What is run, in order: (name, paths).

    >>> [name for name, _ in rounds()][:3]
    ['all-1', 'all-2', 'service-1']
    """
    whole = [(f"all-{k + 1}", ALL) for k in range(WHOLE)]
    return whole + [(f"service-{k + 1}", CHANCY) for k in range(OFTEN)]


def failures(report: Path) -> list[str]:
    """Names of the tests that failed, from pytest's XML.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "r.xml"
    >>> _ = path.write_text('<t><testcase classname="a" name="b"><failure/></testcase><testcase name="c"/></t>')
    >>> failures(path)
    ['a.b']
    """
    cases = ElementTree.parse(report).getroot().iter("testcase")
    bad = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    return [f"{case.get('classname', '')}.{case.get('name', '')}" for case in bad]


def one(name: str, paths: tuple[str, ...], out: Path) -> dict[str, Any]:
    """One round beside two loops that never rest."""
    report, log = out / f"{name}.xml", out / f"{name}.log"
    report.unlink(missing_ok=True)
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 2)]
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", f"--junitxml={report}"]
    try:
        with log.open("w") as file:
            done = subprocess.run([*command, *paths], stdout=file, stderr=file, check=False)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
    if done.returncode < 0:
        raise SystemExit(f"{name} was killed by signal {-done.returncode}: it is run again next time")
    failed = failures(report) if report.exists() else [f"pytest ended with {done.returncode}: see {log}"]
    return {"failed": failed, "code": done.returncode, "seconds": round(time.monotonic() - began, 1)}


def run(out: Path, count: int | None = None) -> dict[str, Any]:
    """All rounds that are still to do; kept after each. `count`: at most so many now."""
    path = out / "busy.json"
    kept = state.load(path) or {"rounds": {}}
    out.mkdir(parents=True, exist_ok=True)
    wanted = rounds()
    progress = state.Progress("busy", len(wanted), len(kept["rounds"]))
    for name, paths in [each for each in wanted if each[0] not in kept["rounds"]][:count]:
        kept["rounds"][name] = one(name, paths, out)
        kept["tally"] = dict(Counter(test for each in kept["rounds"].values() for test in each["failed"]).most_common())
        state.keep(path, kept)
        progress.show(len(kept["rounds"]), {"failing tests": len(kept["tally"])})
    return kept
