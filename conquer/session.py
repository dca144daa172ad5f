"""Ask and tell with names: offers for people or products, answers late and in any order, each exactly once."""

import json
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from conquer.features.featurizer import Featurizer
from conquer.files import FileError, write_atomically
from conquer.kernels import tickets
from conquer.learners import Conquer
from conquer.registry import LARGEST_DIM_IN_FILE, describe, dumps, loads, rebuild
from conquer.rows import SparseRows, as_rows, checked_seed, stack
from conquer.types import Choice, Ledger, Offer, Query

RESERVED = frozenset({"first", "second", "left", "right", "tie", "skip", "both_bad", "yes", "no"})
"""Words with a meaning as answers, so never item ids."""


class AnswerError(ValueError):
    """An answer that cannot be taken: unknown offer, unknown winner, or another answer than the one given before."""


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


class Session:
    """A learner with item ids, tickets from (seed, ordinal) and a ledger. Not thread-safe.

    `covariance="on-show"` counts a pair in the widths as soon as it is shown, for answers that come late.

    >>> from conquer.registry import make
    >>> session = Session(make("gnr", dim=2**10), seed=0)
    >>> offer = session.ask({"tea": "green leaf tea", "mug": "blue mug", "pot": "iron pot"})
    >>> session.tell(offer.id, offer.shown[1])
    'learnt'
    >>> session.tell(offer.id, "second")
    'repeat'
    """

    def __init__(
        self,
        learner: Conquer,
        *,
        featurizer: Featurizer | None = None,
        seed: int = 0,
        ledger: Ledger | None = None,
        covariance: str = "on-answer",
    ) -> None:
        if covariance not in ("on-answer", "on-show"):
            raise ValueError(f"covariance must be 'on-answer' or 'on-show', got {covariance!r}")
        if featurizer is not None and featurizer.dim != learner.dim:
            raise ValueError(f"the featurizer makes {featurizer.dim} features, the learner has {learner.dim}")
        seed = checked_seed(seed)
        if covariance == "on-show":
            learner.begin_exposing()
        self.learner, self.featurizer, self.seed, self.covariance = learner, featurizer, seed, covariance
        self.ledger: Ledger = MemoryLedger() if ledger is None else ledger
        self.ordinal = 0
        self._stream = tickets.stream("policy", seed)
        self._pending: dict[str, _Pending] = {}
        self._told: dict[str, tuple[Query, tuple[str, ...], float | None]] = {}
        self._broken = False
        self._append({"kind": "open", "seed": seed, "covariance": covariance, **_opening(learner)})

    def _append(self, row: Mapping[str, Any]) -> None:
        """Log a row; a learner that has moved on without its row must not go further."""
        self._broken = True
        self.ledger.append(row)
        self._broken = False

    def _check_whole(self) -> None:
        if self._broken:
            raise RuntimeError("the ledger failed while this session was writing to it; rebuild it with replay()")

    def ask(self, items: Any, context: Any = None, ids: Sequence[str] | None = None) -> Offer:
        """Choose among `items`: {id: item}, a list of texts, dicts or vectors, or a (K, D) matrix.

        A list's ids are `ids`, or "0", "1", ... A context is crossed with every item's features.
        """
        self._check_whole()
        if isinstance(items, Mapping):
            if ids is not None:
                raise ValueError("ids are the keys of the mapping; pass them once")
            ids, items = list(items), list(items.values())
        names = None if ids is None else _checked_ids(ids)
        rows = self._featurize(items, context).packed()
        names = names or [str(k) for k in range(len(rows))]
        if len(names) != len(rows):
            raise ValueError(f"need one id an item, got {len(names)} ids for {len(rows)} items")
        ticket = tickets.ticket(self._stream, self.ordinal)
        choice = self.learner.choose(rows, ticket)
        offer_id, shown = str(self.ordinal), tuple(names[k] for k in choice.shown)
        left = shown[-1] if left_is_second(ticket) else shown[0]
        row = {"kind": "ask", "id": offer_id, "items": tuple(names), "rows": rows, "left": left, **_record(choice)}
        self._append(row)
        self.ordinal += 1
        if choice.query == Query.NONE:
            self._told[offer_id] = (Query.NONE, shown, None)
        else:
            if self.covariance == "on-show" and choice.query == Query.DUEL:
                choice = self.learner.expose(rows, choice)
                self._append({"kind": "expose", "id": offer_id})
            self._pending[offer_id] = _Pending(rows, choice, shown)
        return Offer(offer_id, choice, shown, left, choice.memo.get("chance"))

    def _featurize(self, items: Any, context: Any) -> SparseRows:
        """Vectors and matrices of the learner's own features as they are, unless a featurizer was given."""
        vectors = isinstance(items, list | tuple) and all(isinstance(x, list | tuple | np.ndarray) for x in items)
        matrix = isinstance(items, SparseRows | np.ndarray) or hasattr(items, "tocsr") or (vectors and len(items) > 0)
        if matrix and context is None and self.featurizer is None:
            return as_rows(items, self.learner.dim)
        if isinstance(items, SparseRows):
            items = items.csr()
        featurizer = self.featurizer or Featurizer(dim=self.learner.dim)
        return as_rows(featurizer(items, context=context), self.learner.dim)

    def tell(self, offer_id: str, answer: str | float | None) -> str:
        """Learn an answer: "first", "second", "tie", "skip", a shown item's id, or a strength in [-1, 1].

        "yes" and "no" answer BEST. Returns "learnt", "skipped", or "repeat" if the same answer came before; another
        answer to the same offer is an AnswerError.
        """
        self._check_whole()
        if not isinstance(offer_id, str):
            raise AnswerError(f"an offer's id is a string, got {offer_id!r}")
        if told := self._told.get(offer_id):
            query, shown, before = told
            value = read_answer(answer, query, shown)
            if value != before:
                raise AnswerError(f"offer {offer_id!r} was answered {before!r} before, got {answer!r} now")
            return "repeat"
        if offer_id not in self._pending:
            raise AnswerError(f"no offer has the id {offer_id!r}")
        rows, choice, shown = self._pending[offer_id]
        value = read_answer(answer, choice.query, shown)
        if value is not None:
            self._broken = True
            try:
                self.learner.learn(rows, choice, value)
            except Exception:
                self._broken = False  # a refusal leaves the learner as it was; an interruption may not
                raise
        self._append({"kind": "tell", "id": offer_id, "answer": value})
        del self._pending[offer_id]
        self._told[offer_id] = (choice.query, shown, value)
        return "skipped" if value is None else "learnt"

    @property
    def pending(self) -> tuple[str, ...]:
        """The ids of offers without an answer."""
        return tuple(self._pending)

    def dumps(self) -> bytes:
        """The learner, the featurizer, the place in the ticket stream and the open offers as one file's bytes."""
        pending = [
            {"id": name, "items": len(p.rows), "shown_ids": p.shown, **_record(p.choice)}
            for name, p in self._pending.items()
        ]
        told = {name: [int(query), shown, value] for name, (query, shown, value) in self._told.items()}
        extra = {"seed": self.seed, "ordinal": self.ordinal, "covariance": self.covariance}
        extra |= {"pending": pending, "told": told, "featurizer": None}
        arrays: dict[str, Any] = {}
        if self.featurizer is not None:
            extra["featurizer"] = self.featurizer.settings()
            arrays = {f"featurizer.{name}": array for name, array in self.featurizer.arrays().items()}
        # Among the arrays, for a long session has told more than a header may hold.
        arrays["session"] = np.frombuffer(json.dumps(extra, allow_nan=False).encode(), np.uint8)
        if pending:
            rows = stack([p.rows for p in self._pending.values()])
            arrays |= {"pending.indptr": rows.indptr, "pending.indices": rows.indices, "pending.data": rows.data}
        return dumps(self.learner, {"kind": "session"}, arrays)


