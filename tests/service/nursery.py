"""Server processes without the wait for imports: one process loads everything once and forks each server."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = """
import ctypes, json, os, signal, sys, traceback
import uvicorn, uvloop, psycopg
import sqlalchemy.dialects.postgresql.psycopg, sqlalchemy.dialects.sqlite.pysqlite
import conquer.service.web.app
from conquer.service.model.pick_settings import warm
from conquer.service.serve import serve
warm()
print("ready", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    if "wait" in order:
        print(os.waitpid(order["wait"], 0)[1], flush=True)
        continue
    pid = os.fork()
    if pid == 0:
        # Whoever asked for servers may be killed: none of them stays behind.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        out = os.open(order["errors"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(out, 1), os.dup2(out, 2), os.close(0)
        os.environ.update(order["environ"])
        try:
            serve(**order["options"])
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
    print(pid, flush=True)
"""


class Nursery:
    """Starts servers by forking a process that has imported and compiled everything."""

    def __init__(self) -> None:
        self._mother = subprocess.Popen(
            [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert self._read() == "ready"

    def _read(self) -> str:
        assert self._mother.stdout is not None
        return self._mother.stdout.readline().strip()

    def order(self, **order: Any) -> str:
        assert self._mother.stdin is not None
        self._mother.stdin.write(json.dumps(order, default=str) + "\n")
        return self._read()

    def start(self, port: int, folder: Path, probe: str = "/healthz", environ: Any = None, **options: Any) -> "Process":
        """A server that answers `probe` ("" does not wait); what it says goes to a file in the folder."""
        errors = folder / f"errors-{port}.log"
        pid = int(self.order(options={"port": port, **options}, errors=errors, environ=environ or {}))
        process = Process(self, pid, port, errors)
        if probe:
            process.wait_for(probe)
        return process

    def close(self) -> None:
        with self._mother as mother:
            assert mother.stdin is not None
            mother.stdin.close()


@dataclass
class Process:
    """A server in a process of its own."""

    nursery: Nursery
    pid: int
    port: int
    errors: Path
    code: int | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def alive(self) -> bool:
        if self.code is not None:
            return False
        return Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def wait(self) -> int:
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(int(self.nursery.order(wait=self.pid)))
        return self.code

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def stop(self) -> int:
        self.terminate()
        return self.wait()

    def wait_for(self, probe: str) -> None:
        import httpx

        give_up = time.monotonic() + 250
        while time.monotonic() < give_up:
            if not self.alive:
                raise RuntimeError(f"the server ended with {self.wait()}: {self.errors.read_text()}")
            try:
                if httpx.get(self.address + probe, timeout=60).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.02)
        raise RuntimeError(f"the server never became ready: {self.errors.read_text()}")
