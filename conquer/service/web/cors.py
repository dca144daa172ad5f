"""Pages of other origins that may call this server."""

from collections.abc import Callable

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

_ANY = "*"


def origins_of(text: str) -> frozenset[str]:
    """The origins of a setting, separated by commas. Raises ValueError for anything else.

    >>> sorted(origins_of("https://shop.example, http://localhost:3000"))
    ['http://localhost:3000', 'https://shop.example']
    """
    found = frozenset(part.strip().rstrip("/") for part in text.split(",") if part.strip())
    for origin in found - {_ANY}:
        scheme, mark, host = origin.partition("://")
        if scheme not in ("http", "https") or not mark or not host or "/" in host:
            raise ValueError(f"CONQUER_CORS must be origins such as https://shop.example, or *, got {origin!r}")
    return found


class Cors(CORSMiddleware):
    """Starlette's, except that `*` does not open a server without keys. Cookies are never allowed."""

    def __init__(self, app: ASGIApp, origins: frozenset[str], keyless: Callable[[], bool]) -> None:
        super().__init__(
            app,
            allow_origins=origins - {_ANY},
            allow_methods=("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"),
            allow_headers=("authorization", "content-type"),
            expose_headers=("retry-after", "content-disposition"),
            max_age=3600,
        )
        self._any, self._keyless = _ANY in origins, keyless

    def is_allowed_origin(self, origin: str) -> bool:
        return super().is_allowed_origin(origin) or (self._any and not self._keyless())
