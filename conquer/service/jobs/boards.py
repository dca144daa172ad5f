"""Boards beside everything else: one at a time, few waiting, and none made twice while nothing has changed."""

import asyncio
import threading
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from conquer.service.annotation.pool import groups_of
from conquer.service.commands.standings import BoardReply, Copied, Look, board_of_copy, latest_groups, snapshot
from conquer.service.errors import Kind, RefusalError
from conquer.service.log.transaction import Turn
from conquer.service.writer.queue import Writer

WAITING = 16
"""Boards that may wait for their turn; more are turned away."""
_KEPT = 64


class Boards:
    """A thread of its own makes boards from copies of models: nobody else's request waits for one."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._thread = ThreadPoolExecutor(1, "conquer-boards")
        self._known: OrderedDict[tuple[int, Look], BoardReply] = OrderedDict()
        self._lock = threading.Lock()
        self._waiting = 0

    async def read(self, name: str, look: Look) -> BoardReply:
        """The model's board as of now, or a RefusalError that says why there is none."""
        model, position = await self._writer.call(name, lambda turn: (turn.folded.id, turn.folded.position))
        with self._lock:
            known = self._known.get((model, look))
        if known is not None and known.position == position:
            return known
        if self._waiting >= WAITING:
            raise RefusalError(Kind.BUSY, "busy", f"{self._waiting} boards are being made; try again", retry_after=1)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._make, name, look)
        finally:
            self._waiting -= 1

    def _make(self, name: str, look: Look) -> BoardReply:
        def work(turn: Turn) -> Copied:
            return snapshot(turn, groups_of(turn), look.group)

        copy: Copied = self._writer.call_now(name, work)
        if not copy.groups:
            with self._writer.database.reading() as connection:
                copy = replace(copy, groups=latest_groups(connection, copy.model))
        board = board_of_copy(copy, look)
        with self._lock:
            self._known[copy.model, look] = board
            self._known.move_to_end((copy.model, look))
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return board

    def close(self) -> None:
        self._thread.shutdown(cancel_futures=True)
