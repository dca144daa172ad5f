"""Two servers on one PostgreSQL: killed, frozen, their database stopped at once, a commit's reply cut off."""

import asyncio
import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from service.conftest import free_port
from service.nursery import Nursery, Process

from benchmarks.postgres import Cluster

from .proxy import Cutter

_PATIENCE = 120.0
DECK = ("kills",) * 4 + ("freezes", "stops", "cuts") * 2


class TwoServers:
    """A scene of two servers; one event at a time, and both are there again after it."""

    name = "postgres"

    def __init__(self, nursery: Nursery, deck: Sequence[str] = DECK) -> None:
        self.nursery, self.counts = nursery, Counter[str]()
        self._deck, self._left = deck, list[str]()

    @property
    def store(self) -> str:
        return self._cluster.address

    async def open(self, folder: Path, fresh: bool) -> None:
        self._folder = folder
        note = folder / "cluster"
        old = Path(note.read_text()) if note.exists() else None
        self._cluster = await asyncio.to_thread(Cluster, free_port(), None if fresh else old)
        note.write_text(str(self._cluster.folder))
        if not fresh:
            # A run that was killed has left it running.
            await asyncio.to_thread(self._cluster.stop, False)
        await asyncio.to_thread(self._cluster.start)
        self._proxy = Cutter(self._cluster.port)
        await self._proxy.open()
        self._there: dict[int, Process] = {}
        for port in (free_port(), free_port()):
            await self._start(port)

    async def _start(self, port: int) -> None:
        options = {"store": Cluster.at(self._proxy.port), "snapshot_every": 40}
        self._there[port] = await asyncio.to_thread(self.nursery.start, port, self._folder, **options)

    def addresses(self) -> Sequence[str]:
        return [process.address for process in self._there.values()]

    async def hit(self, rng: random.Random) -> None:
        self._left = self._left or rng.sample(self._deck, len(self._deck))
        name = self._left.pop()
        port = rng.choice(list(self._there))
        if name == "kills":
            await self._kill(port)
        elif name == "freezes":
            os.kill(self._there[port].pid, signal.SIGSTOP)
            await asyncio.sleep(1.5 * rng.random())
            if rng.random() < 0.5:
                await self._kill(port)
            else:
                os.kill(self._there[port].pid, signal.SIGCONT)
        elif name == "stops":
            await asyncio.to_thread(self._cluster.stop)
            await asyncio.sleep(0.3 * rng.random())
            await asyncio.to_thread(self._cluster.start)
        else:
            before, self._proxy.at_once = self._proxy.cuts, rng.random() < 0.3
            self._proxy.armed = True
            await self._until(lambda: self._proxy.cuts > before, "a commit to cut")
        self.counts[name] += 1
        await asyncio.to_thread(self._all_ready)

    async def _kill(self, port: int) -> None:
        process = self._there.pop(port)
        await asyncio.to_thread(process.kill)
        await self._start(port)

    async def _until(self, happened, what: str) -> None:
        give_up = time.monotonic() + _PATIENCE
        while not happened():
            if time.monotonic() > give_up:
                raise TimeoutError(f"{what} did not come within {_PATIENCE} s")
            await asyncio.sleep(0.002)

    def _all_ready(self) -> None:
        """Both servers serve again by themselves."""
        for process in self._there.values():
            process.wait_for("/readyz")

    async def close(self) -> None:
        for process in self._there.values():
            await asyncio.to_thread(process.kill)
        self._there = {}
        await self._proxy.close()
        await asyncio.to_thread(self._cluster.stop)

    def discard(self) -> None:
        shutil.rmtree(self._cluster.folder)
        shutil.rmtree(self._folder)
