"""The ledger: one row per event, from which any learner is rebuilt exactly."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from conquer.answers import leftmost
from conquer.learners.believer import believer
from conquer.rows import SparseRows
from conquer.saving import described, dumps, loads, rebuilt
from conquer.types import Choice, Learner, Ledger, Query, Source


@dataclass(frozen=True, slots=True)
class MemoryLedger:
    """A ledger in a list.

    >>> ledger = MemoryLedger()
    >>> ledger.append({"kind": "tell", "id": "0", "answer": 1.0})
    >>> len(list(ledger.rows()))
    1
    """

    _rows: list[Mapping[str, Any]] = field(default_factory=list)

    def append(self, row: Mapping[str, Any]) -> None:
        self._rows.append(row)

    def rows(self) -> Iterable[Mapping[str, Any]]:
        return iter(self._rows)


def record(choice: Choice) -> dict[str, Any]:
    """A choice as a ledger's row holds it."""
    return {
        "shown": choice.shown,
        "query": int(choice.query),
        "ticket": choice.ticket,
        "memo": dict(choice.memo),
    }


def choice_of(row: Mapping[str, Any]) -> Choice:
    """The choice of `record`'s row."""
    return Choice(tuple(row["shown"]), Query(row["query"]), row["ticket"], row["memo"])


def recorded(source: Source) -> dict[str, Any]:
    """Whom an answer comes from as a ledger's row holds it; the side is that of the offer's ticket."""
    voter = {} if source.voter is None else {"voter": source.voter, "voter_kind": source.kind}
    return voter | ({} if source.weight is None else {"weight": source.weight})


def sourced(source: Source, choice: Choice) -> Source:
    """The source with its side, which the round's ticket drew."""
    return replace(source, side=1 - 2 * leftmost(choice.ticket, 2))


def _source_of(row: Mapping[str, Any], choice: Choice, anew: bool) -> Source:
    """The source of `recorded`'s row; `anew`: to be weighed by the learner itself."""
    weight = None if anew else row.get("weight")
    return sourced(Source(row.get("voter"), 0, row.get("voter_kind", "person"), weight), choice)


def opening(learner: Learner) -> dict[str, Any]:
    """What a replay starts from: how to make the learner, and its state where it has learnt before."""
    row: dict[str, Any] = {}
    try:
        row["learner"] = described(learner)
    except ValueError:
        return row  # a policy of one's own: replay() is then given a fresh learner
    return row | ({} if learner.fresh else {"snapshot": dumps(learner)})


def replay(
    ledger: Ledger | Iterable[Mapping[str, Any]], learner: Learner | None = None, *, without: Collection[str] = ()
) -> Learner:
    """The learner that the ledger's answers make, bit for bit: nothing is chosen anew, only learnt again.

    `learner`: a fresh one to train on old answers instead of the recorded one, with whatever parameters. `without`:
    voters whose answers are left out, as if they had never been given; the others' are then weighed anew. Which pairs
    were asked still depended on them, and so does what a session had learnt before its ledger began.

    >>> import numpy as np
    >>> from conquer.registry import make
    >>> from conquer.session import Session
    >>> session = Session(make("gnc", dim=4))
    >>> session.tell(session.ask(np.eye(4)).id, "first")
    'learnt'
    >>> bool((replay(session.ledger).model.weights() == session.learner.model.weights()).all())
    True
    """
    offers: dict[str, tuple[SparseRows, Choice]] = {}
    given = learner is not None  # another learner weighs voters by itself
    rows = ledger.rows() if hasattr(ledger, "rows") else ledger
    erased: set[str] = set()
    if without:
        rows = list(rows)
        erased = {row["id"] for row in rows if row["kind"] == "tell" and row.get("voter") in without}
    for row in rows:
        kind = row["kind"]
        if row.get("id") in erased:
            continue
        if kind == "open":
            if learner is None and "learner" not in row:
                raise ValueError("the ledger is of a policy of one's own: give replay() a fresh learner of it")
            if learner is None:
                trusted = 2**31 - 1
                snapshot = row.get("snapshot")
                learner = rebuilt(row["learner"]) if snapshot is None else loads(snapshot, largest_dim=trusted)[0]
        elif learner is None:
            raise ValueError("the ledger must begin with its 'open' row, or a learner must be given")
        elif kind == "ask":
            offers[row["id"]] = (row["rows"], choice_of(row))
        elif kind == "tell":
            items, choice = offers.pop(row["id"])
            if row["answer"] is not None:
                heeds = believer(learner) is not None
                source = (_source_of(row, choice, anew=given or bool(without)),) if heeds else ()
                learner.learn(items, choice, row["answer"], *source)
        else:
            raise ValueError(f"a ledger row's kind must be open, ask or tell, got {kind!r}")
    if learner is None:
        raise ValueError("the ledger is empty")
    return learner
