"""One server on SQLite: killed under load a thousand times, frozen now and then before it."""

import asyncio
import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from service.conftest import free_port
from service.nursery import Nursery, Process


class OneServer:
    """A scene of one server; every event ends with its death and a new one in its place."""

    name = "sqlite"

    def __init__(self, nursery: Nursery) -> None:
        self.nursery, self.counts = nursery, Counter[str]()
        self._process: Process | None = None

    @property
    def store(self) -> str:
        return f"sqlite:///{self._folder}/store.db"

    async def open(self, folder: Path, fresh: bool) -> None:
        self._folder, self._port = folder, free_port()
        await self._start()

    async def _start(self) -> None:
        self._process = await asyncio.to_thread(
            self.nursery.start, self._port, self._folder, store=self.store, snapshot_every=40
        )

    def addresses(self) -> Sequence[str]:
        return () if self._process is None else (self._process.address,)

    async def hit(self, rng: random.Random) -> None:
        process = self._process
        assert process is not None
        if rng.random() < 0.25:
            self.counts["freezes"] += 1
            os.kill(process.pid, signal.SIGSTOP)
            await asyncio.sleep(0.3 * rng.random())
            if rng.random() < 0.5:
                os.kill(process.pid, signal.SIGCONT)
                await asyncio.sleep(0.05 * rng.random())
        self._process = None
        await asyncio.to_thread(process.kill)
        self.counts["kills"] += 1
        await self._start()

    async def close(self) -> None:
        if self._process is not None:
            await asyncio.to_thread(self._process.kill)
            self._process = None

    def discard(self) -> None:
        shutil.rmtree(self._folder)
