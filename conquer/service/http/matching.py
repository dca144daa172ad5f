"""From a method and a path to its endpoint in a few dictionary steps, ahead of Starlette's list of patterns."""

from collections.abc import Iterable
from typing import Any

_ANY = "{}"


class Matcher:
    """A tree of path segments; a segment in braces takes any one segment.

    >>> tree = Matcher([("GET", "/v1/models/{name}", "one")])
    >>> tree.find("GET", "/v1/models/tea")
    ('one', {'name': 'tea'})
    >>> tree.find("GET", "/v1/models/tea/x") is None
    True
    """

    def __init__(self, routes: Iterable[tuple[str, str, Any]]) -> None:
        self._root: dict[str, Any] = {}
        for method, path, target in routes:
            node = self._root
            names = []
            for segment in path.split("/")[1:]:
                if segment.startswith("{"):
                    names.append(segment[1:-1])
                    segment = _ANY
                node = node.setdefault(segment, {})
            node[f" {method}"] = (target, tuple(names))

    def find(self, method: str, path: str) -> tuple[Any, dict[str, str]] | None:
        """The target and the path's parameters, or None."""
        node: dict[str, Any] | None = self._root
        values = []
        for segment in path.split("/")[1:]:
            if node is None:
                return None
            inner = node.get(segment)
            if inner is None:
                inner = node.get(_ANY) if segment else None
                values.append(segment)
            node = inner
        found = node.get(f" {method}") if node is not None else None
        return None if found is None else (found[0], dict(zip(found[1], values, strict=True)))
