"""From a request's headers to who is asking: a bearer key, a page's signed cookie, or nobody."""

import base64
import hashlib
import hmac
import time
from collections.abc import Mapping
from dataclasses import dataclass

from conquer.service.errors import Kind, RefusalError
from conquer.service.http.keys import NOBODY, OPEN, Key, digest

COOKIE = "conquer_session"
_WEEK = 7 * 86400
_LOCAL = {"localhost", "127.0.0.1", "[::1]"}


@dataclass(slots=True)
class Doorkeeper:
    """Knows the keys in force. While there are none, anyone on this machine may do everything."""

    secret: str
    keys: dict[str, Key]
    open: bool
    """No key was ever made. Revoking the last one closes the door, it does not open it."""

    def identify(self, headers: Mapping[str, str], method: str) -> Key:
        """The caller's key; NOBODY without one; a RefusalError for a wrong one or a forged page request."""
        given = headers.get("authorization", "")
        secret = given[7:] if given[:7].lower() == "bearer " else headers.get("ocp-apim-subscription-key", "")
        if secret and not self.open:
            key = self.keys.get(digest(secret.strip()))
            if key is None:
                raise RefusalError(Kind.NO_KEY, "wrong_key", "this key is unknown or has been revoked")
            return key
        if self.open:
            return self._anyone(headers, method)
        return self._from_cookie(headers, method)

    def _anyone(self, headers: Mapping[str, str], method: str) -> Key:
        """Without keys a browser is the danger: a page elsewhere must not reach this server through it."""
        host = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
        if host not in _LOCAL:
            raise RefusalError(
                Kind.NOT_ALLOWED, "not_local", f"without keys only this machine is served, got Host {host!r}"
            )
        _same_site(headers, method)
        return OPEN

    def _from_cookie(self, headers: Mapping[str, str], method: str) -> Key:
        cookie = _cookie(headers.get("cookie", ""))
        key = self._opened(cookie)
        if key is NOBODY or method in ("GET", "HEAD"):
            return key
        _same_site(headers, method)
        if not _equal(headers.get("x-conquer-token", ""), self.token(cookie)):
            raise RefusalError(Kind.NOT_ALLOWED, "no_token", "writes from a page need its token in X-Conquer-Token")
        return key

    def cookie(self, secret: str) -> str:
        """A cookie's value for the owner of this secret."""
        body = f"{digest(secret)}.{int(time.time()) + _WEEK}"
        return f"{body}.{self._sign('session', body)}"

    def _opened(self, cookie: str) -> Key:
        body, _, signature = cookie.rpartition(".")
        fingerprint, _, until = body.partition(".")
        if not body or not _equal(signature, self._sign("session", body)):
            return NOBODY
        if not until.isdecimal() or int(until) < time.time():
            return NOBODY
        return self.keys.get(fingerprint, NOBODY)

    def token(self, cookie: str) -> str:
        """What a page sends back with every write: a page elsewhere cannot read it."""
        return self._sign("token", cookie)

    def page_token(self, headers: Mapping[str, str]) -> str:
        return self.token(_cookie(headers.get("cookie", "")))

    def _sign(self, purpose: str, text: str) -> str:
        mac = hmac.new(self.secret.encode(), f"{purpose}:{text}".encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(mac).decode().rstrip("=")


def _equal(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode(), right.encode())


def _cookie(header: str) -> str:
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


def _same_site(headers: Mapping[str, str], method: str) -> None:
    if method in ("GET", "HEAD"):
        return
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host", ""):
        raise RefusalError(Kind.NOT_ALLOWED, "cross_site", f"a page at {origin!r} may not write here")
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RefusalError(Kind.NOT_ALLOWED, "cross_site", "a page elsewhere may not write here")
