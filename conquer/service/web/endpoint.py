"""Endpoints: a table that the application, the OpenAPI document and the tests of roles read, and what serves a row.

A `Call` is a request as a handler gets it: the body, work on models and the store, and the replies to it.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, Unpack, get_type_hints

import msgspec
from sqlalchemy import Connection
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from conquer.service.engine.long_work import Job
from conquer.service.engine.queue import NOW, Generation, Waits
from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, invalid, unknown_model
from conquer.service.model.schemas import BatchAnswers, decoded, decoder, is_model_name
from conquer.service.store.keys import ANONYMOUS, Key
from conquer.service.store.log import Header, headers
from conquer.service.web.access import SMALL, may, speak_as
from conquer.service.web.server import Server

logger = logging.getLogger("conquer.service")
Handler = Callable[..., Awaitable[Any]]
Decorated = TypeVar("Decorated", bound=Handler)
_MAX_IDENTIFIER = 200
_GONE = 499
"""Counted as the status of a request whose client hung up."""
_SLOW = RefusalError(Kind.SLOW, "slow", "the client hung up")
_INTERNAL = RefusalError(Kind.INDETERMINATE, "internal", "this is a fault of the server; it has been logged")
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
_JSON_HEADERS = [(b"content-type", JSON.encode()), *((name.encode(), text.encode()) for name, text in _HEADERS.items())]
Result = TypeVar("Result")
encode = msgspec.json.Encoder().encode
_RATE = 32 << 10
"""Bytes a second at which a body must arrive in the long run."""


class Call(Request):
    """A request with the server, the caller's key and what it holds of the budget of bytes."""

    def __init__(self, server: Server, scope: Scope, receive: Receive) -> None:
        super().__init__(scope, receive)
        self.server = server
        self.model: str = self.path_params.get("name", "")
        self.address: str = (scope.get("client") or ("",))[0]
        """The client's, "" if it is unknown."""
        self.key: Key = ANONYMOUS
        self.owner, self.held = "", 0
        """The tenant that work and bytes are charged to, and the bytes of the budget held."""
        self.answers = 1
        """How many answers the body holds, once it is decoded."""

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

        def expect(size: int) -> None:
            if size > limit:
                message = f"a body may have {limit} bytes, this one has at least {size}"
                raise RefusalError(Kind.TOO_LARGE, "too_large", message)
            self.hold(size, bulky)

        expect(int(self.headers.get("content-length", 0)))
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
                    expect(len(body))
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

    async def sliced(self, response: "Response | Reply") -> "Response | Reply":
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


