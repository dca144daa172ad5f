"""The OpenAPI document, derived from the route table and the request types."""

from collections.abc import Iterable
from typing import Any

import msgspec

from conquer.service.model.schemas import Failure
from conquer.service.web.endpoint import Endpoint
from conquer.service.web.replies import STATUS


class ErrorReply(msgspec.Struct):
    error: Failure


def document(endpoints: Iterable[Endpoint], version: str) -> dict[str, Any]:
    """OpenAPI 3.1 as a JSON-able dict."""
    shown = [endpoint for endpoint in endpoints if not endpoint.page]
    types = [kind for one in shown for kind in (one.document, one.reply) if kind not in (None, bytes)] + [ErrorReply]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in shown:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "CONQUER", "version": version, "description": "Show two, learn from the pick, lose nothing."},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }


def _operation(endpoint: Endpoint, by_type: dict[Any, Any]) -> dict[str, Any]:
    names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    text = {"schema": {"type": "string"}}
    parameters = [{"name": name, "in": "path", "required": True, **text} for name in names]
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
    if endpoint.document is not None:
        binary = endpoint.document is bytes
        described = {"schema": {"type": "string", "format": "binary"} if binary else by_type[endpoint.document]}
        if endpoint.example is not None:
            described["example"] = endpoint.example
        form = "application/octet-stream" if binary else "application/json"
        operation["requestBody"] = {"required": not endpoint.empty, "content": {form: described}}
    return operation