class _Pending(NamedTuple):
    rows: SparseRows
    choice: Choice
    shown: tuple[str, ...]


def left_is_second(ticket: int) -> bool:
    """Whether the second choice goes on the left-hand side: a fair coin of the round's ticket."""
    out = np.empty(1)
    tickets.ticket_uniforms(np.uint64(ticket), np.array([tickets.SIDE]), out)
    return bool(out[0] < 0.5)


def _checked_ids(ids: Sequence[str]) -> list[str]:
    for name in ids:
        if not isinstance(name, str) or not name:
            raise ValueError(f"an item id must be a non-empty string, got {name!r}")
        if name in RESERVED:
            raise ValueError(f"{name!r} is a reserved word and cannot be an item id")
    if len(set(ids)) != len(ids):
        raise ValueError(f"item ids must differ, got {list(ids)!r}")
    return list(ids)


def read_answer(answer: str | float | None, query: Query, shown: tuple[str, ...]) -> float | None:
    """What an answer says: a number in [-1, 1] to learn, or None for a skip.

    >>> read_answer("second", Query.DUEL, ("a", "b")), read_answer("b", Query.DUEL, ("a", "b"))
    (-1.0, -1.0)
    """
    if answer is None or (isinstance(answer, str) and answer in ("skip", "both_bad")):
        return None
    words = {
        Query.NONE: {},
        Query.DUEL: {"first": 1.0, "second": -1.0, "tie": 0.0},
        Query.BEST: {"yes": 1.0, "no": -1.0},
    }
    values = {**words[query], **dict(zip(shown, (1.0, -1.0), strict=False))}
    if query != Query.NONE and isinstance(answer, str) and answer in values:
        return values[answer]
    number = isinstance(answer, int | float | np.integer | np.floating) and not isinstance(answer, bool)
    whole = query == Query.BEST  # a question of yes or no has no strength
    if query != Query.NONE and number and not isinstance(answer, str) and (abs(answer) == 1 or abs(answer) < 1 - whole):
        return float(answer)
    silent = query == Query.NONE
    expected = "nothing but 'skip', for nothing was asked" if silent else f"one of {sorted(values)}, 'skip'"
    raise AnswerError(f"the answer must be {expected} or a strength in [-1, 1], got {answer!r}")


