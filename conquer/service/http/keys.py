"""API keys: random secrets of which only the hash is stored, with roles and the models they may touch."""

import fnmatch
import hashlib
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from conquer.service.store.schema import keys

ROLES = ("read", "choose", "answer", "admin")
PREFIX = "cnqr_"
_SHORTEST = 32
"""Characters of a secret that somebody else made: nobody guesses that many."""


@dataclass(frozen=True, slots=True)
class Key:
    """Who is calling. `scope` are model names, with * and ? as in file names."""

    id: str
    name: str
    roles: frozenset[str]
    scope: tuple[str, ...]
    created: float
    revoked: float | None = None
    voter: str | None = None
    """Of a session that is one person's: whom it answers as, and nobody else."""

    def __str__(self) -> str:
        state = "in force" if self.revoked is None else "revoked"
        return f"{self.id}  {state:8}  {','.join(sorted(self.roles)):24} {','.join(self.scope):16} {self.name}"

    def may(self, role: str, model: str | None = None) -> bool:
        """Admins may everything. Without a model it is about the route: its handler checks the model it finds.

        A role may be one of several, with a | between them.

        >>> Key("a", "", frozenset({"choose"}), ("shop-*",), 0.0).may("choose", "shop-1")
        True
        """
        if role not in self.roles and "admin" not in self.roles and self.roles.isdisjoint(role.split("|")):
            return False
        if model is None:
            return True
        return "*" in self.scope or any(fnmatch.fnmatchcase(model, pattern) for pattern in self.scope)


NOBODY = Key("", "", frozenset(), (), 0.0)
OPEN = Key("", "anyone on this machine", frozenset(ROLES), ("*",), 0.0)


def digest(secret: str) -> str:
    """A fast hash is right here: the secret has 256 random bits, so there is nothing to guess."""
    return hashlib.sha256(secret.encode()).hexdigest()


def add(connection: Connection, name: str, roles: Sequence[str], scope: Sequence[str] = ("*",)) -> tuple[Key, str]:
    """Store a new key; return it with its secret, which cannot be shown again."""
    unknown = set(roles) - set(ROLES)
    if unknown or not roles:
        raise ValueError(f"roles must be some of {', '.join(ROLES)}, got {', '.join(roles) or 'none'}")
    if not scope or any(not pattern or "," in pattern for pattern in scope):
        raise ValueError(f"scope must be model names or patterns, got {list(scope)}")
    secret = PREFIX + secrets.token_urlsafe(32)
    key = Key(secrets.token_hex(4), name, frozenset(roles), tuple(scope), time.time())
    _store(connection, key, secret)
    return key, secret


def adopt(connection: Connection, secret: str, name: str = "CONQUER_KEY") -> None:
    """See that a secret made elsewhere is an admin's key, as in a container whose environment holds it.

    A key that was revoked stays so: the start fails, and says why.
    """
    if len(secret) < _SHORTEST or not secret.isascii() or not secret.isprintable() or " " in secret:
        raise ValueError(f"{name} must be at least {_SHORTEST} printable characters without spaces, got {len(secret)}")
    known = dict(every(connection)).get(digest(secret))
    if known is not None and known.revoked is not None:
        raise ValueError(f"{name} is the key {known.id}, which was revoked: give another")
    if known is None:
        key = Key(secrets.token_hex(4), name, frozenset({"admin"}), ("*",), time.time())
        _store(connection, key, secret)


def _store(connection: Connection, key: Key, secret: str) -> None:
    connection.execute(
        insert(keys).values(
            id=key.id,
            name=key.name,
            digest=digest(secret),
            roles=",".join(sorted(key.roles)),
            scope=",".join(key.scope),
            created=key.created,
        )
    )


def revoke(connection: Connection, key_id: str) -> bool:
    """Revoke for ever; False when there is no such key in force."""
    found = update(keys).where(keys.c.id == key_id, keys.c.revoked.is_(None)).values(revoked=time.time())
    return bool(connection.execute(found).rowcount)


def every(connection: Connection) -> list[tuple[str, Key]]:
    """(digest, key) of all keys, revoked ones included, oldest first."""
    return [
        (
            row.digest,
            Key(
                row.id, row.name, frozenset(row.roles.split(",")), tuple(row.scope.split(",")), row.created, row.revoked
            ),
        )
        for row in connection.execute(select(keys).order_by(keys.c.created))
    ]
