"""The ASGI application: the table of routes, and the way of a request from its path to its row."""

import traceback
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any
from urllib.parse import quote

from conquer.service.dispatch import Dispatch
from conquer.service.http.cors import Cors, marked
from conquer.service.http.errors import failure
from conquer.service.http.messages import Receive, Reply, Scope, Send, send_reply
from conquer.service.http.openapi import document
from conquer.service.http.routing import Endpoint, Router
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
from conquer.service.visits import Visits

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


class Application:
    """What uvicorn calls: starts and stops the server, and takes every request to its row of the table."""

    def __init__(self, server: Server) -> None:
        self.server = server
        rows = [Dispatch(one, server) for one in ENDPOINTS]
        self._router = Router((row.endpoint.method, row.endpoint.path, row) for row in rows)
        self.visits = Visits(rows)
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