def _record(choice: Choice) -> dict[str, Any]:
    return {
        "shown": choice.shown,
        "query": int(choice.query),
        "ticket": choice.ticket,
        "memo": dict(choice.memo),
    }


def _choice_of(row: Mapping[str, Any]) -> Choice:
    return Choice(tuple(row["shown"]), Query(row["query"]), row["ticket"], row["memo"])


def _opening(learner: Conquer) -> dict[str, Any]:
    """What a replay starts from: how to make the learner, and its state where it has learnt before."""
    opening: dict[str, Any] = {}
    try:
        opening["learner"] = describe(learner)
    except ValueError:
        return opening  # a policy of one's own: replay() is then given a fresh learner
    return opening | ({} if learner.fresh else {"snapshot": dumps(learner)})


def replay(ledger: Ledger | Iterable[Mapping[str, Any]], learner: Conquer | None = None) -> Conquer:
    """The learner that the ledger's answers make, bit for bit: nothing is chosen anew, only learnt again.

    `learner`: a fresh one to train on old answers instead of the recorded one, with whatever parameters.

    >>> from conquer.registry import make
    >>> session = Session(make("gnc", dim=4))
    >>> session.tell(session.ask(np.eye(4)).id, "first")
    'learnt'
    >>> bool((replay(session.ledger).model.weights() == session.learner.model.weights()).all())
    True
    """
    offers: dict[str, tuple[SparseRows, Choice]] = {}
    rows = ledger.rows() if hasattr(ledger, "rows") else ledger
    for row in rows:
        kind = row["kind"]
        if kind == "open":
            if learner is None and "learner" not in row:
                raise ValueError("the ledger is of a policy of one's own: give replay() a fresh learner of it")
            if learner is None:
                trusted = 2**31 - 1
                snapshot = row.get("snapshot")
                learner = rebuild(row["learner"]) if snapshot is None else loads(snapshot, largest_dim=trusted)[0]
        elif learner is None:
            raise ValueError("the ledger must begin with its 'open' row, or a learner must be given")
        elif kind == "ask":
            offers[row["id"]] = (row["rows"], _choice_of(row))
        elif kind == "expose":
            items, choice = offers[row["id"]]
            offers[row["id"]] = (items, learner.expose(items, choice))
        elif kind == "tell":
            items, choice = offers.pop(row["id"])
            if row["answer"] is not None:
                learner.learn(items, choice, row["answer"])
        else:
            raise ValueError(f"a ledger row's kind must be open, ask, expose or tell, got {kind!r}")
    if learner is None:
        raise ValueError("the ledger is empty")
    return learner


