"""Who may do what: API keys, links, ended sessions, and the secret that signs cookies."""

import hashlib
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, delete, func, insert, or_, select, text, update

from conquer.files import replacing
from conquer.service.errors import conflict
from conquer.service.store.database import Database, keep_private
from conquer.service.store.schema import ended, invitations, keys, models
from conquer.service.store.schema import secrets as stored

ROLES = ("read", "choose", "answer", "admin")
_SHORTEST = 32
"""Characters of a secret from outside."""
_MOST, _MOST_IN_ALL = 20, 1000
"""Links of one model and of all: every server holds them in memory."""
_EXPIRED = 1000
"""Expired sessions removed at once."""
_ENDING = 0x434E5154
"""Advisory lock of PostgreSQL servers that end sessions: numbers become visible in their order."""


@dataclass(frozen=True, slots=True)
class Key:
    """The caller of a request. `scope` are model names, with * and ? as in file names."""

    id: str
    name: str
    roles: frozenset[str]
    scope: tuple[str, ...]
    created: float
    revoked: float | None = None
    voter: str | None = None
    """The one voter that a session by a link answers as."""

    def __str__(self) -> str:
        state = "in force" if self.revoked is None else "revoked"
        return f"{self.id}  {state:8}  {','.join(sorted(self.roles)):24} {','.join(self.scope):16} {self.name}"


ANONYMOUS = Key("", "", frozenset(), (), 0.0)
OPEN = Key("", "anyone on this machine", frozenset(ROLES), ("*",), 0.0)


def digest(secret: str) -> str:
    """The stored hash of a secret; a fast one, because the secret has 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def add(connection: Connection, name: str, roles: Sequence[str], scope: Sequence[str] = ("*",)) -> tuple[Key, str]:
    """Store a new key; return it with its secret, which cannot be shown again."""
    unknown = set(roles) - set(ROLES)
    if unknown or not roles:
        raise ValueError(f"roles must be some of {', '.join(ROLES)}, got {', '.join(roles) or 'none'}")
    if not scope or any(not pattern or "," in pattern for pattern in scope):
        raise ValueError(f"scope must be model names or patterns, got {list(scope)}")
    secret = "cnqr_" + secrets.token_urlsafe(32)
    return _store(connection, name, roles, scope, secret), secret


def check_secret(secret: str, name: str) -> None:
    """Raise a ValueError for a secret from outside that is too short or not printable."""
    if len(secret) < _SHORTEST or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise ValueError(f"{name} must be at least {_SHORTEST} printable characters without spaces, got {len(secret)}")


def adopt(connection: Connection, secret: str) -> None:
    """Store CONQUER_KEY as an admin's key, unless it is known; a ValueError if it was revoked."""
    known = dict(every(connection)).get(digest(secret))
    if known is None:
        _store(connection, "CONQUER_KEY", ["admin"], ["*"], secret)
    elif known.revoked is not None:
        raise ValueError(f"CONQUER_KEY is the key {known.id}, which was revoked: give another")


def _store(connection: Connection, name: str, roles: Sequence[str], scope: Sequence[str], secret: str) -> Key:
    key = Key(secrets.token_hex(4), name, frozenset(roles), tuple(scope), time.time())
    values = {"id": key.id, "name": name, "roles": ",".join(sorted(roles)), "scope": ",".join(scope)}
    connection.execute(insert(keys).values(digest=digest(secret), created=key.created, **values))
    return key


def revoke(connection: Connection, key_id: str) -> bool:
    """Revoke a key for good; False if there is no such key in force."""
    found = update(keys).where(keys.c.id == key_id, keys.c.revoked.is_(None)).values(revoked=time.time())
    return bool(connection.execute(found).rowcount)


def every(connection: Connection) -> list[tuple[str, Key]]:
    """(digest, key) of all keys, revoked ones included, oldest first."""
    found = []
    for row in connection.execute(select(keys).order_by(keys.c.created)):
        roles, scope = frozenset(row.roles.split(",")), tuple(row.scope.split(","))
        found.append((row.digest, Key(row.id, row.name, roles, scope, row.created, row.revoked)))
    return found


@dataclass(frozen=True, slots=True)
class Invitation:
    """A link by which people without a key answer questions of one model, each as a voter of their own.

    Like a key it is a random secret of which only the digest is stored. The secret is the fragment of an address, which
    browsers do not send: it reaches no log, and a preview of the link does not use it up.
    """

    id: str
    model: str
    note: str
    created: float
    expires: float | None = None
    uses: int | None = None
    used: int = 0

    def holds(self, now: float) -> bool:
        """Whether it has not expired. Its sessions last until then.

        >>> Invitation("a", "teas", "", 0.0, expires=10.0).holds(11.0)
        False
        """
        return self.expires is None or now < self.expires

    def key_of(self, voter: str) -> Key:
        """The key of a person who joined by the link: may answer, as this voter."""
        return Key(self.id, voter, frozenset({"answer"}), (self.model,), self.created, voter=voter)


