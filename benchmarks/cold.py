"""Cold starts: programs of the documentation and a server on a machine that has compiled nothing yet."""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from benchmarks.servers import ask, running

ROOT = Path(__file__).parents[1]
STUDY = """\
from conquer.study.progress import Quiet
from conquer.study.reviews.command import compile_kernels, specifications

compile_kernels(specifications("small"), Quiet())
print("compiled")
"""
"""What `conquer study --preset small` does before its first round."""
MODELS = ("diagonal", "full", "kernel")


def first_block(page: str, containing: str) -> str:
    """The first Python block of a page that contains a text.

    >>> "session.ask" in first_block("README.md", "session.ask")
    True
    """
    blocks: list[str] = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    return next(block for block in blocks if containing in block)


def measure() -> dict[str, float]:
    """Seconds from the start of each program to its first output, with an empty folder of machine code."""
    programs = {
        "README example": first_block("README.md", "session.ask"),
        "simulation of docs/setting.md": first_block("docs/setting.md", "conquer.simulate"),
        "kernels of a small study": STUDY,
    }
    found = {}
    for name, code in programs.items():
        with tempfile.TemporaryDirectory() as folder:
            found[name] = first_output(code, Path(folder))
    return found


def first_output(code: str, cache: Path) -> float:
    """Seconds until a program prints; a RuntimeError when it fails."""
    command = [sys.executable, "-u", "-c", code]
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | {"CONQUER_CACHE": str(cache)}
    ) as child:
        assert child.stdout is not None
        child.stdout.read(1)
        seconds = time.perf_counter() - began
        child.stdout.read()
    if child.returncode != 0:
        raise RuntimeError(f"the program ended with {child.returncode}")
    return seconds


def measure_server() -> dict[str, float]:
    """Seconds from the start of a server to the first pair of every model, and its slowest /healthz meanwhile."""
    found: dict[str, float] = {}
    slowest, done = [0.0], threading.Event()

    def watch(port: int) -> None:
        while not done.wait(0.02):
            sent = time.perf_counter()
            ask(port, "/healthz")
            slowest[0] = max(slowest[0], time.perf_counter() - sent)

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        began = time.perf_counter()
        with running(Path(folder), environ={"CONQUER_CACHE": cache}) as (port, _):
            watcher = threading.Thread(target=watch, args=(port,))
            watcher.start()
            try:
                for model in MODELS:
                    _pair(port, model)
                    found[f"server, first pair, {model}"] = time.perf_counter() - began
                time.sleep(5.0)  # kernels are compiled and loaded
            finally:
                done.set()
                watcher.join()
    return found | {"server, slowest /healthz": slowest[0]}


def _pair(port: int, model: str) -> None:
    ask(port, "/v1/models", {"name": model, "algorithm": "gnr", "model": model, "features": {"dim": 64}})
    items = [{"id": name, "features": {"price": price, "kind": name}} for name, price in (("a", 0.3), ("b", 0.5))]
    offer = ask(port, f"/v1/models/{model}/choose", {"items": items})
    path = f"/v1/models/{model}/events/{offer['event_id']}/answer"
    ask(port, path, {"winner": offer["shown"][0]["id"]})
