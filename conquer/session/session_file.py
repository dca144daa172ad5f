"""A learner or a session as one file, continued bit for bit."""

import json
import operator
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from conquer.answers import checked_ids
from conquer.boards import BoardSettings, Evidence
from conquer.checks import checked_answer
from conquer.features.featurizer import Featurizer
from conquer.files import FileError, write_atomically
from conquer.learners.rules import Rules
from conquer.rows import SparseRows, stack
from conquer.saving import LARGEST_DIM_IN_FILE, dumps, loads
from conquer.session.catalog import Catalog
from conquer.session.ledger import choice_of, choice_record
from conquer.session.session import ClosedOffer, OfferQuestion, OpenOffer, OwnFeaturizer, Session, question_of
from conquer.types import Learner, Ledger, Query


def save(thing: Learner | Session, path: str | os.PathLike[str]) -> None:
    """Write a learner or a session to one file, all or nothing.

    Parameters
    ----------
    thing : Learner or Session
        A session is saved with its featurizer, open offers and recent answers, and without its ledger.
    path : str or path
        The file, overwritten if it exists.

    Raises
    ------
    ValueError
        The learner's policy cannot be named in a file: its functions are not importable.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from conquer import make
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(make("gnr", dim=3), f"{folder}/gnr.model")
    ...     load(f"{folder}/gnr.model").name
    'gnr'
    """
    write_atomically(path, dumps_session(thing) if isinstance(thing, Session) else dumps(thing))


def load(
    path: str | os.PathLike[str],
    *,
    featurizer: Featurizer | OwnFeaturizer | None = None,
    ledger: Ledger | None = None,
    rules: Rules | None = None,
    largest_dim: int = LARGEST_DIM_IN_FILE,
) -> Any:
    """The learner or session of a file; it continues bit for bit where the saved one stopped.

    Parameters
    ----------
    path : str or path
        A file of `save`.
    featurizer : callable, optional
        The custom featurizer of a session that was saved with one; files store only its class name.
    ledger : Ledger, optional
        The session's ledger from now on; open offers are recorded in it first.
    rules : mapping, optional
        The functions of a policy written by the user, `{"module:name": function}` or `{"name": function}`. Nothing
        that a file names is imported.
    largest_dim : int
        The largest number of features that is accepted: a small file may claim many, and memory is allocated for them.

    Returns
    -------
    Learner or Session
        Whichever was saved; `Session.load` returns sessions only.

    Raises
    ------
    FileError
        The file is damaged, or needs `featurizer` or `rules`.
    OSError
        The file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> from conquer import Session, make
    >>> session = Session(make("gnr", dim=2))
    >>> offer = session.ask([[1.0, 0.0], [0.0, 1.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(session, f"{folder}/session")
    ...     load(f"{folder}/session").tell(offer, "first")
    'learnt'
    """
    data = Path(path).read_bytes()
    return restore(data, featurizer=featurizer, ledger=ledger, rules=rules, largest_dim=largest_dim)


def restore(
    data: bytes,
    *,
    featurizer: Featurizer | OwnFeaturizer | None = None,
    ledger: Ledger | None = None,
    rules: Rules | None = None,
    largest_dim: int = LARGEST_DIM_IN_FILE,
) -> Any:
    """`load` from a file's bytes, which need not be trusted."""
    learner, extra, arrays = loads(data, largest_dim=largest_dim, rules=rules)
    if extra.get("kind") != "session":
        if featurizer is not None or ledger is not None:
            raise TypeError("the file holds a learner: featurizer= and ledger= are for sessions")
        return learner
    try:
        return _session_of(learner, json.loads(arrays["session"].tobytes()), arrays, featurizer, ledger)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        raise FileError(f"the session in the file is inconsistent: {type(error).__name__}: {error}") from None


def dumps_session(session: Session) -> bytes:
    """Learner, featurizer, position in the ticket stream, open offers and recent answers as one file's bytes."""
    offers = [
        {
            "id": name,
            "items": len(offer.rows),
            "shown_ids": offer.question.shown,
            "other_ids": offer.question.others,
            **choice_record(offer.choice),
        }
        for name, offer in session._open.items()
    ]
    closed = {name: [*one.question, one.value, one.why] for name, one in session._closed.items()}
    extra: dict[str, Any] = {
        "seed": session.seed, "ordinal": session.ordinal, "stop": session.stop, "board": asdict(session.board_settings),
        "open_offers": session.open_offers, "open": offers, "closed": closed, "featurizer": None,
        "evidence": None if session.evidence is None else session.evidence.settings(),
    }  # fmt: skip
    arrays: dict[str, Any] = {}
    if type(session.featurizer) is Featurizer:
        extra["featurizer"] = session.featurizer.settings()
        arrays = {f"featurizer.{name}": array for name, array in session.featurizer.arrays().items()}
    elif session.featurizer is not None:
        extra["own_featurizer"] = type(session.featurizer).__qualname__
    if session.catalog is not None:
        extra["catalog"] = session.catalog.settings()
        arrays |= {f"catalog.{name}": array for name, array in session.catalog.arrays().items()}
    if session.evidence is not None:
        arrays["evidence"] = session.evidence.array()  # not what its source has: a file may be much smaller
    # An array, because a header is not large enough for every session.
    arrays["session"] = np.frombuffer(json.dumps(extra, allow_nan=False).encode(), np.uint8)
    if offers:
        rows = stack([offer.rows for offer in session._open.values()])
        arrays |= {"open.indptr": rows.indptr, "open.indices": rows.indices, "open.data": rows.data}
    return dumps(session.learner, {"kind": "session"}, arrays)


