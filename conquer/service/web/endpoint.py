"""Endpoints: a table that the application, the OpenAPI document and the tests of roles read, and what serves a row."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, get_type_hints

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from conquer.service.errors import Kind, RefusalError, invalid
from conquer.service.model.schemas import BatchAnswers, decoded, decoder, is_model_name
from conquer.service.store.keys import Key
from conquer.service.web.access import may, speak_as
from conquer.service.web.call import JSON, Call, encode, refused, reply
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
            response = await self._response(call)
            await response(scope, receive, send)
            status = response.status_code
        except ClientDisconnect:
            pass
        except RefusalError as refusal:
            # A download that found no room: without its end, the client can tell that it is not whole.
            if refusal.code != "flight":
                raise
        finally:
            if call.held:
                server.budget.give_back(call.owner, call.held)
            server.meters.request(self.method, self.path, status, time.perf_counter() - started)

    async def _response(self, call: Call) -> Response:
        try:
            result = await self._result(call)
            response = result if isinstance(result, Response) else reply(encode(result), status=self.status)
            # A committed write cannot be refused any more: its reply takes the place of its body in the budget.
            if self.method == "GET":
                call.hold(len(getattr(response, "body", b"")))
            return await call.sliced(response)
        except ClientDisconnect:
            self._count(call, _SLOW)
            raise
        except RefusalError as refusal:
            self._count(call, refusal)
            return refused(refusal)
        except Exception as error:
            logger.error("%s %s failed", self.method, self.path, exc_info=error)
            self._count(call, _INTERNAL)
            return refused(_INTERNAL, 500)

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
        if name is not None and not _is_name(name):
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
