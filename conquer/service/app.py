"""The ASGI application: the route table on Starlette's router, with a start, an end and headers for pages."""

import contextlib
from collections.abc import AsyncIterator, Iterable
from importlib.metadata import PackageNotFoundError, version

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conquer.service.http.matching import Matcher
from conquer.service.http.openapi import document
from conquer.service.http.routing import Dispatch, Endpoint
from conquer.service.http.wire import Receive, Scope, Send, failure
from conquer.service.routes import events as event_routes
from conquer.service.routes import health as operations
from conquer.service.routes import items as pool_routes
from conquer.service.routes import log as log_routes
from conquer.service.routes import models as model_routes
from conquer.service.routes import pages as page_routes
from conquer.service.routes import personalizer
from conquer.service.server import Server

ENDPOINTS: tuple[Endpoint, ...] = (
    *event_routes.ENDPOINTS,
    *pool_routes.ENDPOINTS,
    *model_routes.ENDPOINTS,
    *log_routes.ENDPOINTS,
    *personalizer.ENDPOINTS,
    *operations.ENDPOINTS,
    *page_routes.ENDPOINTS,
)


class Application:
    """Known routes go straight to their endpoint; start, end and everything unknown go through Starlette."""

    def __init__(self, endpoints: Iterable[tuple[Endpoint, Dispatch]], rest: Starlette) -> None:
        self._matcher = Matcher((endpoint.method, endpoint.path, dispatch) for endpoint, dispatch in endpoints)
        self._rest = rest
        self.router = rest.router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._matcher.find(scope["method"], scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await self._rest(scope, receive, send)
            return
        dispatch, scope["path_params"] = found
        await dispatch(scope, receive, send)


def make_app(server: Server) -> Application:
    """The application around a server, which it starts and stops."""

    server.document = document(ENDPOINTS, _version())

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await server.start()
        yield
        await server.stop()

    dispatches = [(endpoint, Dispatch(endpoint, server)) for endpoint in ENDPOINTS]
    # Starlette answers what the table does not: HEAD, a wrong method (405), an unknown path (404).
    routes = [Route(endpoint.path, dispatch, methods=[endpoint.method]) for endpoint, dispatch in dispatches]
    rest = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _not_routed})
    return Application(dispatches, rest)


def _version() -> str:
    try:
        return version("conquer-bandits")
    except PackageNotFoundError:
        return "0"


async def _not_routed(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    message = f"there is no {request.method} {request.url.path[:200]}"
    code = "not_found" if status == 404 else "method_not_allowed"
    return Response(failure(code, message), status, headers, "application/json")