def _part(arrays: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The arrays whose names begin with `name.`."""
    return {key.removeprefix(f"{name}."): array for key, array in arrays.items() if key.startswith(f"{name}.")}


def _session_of(
    learner: Learner,
    extra: Mapping[str, Any],
    arrays: Mapping[str, Any],
    featurizer: Featurizer | OwnFeaturizer | None,
    ledger: Ledger | None,
) -> Session:
    own = extra.get("own_featurizer")
    if own is not None and featurizer is None:
        raise ValueError(f"it was saved with the custom featurizer {own}: use Session.load(path, featurizer=...)")
    if own is None and featurizer is not None:
        raise ValueError("featurizer= is only for sessions saved with a custom featurizer")
    if extra["featurizer"] is not None:
        featurizer = Featurizer.from_settings(extra["featurizer"], _part(arrays, "featurizer"))
    session = Session(
        learner,
        featurizer=featurizer,
        seed=extra["seed"],
        ledger=ledger,
        stop=extra["stop"],
        board=BoardSettings(**extra["board"]),
        open_offers=extra["open_offers"],
    )
    if extra.get("catalog") is not None:
        session.catalog = Catalog.from_settings(extra["catalog"], _part(arrays, "catalog"), learner.dim)
    session.evidence = None
    if extra["evidence"] is not None:
        checked_ids(extra["evidence"]["items"])
        session.evidence = Evidence.from_settings(extra["evidence"], arrays["evidence"])
    session.ordinal = operator.index(extra["ordinal"])
    closed = {name: _closed_of(*row) for name, row in extra["closed"].items()}
    if not 0 <= session.ordinal < 2**63 or not all(0 <= int(name) < session.ordinal for name in closed):
        raise ValueError(f"the next ordinal must be above every offer's, got {session.ordinal}")
    session._closed = closed
    if extra["open"]:
        indptr, indices, data = (arrays[f"open.{name}"] for name in ("indptr", "indices", "data"))
        rows, start = SparseRows(indptr, indices, data, learner.dim), 0
        for row in extra["open"]:
            count = operator.index(row["items"])
            if not 0 < count <= len(rows) - start:
                raise ValueError(f"offer {row['id']!r} claims {count} items, {len(rows) - start} are left")
            _reopen(session, row, rows.take(np.arange(start, start + count)).packed())
            start += count
    return session


def _closed_of(
    query: int, shown: Any, left: Any, outside: bool, ties: bool, others: Any, value: Any, why: str
) -> ClosedOffer:
    """A closed offer of a file, checked."""
    question = OfferQuestion(Query(query), tuple(shown), left, bool(outside), bool(ties), tuple(others))
    checked_ids((*question.shown, *question.others))
    if left not in question.shown:
        raise ValueError(f"the left item {left!r} of a closed offer is not one of those shown")
    if why not in ("answered", "cancelled", "expired", "silent"):
        raise ValueError(f"a closed offer must be answered, cancelled, expired or silent, got {why!r}")
    if value is not None:
        checked_answer(value, strengths=question.query != Query.BEST, shown=len(question.shown))
    return ClosedOffer(question, value, why)


def _reopen(session: Session, row: Mapping[str, Any], items: SparseRows) -> None:
    """Put a stored open offer back, checked, and into the ledger, so that a replay of it finds the offer."""
    choice, shown, others = choice_of(row), tuple(row["shown_ids"]), tuple(row["other_ids"])
    checked_ids((*shown, *others))
    session.learner.check(choice, len(items))
    if len(shown) != len(choice.shown) or not isinstance(row["memo"], dict):
        raise ValueError(f"offer {row['id']!r} needs one id per shown item and a memo object")
    if not 0 <= int(row["id"]) < session.ordinal or row["id"] in session._closed:
        raise ValueError(f"offer id {row['id']!r} is not one of this session's open ones")
    session._log({"kind": "ask", "id": row["id"], "rows": items}, choice_record(choice))
    session._open[row["id"]] = OpenOffer(items, choice, question_of(choice, shown, others))
