"""A request as a handler gets it: the body, work on models and the store, and the replies to it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, TypeVar, Unpack

import msgspec
from sqlalchemy import Connection
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope

from conquer.service.engine.long_work import Job
from conquer.service.engine.queue import NOW, Generation, Waits
from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, unknown_model
from conquer.service.store.keys import ANONYMOUS, Key
from conquer.service.store.log import Header, headers
from conquer.service.web.access import SMALL
from conquer.service.web.server import Server

STATUS = {
    Kind.MALFORMED: 400,
    Kind.NO_KEY: 401,
    Kind.NOT_ALLOWED: 403,
    Kind.UNKNOWN: 404,
    Kind.SLOW: 408,
    Kind.CONFLICT: 409,
    Kind.TOO_LARGE: 413,
    Kind.INVALID: 422,
    Kind.BUSY: 429,
    Kind.UNAVAILABLE: 503,
    Kind.INDETERMINATE: 504,
}
JSON = "application/json"
_SLICE = 256 << 10
"""Bytes of a reply that are sent at once."""
_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
Result = TypeVar("Result")
encode = msgspec.json.Encoder().encode
_RATE = 32 << 10
"""Bytes a second at which a body must arrive in the long run."""


class Call(Request):
    """A request with the server, the caller's key and what it holds of the budget of bytes."""

    def __init__(self, server: Server, scope: Scope, receive: Receive) -> None:
        super().__init__(scope, receive)
        self.server = server
        self.key: Key = ANONYMOUS
        self.owner, self.held = "", 0
        """The tenant that work and bytes are charged to, and the bytes of the budget held."""
        self.answers = 1
        """How many answers the body holds, once it is decoded."""

    @property
    def model(self) -> str:
        name: str = self.path_params["name"]
        return name

    @property
    def address(self) -> str:
        """The client's address; "" if it is unknown."""
        client = self.scope.get("client")
        return client[0] if client else ""

    def hold(self, size: int, bulky: bool = True) -> None:
        """Hold `size` bytes of the budget in all, at most a tenant's share. Raises RefusalError without room."""
        size = min(size, self.server.budget.share)
        if size > max(self.held, SMALL):
            self.server.budget.take(self.owner, size - self.held, bulky)
            self.held = size

    async def read_body(self, limit: int, bulky: bool) -> bytes:
        """The whole body, held in the budget.

        Raises RefusalError as soon as the body is too long, finds no room, or does not arrive: each part must come
        within the setting `read_seconds`, and all of it within that and 32 KB a second.
        """
        length = self.headers.get("content-length")
        if length is not None:
            if int(length) > limit:
                raise _too_large(limit, f", got {length}")
            self.hold(int(length), bulky)
        # A bytearray, not a list of parts: each may be a single byte.
        body, seconds = bytearray(), self.server.settings.read_seconds
        clock = asyncio.get_running_loop().time
        start, more = clock(), True
        try:
            async with asyncio.timeout_at(start + seconds) as patience:
                while more:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    body += message.get("body", b"")
                    if len(body) > limit:
                        raise _too_large(limit)
                    self.hold(len(body), bulky)
                    if more := message.get("more_body", False):
                        patience.reschedule(min(clock(), start + len(body) / _RATE) + seconds)
        except TimeoutError:
            late = f"the body did not arrive in {seconds:g} s and {_RATE >> 10} KB a second"
            raise RefusalError(Kind.SLOW, "slow", late) from None
        return bytes(body)

    async def decide(self, request: Any) -> Any:
        """The reply to one choose or answer on the model of the path. Raises RefusalError if it is refused."""
        (found,) = await self.decide_all([request])
        if isinstance(found, Exception):
            raise found
        return found

    def decide_all(self, requests: Sequence[Any]) -> "asyncio.Future[list[Any]]":
        """A reply or a RefusalError for each choose or answer, in order."""
        return self.server.engine.decide(self.model, requests, self.owner)

    def on_model(self, work: Callable[[Turn], Result], **waits: Unpack[Waits]) -> "asyncio.Future[Result]":
        """Run work on the model of the path in the engine's thread; `waits` are those of `engine.queue.Work`."""
        return self.server.engine.call(self.model, work, owner=self.owner, **waits)

    def on_store(self, work: Callable[[Connection], Result]) -> "asyncio.Future[Result]":
        """Run `work(connection)` in the engine's thread, in the transaction of its batch."""
        return self.server.engine.call(None, work, owner=self.owner)

    def loaded(self) -> "asyncio.Future[None]":
        """Wait until the model of the path is in memory. Raises RefusalError if there is none."""
        return self.on_model(lambda turn: None, reads=True)

    def now(self, work: Callable[[Turn], Any], learns: bool = True) -> Any:
        """`on_model` from inside long work, which waits for it."""
        return self.server.engine.call_now(self.model, work, owner=self.owner, learns=learns)

    async def copied(self, copy: Callable[[Turn], Result]) -> Result:
        """A copy of the settled model. Raises RefusalError before it is made if the budget has no room for it."""
        self.hold(await self.on_model(lambda turn: turn.state.learner.size, reads=True))
        return await self.on_model(copy, reads=True, after=NOW)

    async def replayed(self, generation: Generation) -> None:
        """Wait until the model has been replayed with a committed correction.

        If the model is deleted meanwhile or cannot be replayed now, the correction still counts at the next load.
        """
        with contextlib.suppress(RefusalError):
            # Not charged to the caller, whose share of the queue may be full.
            await self.server.engine.call(self.model, lambda turn: None, after=generation)

    async def long(self, job: "Job | Callable[[], Any]") -> Any:
        """Run a generator, or a call of one short slice, as long work of the caller's.

        It is closed before its next slice when the client hangs up. Raises RefusalError if the caller has too many
        waiting.
        """
        work = self.server.engine.long.run(self.owner, job, bounded=True)
        gone = asyncio.ensure_future(self._disconnected())
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ClientDisconnect
            return work.result()
        finally:
            gone.cancel()
            work.cancel()

    async def _disconnected(self) -> None:
        """Wait until the client hangs up."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    def brief(self, work: "Job | Callable[[], Any]") -> "asyncio.Future[Any]":
        """Run a short job, or a call, off the event loop and the engine. The caller's long work does not delay it."""
        return self.server.engine.long.run(f"{self.owner} reads", work)

    def read(self, work: Callable[[Connection, Header], Result]) -> "asyncio.Future[Result]":
        """Run `work(connection, header)` on a connection that reads the store, with the header of the path's model.

        Raises RefusalError if there is none. See `brief`.
        """

        def reading() -> Result:
            with self.server.database.reading() as connection:
                found = headers(connection, [self.model]).get(self.model)
                if found is None:
                    raise unknown_model(self.model)
                return work(connection, found)

        return self.brief(reading)

    async def sliced(self, response: Response) -> Response:
        """A download, or a reply longer than a slice, with its bytes held in the budget until they are sent.

        Raises RefusalError without room for the beginning. When the reply has begun and cannot become a refusal, it
        ends with the RefusalError.
        """
        parts: Any = None
        if isinstance(response, StreamingResponse):
            parts, beginning = response.body_iterator, b""
            # The first line alone does not tell how long the download is.
            while len(beginning) <= SMALL and (part := await anext(parts, None)) is not None:
                beginning += part
            self.hold(len(beginning))
        else:
            beginning = bytes(response.body)
            if len(beginning) <= _SLICE:
                return response
        return StreamingResponse(self._slices(beginning, parts), response.status_code, dict(response.headers))

    async def _slices(self, part: bytes | None, parts: Any) -> AsyncIterator[bytes]:
        while part is not None:
            for at in range(0, len(part), _SLICE):
                yield part[at : at + _SLICE]
            part = await anext(parts, None) if parts else None
            self.hold(len(part or b""))


