"""The ledger: one row per event of a session, from which its learner is rebuilt bit for bit."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conquer.answers import leftmost
from conquer.features.featurizer import Featurizer
from conquer.learners.believer import believer
from conquer.rows import SparseRows
from conquer.saving import described, dumps, loads, rebuilt
from conquer.session.service_log import service_rows
from conquer.types import Choice, Learner, Ledger, Query, Source


@dataclass(frozen=True, slots=True)
class MemoryLedger:
    """A ledger in memory, for `Session(..., ledger=MemoryLedger())`.

    It keeps the rows of every round, about 10 kB for ten items of 150 features, until it is deleted. Write a class
    with the same two methods to keep rows elsewhere.

    Examples
    --------
    >>> ledger = MemoryLedger()
    >>> ledger.append({"kind": "tell", "id": "0", "answer": 1.0})
    >>> len(list(ledger.rows()))
    1
    """

    _rows: list[Mapping[str, Any]] = field(default_factory=list)

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row."""
        self._rows.append(row)

    def rows(self) -> Iterable[Mapping[str, Any]]:
        """All rows, oldest first."""
        return iter(self._rows)


def choice_record(choice: Choice) -> dict[str, Any]:
    """A choice as a ledger's row holds it."""
    return {"shown": choice.shown, "query": int(choice.query), "ticket": choice.ticket, "memo": dict(choice.memo)}


def choice_of(row: Mapping[str, Any]) -> Choice:
    """The choice of `choice_record`'s row."""
    return Choice(tuple(row["shown"]), Query(row["query"]), row["ticket"], row["memo"])


def source_record(source: Source) -> dict[str, Any]:
    """A source as a ledger's row holds it; the side is not stored: it is computed from the ticket."""
    voter = {} if source.voter is None else {"voter": source.voter, "voter_kind": source.kind}
    return voter | ({} if source.weight is None else {"weight": source.weight})


def with_side(source: Source, choice: Choice) -> Source:
    """The source with the side that the round's ticket drew."""
    return replace(source, side=1 - 2 * leftmost(choice.ticket, 2))


def opening(learner: Learner) -> dict[str, Any]:
    """What a replay starts from: how to make the learner, and its state if it has learnt before."""
    row: dict[str, Any] = {}
    try:
        row["learner"] = described(learner)
    except ValueError:
        return row  # a policy written by the user: replay() then needs a fresh learner
    return row | ({} if learner.fresh else {"snapshot": dumps(learner)})


def rows_of(
    ledger: Ledger | Iterable[Mapping[str, Any]] | str | Path, featurizer: Featurizer | None = None
) -> Iterable[Mapping[str, Any]]:
    """The rows of a session's ledger, or of a file that a service wrote; see `service_rows`."""
    if isinstance(ledger, str | Path):
        return service_rows(ledger, featurizer)
    return ledger.rows() if hasattr(ledger, "rows") else ledger


def replay(
    ledger: Ledger | Iterable[Mapping[str, Any]] | str | Path,
    learner: Learner | None = None,
    *,
    without: Collection[str] = (),
    featurizer: Featurizer | None = None,
) -> Learner:
    """Learn the answers of a ledger again: the same learner, bit for bit. Nothing is chosen again.

    Parameters
    ----------
    ledger : Ledger, iterable of rows or path
        A session's ledger, or the file of a service's: what `GET /v1/models/NAME/log?format=ledger` gives.
    learner : Learner, optional
        A fresh learner to train instead of the recorded one, with any parameters.
    without : collection of str
        Voters whose answers are left out; the others' answers are then weighed again. Which pairs were asked still
        depends on the left-out answers, and so does what the session had learnt before its ledger began.
    featurizer : Featurizer, optional
        The featurizer of a service's model, where it was fitted.

    Returns
    -------
    Learner
        The trained learner.

    Raises
    ------
    ValueError
        The ledger is empty or damaged, records a policy written by the user and no learner is given, or `learner` has
        learnt before.

    Examples
    --------
    >>> import numpy as np
    >>> from conquer import MemoryLedger, Session, make
    >>> session = Session(make("gnc", dim=4), ledger=MemoryLedger())
    >>> session.tell(session.ask(np.eye(4)), "first")
    'learnt'
    >>> bool((replay(session.ledger).model.weights() == session.learner.model.weights()).all())
    True
    """
    if ledger is None:
        raise ValueError("the session keeps no ledger: make it with Session(..., ledger=MemoryLedger())")
    if learner is not None and not learner.fresh:
        raise ValueError(f"replay needs a fresh learner, got one that has learnt {learner.answers} answers")
    offers: dict[str, tuple[SparseRows, Choice]] = {}
    weigh_again = learner is not None or bool(without)
    rows = rows_of(ledger, featurizer)
    left_out: set[str] = set()
    if without:
        rows = list(rows)
        left_out = {row["id"] for row in rows if row["kind"] == "tell" and row.get("voter") in without}
    for row in rows:
        kind = row["kind"]
        if row.get("id") in left_out:
            continue
        if kind == "open":
            learner = _opened(row) if learner is None else learner
        elif learner is None:
            raise ValueError("the ledger must begin with its 'open' row, or a learner must be given")
        elif kind == "ask":
            offers[row["id"]] = (row["rows"], choice_of(row))
        elif kind == "cancel":
            offers.pop(row["id"], None)
        elif kind == "tell":
            items, choice = offers.pop(row["id"])
            if row["answer"] is not None:
                weighs = believer(learner) is not None
                source = (_source_of(row, choice, weigh_again),) if weighs else ()
                learner.learn(items, choice, row["answer"], *source)
        else:
            raise ValueError(f"a ledger row's kind must be open, ask, tell or cancel, got {kind!r}")
    if learner is None:
        raise ValueError("the ledger is empty")
    return learner


def _opened(row: Mapping[str, Any]) -> Learner:
    """The learner of an 'open' row."""
    if "learner" not in row:
        raise ValueError("the ledger records a policy written by the user: give replay() a fresh learner of it")
    snapshot = row.get("snapshot")
    return rebuilt(row["learner"]) if snapshot is None else loads(snapshot, largest_dim=2**31 - 1)[0]


def _source_of(row: Mapping[str, Any], choice: Choice, weigh_again: bool) -> Source:
    """The source of `source_record`'s row; `weigh_again`: without its recorded weight."""
    weight = None if weigh_again else row.get("weight")
    source = Source(row.get("voter"), row.get("side", 0), row.get("voter_kind", "person"), weight)
    return source if "side" in row else with_side(source, choice)
