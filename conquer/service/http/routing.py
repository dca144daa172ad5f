"""One typed table of routes: dispatch, checks, the OpenAPI document and the tests of roles all read it."""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import msgspec

from conquer.service.errors import Kind, RefusalError, invalid
from conquer.service.http.errors import status_of
from conquer.service.http.keys import Key
from conquer.service.http.schemas import is_model_name
from conquer.service.http.wire import (
    Receive,
    Reply,
    Scope,
    Send,
    encode,
    failure,
    read_body,
    send_json,
    send_refusal,
    send_reply,
)

if TYPE_CHECKING:
    from conquer.service.server import Server

logger = logging.getLogger("conquer.service")
_MAX_IDENTIFIER = 200


@dataclass(slots=True)
class Call:
    """One request on its way to a handler: checked, decoded, and by somebody who may make it."""

    server: "Server"
    key: Key
    path: dict[str, str]
    body: Any
    scope: Scope

    @property
    def model(self) -> str:
        return self.path["name"]

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True))

    @property
    def headers(self) -> dict[str, str]:
        return headers_of(self.scope)


Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A row of the table. `role` None: for everyone. `body` decodes the request; `document` describes it if not `body`.

    `body=bytes` hands the bytes over as they came.
    """

    method: str
    path: str
    role: str | None
    summary: str
    handler: Handler
    body: Any = None
    reply: Any = None
    document: Any = None
    status: int = 200
    upload: bool = False
    query: tuple[str, ...] = ()
    page: bool = False
    kind: str = "application/json"


class Dispatch:
    """The ASGI application of one endpoint."""

    def __init__(self, endpoint: Endpoint, server: "Server") -> None:
        self.endpoint, self.server = endpoint, server
        typed = endpoint.body is not None and endpoint.body is not bytes
        self._decode = msgspec.json.Decoder(endpoint.body).decode if typed else None
        limits = server.settings.limits
        self._limit = limits.upload_bytes if endpoint.upload else limits.body_bytes
        self._named = "{name}" in endpoint.path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        status = 500
        try:
            result = await self._result(scope, receive)
            if isinstance(result, Reply):
                status = result.status
                await send_reply(send, result)
            else:
                status = self.endpoint.status
                await send_json(send, status, encode(result))
        except RefusalError as refusal:
            status = status_of(refusal)
            await send_refusal(send, refusal)
        except Exception:
            logger.exception("%s %s failed", self.endpoint.method, self.endpoint.path)
            await send_json(send, 500, failure("internal", "this is a fault of the server; it has been logged"))
        finally:
            self.server.meters.request(self.endpoint, status, time.perf_counter() - started)

    async def _result(self, scope: Scope, receive: Receive) -> Any:
        endpoint, path = self.endpoint, scope["path_params"]
        key = self.server.doorkeeper.identify(headers_of(scope), endpoint.method)
        if endpoint.role is not None and not key.may(endpoint.role, path.get("name")):
            if not key.roles:
                raise RefusalError(Kind.NO_KEY, "no_key", "this server wants a key: Authorization: Bearer KEY")
            raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", f"this key may not {endpoint.role} here")
        if self._named and not is_model_name(path["name"]):
            raise RefusalError(Kind.UNKNOWN, "unknown_model", f"{path['name'][:80]!r} cannot be a model's name")
        if len(path.get("event_id", "")) > _MAX_IDENTIFIER or "\x00" in path.get("event_id", ""):
            raise RefusalError(Kind.UNKNOWN, "unknown_event", "there is no such event")
        body: Any = None
        if endpoint.body is not None:
            raw = await read_body(scope, receive, self._limit, self.server.settings.read_seconds)
            body = raw if self._decode is None else self._decoded(raw)
        return await endpoint.handler(Call(self.server, key, path, body, scope))

    def _decoded(self, raw: bytes) -> Any:
        if self._decode is None:
            raise RuntimeError("this endpoint takes bytes")
        try:
            return self._decode(raw)
        except msgspec.ValidationError as error:
            raise invalid(str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RefusalError(Kind.MALFORMED, "malformed", f"the body is not JSON: {error}") from None
        except RecursionError:
            raise RefusalError(Kind.MALFORMED, "malformed", "the body is nested too deeply") from None


def headers_of(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
