"""A learner or a whole session as one file, continued bit for bit."""

import json
import operator
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from conquer.answers import checked_ids
from conquer.features.featurizer import Featurizer
from conquer.files import FileError, write_atomically
from conquer.learners.rules import Rules
from conquer.rows import SparseRows, stack
from conquer.saving import LARGEST_DIM_IN_FILE, dumps, loads
from conquer.session.catalog import Catalog
from conquer.session.ledger import choice_of, record
from conquer.session.offers import Pending, Told
from conquer.session.session import Session
from conquer.types import Learner, Query


def save(thing: Learner | Session, path: str | os.PathLike[str]) -> None:
    """Write a learner or a whole session to one file, all or nothing."""
    write_atomically(path, dumps_session(thing) if isinstance(thing, Session) else dumps(thing))


def load(path: str | os.PathLike[str], *, largest_dim: int = LARGEST_DIM_IN_FILE, rules: Rules | None = None) -> Any:
    """The learner or session of a file; it continues bit for bit where the saved one stood.

    A policy of one's own is in the file by the import paths of its functions. They are not imported: `rules` hands
    them in, `{"module:name": function}` or `{"name": function}`.

    More features than `largest_dim` are refused: a small file may claim many, and memory is allocated for them.
    """
    return restore(Path(path).read_bytes(), largest_dim=largest_dim, rules=rules)


def restore(data: bytes, *, largest_dim: int = LARGEST_DIM_IN_FILE, rules: Rules | None = None) -> Any:
    """The learner or session in a file's bytes, which may come from anyone; a FileError if they do not fit."""
    learner, extra, arrays = loads(data, largest_dim=largest_dim, rules=rules)
    if extra.get("kind") != "session":
        return learner
    try:
        return _session_of(learner, json.loads(arrays["session"].tobytes()), arrays)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        raise FileError(f"the session in the file does not fit together: {type(error).__name__}: {error}") from None


def dumps_session(session: Session) -> bytes:
    """The learner, the featurizer, the place in the ticket stream and the open offers as one file's bytes."""
    pending = [
        {"id": name, "items": len(p.rows), "shown_ids": p.shown, **record(p.choice), **_others(p.others)}
        for name, p in session._pending.items()
    ]
    # What is rare comes last and only where it is, so that a long session stays small.
    told = {name: _shortened([int(t.query), *t[1:]]) for name, t in session._told.items()}
    extra: dict[str, Any] = {"seed": session.seed, "ordinal": session.ordinal}
    extra |= {"pending": pending, "told": told, "featurizer": None}
    if session.stop is not None or session.looks.stored():
        extra |= {"stop": session.stop, "delta": session.delta, **session.looks.stored()}
    arrays: dict[str, Any] = {}
    if session.featurizer is not None:
        extra["featurizer"] = session.featurizer.settings()
        arrays = {f"featurizer.{name}": array for name, array in session.featurizer.arrays().items()}
    if session.catalog is not None:
        extra["catalog"] = session.catalog.settings()
        arrays |= {f"catalog.{name}": array for name, array in session.catalog.arrays().items()}
    # Among the arrays, for a long session has told more than a header may hold.
    arrays["session"] = np.frombuffer(json.dumps(extra, allow_nan=False).encode(), np.uint8)
    if pending:
        rows = stack([p.rows for p in session._pending.values()])
        arrays |= {"pending.indptr": rows.indptr, "pending.indices": rows.indices, "pending.data": rows.data}
    return dumps(session.learner, {"kind": "session"}, arrays)


def _others(names: tuple[str, ...]) -> dict[str, Any]:
    return {"other_ids": names} if names else {}


def _shortened(told: list[Any]) -> list[Any]:
    """An answered offer as its file form: the fields after `outside` only where one of them is not the usual."""
    return told if told[5] or not told[4] else told[:4]


def _session_of(learner: Learner, extra: Mapping[str, Any], arrays: Mapping[str, Any]) -> Session:
    featurizer = None
    if extra["featurizer"] is not None:
        own = {name.removeprefix("featurizer."): a for name, a in arrays.items() if name.startswith("featurizer.")}
        featurizer = Featurizer.from_settings(extra["featurizer"], own)
    # Not in earlier versions' files, nor where they are the usual.
    stopping = {name: extra[name] for name in ("stop", "delta", "U", "interval", "tau2") if name in extra}
    session = Session(learner, featurizer=featurizer, seed=extra["seed"], **stopping)
    if extra.get("catalog") is not None:
        own = {name.removeprefix("catalog."): array for name, array in arrays.items() if name.startswith("catalog.")}
        session.catalog = Catalog.from_settings(extra["catalog"], own, learner.dim)
    session.ordinal = operator.index(extra["ordinal"])
    told = {name: _told_of(*row) for name, row in extra["told"].items()}
    if not 0 <= session.ordinal < 2**63 or not all(0 <= int(name) < session.ordinal for name in told):
        raise ValueError(f"the next ordinal must be above every offer's, got {session.ordinal}")
    for answered in told.values():
        checked_ids((*answered.shown, *answered.others))
        if answered.value is not None:
            answered.reads(answered.value)
    session._told = told
    if extra["pending"]:
        indptr, indices, data = (arrays[f"pending.{name}"] for name in ("indptr", "indices", "data"))
        rows, start = SparseRows(indptr, indices, data, learner.dim), 0
        for row in extra["pending"]:
            count = operator.index(row["items"])
            if not 0 < count <= len(rows) - start:
                raise ValueError(f"offer {row['id']!r} claims {count} items, {len(rows) - start} are left")
            _take_up(session, row, rows.take(np.arange(start, start + count)).packed())
            start += count
    return session


def _told_of(query: int, shown: Any, value: Any, outside: bool = False, ties: bool = True, others: Any = ()) -> Told:
    """An answered offer of a file; earlier versions told the first three or four things of it."""
    return Told(Query(query), tuple(shown), value, outside, ties, tuple(others))


def _take_up(session: Session, row: Mapping[str, Any], items: SparseRows) -> None:
    """Put a stored open offer back, checked, and into the new ledger, so that a replay of it finds the offer."""
    choice, shown, others = choice_of(row), tuple(row["shown_ids"]), tuple(row.get("other_ids", ()))
    checked_ids((*shown, *others))
    session.learner.check(choice, len(items))
    if len(shown) != len(choice.shown) or not isinstance(row["memo"], dict):
        raise ValueError(f"offer {row['id']!r} must name what it showed and remember it in an object")
    if not 0 <= int(row["id"]) < session.ordinal or row["id"] in session._told:
        raise ValueError(f"offer id {row['id']!r} is not one of this session's open ones")
    session._append({"kind": "ask", "id": row["id"], "rows": items, **record(choice)})
    session._pending[row["id"]] = Pending(items, choice, shown, others)
