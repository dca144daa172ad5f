"""The OpenAPI document, derived from the route table and the request types."""

from collections.abc import Iterable
from typing import Any

import msgspec

from conquer.service.model.decoding import for_no_body
from conquer.service.model.schemas import Failure, decoder
from conquer.service.web.endpoint import Endpoint
from conquer.service.web.replies import STATUS


class ErrorReply(msgspec.Struct):
    error: Failure


_ERRORS = {str(status): kind.value for kind, status in STATUS.items()}


def document(endpoints: Iterable[Endpoint], version: str) -> dict[str, Any]:
    """OpenAPI 3.1 as a JSON-able dict."""
    shown = [endpoint for endpoint in endpoints if not endpoint.page]
    types = [kind for endpoint in shown for kind in (_body(endpoint), endpoint.reply) if kind not in (None, bytes)]
    schemas, components = msgspec.json.schema_components(
        [*types, ErrorReply], ref_template="#/components/schemas/{name}"
    )
    by_type = list(zip([*types, ErrorReply], schemas, strict=True))
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


def _body(endpoint: Endpoint) -> Any:
    return endpoint.document or endpoint.body


def _inline(kind: Any) -> Any:
    """The schema of a struct that refers to no other."""
    (_,), components = msgspec.json.schema_components([kind])
    return components[kind.__name__]


def _schema(kind: Any, by_type: list[tuple[Any, Any]]) -> Any:
    return next(schema for known, schema in by_type if known is kind)


def _operation(endpoint: Endpoint, by_type: list[tuple[Any, Any]]) -> dict[str, Any]:
    names = [part[1:-1] for part in endpoint.path.split("/") if part.startswith("{")]
    text = {"schema": {"type": "string"}}
    parameters = [{"name": name, "in": "path", "required": True, **text} for name in names]
    fields = {} if endpoint.query is None else _inline(endpoint.query)["properties"]
    parameters += [{"name": name, "in": "query", "required": False, "schema": one} for name, one in fields.items()]
    replies: dict[str, Any] = {str(endpoint.status): {"description": "done"}}
    if endpoint.reply is not None:
        replies[str(endpoint.status)]["content"] = {endpoint.kind: {"schema": _schema(endpoint.reply, by_type)}}
    error = {"application/json": {"schema": _schema(ErrorReply, by_type)}}
    replies |= {code: {"description": text, "content": error} for code, text in _ERRORS.items() if code not in replies}
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "operationId": endpoint.handler.__name__,
        "parameters": parameters,
        "responses": replies,
        "x-role": endpoint.role or "none",
    }
    kind = _body(endpoint)
    if kind is not None:
        described: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
        if kind is not bytes:
            described = {"schema": _schema(kind, by_type)}
        if endpoint.example is not None:
            described["example"] = endpoint.example
        form = "application/octet-stream" if kind is bytes else "application/json"
        needed = endpoint.body is bytes or not for_no_body(decoder(endpoint.body))
        operation["requestBody"] = {"required": needed, "content": {form: described}}
    return operation
