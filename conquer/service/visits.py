"""The short way of everyday requests: from the bytes at the door to the writer's queue, and from its result to bytes.

There is no parser, no task and no future in between. Checks, refusals and counts are those of `Dispatch`.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import Any

from conquer.service.dispatch import Dispatch
from conquer.service.http.budget import Hold
from conquer.service.http.door import LARGEST, Door, Plain
from conquer.service.http.entrance import Entrance
from conquer.service.http.messages import encode, headers_for
from conquer.service.http.routing import Call, Router, Short
from conquer.service.http.whole import PLAIN, any_reply, plain_reply
from conquer.service.writer.work import QueuedWork

logger = logging.getLogger("conquer.service")
_LATE = ((b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"21"))
"""Of what uvicorn sends for a task that it ends."""


class _Nobody:
    """Stands where the parser would wake who waits for a body."""

    def set(self) -> None:
        pass


class Visit:
    """One everyday request: its connection takes it for uvicorn's cycle, the writer for a future."""

    __slots__ = (
        "_call",
        "_connection",
        "_dispatch",
        "_path",
        "_sent",
        "_started",
        "_task",
        "_tell",
        "_told",
        "disconnected",
        "keep_alive",
        "response_complete",
        "response_started",
    )
    message_event = _Nobody()

    def __init__(self, connection: Entrance, dispatch: Dispatch, path: dict[str, str]) -> None:
        self._started = time.perf_counter()
        self._connection, self._dispatch, self._path = connection, dispatch, path
        self._sent = [1]
        # What the work needs and what tells of it; not kept by a connection that rests.
        self._call: Any = None
        self._tell: Any = None
        self._task: asyncio.Task[None] | None = None
        self._told = self.disconnected = self.response_started = self.response_complete = False
        self.keep_alive = True

    def begin(self, plain: Plain, shorten: Callable[[Call], Short]) -> None:
        """Let the caller in and queue the work, or refuse."""
        dispatch, connection, path, head = self._dispatch, self._connection, self._path, plain.head
        server = dispatch.server
        connection.begin(self)
        try:
            hold = Hold(server.budget, bulky=False)
            key = dispatch.admit(path, head.by_name, connection.address, hold)
            scope = {"type": "http", "headers": head.lines, "query_string": b"", "client": connection.client}
            self._call = call = Call(server, key, path, dispatch.decode(plain.body, key, self._sent), scope, hold)
            work, request, events, light, self._tell = shorten(call)
            server.writer.put(QueuedWork(path["name"], work, events, self, light, request=request))
        except Exception as error:  # noqa: BLE001 - whatever it was, whoever asked gets a reply
            self._fail(error)

    def done(self) -> bool:
        return self._told

    def set_result(self, found: Any) -> None:
        """The writer has done it, or left it to the handler."""
        self._told = True
        try:
            result = self._tell(found)
            body = None if result is None else encode(result)
        except Exception as error:  # noqa: BLE001 - others are told after this one
            self._fail(error)
            return
        if body is None:
            self._task = asyncio.get_running_loop().create_task(self._by_handler())
            # Also when it is cancelled, be it before its first step.
            self._task.add_done_callback(lambda _: self._cut())
        else:
            self._reply(body)

    def set_exception(self, error: Exception) -> None:
        self._told = True
        self._fail(error)

    async def _by_handler(self) -> None:
        try:
            body = encode(await self._dispatch.endpoint.handler(self._call))
        except Exception as error:  # noqa: BLE001 - whatever it was, whoever asked gets a reply
            self._fail(error)
        else:
            self._reply(body)

    def _reply(self, body: bytes) -> None:
        status, common = self._dispatch.endpoint.status, self._connection.headers_of_all
        if self.keep_alive:
            self._end(status, plain_reply(status, common, body))
        else:
            length = (b"content-length", str(len(body)).encode())
            self._end(status, any_reply(status, [*common, *PLAIN, length], body, ends=True))

    def _fail(self, error: Exception) -> None:
        reply = self._dispatch.failed(self._path, error, self._sent)
        headers = [*self._connection.headers_of_all, *headers_for(reply)]
        self._end(reply.status, any_reply(reply.status, headers, reply.body, not self.keep_alive))

    def _end(self, status: int, reply: bytes) -> None:
        endpoint = self._dispatch.endpoint
        self._call = self._tell = None
        try:
            self._connection.end(self, reply)
        except Exception:
            # Others are told after this one.
            logger.exception("%s %s was not replied to", endpoint.method, endpoint.path)
            self._connection.transport.abort()
        seconds = time.perf_counter() - self._started
        self._dispatch.server.meters.request(endpoint.method, endpoint.path, status, seconds)

    def cancel(self, msg: object = None) -> None:
        """The server ends and waits no longer. As a task's: what follows from it happens later."""
        if self._task is not None:
            self._task.cancel(msg)
        else:
            asyncio.get_running_loop().call_soon(self._cut)

    def _cut(self) -> None:
        """Reply as uvicorn does for a task that ended without, unless there was a reply."""
        if not self.response_complete:
            self._told, self.keep_alive = True, False
            self._end(
                500, any_reply(500, [*self._connection.headers_of_all, *_LATE], b"Internal Server Error", ends=True)
            )


class Visits:
    """What a connection offers its requests to: takes those that are everyday, to rows of the table with a short way.

    What it does not take has had no effect.
    """

    def __init__(self, rows: Iterable[Dispatch]) -> None:
        routes = [(row, row.endpoint.short) for row in rows if row.endpoint.method == "POST"]
        self._router = Router(("POST", row.endpoint.path, (row, short)) for row, short in routes if short is not None)
        self._door = Door()

    def __call__(self, connection: Entrance, data: bytes) -> bool:
        plain = self._door.recognise(data) if len(data) <= LARGEST else None
        found = None if plain is None else self._router.find(plain.path)
        if plain is None or found is None:
            return False
        dispatch, shorten = found[0]["POST"]
        if plain.head.length > dispatch.limit:
            return False
        Visit(connection, dispatch, found[1]).begin(plain, shorten)
        return True