def _too_large(limit: int, got: str = "") -> RefusalError:
    return RefusalError(Kind.TOO_LARGE, "too_large", f"a body may have {limit} bytes{got}")


def reply(body: bytes = b"", kind: str = JSON, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A reply of media type `kind` that is not cached unless its headers say so."""
    return Response(body, status, {**_HEADERS, **headers} if headers else _HEADERS, kind)


def refused(refusal: RefusalError, status: int | None = None, **headers: str) -> Response:
    """A refusal, with the status and the headers of its kind.

    >>> refused(RefusalError(Kind.UNKNOWN, "not_found", "there is no GET /x")).body
    b'{"error":{"code":"not_found","message":"there is no GET /x"}}'
    """
    if refusal.retry_after is not None:
        headers["retry-after"] = str(refusal.retry_after)
    if refusal.kind is Kind.NO_KEY:
        headers["www-authenticate"] = "Bearer"
    body = encode({"error": {"code": refusal.code, "message": refusal.message}})
    return reply(body, status=status or STATUS[refusal.kind], headers=headers)


def attachment(content: "bytes | AsyncIterator[bytes]", name: str, kind: str = "application/octet-stream") -> Response:
    """A file for the client to save under `name`."""
    headers = {**_HEADERS, "content-disposition": f'attachment; filename="{name}"'}
    if isinstance(content, bytes):
        return Response(content, headers=headers, media_type=kind)
    return StreamingResponse(content, headers=headers, media_type=kind)
