"""Killed from outside in mid-request, out of space, unwritable: what was acknowledged is there, and only once."""

import asyncio
import contextlib
import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import httpx
import numpy as np
import pytest

from .conftest import free_port
from .folds import loaded, rows_of, slow_fold, sqlite
from .test_connections import until

WORKERS = 8


class Diary:
    """What the client knows: every request it made and every reply it got."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.count = rng, 0
        self.offers: dict[str, dict] = {}
        self.answers: dict[str, str] = {}
        self.open: list[tuple[str, list]] = []
        self.left, self.enough = 0, asyncio.Event()

    def tick(self) -> None:
        self.left -= 1
        if self.left <= 0:
            self.enough.set()

    def items(self) -> list:
        return [{"id": f"i{k}", "vector": [self.rng.gauss(0, 1) for _ in range(4)]} for k in range(4)]

    def next(self) -> tuple[str, list]:
        if self.open:
            return self.open.pop()
        self.count += 1
        return f"event-{self.count}", self.items()


async def worker(client: httpx.AsyncClient, diary: Diary) -> None:
    """Ask and answer until the server dies; what was cut off is tried again, with the same ids, on the next one."""
    while True:
        event, items = diary.next()
        try:
            reply = await client.post("/v1/models/m/choose", json={"items": items, "event_id": event})
            assert reply.status_code == 200, reply.text
            offer = reply.json()
            assert diary.offers.setdefault(event, offer) == offer
            winner = offer["shown"][len(event) % 2]["id"]
            reply = await client.post(f"/v1/models/m/events/{event}/answer", json={"winner": winner})
            assert reply.status_code == 200, reply.text
            assert reply.json()["status"] in ("learnt", "repeat")
            diary.answers[event] = winner
            diary.tick()
        except httpx.TransportError:
            diary.open.append((event, items))
            return


async def load(address: str, diary: Diary, kill, answers: int) -> None:
    """Eight clients at once; after so many acknowledged answers the server is killed, whatever it is doing."""
    diary.left, diary.enough = answers, asyncio.Event()
    async with httpx.AsyncClient(base_url=address, timeout=60) as client:
        workers = [asyncio.create_task(worker(client, diary)) for _ in range(WORKERS)]
        await diary.enough.wait()
        kill()
        await asyncio.gather(*workers)


def test_a_full_disk_refuses_and_recovers(start, tmp_path: Path) -> None:
    server = start()
    until(lambda: httpx.get(f"{server.address}/readyz").json() == {"status": "ready", "alarms": [], "compiling": 0})
    body = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
    assert httpx.post(f"{server.address}/v1/models", json=body).status_code == 201
    diary = Diary(random.Random(1))

    def one(event: str, items: list) -> httpx.Response:
        return httpx.post(f"{server.address}/v1/models/m/choose", json={"items": items, "event_id": event})

    assert one(*diary.next()).status_code == 200
    _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    # Not a byte more anywhere: after a checkpoint SQLite's log starts over, and a write would fit into its old size.
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, hard))
    event, items = diary.next()
    refused = one(event, items)
    assert refused.status_code == 503, refused.text
    assert refused.json()["error"]["code"] == "storage"
    until(lambda: httpx.get(f"{server.address}/readyz").status_code == 503)
    assert httpx.get(f"{server.address}/healthz").status_code == 200
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (hard, hard))
    until(lambda: httpx.get(f"{server.address}/readyz").status_code == 200)
    assert one(event, items).status_code == 200
    assert one(*diary.next()).status_code == 200
    server.stop()
    _, rows = rows_of(sqlite(tmp_path), "m")
    assert [row.event for row in rows] == ["event-1", "event-2", "event-3"]


@pytest.fixture
def small_disk(tmp_path: Path):
    """A file system of its own with two megabytes, where the kernel lets us mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"needs the right to mount a small file system: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_no_space_left_on_device(start, small_disk: Path) -> None:
    """A disk that is really full: refused with 503 and nothing learnt, killed while full, and all is there after."""
    address = f"sqlite:///{small_disk}/store.db"
    server = start(store=address, snapshot_every=50)
    body = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
    assert httpx.post(f"{server.address}/v1/models", json=body).status_code == 201
    diary = Diary(random.Random(1))
    filler = small_disk / "filler"
    refused: list[tuple[str, list]] = []

    def one(event: str, items: list) -> int:
        reply = httpx.post(f"{server.address}/v1/models/m/choose", json={"items": items, "event_id": event})
        if reply.status_code == 200:
            diary.offers[event] = reply.json()
            winner = reply.json()["shown"][0]["id"]
            reply = httpx.post(f"{server.address}/v1/models/m/events/{event}/answer", json={"winner": winner})
            if reply.status_code == 200:
                diary.answers[event] = winner
        if reply.status_code != 200:
            assert (reply.status_code, reply.json()["error"]["code"]) == (503, "storage"), reply.text
            assert "full" in reply.json()["error"]["message"]
            refused.append((event, items))
        return reply.status_code

    assert one(*diary.next()) == 200
    for again in range(3):
        with contextlib.suppress(OSError), filler.open("wb") as file:
            while True:
                file.write(b"x" * 4096)
                file.flush()
        while not refused:
            one(*diary.next())
        assert httpx.get(f"{server.address}/v1/models/m").status_code == 200
        if again == 1:
            server.kill()
            filler.unlink()
            server = start(store=address, snapshot_every=50)
        else:
            filler.unlink()
        for event, items in refused[:]:
            refused.remove((event, items))
            assert one(event, items) == 200
        assert httpx.get(f"{server.address}/readyz").status_code == 200
    assert server.stop() == 0
    _, rows = rows_of(address, "m")
    assert {row.event: row.body.winner for row in rows if row.kind == "answer"} == diary.answers
    assert {row.event for row in rows if row.kind == "choose"} == diary.offers.keys()
    assert np.array_equal(loaded(address, "m"), slow_fold(address, "m"))


def test_a_store_that_cannot_be_written_is_refused_at_the_start(start, tmp_path: Path) -> None:
    start(probe="/healthz").stop()
    program = f"from conquer.service.serve import serve; serve(store='sqlite:///store.db', port={free_port()})"
    for path in tmp_path.iterdir():
        path.chmod(0o444)
    tmp_path.chmod(0o555)
    if os.geteuid() == 0:
        pytest.importorskip("pwd")
        done = _as_nobody(program, tmp_path)
    else:
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert done.returncode != 0
    assert "cannot open the store" in done.stderr


def _as_nobody(program: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Root may write anywhere, so become someone who may not after the imports are done."""
    become = "import sqlalchemy.dialects.sqlite.pysqlite; "
    become += "import encodings.idna, os, sqlite3, uvicorn, conquer.service.web.app; "
    become += "os.setgid(65534); os.setuid(65534); "
    for parent in (folder, *folder.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o055)
    return subprocess.run(
        [sys.executable, "-c", become + program], cwd=folder, capture_output=True, text=True, check=False
    )


def test_sigterm_finishes_what_was_accepted(start, tmp_path: Path) -> None:
    server = start()
    httpx.post(f"{server.address}/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 4}})
    diary = Diary(random.Random(2))
    asyncio.run(load(server.address, diary, server.terminate, 50))
    assert server.wait() == 0
    _, rows = rows_of(sqlite(tmp_path), "m")
    answers = {row.event: row.body.winner for row in rows if row.kind == "answer"}
    assert diary.answers.items() <= answers.items()
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))
