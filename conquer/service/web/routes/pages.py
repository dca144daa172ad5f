"""The web pages: files of the package with a strict content policy; signing in and out."""

import mimetypes
from importlib.resources import files
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response

from conquer.service.errors import Kind, RefusalError
from conquer.service.model.schemas import Strict
from conquer.service.store.keys import end_session
from conquer.service.web.access import COOKIE, SECONDS
from conquer.service.web.call import Call
from conquer.service.web.endpoint import Routes
from conquer.service.web.replies import encode, reply

routes = Routes()
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {"content-security-policy": _POLICY, "referrer-policy": "no-referrer", "x-frame-options": "DENY"}
_FOLDER = files("conquer.service.web") / "pages"
_FILES = {
    one.name: one.read_bytes() for one in _FOLDER.iterdir() if one.name.endswith((".html", ".css", ".js", ".svg"))
}


class SignIn(Strict):
    key: Annotated[str, Meta(max_length=200)]


class Visitor(msgspec.Struct):
    """The caller of a page: the token for its writes, and its roles."""

    token: str
    name: str
    roles: list[str]
    open: bool
    voter: str | None = None
    """The voter of a session by a link."""
    model: str | None = None
    """The model of a session by a link."""


def _add_page(path: str, file: str) -> None:
    @routes.add("GET", path, None, page=True)
    async def page(call: Call) -> Response:
        return reply(_FILES[file], "text/html; charset=utf-8", headers=_HEADERS)


for path, file in {
    "/": "index.html",
    "/models/{name}": "model.html",
    "/pick/{name}": "pick.html",
    "/parse/{name}": "pick.html",
    "/board/{name}": "board.html",
    "/login": "login.html",
    "/join": "join.html",
    "/docs": "docs.html",
}.items():
    _add_page(path, file)


@routes.add("GET", "/static/{file}", None, page=True)
async def static(call: Call) -> Response:
    """Styles and scripts."""
    name = call.path_params["file"]
    if name not in _FILES or name.endswith(".html"):
        raise RefusalError(Kind.UNKNOWN, "not_found", "there is no such file")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return reply(_FILES[name], f"{kind}; charset=utf-8", headers={**_HEADERS, "cache-control": "no-cache"})


@routes.add("GET", "/session", None, page=True)
async def session(call: Call) -> Visitor:
    """The caller of this page."""
    access, key = call.server.access, call.key
    roles = ["admin", "answer", "choose", "read"] if "admin" in key.roles else sorted(key.roles)
    model = None if key.voter is None else key.scope[0]
    return Visitor(access.page_token(call), key.name, roles, access.open, key.voter, model)


@routes.add("POST", "/login", None, page=True, limit=1 << 10)
async def login(call: Call, body: SignIn) -> Response:
    """Sign in: a key for a cookie that lasts a week."""
    key, cookie = call.server.access.sign_in(body.key, call.address)
    response = reply(encode({"name": key.name}))
    set_session(call, response, cookie)
    return response


@routes.add("POST", "/logout", None, page=True)
async def logout(call: Call) -> Response:
    """Sign out: the session ends here at once, on other servers within a second."""
    ended = call.server.access.sign_out(call)
    if ended is not None:
        await call.on_store(lambda connection: end_session(connection, *ended))
    response = reply(status=204)
    set_session(call, response, "", 0)
    return response


def set_session(call: Call, response: Response, cookie: str, seconds: int = SECONDS) -> None:
    """Set the cookie of a page's session: for this site alone, and not readable by scripts."""
    secure = call.url.scheme == "https"
    response.set_cookie(COOKIE, cookie, max_age=seconds, secure=secure, httponly=True, samesite="strict")
