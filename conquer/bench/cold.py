"""The first day: programs and a server on a machine that has compiled nothing yet, beside one that has.

Each is run in a fresh process with an empty folder for machine code, as it comes, and once more with `CONQUER_TIER`
set to compile at the first call, as everything did before there were two tiers.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conquer.bench.servers import ask, running

README = """\
import conquer

drinks = {
    "tea": {"kind": "tea", "hot": True, "price": 0.3},
    "coffee": {"kind": "coffee", "hot": True, "price": 0.4},
    "juice": {"kind": "juice", "hot": False, "price": 0.5},
    "water": {"kind": "water", "hot": False, "price": 0.0},
}
session = conquer.Session(conquer.make("gnr", dim=2**16), seed=0)
for day in range(200):
    weather = "cold" if day % 2 else "warm"
    offer = session.ask(drinks, context={"weather": weather})
    likes = {"cold": "tea", "warm": "juice"}[weather]
    session.tell(offer.id, likes if likes in offer.shown else "skip")
print(*(session.ask(drinks, context={"weather": w}).shown[0] for w in ("cold", "warm")))
"""
"""The README's example, to the letter."""

SIMULATION = """\
import conquer, numpy as np

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 8))
X /= np.linalg.norm(X, axis=1, keepdims=True)
truth = np.eye(8)[0]
rounds = conquer.Rounds(X, rng.integers(0, 500, (3000, 10)), X @ truth)
for name in ("random", "gnr", "gnc"):
    trace = conquer.simulate(name, rounds, model="full", seed=1)
    print(name, round(trace.regret.sum()), round(trace.query_rate, 2))
"""
"""That of docs/setting.md."""

STUDY = """\
from conquer.study.progress import Quiet
from conquer.study.reviews.command import compile_kernels, specifications

compile_kernels(specifications("small"), Quiet())
print("compiled")
"""
"""What `conquer study --preset small` does before its first round."""

PROGRAMS = {"README example": README, "simulation of docs/setting.md": SIMULATION, "kernels of a small study": STUDY}
KINDS = ("diagonal", "full", "kernel")
TIERS = {"as it comes": "auto", "compiling at the first call": "compiled"}


def program(code: str, cache: Path, tier: str) -> dict[str, float]:
    """Seconds until its first output and until its end."""
    command = [sys.executable, "-u", "-c", code]
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | _own(cache, tier)
    ) as child:
        assert child.stdout is not None
        child.stdout.read(1)
        first = time.perf_counter() - began
        child.stdout.read()
    if child.returncode != 0:
        raise RuntimeError(f"the program ended with {child.returncode}")
    return {"first output": first, "end": time.perf_counter() - began}


def _own(cache: Path, tier: str) -> dict[str, str]:
    return {"CONQUER_CACHE": str(cache), "CONQUER_TIER": tier}


def serving(cache: Path, tier: str) -> dict[str, float]:
    """Seconds from the start to the first pair answered by each kind of model, and the slowest health meanwhile."""
    found: dict[str, float] = {}
    slowest, done = [0.0], threading.Event()

    def watch(port: int) -> None:
        while not done.wait(0.02):
            asked = time.perf_counter()
            ask(port, "/healthz")
            slowest[0] = max(slowest[0], time.perf_counter() - asked)

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        with running(Path(folder), environ=_own(cache, tier)) as (port, _):
            found["ready"] = time.perf_counter() - began
            watcher = threading.Thread(target=watch, args=(port,))
            watcher.start()
            try:
                for model in KINDS:
                    _pair(port, model)
                    found[f"first pair, {model}"] = time.perf_counter() - began
                time.sleep(5.0)  # kernels are being made and loaded
            finally:
                done.set()
                watcher.join()
            found["slowest health"] = slowest[0]
    return found


def _pair(port: int, model: str) -> None:
    made = {"name": model, "algorithm": "gnr", "model": model, "features": {"dim": 64}}
    ask(port, "/v1/models", made)
    items = [{"id": name, "features": {"price": price, "kind": name}} for name, price in (("a", 0.3), ("b", 0.5))]
    offer = ask(port, f"/v1/models/{model}/choose", {"items": items})
    said = {"winner": offer["shown"][0]["id"]}
    ask(port, f"/v1/models/{model}/events/{offer['event_id']}/answer", said)


def measure(*, before: bool = True, service: bool = True, note: Callable[[str], None] = print) -> dict[str, Any]:
    """Cold and warm seconds of every program, and of a server; `before`: also as without tiers."""
    results: dict[str, Any] = {}
    for title, tier in TIERS.items():
        if tier == "compiled" and not before:
            continue
        for name, code in PROGRAMS.items():
            note(f"{name}, nothing compiled, {title}")
            with tempfile.TemporaryDirectory() as folder:
                results[f"{name}, cold, {title}"] = program(code, Path(folder), tier)
                if tier == "compiled":
                    results[f"{name}, warm, {title}"] = program(code, Path(folder), tier)
        if service:
            note(f"a server, nothing compiled, {title}")
            with tempfile.TemporaryDirectory() as folder:
                results[f"server, cold, {title}"] = serving(Path(folder), tier)
    return results


def table(results: dict[str, Any]) -> str:
    """A Markdown table of seconds.

    >>> print(table({"a, cold": {"first output": 1.234}}))
    | what, in a fresh process | | seconds |
    |---|---|---|
    | a, cold | first output | 1.23 |
    """
    lines = ["| what, in a fresh process | | seconds |", "|---|---|---|"]
    for name, row in results.items():
        lines += [f"| {name} | {what} | {seconds:.2f} |" for what, seconds in row.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(measure(before="--before" in sys.argv, note=lambda text: print(f"measuring: {text}", flush=True))))
