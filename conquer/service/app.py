"""The ASGI application: the route table on Starlette's router, with a start, an end and headers for pages."""

import contextlib
from collections.abc import AsyncIterator
from importlib.metadata import PackageNotFoundError, version

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conquer.service import (
    event_routes,
    log_routes,
    model_routes,
    operations,
    page_routes,
    personalizer,
    pool_routes,
)
from conquer.service.openapi import document
from conquer.service.routing import Dispatch, Endpoint
from conquer.service.server import Server
from conquer.service.wire import failure

ENDPOINTS: tuple[Endpoint, ...] = (
    *event_routes.ENDPOINTS,
    *pool_routes.ENDPOINTS,
    *model_routes.ENDPOINTS,
    *log_routes.ENDPOINTS,
    *personalizer.ENDPOINTS,
    *operations.ENDPOINTS,
    *page_routes.ENDPOINTS,
)


def make_app(server: Server) -> Starlette:
    """The application around a server, which it starts and stops."""

    server.document = document(ENDPOINTS, _version())

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await server.start()
        yield
        await server.stop()

    routes = [Route(endpoint.path, Dispatch(endpoint, server), methods=[endpoint.method]) for endpoint in ENDPOINTS]
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _not_routed})


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
