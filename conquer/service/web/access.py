"""Who is calling, by a bearer key or a page's signed cookie, and how much each caller may use.

Pages of other origins may call if the setting names them.
"""

import fnmatch
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from itsdangerous import BadData, Signer, URLSafeTimedSerializer
from starlette.requests import Request

from conquer.service.errors import Kind, RefusalError
from conquer.service.store.keys import ANONYMOUS, OPEN, Invitation, Key, digest

COOKIE = "conquer_session"
SECONDS = 7 * 86400
"""How long a page stays signed in."""
_LOCAL = {"localhost", "127.0.0.1", "[::1]"}
_READING = ("GET", "HEAD")
_Clock = Callable[[], float]
SMALL = 64 << 10
"""Bytes that are not counted: there are at most as many such bodies as connections."""
_REMEMBERED = 10_000
_WRONG = 10
"""Wrong keys of one address at once, and within a minute after that."""


class Access:
    """The keys and links in force, by the digests of their secrets, and the page sessions that have ended.

    `open`: no key was ever made, so every caller on this machine may do everything. A server whose last key was revoked
    is not open. `origins` are other sites whose pages may call.
    """

    def __init__(self, secret: str, origins: frozenset[str] = frozenset()) -> None:
        self.origins = origins
        self.keys: dict[str, Key] = {}
        self.open = True
        self._by_id: dict[str, Key] = {}
        self._links: dict[str, Invitation] = {}
        self._links_by_id: dict[str, Invitation] = {}
        self._ended: dict[str, float] = {}
        self._wrong = Rates(
            _WRONG / 60, _WRONG, "too_many_failures", f"{_WRONG} wrong keys came from this address; wait"
        )
        signer: dict[str, Any] = {"digest_method": hashlib.sha256}
        self._sessions = URLSafeTimedSerializer(secret, salt="page session", signer_kwargs=signer)
        """Of (session, id of its key or link, its voter or None)."""
        self._tokens = Signer(secret, salt="token", **signer)

    def refresh(
        self, known: Sequence[tuple[str, Key]], ended: Mapping[str, float], links: Sequence[tuple[str, Invitation]] = ()
    ) -> None:
        """Replace all keys and links, and add the sessions that have ended since the last call."""
        self.keys = {digest: key for digest, key in known if key.revoked is None}
        self._by_id = {key.id: key for key in self.keys.values()}
        self.open = not known
        self._links = dict(links)
        self._links_by_id = {link.id: link for link in self._links.values()}
        # In place: another thread may add a session meanwhile. The oldest come first, and expire first.
        self._ended.update(ended)
        now = time.time()
        while (oldest := next(iter(self._ended), None)) is not None and self._ended[oldest] < now:
            del self._ended[oldest]

    def identify(self, request: Request, address: str = "") -> Key:
        """The caller's key, ANONYMOUS without one. Raises RefusalError for a wrong key or a forged page request."""
        # Starlette searches its list of headers for each name; these are needed for every request.
        sent = {name.decode("latin-1"): value.decode("latin-1") for name, value in reversed(request.scope["headers"])}
        if self.open:
            return _anyone(request.method, sent, self.origins)
        given = sent.get("authorization", "")
        secret = given[7:] if given[:7].lower() == "bearer " else ""
        if secret:
            return self._owner(secret, address)
        session, key = self._signed_in(request)
        if request.method not in _READING:
            _same_site(sent)
            token = sent.get("x-conquer-token", "")
            if session and not self._tokens.verify_signature(request.cookies[COOKIE], token):
                raise RefusalError(Kind.NOT_ALLOWED, "no_token", "writes from a page need its token in X-Conquer-Token")
        return key

    def _owner(self, secret: str, address: str) -> Key:
        key = self.keys.get(digest(secret.strip()))
        if key is None:
            self._wrong.take(address)
            raise RefusalError(Kind.NO_KEY, "wrong_key", "this key is unknown or has been revoked")
        return key

    def _signed_in(self, request: Request) -> tuple[str, Key]:
        """(session, key), or ("", ANONYMOUS)."""
        try:
            given, signed = self._sessions.loads(request.cookies.get(COOKIE, ""), return_timestamp=True)
        except BadData:
            return "", ANONYMOUS
        session, owner, voter = given
        key, link = self._by_id.get(owner), self._links_by_id.get(owner)
        if voter is not None and link is not None and link.holds(time.time()):
            key = link.key_of(voter)
        # A cookie from the future was signed by a server whose clock is ahead.
        if key is None or session in self._ended or time.time() - signed.timestamp() > SECONDS:
            return "", ANONYMOUS
        return session, key

    def link(self, secret: str, address: str) -> Invitation:
        """The link of this secret, expired or not. Raises RefusalError for a wrong one, as for a wrong key."""
        self._wrong.check(address)
        found = self._links.get(digest(secret))
        if found is None:
            self._wrong.take(address)
            raise RefusalError(Kind.NO_KEY, "wrong_link", "this link is unknown or has been revoked: ask for another")
        return found

    def let_in(self, link: Invitation, name: str) -> tuple[Key, str]:
        """The key of a new voter who joins by a link, and the cookie of their session."""
        key = link.key_of(f"{name or 'guest'}-{secrets.token_hex(8)}")
        return key, self._new_session(key)

    def sign_in(self, secret: str, address: str) -> tuple[Key, str]:
        """The key of this secret and a new session's cookie. Raises RefusalError for a wrong secret."""
        self._wrong.check(address)
        key = self._owner(secret, address)
        return key, self._new_session(key)

    def _new_session(self, key: Key) -> str:
        cookie: str = self._sessions.dumps((secrets.token_urlsafe(16), key.id, key.voter))
        return cookie

    def sign_out(self, request: Request) -> tuple[str, float] | None:
        """End the caller's session on this server; returns what to store for the others: (session, until)."""
        session, _ = self._signed_in(request)
        if not session:
            return None
        until = self._ended[session] = time.time() + SECONDS
        return session, until

    def page_token(self, request: Request) -> str:
        """A token that a page sends with every write; pages of other sites cannot read it."""
        return self._tokens.get_signature(request.cookies.get(COOKIE, "")).decode()


