"""Endpoints: a table that the application, the OpenAPI document and the tests of roles read, and what serves a row."""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from conquer.service.errors import Kind, RefusalError, invalid
from conquer.service.model.decoding import decoded, for_no_body
from conquer.service.model.schemas import BatchAnswers, Strict, decoder, is_model_name
from conquer.service.store.keys import Key
from conquer.service.web.access import speak_as
from conquer.service.web.call import Call
from conquer.service.web.replies import JSON, counted, encode, failure, refused, reply
from conquer.service.web.server import Server

logger = logging.getLogger("conquer.service")
Handler = Callable[..., Awaitable[Any]]
Decorated = TypeVar("Decorated", bound=Handler)
_MAX_IDENTIFIER = 200
_GONE = 499
"""Counted as the status of a request whose client hung up."""
_SLOW = RefusalError(Kind.SLOW, "slow", "the client hung up")
_INTERNAL = RefusalError(Kind.INDETERMINATE, "internal", "this is a fault of the server; it has been logged")
# Nearly all requests name one of a few models.
_is_name = lru_cache(maxsize=256)(is_model_name)


class NoQuery(Strict):
    """A path of the API without parameters."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A row of the table.

    - `role`: needed to call it; None: no key is needed.
    - `body`: the type that the request's body is decoded to; `bytes` leaves it as it came; `document` describes it to
      readers where that differs.
    - `query`: a struct of its parameters, which are decoded from text; None: any are ignored.
    - `limit`: bytes of the body, or the name of a setting. Without a role it must be at most `limits.SMALL`.
    - `page`: not part of the OpenAPI document.
    - `answers`: the body holds answers, which are counted also when they are refused.
    - `kind`: media type of the reply.
    - `example`: a body for the documents, as JSON or, of bytes, as text; tests decode it.
    """

    method: str
    path: str
    role: str | None
    handler: Handler
    summary: str
    body: Any = None
    query: Any = None
    reply: Any = None
    document: Any = None
    status: int = 200
    limit: int | str = "body_bytes"
    page: bool = False
    answers: bool = False
    kind: str = JSON
    example: Any = None


class Routes(list[Endpoint]):
    """The endpoints of a module."""

    def add(self, method: str, path: str, role: str | None, **options: Any) -> Callable[[Decorated], Decorated]:
        """Decorate a handler: its annotations name the types of body, query and reply, its docstring is the summary."""

        def decorate(handler: Decorated) -> Decorated:
            hints = get_type_hints(handler, include_extras=True)
            found = None if hints["return"] is Response else hints["return"]
            query = hints.get("query", NoQuery if path.startswith("/v1/") else None)
            summary = (handler.__doc__ or "").partition("\n")[0].rstrip(".")
            given = {"summary": summary, "body": hints.get("body"), "query": query, "reply": found, **options}
            self.append(Endpoint(method, path, role, handler, **given))
            return handler

        return decorate


def owner(key: Key, address: str) -> str:
    """The tenant that the work and the bytes of a request are charged to.

    People who joined by one link share its id, so each of their addresses is a tenant.
    """
    return f"{key.id}:{address}" if key.voter is not None else key.id or address


