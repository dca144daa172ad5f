"""The application: endpoints by path and method, middleware, and the server that it starts and stops."""

import contextlib
from collections.abc import AsyncIterator, Mapping
from importlib.metadata import PackageNotFoundError, version

from starlette.middleware import Middleware
from starlette.routing import Route, Router
from starlette.types import Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from conquer.service.web.access import Cors
from conquer.service.web.connections import Requests
from conquer.service.web.endpoint import Endpoint
from conquer.service.web.openapi import document
from conquer.service.web.replies import failure
from conquer.service.web.routes import events, health, items, models, results, sessions
from conquer.service.web.server import Server

ENDPOINTS: tuple[Endpoint, ...] = (
    *events.routes,
    *items.routes,
    *results.routes,
    *models.routes,
    *sessions.routes,
    *health.routes,
)


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
        message, allowed = f"there is no {scope['method']} {scope['path'][:200]}", ", ".join(sorted(self._endpoints))
        if allowed:
            error = failure(405, "method_not_allowed", message, {"allow": allowed})
        else:
            error = failure(404, "not_found", message)
        self._server.meters.request("other", "other", error.status_code, 0.0)
        await error(scope, receive, send)


def make_app(server: Server) -> Router:
    """The application around a server."""
    server.document = document(ENDPOINTS, _version())
    paths: dict[str, dict[str, Endpoint]] = {}
    for one in ENDPOINTS:
        paths.setdefault(one.path, {})[one.method] = one

    @contextlib.asynccontextmanager
    async def lifespan(app: Router) -> AsyncIterator[None]:
        await server.start()
        try:
            yield
        finally:
            await server.stop()

    access, proxy = server.access, server.settings.proxy
    # Requests comes before the proxy's headers: it knows connections by their own addresses.
    middleware = [Middleware(Requests, server.bounds)]
    if proxy:
        middleware.append(Middleware(ProxyHeadersMiddleware, proxy))
    if access.origins:
        middleware.append(Middleware(Cors, access))
    # A bare router: Starlette's class adds two layers that catch errors, and an endpoint catches its own.
    routes = [Route(path, Methods(server, endpoints)) for path, endpoints in paths.items()]
    return Router(routes, redirect_slashes=False, default=Methods(server, {}), lifespan=lifespan, middleware=middleware)


def _version() -> str:
    try:
        return version("conquer-bandits")
    except PackageNotFoundError:
        return "0"
