"""The application: endpoints by path and method, middleware, and the server that it starts and stops."""

import functools
import re
from typing import Any

import msgspec
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route, Router
from starlette.types import ASGIApp
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from conquer import __version__
from conquer.service.model.schemas import Failure
from conquer.service.web.connections import Requests
from conquer.service.web.endpoint import STATUS, Call, Endpoint, Methods
from conquer.service.web.routes import events, health, items, models, results, sessions
from conquer.service.web.server import Server


@health.routes.add("GET", "/openapi.json", None)
async def openapi(call: Call) -> dict[str, Any]:
    """This document."""
    return document()


ENDPOINTS: tuple[Endpoint, ...] = (
    *events.routes,
    *items.routes,
    *results.routes,
    *models.routes,
    *sessions.routes,
    *health.routes,
)


class ErrorReply(msgspec.Struct):
    error: Failure


def make_app(server: Server) -> ASGIApp:
    """The application around a server."""
    paths: dict[str, dict[str, Endpoint]] = {}
    for one in ENDPOINTS:
        paths.setdefault(one.path, {})[one.method] = one

    # A bare router: Starlette's class adds two layers that catch errors, and an endpoint catches its own.
    routes = [Route(path, Methods(server, endpoints)) for path, endpoints in paths.items()]
    app: Any = Router(routes, redirect_slashes=False, default=Methods(server, {}), lifespan=server.running)
    if server.access.origins:
        app = CORSMiddleware(
            app,
            allow_origins=list(server.access.origins),
            allow_methods=("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=("authorization", "content-type"),
            expose_headers=("retry-after", "content-disposition"),
            max_age=3600,
        )
    if server.settings.proxy:
        app = ProxyHeadersMiddleware(app, server.settings.proxy)
        server.bounds.trusted = app.trusted_hosts
    # Around the proxy's headers: it knows connections by their own addresses.
    return Requests(app, server.bounds)


@functools.cache
def document() -> dict[str, Any]:
    """OpenAPI 3.1 as a JSON-able dict."""
    shown = [endpoint for endpoint in ENDPOINTS if not endpoint.page]
    types = [kind for one in shown for kind in (one.body, one.reply) if kind not in (None, bytes)] + [ErrorReply]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in shown:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "CONQUER", "version": __version__, "description": "Show two, learn from the pick."},
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{"key": []}],
    }


def _operation(endpoint: Endpoint, by_type: dict[Any, Any]) -> dict[str, Any]:
    names, text = re.findall(r"{(\w+)}", endpoint.path), {"type": "string"}
    parameters = [{"name": name, "in": "path", "required": True, "schema": text} for name in names]
    if endpoint.query is not None:
        _, queries = msgspec.json.schema_components([endpoint.query])
        fields = queries[endpoint.query.__name__]["properties"]
        parameters += [{"name": name, "in": "query", "required": False, "schema": one} for name, one in fields.items()]
    done: dict[str, Any] = {"description": "done"}
    if endpoint.reply is not None:
        done["content"] = {endpoint.kind: {"schema": by_type[endpoint.reply]}}
    error = {"application/json": {"schema": by_type[ErrorReply]}}
    refusals = {str(status): {"description": kind.value, "content": error} for kind, status in STATUS.items()}
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": endpoint.handler.__name__,
        "parameters": parameters,
        "responses": {str(endpoint.status): done, **refusals},
        "x-role": endpoint.role or "none",
    }
    if endpoint.body is not None:
        binary = endpoint.body is bytes
        described = {"schema": {"type": "string", "format": "binary"} if binary else by_type[endpoint.body]}
        if endpoint.example is not None:
            described["example"] = endpoint.example
        form = "application/octet-stream" if binary else "application/json"
        operation["requestBody"] = {"required": not endpoint.empty, "content": {form: described}}
    return operation
