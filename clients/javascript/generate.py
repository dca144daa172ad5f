"""Writes service.d.ts, the types of the service's requests and replies, from its OpenAPI document.

Run it after a route or a schema has changed: python clients/javascript/generate.py
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from conquer.service.web.app import document

TARGET = Path(__file__).with_name("service.d.ts")
_PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
_HEAD = """\
// Made from the service's OpenAPI document by generate.py: do not edit.

/** The contents of a file. */
export type Contents = string | ArrayBuffer | Uint8Array | Blob;
/** What may stand in a query. */
export type Word = string | number | boolean;
"""


def kind(schema: Mapping[str, Any]) -> str:
    """A JSON schema as a TypeScript type.

    >>> kind({"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]})
    'number[] | null'
    >>> kind({"type": "array", "items": {"anyOf": [{"type": "object"}, {"type": "null"}]}})
    '(Record<string, unknown> | null)[]'
    >>> kind({"type": "object", "additionalProperties": {"enum": ["a", "b"]}})
    'Record<string, "a" | "b">'
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(map(kind, schema["anyOf"])))
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "prefixItems" in schema:
        return f"[{', '.join(map(kind, schema['prefixItems']))}]"
    if schema.get("type") == "array":
        items = schema.get("items", {})
        return f"({kind(items)})[]" if "anyOf" in items or "enum" in items else f"{kind(items)}[]"
    if schema.get("type") == "object":
        values = schema.get("additionalProperties")
        return f"Record<string, {kind(values) if isinstance(values, dict) else 'unknown'}>"
    return _PLAIN.get(schema.get("type", ""), "unknown")


def remark(text: str, indent: str = "") -> list[str]:
    """A comment of several lines, or of none."""
    lines = [line.strip() for line in text.replace("*/", "").splitlines()]
    if len(lines) < 2:
        return [f"{indent}/** {line} */" for line in lines if line]
    return [f"{indent}/**", *(f"{indent} * {line}".rstrip() for line in lines), f"{indent} */"]


def interface(name: str, schema: Mapping[str, Any]) -> list[str]:
    """A component of the document as an interface; what is no object, as a type."""
    head = remark(schema.get("description", ""))
    if "properties" not in schema:
        return [*head, f"export type {name} = {kind(schema)};"]
    wanted = set(schema.get("required", ()))
    fields = [_field(key, kind(inner), key not in wanted) for key, inner in schema["properties"].items()]
    return [*head, f"export interface {name} {{", *(f"  {field};" for field in fields), "}"]


def _field(name: str, words: str, optional: bool) -> str:
    shown = name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name)
    return f"{shown}{'?' if optional else ''}: {words}"


def _record(names: Iterable[str], words: str, optional: bool) -> str:
    return f"{{ {'; '.join(_field(name, words, optional) for name in names)} }}"


def route(method: str, path: str, operation: Mapping[str, Any]) -> list[str]:
    """What a route is given and what it replies."""
    places = {place: [one["name"] for one in operation["parameters"] if one["in"] == place] for place in _PLACES}
    given = [f"path: {_record(places['path'], 'string', False)}"] if places["path"] else []
    if places["query"]:
        given.append(f"query?: {_record(places['query'], 'Word', True)}")
    for content, media in operation.get("requestBody", {}).get("content", {}).items():
        given.append(f"body: {'Contents' if content != 'application/json' else kind(media['schema'])}")
    return [
        *remark(operation["summary"], "  "),
        f"  {json.dumps(f'{method.upper()} {path}')}: {{",
        f"    given: {{ {'; '.join(given)} }};" if given else "    given: {};",
        f"    reply: {_reply(operation['responses'])};",
        "  };",
    ]


_PLACES = ("path", "query")


def _reply(responses: Mapping[str, Any]) -> str:
    status, told = next((code, one) for code, one in responses.items() if code.startswith("2"))
    content = told.get("content", {})
    if "application/json" in content:
        return kind(content["application/json"]["schema"])
    return "undefined" if status == "204" else "string | ArrayBuffer"


def text() -> str:
    """What service.d.ts should hold now."""
    made = document()
    blocks = [interface(name, schema) for name, schema in made["components"]["schemas"].items()]
    routes = [route(method, path, one) for path, methods in made["paths"].items() for method, one in methods.items()]
    table = ["/** Every route: what it is given and what it replies. */", "export interface Routes {"]
    blocks.append([*table, *(line for lines in routes for line in lines), "}"])
    return "\n".join([_HEAD, *("\n".join(block) + "\n" for block in blocks)])


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
    print(f"wrote {TARGET.name}")