class Served:
    """An endpoint as an ASGI app: admits the caller, reads the request, calls the handler, replies, counts."""

    def __init__(self, endpoint: Endpoint, server: Server) -> None:
        self.endpoint, self.server = endpoint, server
        typed = endpoint.body is not None and endpoint.body is not bytes
        self._decode = decoder(endpoint.body) if typed else None
        self._empty = for_no_body(self._decode)
        limit = endpoint.limit
        self._limit: int = limit if isinstance(limit, int) else getattr(server.settings, limit)
        self._bulky = endpoint.body is bytes or limit == "upload_bytes"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint, started, status = self.endpoint, time.perf_counter(), _GONE
        call = Call(scope, receive, self.server, self._bulky)
        try:
            response = await self._reply(call)
            await response(scope, receive, send)
            status = response.status_code
        except ClientDisconnect:
            pass
        except RefusalError as refusal:
            # A download that found no room: without its end, the client can tell that it is not whole.
            if refusal.code != "flight":
                raise
        finally:
            call.hold.release()
            self.server.meters.request(endpoint.method, endpoint.path, status, time.perf_counter() - started)

    async def _reply(self, call: Call) -> Response:
        endpoint = self.endpoint
        try:
            result = await self._result(call)
            response = result if isinstance(result, Response) else reply(encode(result), status=endpoint.status)
            # A committed write cannot be refused any more: its reply takes the place of its body in the budget.
            if endpoint.method == "GET":
                call.hold.release()
                call.hold.reply(len(getattr(response, "body", b"")))
            return await counted(response, call.hold)
        except ClientDisconnect:
            self._count(call, _SLOW)
            raise
        except RefusalError as refusal:
            self._count(call, refusal)
            return refused(refusal)
        except Exception as error:
            logger.error("%s %s failed", endpoint.method, endpoint.path, exc_info=error)
            self._count(call, _INTERNAL)
            return failure(500, _INTERNAL.code, _INTERNAL.message)

    async def _result(self, call: Call) -> Any:
        endpoint, given = self.endpoint, {}
        call.key = self._admit(call)
        if endpoint.query is not None:
            given = self._query(call)
        if endpoint.body is not None:
            raw = await call.read_body(self._limit) or self._empty
            body = given["body"] = raw if self._decode is None else decoded(self._decode, raw, "the body")
            if isinstance(body, BatchAnswers):
                call.answers = len(body.answers)
            if call.key.voter is not None:
                speak_as(call.key, body)
        return await endpoint.handler(call, **given)

    def _admit(self, call: Call) -> Key:
        """The caller's key. Raises RefusalError if it may not make this request now."""
        endpoint, server, path = self.endpoint, self.server, call.path_params
        key = server.access.identify(call.headers, endpoint.method, call.address)
        call.hold.owner = owner(key, call.address)
        if server.rates is not None:
            server.rates.take(call.owner)
        role, name = endpoint.role, path.get("name")
        if role is not None and not key.may(role, name):
            if not key.roles:
                raise RefusalError(Kind.NO_KEY, "no_key", "this server needs a key: Authorization: Bearer KEY")
            raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", f"this key may not {role} here")
        if name is None and role is not None and key.voter is not None:
            raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", "a link gives access to one model's questions only")
        if name is not None and not _is_name(name):
            raise RefusalError(Kind.UNKNOWN, "unknown_model", f"{name[:80]!r} is not a valid model name")
        event_id = path.get("event_id", "")
        if len(event_id) > _MAX_IDENTIFIER or "\x00" in event_id:
            raise RefusalError(Kind.UNKNOWN, "unknown_event", "there is no such event")
        return key

    def _query(self, call: Call) -> dict[str, Any]:
        """The parameters, where the handler has some. Raises RefusalError for one that is unknown or not valid."""
        kind = self.endpoint.query
        if kind is NoQuery and not call.scope["query_string"]:
            return {}
        names = kind.__struct_fields__
        for name in call.query_params:
            if name not in names:
                message = f"{name[:80]!r} is no parameter of this path: it has {', '.join(names) or 'none'}"
                raise invalid(message)
        try:
            return {"query": msgspec.convert(dict(call.query_params), kind, strict=False)}
        except msgspec.ValidationError as error:
            raise invalid(f"the query: {error}") from None

    def _count(self, call: Call, refusal: RefusalError) -> None:
        """Count answers that were not carried out. A name that no model has makes no line of its own."""
        if self.endpoint.answers:
            name = call.path_params["name"]
            known = name in self.server.engine.models and refusal.kind not in (Kind.NO_KEY, Kind.NOT_ALLOWED)
            self.server.meters.refused(name if known else "", refusal, call.answers)
