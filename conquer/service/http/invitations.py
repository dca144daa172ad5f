"""Links by which somebody without a key may answer questions of one model, as a person of their own.

Like a key, a link is a random secret of which only the digest is stored. It goes into the fragment of an address,
which browsers keep to themselves: it reaches no log, and nobody who only looks at the link uses it up.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, or_, select, update

from conquer.service.errors import conflict
from conquer.service.http.keys import Key, digest
from conquer.service.store.schema import invitations, models

_MOST, _MOST_IN_ALL = 20, 1000
"""Links of one model and of all: every server holds them in memory."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """A link in force, or one that has run out; `model` is the name of the one model it is for."""

    id: str
    model: str
    note: str
    created: float
    expires: float | None = None
    uses: int | None = None
    used: int = 0

    def holds(self, now: float) -> bool:
        """Whether its time has not run out. Those who came by it stay until then.

        >>> Invitation("a", "teas", "", 0.0, expires=10.0).holds(11.0)
        False
        """
        return self.expires is None or now < self.expires

    def key_of(self, voter: str) -> Key:
        """What somebody who came by it may do: answer, as this voter."""
        return Key(self.id, voter, frozenset({"answer"}), (self.model,), self.created, voter=voter)


def invite(
    connection: Connection, model: int, name: str, note: str, expires: float | None, uses: int | None, now: float
) -> tuple[Invitation, str]:
    """Store a new link to a model; return it with its secret, which cannot be shown again. Old ones that ran out go."""
    connection.execute(delete(invitations).where(invitations.c.model_id == model, invitations.c.expires < now))
    count = select(func.count()).select_from(invitations)
    if connection.execute(count.where(invitations.c.model_id == model)).scalar_one() >= _MOST:
        raise conflict("too_many_invitations", f"model {name!r} has {_MOST} links already: take one back first")
    if connection.execute(count).scalar_one() >= _MOST_IN_ALL:
        raise conflict("too_many_invitations", f"this server holds at most {_MOST_IN_ALL} links")
    made, secret = Invitation(secrets.token_hex(8), name, note, now, expires, uses), secrets.token_urlsafe(32)
    values = {"note": note, "created": now, "expires": expires, "uses": uses, "used": 0}
    connection.execute(insert(invitations).values(model_id=model, id=made.id, digest=digest(secret), **values))
    return made, secret


def use(connection: Connection, invitation: str, now: float) -> bool:
    """Let one more in; False when nobody may come by this link any more."""
    table = invitations.c
    room = or_(table.uses.is_(None), table.used < table.uses), or_(table.expires.is_(None), table.expires > now)
    found = update(invitations).where(table.id == invitation, *room).values(used=table.used + 1)
    return bool(connection.execute(found).rowcount)


def withdraw(connection: Connection, model: str, invitation: str) -> bool:
    """Take a link back, and with it the sessions of those who came by it; False when there is none."""
    number = select(models.c.id).where(models.c.name == model).scalar_subquery()
    found = delete(invitations).where(invitations.c.model_id == number, invitations.c.id == invitation)
    return bool(connection.execute(found).rowcount)


def all_invitations(connection: Connection, model: str | None = None) -> Sequence[tuple[str, Invitation]]:
    """(digest, link) of all models that are there, or of one, oldest first."""
    wanted = select(invitations, models.c.name.label("model")).join(models, models.c.id == invitations.c.model_id)
    if model is not None:
        wanted = wanted.where(models.c.name == model)
    return [
        (row.digest, Invitation(row.id, row.model, row.note, row.created, row.expires, row.uses, row.used))
        for row in connection.execute(wanted.order_by(invitations.c.created))
    ]