def reply(body: bytes = b"", kind: str = JSON, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A reply of media type `kind` that is not cached unless its headers say so."""
    return Response(body, status, {**_HEADERS, **headers} if headers else _HEADERS, kind)


class Reply(NamedTuple):
    """A JSON reply as the messages it is sent as: Starlette takes ten times as long to set up its headers."""

    body: bytes
    status_code: int

    @property
    def headers(self) -> dict[str, str]:
        return {**_HEADERS, "content-type": JSON}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [*_JSON_HEADERS, (b"content-length", b"%d" % len(self.body))]
        await send({"type": "http.response.start", "status": self.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


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


@dataclass(eq=False)
class Endpoint:
    """A row of the table; it admits the caller, reads the request, calls the handler, replies, counts.

    The handler's annotations name the types of `body`, `query` and `reply`; its docstring begins with the summary.

    - `role`: needed to call it; None: no key is needed.
    - `limit`: bytes of the body, or the name of a setting. Without a role it must be at most `limits.SMALL`.
    - `page`: not part of the OpenAPI document.
    - `answers`: the body holds answers, which are counted also when they are refused.
    - `kind`: media type of the reply.
    - `reply`: its type for the document, where the handler's is less precise.
    - `example`: a body for the documents, as JSON or, of bytes, as text; tests decode it.
    """

    method: str
    path: str
    role: str | None
    handler: Handler
    reply: Any = None
    status: int = 200
    limit: int | str = "body_bytes"
    page: bool = False
    answers: bool = False
    kind: str = JSON
    example: Any = None

    def __post_init__(self) -> None:
        hints = get_type_hints(self.handler, include_extras=True)
        self.summary = (self.handler.__doc__ or "").partition("\n")[0].rstrip(".")
        self.body, self.query = hints.get("body"), hints.get("query")
        if self.reply is None and hints["return"] is not Response:
            self.reply = hints["return"]
        self._decode = decoder(self.body) if self.body not in (None, bytes) else None
        optional = self._decode and not any(field.required for field in msgspec.structs.fields(hints["body"]))
        self.empty = b"{}" if optional else b""
        """What a request without a body is read as; b"" where one is needed."""
        self._bulky = self.body is bytes or self.limit == "upload_bytes"

    async def respond(self, server: Server, scope: Scope, receive: Receive, send: Send) -> None:
        """Reply to a request, as an ASGI app of this server does."""
        call, started, status = Call(server, scope, receive), time.perf_counter(), _GONE
        try:
            try:
                result = await self._result(call)
                response = result if isinstance(result, Response) else Reply(encode(result), self.status)
                # A committed write cannot be refused any more: its reply takes the place of its body in the budget.
                if self.method == "GET":
                    call.hold(len(getattr(response, "body", b"")))
                response = await call.sliced(response)
            except ClientDisconnect:
                self._count(call, _SLOW)
                raise
            except RefusalError as refusal:
                self._count(call, refusal)
                response = refused(refusal)
            except Exception as error:
                logger.error("%s %s failed", self.method, self.path, exc_info=error)
                self._count(call, _INTERNAL)
                response = refused(_INTERNAL, 500)
            await response(scope, receive, send)
            status = response.status_code
        except (ClientDisconnect, RefusalError):
            # Refused while it is sent, a download lacks its end: the client can tell that it is not whole.
            pass
        finally:
            if call.held:
                server.budget.give_back(call.owner, call.held)
            server.meters.request(self.method, self.path, status, time.perf_counter() - started)

    async def _result(self, call: Call) -> Any:
        call.key = self._admit(call)
        given = self._query(call)
        if self.body is not None:
            limit: int = self.limit if isinstance(self.limit, int) else getattr(call.server.settings, self.limit)
            raw = await call.read_body(limit, self._bulky) or self.empty
            body = given["body"] = raw if self._decode is None else decoded(self._decode, raw, "the body")
            if isinstance(body, BatchAnswers):
                call.answers = len(body.answers)
            if call.key.voter is not None:
                speak_as(call.key, body)
        return await self.handler(call, **given)

    def _admit(self, call: Call) -> Key:
        """The caller's key. Raises RefusalError if it may not make this request now."""
        server, role, name = call.server, self.role, call.path_params.get("name")
        key = server.access.identify(call, call.address)
        # People who joined by one link share its id, so each of their addresses is a tenant.
        call.owner = f"{key.id}:{call.address}" if key.voter is not None else key.id or call.address
        if server.rates is not None:
            server.rates.take(call.owner)
        if role is not None and not may(key, role, name):
            if not key.roles:
                raise RefusalError(Kind.NO_KEY, "no_key", "this server needs a key: Authorization: Bearer KEY")
            raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", f"this key may not {role} here")
        if name is None and role is not None and key.voter is not None:
            raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", "a link gives access to one model's questions only")
        if name is not None and not is_model_name(name):
            raise RefusalError(Kind.UNKNOWN, "unknown_model", f"{name[:80]!r} is not a valid model name")
        event_id = call.path_params.get("event_id", "")
        if len(event_id) > _MAX_IDENTIFIER or "\x00" in event_id:
            raise RefusalError(Kind.UNKNOWN, "unknown_event", "there is no such event")
        return key

    def _query(self, call: Call) -> dict[str, Any]:
        """The parameters, where the handler has some. Raises RefusalError for one that is unknown or not valid."""
        if self.query is None:
            # Links to pages may have parameters that are for their scripts.
            if call.scope["query_string"] and self.path.startswith("/v1/"):
                raise invalid("this path has no parameters")
            return {}
        try:
            return {"query": msgspec.convert(dict(call.query_params), self.query, strict=False)}
        except msgspec.ValidationError as error:
            raise invalid(f"the query: {error}") from None

    def _count(self, call: Call, refusal: RefusalError) -> None:
        """Count answers that were not carried out. A name that no model has makes no line of its own."""
        if self.answers:
            known = call.model in call.server.engine.models and refusal.kind not in (Kind.NO_KEY, Kind.NOT_ALLOWED)
            call.server.meters.refused(call.model if known else "", refusal, call.answers)


class Methods:
    """The endpoints of one path, by method; of no path, without any: the reply is an error then."""

    def __init__(self, server: Server, endpoints: Mapping[str, Endpoint]) -> None:
        self._server, self._endpoints = server, dict(endpoints)
        if "GET" in endpoints:
            self._endpoints["HEAD"] = endpoints["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoints.get(scope["method"])
        if endpoint is not None:
            await endpoint.respond(self._server, scope, receive, send)
            return
        message = f"there is no {scope['method']} {scope['path'][:200]}"
        if self._endpoints:
            error = RefusalError(Kind.UNKNOWN, "method_not_allowed", message)
            response = refused(error, 405, allow=", ".join(sorted(self._endpoints)))
        else:
            response = refused(RefusalError(Kind.UNKNOWN, "not_found", message))
        self._server.meters.request("other", "other", response.status_code, 0.0)
        await response(scope, receive, send)


class Routes(list[Endpoint]):
    """The endpoints of a module."""

    def add(self, method: str, path: str, role: str | None, **options: Any) -> Callable[[Decorated], Decorated]:
        """Decorate the handler of an endpoint with these options."""

        def decorate(handler: Decorated) -> Decorated:
            self.append(Endpoint(method, path, role, handler, **options))
            return handler

        return decorate
