"""Links for people without a key: a lead makes them, lists them and takes them back; who opens one is let in."""

import time
from typing import Annotated

import msgspec
from msgspec import Meta
from sqlalchemy import Connection

from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, conflict, unknown_model
from conquer.service.model.schemas import Line, Strict
from conquer.service.store import log
from conquer.service.store.keys import Invitation, all_invitations, invite, use, withdraw
from conquer.service.web.access import SECONDS
from conquer.service.web.messages import Reply, encode
from conquer.service.web.routes.pages import cookie_header
from conquer.service.web.routing import Call, Endpoint

_HOURS = 24 * 366
_NAME = r"^[^\x00-\x1f\x7f/?#\\]*(?!\n)$"


class InvitationRequest(Strict):
    """A link to make. `uses`: how many people may come by it; `hours`: how long it holds; both without end if left out.

    `note` is for the list of links: whom it is for.
    """

    note: Line = ""
    uses: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    hours: Annotated[float, Meta(gt=0, le=_HOURS)] | None = None


class InvitationInfo(msgspec.Struct):
    """A link as the list shows it; `holds`: its time has not run out and there is room for one more."""

    id: str
    note: str
    created: float
    expires: float | None
    uses: int | None
    used: int
    holds: bool


class NewInvitation(msgspec.Struct):
    """A new link: `path` on this server holds its secret, which is told this once."""

    invitation: InvitationInfo
    path: str


class InvitationList(msgspec.Struct):
    invitations: list[InvitationInfo]


class Joining(Strict):
    token: Annotated[str, Meta(max_length=200)]
    name: Annotated[str, Meta(max_length=60, pattern=_NAME)] = ""


def _info(link: Invitation) -> InvitationInfo:
    holds = link.holds(time.time()) and (link.uses is None or link.used < link.uses)
    return InvitationInfo(link.id, link.note, link.created, link.expires, link.uses, link.used, holds)


async def make_invitation(call: Call) -> NewInvitation:
    """Without keys there is nothing to let anybody into: everyone on this machine may answer."""
    request: InvitationRequest = call.body
    if call.server.doorkeeper.open:
        raise conflict("no_keys", "without keys only this machine is served, and needs no link: add a key first")

    def work(turn: Turn) -> tuple[Invitation, str]:
        expires = None if request.hours is None else turn.now + 3600 * request.hours
        note = request.note.strip()
        return invite(turn.connection, turn.state.id, call.model, note, expires, request.uses, turn.now)

    made, secret = await call.on_model(work)
    await call.server.refresh_now()
    return NewInvitation(_info(made), f"/join#{secret}")


async def list_invitations(call: Call) -> InvitationList:
    def read(connection: Connection) -> InvitationList:
        if call.model not in log.headers(connection, [call.model]):
            raise unknown_model(call.model)
        return InvitationList([_info(link) for _, link in all_invitations(connection, call.model)])

    return await call.read(read)


async def withdraw_invitation(call: Call) -> Reply:
    """Nobody comes by it any more, and who did is signed out: here at once, on other servers within a second."""
    link = call.path["invitation"]
    known = len(link) <= 16 and link.isascii() and link.isalnum()
    if not known or not await call.server.engine.call(None, lambda connection: withdraw(connection, call.model, link)):
        raise RefusalError(Kind.UNKNOWN, "unknown_invitation", f"model {call.model!r} has no such link")
    await call.server.refresh_now()
    return Reply(status=204)


async def join(call: Call) -> Reply:
    """A link for the cookie of a session that answers as a person of its own; the same browser stays who it is."""
    keeper, asked = call.server.doorkeeper, call.body
    link = keeper.link(asked.token, call.address)
    key, headers = call.key, []
    if key.voter is None or key.id != link.id:
        if not await call.server.engine.call(None, lambda connection: use(connection, link.id, time.time())):
            message = "this link has run out: its time is over, or as many came as it was made for"
            raise RefusalError(Kind.NOT_ALLOWED, "link_used_up", message)
        key, cookie = keeper.let_in(link, asked.name.strip())
        headers = [(b"set-cookie", cookie_header(call, cookie, SECONDS))]
    return Reply(encode({"model": link.model, "voter": key.voter}), headers=headers)


ENDPOINTS = (
    Endpoint(
        "POST", "/v1/models/{name}/invitations", "admin", "Make a link by which people answer without a key",
        make_invitation, InvitationRequest, NewInvitation, status=201,
        example={"note": "second-year students", "uses": 20, "hours": 336},
    ),
    Endpoint(
        "GET", "/v1/models/{name}/invitations", "admin", "The links of a model", list_invitations,
        reply=InvitationList,
    ),
    Endpoint(
        "DELETE", "/v1/models/{name}/invitations/{invitation}", "admin", "Take a link back", withdraw_invitation,
        status=204,
    ),
    Endpoint("POST", "/join", None, "Come in by a link", join, Joining, page=True, limit=1 << 10),
)  # fmt: skip
