"""The ASGI application: the way of a request from its path to its handler, and of the result back as a reply."""

import logging
import time
import traceback
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import quote

from conquer.service.errors import Kind, RefusalError
from conquer.service.http.auth import speak_as
from conquer.service.http.budget import Hold
from conquer.service.http.cors import Cors, marked
from conquer.service.http.decoding import check_query, decoded, for_no_body
from conquer.service.http.errors import failure, refused
from conquer.service.http.messages import (
    Receive,
    Reply,
    Scope,
    Send,
    address_of,
    counted,
    encode,
    headers_of,
    read_body,
    send_json,
    send_reply,
)
from conquer.service.http.openapi import document
from conquer.service.http.routing import Call, Endpoint, Router
from conquer.service.http.schemas import BatchAnswers, decoder, is_model_name
from conquer.service.routes import (
    boards,
    events,
    health,
    images,
    invitations,
    items,
    log,
    models,
    pages,
    parser,
    personalizer,
)
from conquer.service.server import Server

logger = logging.getLogger("conquer.service")
_MAX_IDENTIFIER = 200

ENDPOINTS: tuple[Endpoint, ...] = (
    *events.ENDPOINTS,
    *items.ENDPOINTS,
    *images.ENDPOINTS,
    *boards.ENDPOINTS,
    *parser.ENDPOINTS,
    *models.ENDPOINTS,
    *invitations.ENDPOINTS,
    *log.ENDPOINTS,
    *personalizer.ENDPOINTS,
    *health.ENDPOINTS,
    *pages.ENDPOINTS,
)


class Dispatch:
    """One row of the table at work: lets the caller in, reads and decodes the body, calls the handler, replies."""

    def __init__(self, endpoint: Endpoint, server: Server) -> None:
        self.endpoint, self.server = endpoint, server
        typed = endpoint.body is not None and endpoint.body is not bytes
        self._decode = decoder(endpoint.body) if typed else None
        limits = server.settings.limits
        usual = limits.round_bytes if endpoint.items else limits.body_bytes
        self._limit = endpoint.limit or (limits.upload_bytes if endpoint.upload else usual)
        self._named = "{name}" in endpoint.path
        # Other people's protocols, probes and pages may bring what they like.
        self._known = frozenset(endpoint.query) if endpoint.path.startswith("/v1/") else None
        self._instead = for_no_body(self._decode)

    async def __call__(self, scope: Scope, path: dict[str, str], receive: Receive, send: Send) -> None:
        endpoint, started, status = self.endpoint, time.perf_counter(), 500
        hold = Hold(self.server.budget, endpoint.upload)
        # How many answers came, as far as that can be told.
        sent = [1]
        try:
            try:
                result = await self._result(scope, path, receive, hold, sent)
                reply = result if isinstance(result, Reply) else encode(result)
                # What was done cannot be refused any more: replies to writes go with their bodies, which are counted.
                if endpoint.method == "GET":
                    hold.release()
                    hold.reply(len(reply.body if isinstance(reply, Reply) else reply))
                if isinstance(reply, Reply) and reply.chunks is not None:
                    reply.chunks = await counted(reply.chunks, hold)
            except Exception as error:  # noqa: BLE001 - whatever it was, whoever asked gets a reply
                reply = self._failed(path, error, sent)
            if isinstance(reply, Reply):
                status = reply.status
                await send_reply(send, reply, receive)
            else:
                status = endpoint.status
                await send_json(scope, send, status, reply)
        finally:
            hold.release()
            self.server.meters.request(endpoint.method, endpoint.path, status, time.perf_counter() - started)

    def _failed(self, path: dict[str, str], error: Exception, sent: list[int]) -> Reply:
        """What is sent when a request is not carried out, for whatever reason."""
        if isinstance(error, RefusalError):
            self._count(path, "indeterminate" if error.kind is Kind.INDETERMINATE else "refused", error.code, sent)
            return refused(error)
        logger.error("%s %s failed", self.endpoint.method, self.endpoint.path, exc_info=error)
        self._count(path, "indeterminate", "internal", sent)
        return failure(500, "internal", "this is a fault of the server; it has been logged")

    def _count(self, path: dict[str, str], outcome: str, code: str, sent: list[int]) -> None:
        """Answers that were not carried out. A name nobody has given to a model makes no line of its own."""
        if self.endpoint.answers:
            name = path.get("name", "")
            known = name in self.server.writer.models and code not in ("no_key", "wrong_key", "not_allowed")
            self.server.meters.refused(name if known else "", outcome, code, sent[0])

    async def _result(self, scope: Scope, path: dict[str, str], receive: Receive, hold: Hold, sent: list[int]) -> Any:
        endpoint, server = self.endpoint, self.server
        address = address_of(scope)
        key = server.doorkeeper.identify(headers_of(scope), endpoint.method, address)
        # Those who came by one link share its id; one of them must not use up what the others may.
        hold.owner = f"{key.id}:{address}" if key.voter is not None else key.id or address
        if server.buckets is not None:
            server.buckets.take(hold.owner)
        if endpoint.role is not None and not key.may(endpoint.role, path.get("name")):
            if not key.roles:
                raise RefusalError(Kind.NO_KEY, "no_key", "this server wants a key: Authorization: Bearer KEY")
            raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", f"this key may not {endpoint.role} here")
        if endpoint.role is not None and key.voter is not None and not self._named:
            raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", "a link leads to the questions of one model alone")
        if self._named and not is_model_name(path["name"]):
            raise RefusalError(Kind.UNKNOWN, "unknown_model", f"{path['name'][:80]!r} cannot be a model's name")
        if len(path.get("event_id", "")) > _MAX_IDENTIFIER or "\x00" in path.get("event_id", ""):
            raise RefusalError(Kind.UNKNOWN, "unknown_event", "there is no such event")
        if scope["query_string"] and self._known is not None:
            check_query(scope["query_string"], self._known)
        body: Any = None
        if endpoint.body is not None:
            body = await read_body(scope, receive, self._limit, hold) or self._instead
            if self._decode is not None:
                body = decoded(self._decode, body, "the body")
            if isinstance(body, BatchAnswers):
                sent[0] = len(body.answers)
            if key.voter is not None:
                speak_as(key, body)
        return await endpoint.handler(Call(server, key, path, body, scope, hold))