def save(thing: Conquer | Session, path: str | os.PathLike[str]) -> None:
    """Write a learner or a whole session to one file, all or nothing."""
    write_atomically(path, thing.dumps() if isinstance(thing, Session) else dumps(thing))


def load(path: str | os.PathLike[str], *, largest_dim: int = LARGEST_DIM_IN_FILE) -> Any:
    """The learner or session of a file; it continues bit for bit where the saved one stood.

    More features than `largest_dim` are refused: a small file may claim many, and memory is allocated for them.
    """
    return restore(Path(path).read_bytes(), largest_dim=largest_dim)


def restore(data: bytes, *, largest_dim: int = LARGEST_DIM_IN_FILE) -> Any:
    """The learner or session in a file's bytes, which may come from anyone; a FileError if they do not fit."""
    learner, extra, arrays = loads(data, largest_dim=largest_dim)
    if extra.get("kind") != "session":
        return learner
    try:
        return _session_of(learner, json.loads(arrays["session"].tobytes()), arrays)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        raise FileError(f"the session in the file does not fit together: {type(error).__name__}: {error}") from None


def _session_of(learner: Conquer, extra: Mapping[str, Any], arrays: Mapping[str, Any]) -> Session:
    featurizer = None
    if extra["featurizer"] is not None:
        own = {name.removeprefix("featurizer."): a for name, a in arrays.items() if name.startswith("featurizer.")}
        featurizer = Featurizer.from_settings(extra["featurizer"], own)
    session = Session(learner, featurizer=featurizer, seed=extra["seed"], covariance=extra["covariance"])
    session.ordinal = operator.index(extra["ordinal"])
    told = {name: (Query(query), tuple(shown), value) for name, (query, shown, value) in extra["told"].items()}
    if not 0 <= session.ordinal < 2**63 or not all(0 <= int(name) < session.ordinal for name in told):
        raise ValueError(f"the next ordinal must be above every offer's, got {session.ordinal}")
    for query, shown, value in told.values():
        _checked_ids(shown)
        if value is not None:
            read_answer(value, query, shown)
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


def _take_up(session: Session, row: Mapping[str, Any], items: SparseRows) -> None:
    """Put a stored open offer back, checked, and into the new ledger, so that a replay of it finds the offer."""
    choice, shown = _choice_of(row), tuple(_checked_ids(row["shown_ids"]))
    session.learner.check(choice, len(items))
    if len(shown) != len(choice.shown) or not isinstance(row["memo"], dict):
        raise ValueError(f"offer {row['id']!r} must name what it showed and remember it in an object")
    if not 0 <= int(row["id"]) < session.ordinal or row["id"] in session._told:
        raise ValueError(f"offer id {row['id']!r} is not one of this session's open ones")
    if bool(row["memo"].get("exposed")) != (session.covariance == "on-show" and choice.query == Query.DUEL):
        raise ValueError(f"offer {row['id']!r} does not fit covariance {session.covariance!r}")
    session._append({"kind": "ask", "id": row["id"], "rows": items, **_record(choice)})
    session._pending[row["id"]] = _Pending(items, choice, shown)
