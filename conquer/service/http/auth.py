"""From a request's headers to who is asking: a bearer key, a page's signed cookie, or nobody."""

import hashlib
import time
from collections.abc import Mapping

from itsdangerous import BadSignature, Signer, TimestampSigner

from conquer.service.errors import Kind, RefusalError
from conquer.service.http.keys import NOBODY, OPEN, Key, digest

COOKIE = "conquer_session"
SECONDS = 7 * 86400
"""How long a page stays signed in."""
_LOCAL = {"localhost", "127.0.0.1", "[::1]"}
_READING = ("GET", "HEAD")


class Doorkeeper:
    """Knows the keys in force, by the digests of their secrets.

    `open`: no key was ever made, so anyone on this machine may do everything. Revoking the last key closes the door,
    it does not open it.
    """

    def __init__(self, secret: str) -> None:
        self.keys: dict[str, Key] = {}
        self.open = True
        self._sessions = TimestampSigner(secret, salt="session", digest_method=hashlib.sha256)
        self._tokens = Signer(secret, salt="token", digest_method=hashlib.sha256)

    def identify(self, headers: Mapping[str, str], method: str) -> Key:
        """The caller's key; NOBODY without one; a RefusalError for a wrong one or a forged page request."""
        if self.open:
            return _anyone(headers, method)
        given = headers.get("authorization", "")
        secret = given[7:] if given[:7].lower() == "bearer " else headers.get("ocp-apim-subscription-key", "")
        return self.owner(secret) if secret else self._from_cookie(headers, method)

    def owner(self, secret: str) -> Key:
        """The key of this secret, or a RefusalError."""
        key = self.keys.get(digest(secret.strip()))
        if key is None:
            raise RefusalError(Kind.NO_KEY, "wrong_key", "this key is unknown or has been revoked")
        return key

    def _from_cookie(self, headers: Mapping[str, str], method: str) -> Key:
        cookie = _cookie(headers)
        key = self._signed_in(cookie)
        if key is NOBODY or method in _READING:
            return key
        _same_site(headers, method)
        if not self._tokens.verify_signature(cookie, headers.get("x-conquer-token", "")):
            raise RefusalError(Kind.NOT_ALLOWED, "no_token", "writes from a page need its token in X-Conquer-Token")
        return key

    def _signed_in(self, cookie: str) -> Key:
        try:
            owner, signed = self._sessions.unsign(cookie, return_timestamp=True)
        except BadSignature:
            return NOBODY
        # A cookie from the future is one of a server whose clock is ahead of ours.
        return self.keys.get(owner.decode(), NOBODY) if time.time() - signed.timestamp() <= SECONDS else NOBODY

    def cookie(self, secret: str) -> str:
        """A cookie's value for the owner of this secret."""
        return self._sessions.sign(digest(secret)).decode()

    def page_token(self, headers: Mapping[str, str]) -> str:
        """What a page sends back with every write: a page elsewhere cannot read it."""
        return self._tokens.get_signature(_cookie(headers)).decode()


def _anyone(headers: Mapping[str, str], method: str) -> Key:
    """Without keys a browser is the danger: a page elsewhere must not reach this server through it."""
    host = headers.get("host", "").rpartition(":")[0] or headers.get("host", "")
    if host not in _LOCAL:
        raise RefusalError(
            Kind.NOT_ALLOWED, "not_local", f"without keys only this machine is served, got Host {host!r}"
        )
    _same_site(headers, method)
    return OPEN


def _cookie(headers: Mapping[str, str]) -> str:
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return ""


def _same_site(headers: Mapping[str, str], method: str) -> None:
    if method in _READING:
        return
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers.get("host", ""):
        raise RefusalError(Kind.NOT_ALLOWED, "cross_site", f"a page at {origin!r} may not write here")
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RefusalError(Kind.NOT_ALLOWED, "cross_site", "a page elsewhere may not write here")
