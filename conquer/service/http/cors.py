"""Pages elsewhere that may call this server: the headers by which a browser lets them read its replies."""

from collections.abc import Callable, Iterable

from conquer.service.http.messages import Headers, Receive, Reply, Scope, Send, send_reply

_ASKED = b"access-control-request-method"
_METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE"
_HEADERS = b"authorization, content-type, ocp-apim-subscription-key"
_EXPOSED = b"retry-after, content-disposition"
_SECONDS = b"3600"
_ANY = "*"


def origins_of(text: str) -> frozenset[str]:
    """The origins of a setting, separated by commas; a ValueError names what is none.

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
    """Around an application: answers a browser's question beforehand, and marks replies to those who may read them.

    Cookies are never let through: a page elsewhere comes with a key of its own, or not at all. Where no keys exist
    (`keyless`) it comes with nothing, so only those named one by one may read.
    """

    def __init__(self, origins: Iterable[str], keyless: Callable[[], bool] = lambda: False) -> None:
        self._origins, self._keyless = frozenset(origins), keyless

    def origin(self, scope: Scope) -> bytes | None:
        """The origin of a request where it may read replies."""
        if not self._origins or scope["type"] != "http":
            return None
        origin = next((value for name, value in scope["headers"] if name == b"origin"), None)
        if origin is None:
            return None
        named = origin.decode("latin-1") in self._origins - {_ANY}
        return origin if named or (_ANY in self._origins and not self._keyless()) else None

    async def preflight(self, scope: Scope, origin: bytes, receive: Receive, send: Send) -> bool:
        """Answer a question beforehand; False where it is a request like any other."""
        if scope["method"] != "OPTIONS" or not any(name == _ASKED for name, _ in scope["headers"]):
            return False
        allowed = [
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", _HEADERS),
            (b"access-control-max-age", _SECONDS),
        ]
        await send_reply(send, Reply(status=204, headers=[*_marks(origin), *allowed]), receive)
        return True


def marked(send: Send, origin: bytes) -> Send:
    """Send with the headers that let this origin read the reply."""

    async def with_marks(message: dict[str, object]) -> None:
        headers = message.get("headers")
        if message["type"] == "http.response.start" and isinstance(headers, list):
            message = {**message, "headers": [*headers, *_marks(origin)]}
        await send(message)

    return with_marks


def _marks(origin: bytes) -> Headers:
    return [
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", _EXPOSED),
        (b"vary", b"origin"),
    ]
