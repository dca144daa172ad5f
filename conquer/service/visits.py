"""The short way of everyday requests: from the bytes at the door to the writer's queue, and from its result to bytes.

There is no parser, no task and no future in between. Checks, refusals and counts are those of `Dispatch`.
"""

import asyncio
import logging
import time
from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec

from conquer.service.dispatch import Dispatch, owner
from conquer.service.http.auth import speak_as
from conquer.service.http.budget import Hold
from conquer.service.http.door import LARGEST, Door, Head
from conquer.service.http.entrance import Entrance
from conquer.service.http.keys import NOBODY, Key
from conquer.service.http.messages import encode, headers_for
from conquer.service.http.routing import Call, Short
from conquer.service.http.whole import PLAIN, any_reply, plain_reply
from conquer.service.writer.work import QueuedWork

logger = logging.getLogger("conquer.service")
_LATE = ((b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"21"))
"""Of what uvicorn sends for a task that it ends."""


class _Nobody:
    """Stands where the parser would wake who waits for a body."""

    def set(self) -> None:
        pass


class Visit(msgspec.Struct, eq=False):
    """One everyday request: its connection takes it for uvicorn's cycle, the writer for a future."""

    _connection: Entrance
    _dispatch: Dispatch
    _short: Short
    _path: dict[str, str]
    _head: Head
    _started: float
    _key: Key = NOBODY
    _body: Any = None
    """What is asked; not kept by a connection that rests."""
    _task: asyncio.Task[None] | None = None
    _told: bool = False
    disconnected: bool = False
    keep_alive: bool = True
    response_complete: bool = False
    response_started: bool = False
    message_event: ClassVar = _Nobody()

    def begin(self, raw: bytes) -> None:
        """Let the caller in and queue the work, or refuse."""
        dispatch, connection, path, short = self._dispatch, self._connection, self._path, self._short
        server = dispatch.server
        connection.begin(self)
        try:
            key = dispatch.admit(path, self._head.by_name, connection.address)
            body = dispatch.decode(raw)
            if key.voter is not None:
                speak_as(key, body)
            self._key, self._body = key, body
            request, events, light = short.asks(server, path, body)
            server.writer.put(QueuedWork(path["name"], short.work, events, self, light, None, False, request))
        except Exception as error:  # noqa: BLE001 - whatever it was, whoever asked gets a reply
            self._fail(error)

    def done(self) -> bool:
        return self._told

    def set_result(self, found: Any) -> None:
        """The writer has done it, or left it to the handler."""
        self._told = True
        if found is None:
            self._task = asyncio.get_running_loop().create_task(self._by_handler())
            # Also when it is cancelled, be it before its first step.
            self._task.add_done_callback(lambda _: self._cut())
            return
        try:
            self._short.count(self._dispatch.server, self._path["name"], found)
            body = encode(found)
        except Exception as error:  # noqa: BLE001 - others are told after this one
            self._fail(error)
        else:
            self._reply(body)

    def set_exception(self, error: Exception) -> None:
        self._told = True
        self._fail(error)

    async def _by_handler(self) -> None:
        try:
            body = encode(await self._dispatch.endpoint.handler(self._call()))
        except Exception as error:  # noqa: BLE001 - whatever it was, whoever asked gets a reply
            self._fail(error)
        else:
            self._reply(body)

    def _call(self) -> Call:
        """The request as the handler takes it."""
        connection, server = self._connection, self._dispatch.server
        scope = {"type": "http", "headers": self._head.lines, "query_string": b"", "client": connection.client}
        hold = Hold(server.budget, bulky=False, owner=owner(self._key, connection.address))
        return Call(server, self._key, self._path, self._body, scope, hold)

    def _reply(self, body: bytes) -> None:
        status, common = self._dispatch.endpoint.status, self._connection.server_state.default_headers
        if self.keep_alive:
            self._end(status, plain_reply(status, common, body))
        else:
            length = (b"content-length", str(len(body)).encode())
            self._end(status, any_reply(status, [*common, *PLAIN, length], body, ends=True))

    def _fail(self, error: Exception) -> None:
        reply = self._dispatch.failed(self._path, error)
        headers = [*self._connection.server_state.default_headers, *headers_for(reply)]
        self._end(reply.status, any_reply(reply.status, headers, reply.body, not self.keep_alive))

    def _end(self, status: int, reply: bytes) -> None:
        endpoint = self._dispatch.endpoint
        self._body = None
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
            headers = [*self._connection.server_state.default_headers, *_LATE]
            self._end(500, any_reply(500, headers, b"Internal Server Error", ends=True))


class Visits:
    """What a connection offers its requests to: takes those that are everyday, to rows of the table with a short way.

    What it does not take has had no effect.
    """

    def __init__(self, rows: Iterable[Dispatch]) -> None:
        shorts = [(row, row.endpoint.short) for row in rows if row.endpoint.method == "POST"]
        self._door = Door((row.endpoint.path, (row, short)) for row, short in shorts if short is not None)

    def __call__(self, connection: Entrance, data: bytes) -> bool:
        found = self._door.recognise(data) if len(data) <= LARGEST else None
        if found is None:
            return False
        (dispatch, short), path, head, body = found
        if head.length > dispatch.limit:
            return False
        Visit(connection, dispatch, short, path, head, time.perf_counter()).begin(body)
        return True