def may(key: Key, role: str, model: str | None = None) -> bool:
    """Whether a key has a role, one of several with | between them, for a model; admins have every role.

    Without a model the answer is about the route alone.

    >>> may(Key("a", "", frozenset({"choose"}), ("shop-*",), 0.0), "choose", "shop-1")
    True
    """
    if role not in key.roles and "admin" not in key.roles and key.roles.isdisjoint(role.split("|")):
        return False
    return model is None or "*" in key.scope or any(fnmatch.fnmatchcase(model, pattern) for pattern in key.scope)


def speak_as(key: Key, body: Any) -> None:
    """Set the voter of a body to the session's. Raises RefusalError for a body that names another or a judge."""
    for said in getattr(body, "answers", (body,)):
        if getattr(said, "voter", None) not in (None, key.voter):
            raise RefusalError(Kind.NOT_ALLOWED, "another_voter", f"this session answers as {key.voter!r}")
        if getattr(said, "kind", "person") != "person":
            raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", "answers by a link are a person's")
        if hasattr(said, "voter"):
            said.voter = key.voter


def _anyone(method: str, sent: Mapping[str, str], origins: frozenset[str]) -> Key:
    """A server without keys: refuse what a page of another site makes a browser send."""
    given = sent.get("host", "")
    host = given.rpartition(":")[0] or given
    if host not in _LOCAL:
        raise RefusalError(
            Kind.NOT_ALLOWED, "not_local", f"without keys only this machine is served, got Host {host!r}"
        )
    if method not in _READING and sent.get("origin") not in origins:
        _same_site(sent)
    return OPEN


def _same_site(sent: Mapping[str, str]) -> None:
    """Raise RefusalError for a write that a page of another site makes a browser send."""
    origin = sent.get("origin")
    if origin is not None and origin.partition("://")[2] != sent.get("host", ""):
        raise RefusalError(Kind.NOT_ALLOWED, "cross_site", f"a page at {origin!r} may not write here")
    if sent.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise RefusalError(Kind.NOT_ALLOWED, "cross_site", "a page of another site may not write here")


def origins_of(text: str) -> frozenset[str]:
    """The origins of a setting, separated by commas. Raises ValueError for anything else.

    >>> sorted(origins_of("https://shop.example, http://localhost:3000"))
    ['http://localhost:3000', 'https://shop.example']
    """
    found = frozenset(part.strip().rstrip("/") for part in text.split(",") if part.strip())
    for origin in found - {"*"}:
        scheme, mark, host = origin.partition("://")
        if scheme not in ("http", "https") or not mark or not host or "/" in host:
            raise ValueError(f"CONQUER_CORS must be origins such as https://shop.example, or *, got {origin!r}")
    return found


class Budget:
    """Bytes of large requests and replies. One owner may have half of it, uploads and replies three quarters.

    >>> budget = Budget(1000)
    >>> budget.take("ann", 400, bulky=True)
    >>> budget.take("bob", 400, bulky=True)
    Traceback (most recent call last):
    conquer.service.errors.RefusalError: 400 of 1000 bytes are in flight, no room for 400 more now; try again
    >>> budget.take("bob", 400)
    >>> budget.used
    800
    """

    def __init__(self, total: int) -> None:
        self.total, self.share, self.used = total, total // 2, 0
        self._of: dict[str, int] = {}

    def take(self, owner: str, size: int, bulky: bool = False) -> None:
        """Count `size` more bytes of this owner. Raises RefusalError without room."""
        own = self._of.get(owner, 0) + size
        if own > self.share or self.used + size > (self.total * 3 // 4 if bulky else self.total):
            message = f"{self.used} of {self.total} bytes are in flight, no room for {size} more now; try again"
            raise RefusalError(Kind.UNAVAILABLE, "flight", message, retry_after=1)
        self._of[owner] = own
        self.used += size

    def give_back(self, owner: str, size: int) -> None:
        self.used -= size
        self._of[owner] -= size
        if not self._of[owner]:
            del self._of[owner]


class Rates:
    """How often each owner may do something: `burst` times at once, and again at `rate` a second.

    >>> now = [0.0]
    >>> rates = Rates(1.0, 2.0, "too_many", "2 at once, 1 a second", clock=lambda: now[0])
    >>> rates.take("ann"); rates.take("ann")
    >>> rates.take("ann")
    Traceback (most recent call last):
    conquer.service.errors.RefusalError: 2 at once, 1 a second
    >>> now[0] = 1.0
    >>> rates.take("ann")
    """

    def __init__(self, rate: float, burst: float, code: str, message: str, clock: _Clock = time.monotonic) -> None:
        self._rate, self._burst, self._code, self._message, self._clock = rate, burst, code, message, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, owner: str) -> None:
        """Count one more. Raises RefusalError instead if the owner has had too many."""
        left = self.check(owner)
        self._left[owner] = left - 1, self._clock()
        self._left.move_to_end(owner)
        if len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)

    def check(self, owner: str) -> float:
        """How many the owner has left. Raises RefusalError if that is less than one."""
        left, since = self._left.get(owner, (self._burst, 0.0))
        left = min(self._burst, left + (self._clock() - since) * self._rate)
        if left < 1:
            wait = max(1, round((1 - left) / self._rate))
            raise RefusalError(Kind.BUSY, self._code, self._message, retry_after=wait)
        return left
