"""The Starlette application: the table of routes, around a server that it starts and stops."""

import contextlib
from collections.abc import AsyncIterator
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from conquer.service.web.connections import Requests
from conquer.service.web.cors import Cors
from conquer.service.web.dispatch import Dispatch
from conquer.service.web.errors import failure
from conquer.service.web.messages import Reply, send_reply
from conquer.service.web.openapi import document
from conquer.service.web.routes import boards, events, health, images, invitations, items, log, models, pages, parser
from conquer.service.web.routing import Endpoint
from conquer.service.web.server import Server

ENDPOINTS: tuple[Endpoint, ...] = (
    *events.ENDPOINTS,
    *items.ENDPOINTS,
    *images.ENDPOINTS,
    *boards.ENDPOINTS,
    *parser.ENDPOINTS,
    *models.ENDPOINTS,
    *invitations.ENDPOINTS,
    *log.ENDPOINTS,
    *health.ENDPOINTS,
    *pages.ENDPOINTS,
)


class Methods:
    """The endpoints of one path, by method. What answers GET answers HEAD."""

    def __init__(self, endpoints: list[Endpoint], server: Server) -> None:
        self._server = server
        self._fixed = not endpoints[0].path.endswith("}")
        self._by_method = {one.method: Dispatch(one, server) for one in endpoints}
        if "GET" in self._by_method:
            self._by_method["HEAD"] = self._by_method["GET"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        dispatch = self._by_method.get(scope["method"])
        # Starlette's patterns also match a path with a newline at its end.
        longer = self._fixed and scope["path"].endswith("\n")
        if dispatch is not None and not longer:
            await dispatch(scope, receive, send)
            return
        message = f"there is no {scope['method']} {scope['path'][:200]}"
        reply = failure(404, "not_found", message) if longer else failure(405, "method_not_allowed", message)
        if not longer:
            reply.headers.append((b"allow", ", ".join(sorted(self._by_method)).encode()))
        self._server.meters.request("other", "other", reply.status, 0.0)
        await send_reply(send, reply, receive)


def make_app(server: Server) -> Starlette:
    """The application around a server."""
    server.document = document(ENDPOINTS, _version())
    paths = groupby(sorted(ENDPOINTS, key=lambda one: _ORDER[one.path]), key=lambda one: one.path)
    routes = [Route(path, Methods(list(endpoints), server)) for path, endpoints in paths]

    async def not_found(scope: Scope, receive: Receive, send: Send) -> None:
        """A slash too many leads to the path without it; nothing else is there."""
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        path = scope["path"]
        reply = failure(404, "not_found", f"there is no {scope['method']} {path[:200]}")
        shorter = path.rstrip("/")
        if path != shorter and any(route.matches({**scope, "path": shorter})[0] is Match.FULL for route in routes):
            query = scope["query_string"]
            place = scope.get("raw_path", path.encode()).rstrip(b"/") + (b"?" + query if query else b"")
            reply = Reply(status=307, headers=[(b"location", place)])
        server.meters.request("other", "other", reply.status, 0.0)
        await send_reply(send, reply, receive)

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await server.start()
        try:
            yield
        finally:
            await server.stop()

    keeper = server.doorkeeper
    middleware = [Middleware(Requests, server.bounds)]
    if server.settings.proxy:
        # Inside Requests, which knows connections by their own addresses.
        middleware.append(Middleware(ProxyHeadersMiddleware, server.settings.proxy))
    middleware.append(Middleware(Cors, keeper.origins, lambda: keeper.open))
    app = Starlette(routes=routes, middleware=middleware, lifespan=lifespan)
    app.router.redirect_slashes, app.router.default = False, not_found
    return app


_ORDER = {path: place for place, path in enumerate(dict.fromkeys(one.path for one in ENDPOINTS))}


def _version() -> str:
    try:
        return version("conquer-bandits")
    except PackageNotFoundError:
        return "0"
