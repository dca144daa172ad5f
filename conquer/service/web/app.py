"""The Starlette application: endpoints, middleware, and the server that it starts and stops."""

import contextlib
from collections.abc import AsyncIterator
from importlib.metadata import PackageNotFoundError, version

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
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


def make_app(server: Server) -> Starlette:
    """The application around a server."""
    server.document = document(ENDPOINTS, _version())
    routes = [Route(one.path, one, methods=[one.method]) for one in ENDPOINTS]

    async def not_found(request: Request, error: Exception) -> Response:
        """The reply to a path that is not there, or not for this method."""
        method, path = request.method, request.url.path[:200]
        fitting = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
        allowed = sorted({method for route in fitting for method in route.methods or ()})
        server.meters.request("other", "other", 405 if allowed else 404, 0.0)
        if not allowed:
            return failure(404, "not_found", f"there is no {method} {path}")
        return failure(405, "method_not_allowed", f"there is no {method} {path}", {"allow": ", ".join(allowed)})

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
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
    app = Starlette(
        routes=routes, middleware=middleware, exception_handlers={HTTPException: not_found}, lifespan=lifespan
    )
    app.router.redirect_slashes = False
    app.state.server = server
    return app


def _version() -> str:
    try:
        return version("conquer-bandits")
    except PackageNotFoundError:
        return "0"
