"""A process of its own that compiles kernels one after the other: it holds no lock of ours."""

import contextlib
import gc
import importlib
import json
import os
import subprocess
import sys
import threading

from conquer.kernels.core.signatures import Signature

_CALM = 10
"""How much nicer than its parent it is."""


class Builder:
    """Our end of the process, which is started when there is something to make."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._dismissed = False

    def make(self, home: str, name: str, key: Signature) -> str:
        """Have it compiled to disk; what went wrong, or nothing."""
        with self._lock:
            if self._dismissed:
                return "the process is ending"
            if self._child is None or self._child.poll() is not None:
                self._child = _start()
            child = self._child
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(json.dumps([home, name, key]) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
        except OSError as error:
            return f"its compiler could not be reached: {error}"
        return str(json.loads(line)) if line else f"its compiler ended with {child.wait()}"

    def dismiss(self) -> None:
        """The process ends with what it is making."""
        with self._lock:
            self._dismissed = True
            if self._child is not None and self._child.stdin is not None:
                with contextlib.suppress(OSError):
                    self._child.stdin.close()


def _start() -> "subprocess.Popen[str]":
    # A group of its own: Ctrl-C is for us. Not a session: schedulers give each session its own share.
    return subprocess.Popen(
        [sys.executable, "-m", "conquer.kernels.core.builder"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        process_group=0 if os.name == "posix" else None,
    )


def main() -> None:
    """Compile what stands on the lines of the input, and answer each with what went wrong, or nothing."""
    os.environ["CONQUER_TIER"] = "compiled"
    if hasattr(os, "nice"):
        os.nice(_CALM)
    gc.disable()  # a compiler makes millions of objects, nearly all of which live until it is done
    for line in sys.stdin:
        home, name, key = json.loads(line)
        problem = ""
        try:
            getattr(importlib.import_module(home), name).entry.build(key)
        except Exception as error:  # noqa: BLE001 - whatever it was, whoever asked is told
            problem = f"{type(error).__name__}: {error}"
        with contextlib.suppress(OSError):  # whoever asked has gone: it is on disk all the same
            print(json.dumps(problem), flush=True)
        gc.collect()


if __name__ == "__main__":
    main()
