"""Boards beside everything else: one at a time, few waiting, and none made twice while nothing has changed."""

import asyncio
import threading
from collections import Counter, OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

from conquer.service.annotation.pool import groups_of
from conquer.service.commands.standings import BoardReply, Copied, Look, board_of_copy, latest_groups, snapshot
from conquer.service.errors import Kind, RefusalError
from conquer.service.log.transaction import Turn
from conquer.service.writer.queue import Writer
from conquer.service.writer.waiting import stopping

WAITING = 16
"""Boards that may wait for their turn; more are turned away."""
SHARE = 2
"""How many of them may be of one model, or asked for with one key: the rest is for others."""
_KEPT = 64
Version = tuple[int, int, int]
"""A model's id, its position, and the last correction that it was folded with."""


@dataclass(eq=False, slots=True)
class _Order:
    """A board that somebody waits for; whoever asks for the same before it is begun waits with them."""

    name: str
    look: Look
    done: "asyncio.Future[BoardReply]"
    begun: bool = False


class Boards:
    """A thread of its own makes boards from copies of models: nobody else's request waits for one."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._thread = ThreadPoolExecutor(1, "conquer-boards")
        self._known: OrderedDict[tuple[int, Look], tuple[Version, BoardReply]] = OrderedDict()
        self._lock = threading.Lock()
        self._orders: dict[_Order, str] = {}
        """With whose key each was asked for."""
        self._closed = False

    async def read(self, name: str, look: Look, key: str = "") -> BoardReply:
        """The model's board as of now, or a RefusalError that says why there is none. `key`: whose share it is of."""

        def version(turn: Turn) -> tuple[bool, Version]:
            return turn.folded.stale, (turn.folded.id, turn.folded.position, turn.folded.generation)

        stale, now = await self._writer.call(name, version, reads=True)
        if stale:
            # Answers were taken back: others' boards are made while this model is folded without them.
            _, now = await self._writer.call(name, version, generation=now[:2], reads=True)
        with self._lock:
            known = self._known.get((now[0], look))
        if known is not None and known[0] == now:
            return known[1]
        order = next((one for one in self._orders if not one.begun and (one.name, one.look) == (name, look)), None)
        return await asyncio.shield((order or self._order(name, look, key)).done)

    def _order(self, name: str, look: Look, key: str) -> _Order:
        """A place in the queue, or a RefusalError."""
        if self._closed:
            raise stopping()
        waiting = len(self._orders)
        if waiting >= WAITING:
            raise RefusalError(Kind.BUSY, "busy", f"{waiting} boards are being made; try again", retry_after=1)
        models, keys = Counter(one.name for one in self._orders), Counter(self._orders.values())
        if models[name] >= SHARE or (key and keys[key] >= SHARE):
            whose = f"of model {name!r}" if models[name] >= SHARE else "for this key"
            raise RefusalError(Kind.BUSY, "busy", f"{SHARE} boards {whose} are being made; try again", retry_after=1)
        loop = asyncio.get_running_loop()
        order = _Order(name, look, loop.create_future())
        # It may end when nobody waits for it any more.
        order.done.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._orders[order] = key
        made = self._thread.submit(self._make, order)
        made.add_done_callback(lambda made: loop.call_soon_threadsafe(self._tell, order, made))
        return order

    def _tell(self, order: _Order, made: "Future[BoardReply] | None") -> None:
        """What became of it; None: nothing, and it need not be made."""
        self._orders.pop(order, None)
        if order.done.done():
            return
        error = stopping() if made is None or made.cancelled() else made.exception()
        if error is not None:
            order.done.set_exception(error)
        elif made is not None:
            order.done.set_result(made.result())

    def _make(self, order: _Order) -> BoardReply:
        order.begun, name, look = True, order.name, order.look
        if self._closed:
            raise stopping()

        def work(turn: Turn) -> tuple[bool, Copied]:
            return turn.folded.stale, snapshot(turn, groups_of(turn), look)

        stale, copy = self._writer.call_now(name, work, reads=True)
        if not copy.groups:
            with self._writer.database.reading() as connection:
                copy = replace(copy, groups=latest_groups(connection, copy.model, copy.most))
        board = board_of_copy(copy, look)
        if not stale:
            with self._lock:
                self._known[copy.model, look] = (copy.model, copy.position, copy.generation), board
                self._known.move_to_end((copy.model, look))
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
        return board

    def turn_away(self) -> None:
        """On the event loop, as soon as the server is told to stop: whoever waits for a board need not."""
        self._closed = True
        for order in [one for one in self._orders if not one.begun]:
            self._tell(order, None)

    def close(self) -> None:
        self._closed = True
        self._thread.shutdown(cancel_futures=True)
