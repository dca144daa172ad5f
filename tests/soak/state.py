"""How far a run has come, in files that are written whole or not at all, and a line that says so."""

import json
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

OUT = Path("out") / "soak"


def load(path: Path) -> dict[str, Any]:
    """What was kept there, or nothing.

    >>> load(Path("/no/such/file"))
    {}
    """
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def keep(path: Path, value: Any) -> None:
    """Write JSON so that a kill leaves the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(value, indent=1) + "\n")
    os.replace(fresh, path)


class Progress:
    """A line on a terminal that is written over, elsewhere a line every ten seconds, with an estimate."""

    def __init__(self, what: str, total: int, done: int = 0) -> None:
        self.what, self.total, self.first = what, total, done
        self.began = time.monotonic()
        self._shown = 0.0

    def show(self, done: int, counts: Counter[str] | dict[str, Any]) -> None:
        now = time.monotonic()
        last = done >= self.total
        terminal = sys.stdout.isatty()
        if not last and now - self._shown < (0.2 if terminal else 10.0):
            return
        self._shown = now
        fresh = max(1, done - self.first)
        left = (self.total - done) * (now - self.began) / fresh
        more = ", ".join(f"{name} {count}" for name, count in counts.items())
        text = f"{self.what}: {done}/{self.total}, about {left:.0f} s left, {more}"
        print(f"\r\033[K{text[:200]}" if terminal else text, end="\n" if last or not terminal else "", flush=True)
