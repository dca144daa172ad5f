"""Pages and who is signed in on them, by a key or by a link; a lead creates, lists and revokes the links."""

import mimetypes
import time
from importlib.resources import files
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import Response

from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, conflict
from conquer.service.model.schemas import Line, Strict
from conquer.service.store.keys import Invitation, all_invitations, end_session, invite, use, withdraw
from conquer.service.web.access import COOKIE, SECONDS
from conquer.service.web.endpoint import Call, Routes, encode, reply

routes = Routes()
_HOURS = 24 * 366
_NAME = r"^[^\x00-\x1f\x7f/?#\\]*(?!\n)$"
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


class InvitationRequest(Strict):
    """`uses`: how many people may join by the link; `hours`: how long it is valid; unlimited if left out.

    `note` is shown in the list of links.
    """

    note: Line = ""
    uses: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    hours: Annotated[float, Meta(gt=0, le=_HOURS)] | None = None


class NewInvitation(msgspec.Struct):
    """A new link: `path` on this server contains its secret, which is not shown again."""

    invitation: Invitation
    path: str


class InvitationList(msgspec.Struct):
    invitations: list[Invitation]


class Joining(Strict):
    token: Annotated[str, Meta(max_length=200)]
    name: Annotated[str, Meta(max_length=60, pattern=_NAME)] = ""


@routes.add(
    "POST", "/v1/models/{name}/invitations", "admin", status=201,
    example={"note": "second-year students", "uses": 20, "hours": 336},
)  # fmt: skip
async def make_invitation(call: Call, body: InvitationRequest) -> NewInvitation:
    """Create a link by which people answer without a key."""
    if call.server.access.open:
        raise conflict("no_keys", "without keys only this machine is served, and needs no link: add a key first")

    def work(turn: Turn) -> tuple[Invitation, str]:
        expires = None if body.hours is None else turn.now + 3600 * body.hours
        return invite(turn.connection, turn.state.id, call.model, body.note.strip(), expires, body.uses, turn.now)

    made, secret = await call.on_model(work)
    await call.server.refresh_now()
    return NewInvitation(made, f"/join#{secret}")


@routes.add("GET", "/v1/models/{name}/invitations", "admin")
async def list_invitations(call: Call) -> InvitationList:
    """The links of a model."""
    links = await call.read(lambda connection, _: all_invitations(connection, call.model))
    return InvitationList([link for _, link in links])


@routes.add("DELETE", "/v1/models/{name}/invitations/{invitation}", "admin", status=204)
async def withdraw_invitation(call: Call) -> Response:
    """Revoke a link and sign out the people who joined by it: here at once, on other servers within a second."""
    link = call.path_params["invitation"]
    known = len(link) <= 16 and link.isascii() and link.isalnum()
    if not known or not await call.on_store(lambda connection: withdraw(connection, call.model, link)):
        raise RefusalError(Kind.UNKNOWN, "unknown_invitation", f"model {call.model!r} has no such link")
    await call.server.refresh_now()
    return reply(status=204)


@routes.add("POST", "/join", None, page=True, limit=1 << 10)
async def join(call: Call, body: Joining) -> Response:
    """Join by a link: a session that answers as a new voter; the same browser keeps its voter."""
    access = call.server.access
    link = access.link(body.token, call.address)
    key, cookie = call.key, None
    if key.voter is None or key.id != link.id:
        call.server.joins.take(f"{link.id}:{call.address}")
        if not await call.on_store(lambda connection: use(connection, link.id, time.time())):
            raise RefusalError(Kind.NOT_ALLOWED, "link_used_up", "this link has expired, or as many joined as may")
        key, cookie = access.let_in(link, body.name.strip())
    response = reply(encode({"model": link.model, "voter": key.voter}))
    if cookie is not None:
        set_session(call, response, cookie)
    return response