class Application:
    """What uvicorn calls: starts and stops the server, and takes every request to its row of the table."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._router = Router((one.method, one.path, Dispatch(one, server)) for one in ENDPOINTS)
        self._cors = Cors(server.doorkeeper.origins, lambda: server.doorkeeper.open)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        if (origin := self._cors.origin(scope)) is not None:
            if await self._cors.preflight(scope, origin, receive, send):
                return
            send = marked(send, origin)
            scope["extensions"] = {}
        found = self._router.find(scope["path"])
        if found is not None and scope["method"] in found[0]:
            await found[0][scope["method"]](scope, found[1], receive, send)
        else:
            reply = self._not_there(scope, None if found is None else found[0])
            self.server.meters.request("other", "other", reply.status, 0.0)
            await send_reply(send, reply, receive)

    async def _live(self, receive: Receive, send: Send) -> None:
        """ASGI's lifespan: asked twice, once to start and once to stop."""
        for moment, work in (("startup", self.server.start), ("shutdown", self.server.stop)):
            await receive()
            try:
                await work()
            except Exception:
                await send({"type": f"lifespan.{moment}.failed", "message": traceback.format_exc()})
                raise
            await send({"type": f"lifespan.{moment}.complete"})

    def _not_there(self, scope: Scope, methods: Mapping[str, Any] | None) -> Reply:
        """Another method, a slash too many, or nothing of that name."""
        method, path = scope["method"], scope["path"]
        message = f"there is no {method} {path[:200]}"
        if methods is not None:
            reply = failure(405, "method_not_allowed", message)
            reply.headers.append((b"allow", ", ".join(sorted(methods)).encode()))
            return reply
        if path.endswith("/") and self._router.find(path.rstrip("/")) is not None:
            query = scope["query_string"]
            place = quote(path.rstrip("/")).encode() + (b"?" + query if query else b"")
            return Reply(status=307, headers=[(b"location", place)])
        return failure(404, "not_found", message)


def make_app(server: Server) -> Application:
    """The application around a server, which it starts and stops."""
    server.document = document(ENDPOINTS, _version())
    return Application(server)


def _version() -> str:
    try:
        return version("conquer-bandits")
    except PackageNotFoundError:
        return "0"
