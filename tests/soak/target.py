"""The server that is fuzzed: calls over bare sockets, its health from beside, its memory, and what must still work."""

import asyncio
import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
from service.attacks import megabytes
from service.conftest import free_port
from service.nursery import Nursery, Process
from service.test_treebanks import TREEBANK

from conquer.service.admin import keys_add

from .traffic import KEEPERS, make_keepers

OPTIONS: dict[str, Any] = {"read_seconds": 2.0, "cache_bytes": 256 << 20, "snapshot_every": 50}
_SECONDS = 120.0
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
POLL = """
import http.client, sys, threading, time
port, slowest, over = int(sys.argv[1]), 0.0, threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
client = None
while not over.is_set():
    began = time.perf_counter()
    try:
        client = client or http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        client.request("GET", "/healthz")
        client.getresponse().read()
        slowest = max(slowest, time.perf_counter() - began)
    except (OSError, http.client.HTTPException):
        client = None
    time.sleep(0.01)
print(slowest)
"""


class Target:
    """A server with the models to keep; every call is counted, and a failing one is written down."""

    def __init__(self, nursery: Nursery, folder: Path, failures: Path) -> None:
        self.nursery, self.folder, self.failures = nursery, folder, failures
        self.port, self.counts = free_port(), Counter[str]()
        self.failed: list[str] = []
        self.process = self._start()
        with self.client() as client:
            make_keepers(client)
        self._health = subprocess.Popen(
            [sys.executable, "-c", POLL, str(self.port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def _start(self) -> Process:
        store = f"sqlite:///{self.folder}/store.db"
        return self.nursery.start(self.port, self.folder, "/readyz", store=store, **OPTIONS)

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.process.address, timeout=_SECONDS)

    async def send(self, request: bytes, source: str, number: int) -> int:
        """The status of the reply; 0 where the server hung up, which is an answer to half a request."""
        try:
            status = await asyncio.wait_for(self._exchange(request), _SECONDS)
        except TimeoutError:
            status = -1
        self.note(status, source, number, request)
        return status

    async def _exchange(self, request: bytes) -> int:
        reader, engine = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            engine.write(request)
            await engine.drain()
            while _STATUS.match(head := await reader.readuntil(b"\r\n\r\n")) and head[9:12] == b"100":
                continue
        except (OSError, asyncio.IncompleteReadError):
            head = b""
        finally:
            engine.transport.abort()
        found = _STATUS.match(head)
        return int(found[1]) if found else 0

    def note(self, status: int, source: str, number: int, request: bytes) -> None:
        self.counts[str(status)] += 1
        if status in (-1, 500) or status > 504:
            self.fail(f"{source}-{number}", f"status {status}", request)

    def fail(self, name: str, what: str, request: bytes) -> None:
        """Written down with the command that sends it again."""
        self.failures.mkdir(parents=True, exist_ok=True)
        path = self.failures / f"{name}.bin"
        path.write_bytes(request)
        again = f"python -m tests.soak again {path}"
        note = {"what": what, "again": again, "said": self.process.errors.read_text()[-4000:]}
        path.with_suffix(".json").write_text(json.dumps(note, indent=1))
        self.failed.append(f"{name}: {what}; {again}")

    def slowest_health(self) -> float:
        """Seconds of the slowest /healthz since the start; ends the looking."""
        out, _ = self._health.communicate()
        return float(out)

    def memory(self) -> float:
        return megabytes(self.process.pid)

    def tidy(self) -> None:
        """Delete what was made besides the models to keep."""
        with self.client() as client:
            for model in client.get("/v1/models").json()["models"]:
                if model["name"] not in (*KEEPERS, "copy"):
                    client.delete(f"/v1/models/{model['name']}")

    def usable(self, tag: str) -> list[str]:
        """What no longer works of the models to keep; a restart with kill -9 comes in between."""
        wrong = self._use(f"{tag}-1")
        self.process.kill()
        self.process = self._start()
        return wrong + self._use(f"{tag}-2")

    def _use(self, tag: str) -> list[str]:
        wrong: list[str] = []
        more = TREEBANK.replace("# sent_id = ", f"# sent_id = {tag}").encode()
        vectors = [{"id": "a", "vector": [1.0, 0.0]}, {"id": "b", "vector": [0.0, 1.0]}]
        with self.client() as client:
            for name in KEEPERS:
                root = f"/v1/models/{name}"
                if name == KEEPERS[2]:
                    client.post(f"{root}/items", content=more)
                    offer = client.post(f"{root}/next", json={"voter": f"v{tag}", "shared": True})
                    event = offer.json().get("event") or {} if offer.status_code == 200 else {}
                else:
                    offer = client.post(f"{root}/choose", json={"items": vectors, "event_id": f"use-{tag}"})
                    event = offer.json()
                replies = {"choose": offer}
                if event.get("query", "none") != "none":
                    body = {"winner": event["shown"][0]["id"], "voter": f"v{tag}"}
                    replies["answer"] = client.post(f"{root}/events/{event['event_id']}/answer", json=body)
                for path in ("", "/file", "/log"):
                    replies[path] = client.get(f"{root}{path}")
                wrong += [f"{name} {what}: {r.text[:200]}" for what, r in replies.items() if r.status_code != 200]
        return wrong

    def close_the_door(self) -> bytes:
        """Make a key, so that nobody else is served any more, and sign in with it: the session's cookie."""
        _, secret = keys_add("ann", roles=["admin"], store=f"sqlite:///{self.folder}/store.db")
        with self.client() as client:
            while client.get("/v1/models").status_code == 200:
                time.sleep(0.05)
            return client.post("/login", json={"key": secret}).headers["set-cookie"].partition(";")[0].encode()

    def close(self) -> None:
        if self._health.poll() is None:
            self._health.communicate()
        self.process.kill()
