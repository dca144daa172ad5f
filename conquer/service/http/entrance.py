"""A connection with a short way in: everyday requests do not go through the parser, nor their replies through ASGI."""

from collections.abc import Callable
from typing import Any, ClassVar

from conquer.service.http.connection import BoundedProtocol


class Entrance(BoundedProtocol):
    """A request that is alone in what was read, while nothing else is under way, is offered to `short` first.

    Who takes one calls `begin` and, once, `end`, with what stands for uvicorn's cycle meanwhile: it has `keep_alive`,
    `disconnected`, `response_started`, `response_complete`, `message_event` and a task's `cancel`. So whatever comes
    behind it, hangs up or shuts down finds a request under way as any other.
    """

    short: ClassVar[Callable[["Entrance", bytes], bool] | None] = None
    """Takes an everyday request, or says no: then the parser gets it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._short = None if self.access_log else type(self).short
        self.address = ""
        """Where its requests come from, "" where that cannot be known."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""

    def data_received(self, data: bytes) -> None:
        cycle, limit = self.cycle, self.limit_concurrency
        # Nothing else is under way: neither in the parser nor behind it, nor on the way out.
        if not (
            self._short is not None
            and self._whole
            and (cycle is None or cycle.response_complete)
            and not (self._deaf or self._lingers or self._stopping or self.flow.write_paused)
            and (limit is None or (len(self.connections) < limit and len(self.tasks) < limit))
            and self._short(self, data)
        ):
            super().data_received(data)

    def begin(self, cycle: Any) -> None:
        """A request is under way. It counts as a task until its `end`, also when its connection has gone."""
        self.cycle = cycle
        self.tasks.add(cycle)
        self._headed, self._quiet = True, 0
        if self._timer is not None:
            self._stop_waiting()

    def end(self, cycle: Any, reply: bytes) -> None:
        """Its reply in one write, and what follows any reply."""
        self.tasks.discard(cycle)
        cycle.response_started = cycle.response_complete = True
        if cycle.disconnected:
            return
        # Of two that wait, only the later one hears that the client has gone.
        if not self.transport.is_closing():
            self.transport.write(reply)
            if not cycle.keep_alive:
                self.finish()
        self._after_reply()