def invite(
    connection: Connection, model: int, name: str, note: str, expires: float | None, uses: int | None, now: float
) -> tuple[Invitation, str]:
    """Store a new link to a model; return it with its secret, which cannot be shown again. Removes expired links."""
    connection.execute(delete(invitations).where(invitations.c.model_id == model, invitations.c.expires < now))
    count = select(func.count()).select_from(invitations)
    if connection.execute(count.where(invitations.c.model_id == model)).scalar_one() >= _MOST:
        raise conflict("too_many_invitations", f"model {name!r} has {_MOST} links already: revoke one first")
    if connection.execute(count).scalar_one() >= _MOST_IN_ALL:
        raise conflict("too_many_invitations", f"this server holds at most {_MOST_IN_ALL} links")
    made, secret = Invitation(secrets.token_hex(8), name, note, now, expires, uses), secrets.token_urlsafe(32)
    values = {"note": note, "created": now, "expires": expires, "uses": uses, "used": 0}
    connection.execute(insert(invitations).values(model_id=model, id=made.id, digest=digest(secret), **values))
    return made, secret


def use(connection: Connection, invitation: str, now: float) -> bool:
    """Count one more person who joins; False if the link is used up or has expired."""
    table = invitations.c
    room = or_(table.uses.is_(None), table.used < table.uses), or_(table.expires.is_(None), table.expires > now)
    found = update(invitations).where(table.id == invitation, *room).values(used=table.used + 1)
    return bool(connection.execute(found).rowcount)


def withdraw(connection: Connection, model: str, invitation: str) -> bool:
    """Revoke a link and the sessions by it; False if there is none."""
    number = select(models.c.id).where(models.c.name == model).scalar_subquery()
    found = delete(invitations).where(invitations.c.model_id == number, invitations.c.id == invitation)
    return bool(connection.execute(found).rowcount)


def all_invitations(connection: Connection, model: str | None = None) -> Sequence[tuple[str, Invitation]]:
    """(digest, link) of all existing models, or of one, oldest first."""
    wanted = select(invitations, models.c.name.label("model")).join(models, models.c.id == invitations.c.model_id)
    if model is not None:
        wanted = wanted.where(models.c.name == model)
    return [
        (row.digest, Invitation(row.id, row.model, row.note, row.created, row.expires, row.uses, row.used))
        for row in connection.execute(wanted.order_by(invitations.c.created))
    ]


def end_session(connection: Connection, session: str, until: float) -> None:
    """Store that a session has ended, until its cookie expires, and remove some whose cookies have expired."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ENDING})
    old = select(ended.c.number).where(ended.c.until < time.time()).order_by(ended.c.until).limit(_EXPIRED)
    connection.execute(delete(ended).where(ended.c.number.in_(old)))
    if not connection.execute(update(ended).where(ended.c.session == session).values(until=until)).rowcount:
        connection.execute(insert(ended).values(session=session, until=until))


def ended_sessions(connection: Connection, after: int = 0) -> tuple[dict[str, float], int]:
    """Sessions that ended after number `after`, with the time their cookies expire; and the last number."""
    rows = connection.execute(select(ended).where(ended.c.number > after).order_by(ended.c.number)).all()
    now = time.time()
    return {row.session: row.until for row in rows if row.until > now}, rows[-1].number if rows else after


def cookie_secret(database: Database) -> str:
    """The secret that signs cookies: a file beside a SQLite store, a row of PostgreSQL.

    It is part of no backup, so a backup cannot sign anyone in.
    """
    if database.path is not None:
        path = Path(f"{database.path}.secret")
        if not path.exists():
            with replacing(path, private=True) as part:
                part.write_text(secrets.token_urlsafe(32))
        keep_private(path)
        found = path.read_text().strip()
        check_secret(found, str(path))
        return found
    with database.writing() as connection:
        # Of servers that start together the first one's counts.
        statement = "INSERT INTO secrets (name, value) VALUES ('cookies', :value) ON CONFLICT DO NOTHING"
        connection.execute(text(statement), {"value": secrets.token_urlsafe(32)})
        return str(connection.execute(select(stored.c.value).where(stored.c.name == "cookies")).scalar_one())
