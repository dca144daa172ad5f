"""The web pages: plain files of the package, a strict policy on what they may load, and signing in."""

import mimetypes
from importlib.resources import files
from typing import Annotated

import msgspec
from msgspec import Meta

from conquer.service.errors import Kind, RefusalError
from conquer.service.model.schemas import Strict
from conquer.service.store.keys import end_session
from conquer.service.web.access import COOKIE, SECONDS
from conquer.service.web.messages import Reply, encode
from conquer.service.web.routing import Call, Endpoint

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = [
    (b"content-security-policy", _POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]
_FOLDER = files("conquer.service.web") / "pages"
_FILES = {
    one.name: one.read_bytes() for one in _FOLDER.iterdir() if one.name.endswith((".html", ".css", ".js", ".svg"))
}


class SignIn(Strict):
    key: Annotated[str, Meta(max_length=200)]


class Visitor(msgspec.Struct):
    """Who this page is: its token for writes, and what it may do."""

    token: str
    name: str
    roles: list[str]
    open: bool
    voter: str | None = None
    """Whom this session answers as, where it came by a link."""
    model: str | None = None
    """The one model that it is for, where it came by a link."""


def _page(file: str) -> Reply:
    return Reply(_FILES[file], kind="text/html; charset=utf-8", headers=list(_HEADERS))


async def models_page(call: Call) -> Reply:
    return _page("index.html")


async def model_page(call: Call) -> Reply:
    return _page("model.html")


async def pick_page(call: Call) -> Reply:
    return _page("pick.html")


async def board_page(call: Call) -> Reply:
    return _page("board.html")


async def login_page(call: Call) -> Reply:
    return _page("login.html")


async def join_page(call: Call) -> Reply:
    return _page("join.html")


async def docs_page(call: Call) -> Reply:
    return _page("docs.html")


async def static(call: Call) -> Reply:
    name = call.path["file"]
    if name not in _FILES or name.endswith(".html"):
        raise RefusalError(Kind.UNKNOWN, "not_found", "there is no such file")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    headers = [*_HEADERS, (b"cache-control", b"no-cache")]
    return Reply(_FILES[name], kind=f"{kind}; charset=utf-8", headers=headers)


async def session(call: Call) -> Visitor:
    roles = sorted(call.key.roles)
    if "admin" in roles:
        roles = ["admin", "answer", "choose", "read"]
    keeper = call.server.doorkeeper
    key, token = call.key, keeper.page_token(call.headers)
    return Visitor(token, key.name, roles, keeper.open, key.voter, None if key.voter is None else key.scope[0])


async def login(call: Call) -> Reply:
    """A key for a cookie: HttpOnly, same site only, a week."""
    key, cookie = call.server.doorkeeper.sign_in(call.body.key, call.address)
    return Reply(encode({"name": key.name}), headers=[(b"set-cookie", cookie_header(call, cookie, SECONDS))])


async def logout(call: Call) -> Reply:
    """The session ends here at once, on other servers within a second."""
    over = call.server.doorkeeper.sign_out(call.headers)
    if over is not None:
        await call.server.engine.call(None, lambda connection: end_session(connection, *over))
    return Reply(status=204, headers=[(b"set-cookie", cookie_header(call, "", 0))])


def cookie_header(call: Call, value: str, seconds: int) -> bytes:
    """A page session's cookie: for this site alone, and for no script."""
    secure = "; Secure" if call.scope.get("scheme") == "https" else ""
    return f"{COOKIE}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}".encode()


ENDPOINTS = (
    Endpoint("GET", "/", None, "Models", models_page, page=True),
    Endpoint("GET", "/models/{name}", None, "A model", model_page, page=True),
    Endpoint("GET", "/pick/{name}", None, "Pick one of two", pick_page, page=True),
    Endpoint("GET", "/board/{name}", None, "Who wins", board_page, page=True),
    Endpoint("GET", "/parse/{name}", None, "Which word is the head?", pick_page, page=True),
    Endpoint("GET", "/login", None, "Sign in", login_page, page=True),
    Endpoint("POST", "/login", None, "Sign in", login, SignIn, page=True, limit=1 << 10),
    Endpoint("POST", "/logout", None, "Sign out", logout, page=True),
    Endpoint("GET", "/join", None, "Come in by a link", join_page, page=True),
    Endpoint("GET", "/docs", None, "The API for people", docs_page, page=True),
    Endpoint("GET", "/session", None, "Who this page is", session, page=True),
    Endpoint("GET", "/static/{file}", None, "Styles and scripts", static, page=True),
)
