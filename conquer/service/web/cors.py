"""Pages of other origins that may call this server."""

from collections.abc import Callable, Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conquer.service.web.messages import Headers, Reply, send_reply

_ASKED = b"access-control-request-method"
_ALLOWED = [
    (b"access-control-allow-methods", b"GET, HEAD, POST, PUT, PATCH, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-type"),
    (b"access-control-max-age", b"3600"),
]
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


class Cors:
    """Middleware: answers preflight requests, and marks replies that pages of other origins may read.

    Starlette's CORSMiddleware cannot tell whether keys exist: `*` must not open a server without keys (`keyless`).
    Cookies are never allowed: a page of another origin sends a key.
    """

    def __init__(self, app: ASGIApp, origins: Iterable[str], keyless: Callable[[], bool]) -> None:
        self._app, self._origins, self._keyless = app, frozenset(origins), keyless

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = self._origin(scope) if self._origins and scope["type"] == "http" else None
        if origin is None:
            await self._app(scope, receive, send)
        elif scope["method"] == "OPTIONS" and any(name == _ASKED for name, _ in scope["headers"]):
            await send_reply(send, Reply(status=204, headers=[*_marks(origin), *_ALLOWED]), receive)
        else:
            await self._app(scope, receive, _marked(send, origin))

    def _origin(self, scope: Scope) -> bytes | None:
        """The origin of a request if it may read replies."""
        origin: bytes | None = next((value for name, value in scope["headers"] if name == b"origin"), None)
        if origin is None:
            return None
        named = origin.decode("latin-1") in self._origins - {_ANY}
        return origin if named or (_ANY in self._origins and not self._keyless()) else None


def _marked(send: Send, origin: bytes) -> Send:
    """Send with the headers that let this origin read the reply."""

    async def with_marks(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *_marks(origin)]}
        await send(message)

    return with_marks


def _marks(origin: bytes) -> Headers:
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", b"retry-after, content-disposition"),
        (b"vary", b"origin"),
    ]
