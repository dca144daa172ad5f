"""Ask and tell with names: offers for people or products, answers late and in any order, each exactly once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from conquer import tickets
from conquer.answers import AnswerError, checked_ids, leftmost, read_answer
from conquer.checks import LARGEST, checked_seed, number
from conquer.features.featurizer import Featurizer
from conquer.items import kind_and_items
from conquer.learners.believer import believer
from conquer.learners.voters import checked_source
from conquer.rows import SparseRows, as_rows
from conquer.session.catalog import Catalog
from conquer.session.ledger import MemoryLedger, opening, record, recorded, sourced
from conquer.session.offers import Pending, Told
from conquer.session.standing import BoardLook, board_of_items, is_done, known_items, ranked
from conquer.types import Choice, Learner, Ledger, Offer, Query, Source

Moved = TypeVar("Moved")
_NUMBERED = tuple(map(str, range(100)))


def _numbered(count: int) -> Sequence[str]:
    """The ids of items that came without."""
    return _NUMBERED[:count] if count <= len(_NUMBERED) else [str(k) for k in range(count)]


class Session:
    """A learner with item ids, tickets from (seed, ordinal) and a ledger. Not thread-safe.

    With `stop`, a tolerance, an offer is `done` once at level `delta` no item of the round is better than its leader by
    more, as the round's board says it; boards have this `delta`, `U`, `interval` and `tau2`
    by default.

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
        learner: Learner,
        *,
        featurizer: Featurizer | None = None,
        seed: int = 0,
        ledger: Ledger | None = None,
        stop: float | None = None,
        delta: float = 0.05,
        U: float | None = None,
        interval: str = "anytime",
        tau2: float = 0.25,
    ) -> None:
        if isinstance(learner, str):
            raise TypeError(f"a session takes a learner: make({learner!r}, dim=...), not its name")
        if featurizer is not None and featurizer.dim != learner.dim:
            raise ValueError(f"the featurizer makes {featurizer.dim} features, the learner has {learner.dim}")
        seed = checked_seed(seed)
        self.stop = None if stop is None else number("stop", stop, 0, LARGEST)
        self.looks = BoardLook(delta, U, interval, tau2)
        if stop is not None:
            # One that has no board is refused here.
            learner.board(SparseRows([0, 0], [], [], learner.dim), **self.looks.options())
        self.learner, self.featurizer, self.seed = learner, featurizer, seed
        self.ledger: Ledger = MemoryLedger() if ledger is None else ledger
        self.catalog: Catalog | None = None
        """The items its learner was fitted on, by id; `ask` takes their ids alone."""
        self.ordinal = 0
        self._stream = tickets.stream("policy", seed)
        self._pending: dict[str, Pending] = {}
        self._told: dict[str, Told] = {}
        self._broken = False
        self._hashing: Featurizer | None = None
        """What reads items where no featurizer was given: made when it is first needed."""
        self._append({"kind": "open", "seed": seed, **opening(learner)})

    def __repr__(self) -> str:
        open_offers = len(self._pending)
        return f"<Session: {self.learner!r}, rounds {self.ordinal:,}, open {open_offers:,}, seed {self.seed}>"

    def _append(self, row: Mapping[str, Any]) -> None:
        """Log a row; a learner that has moved on without its row must not go further."""
        self._broken = True
        self.ledger.append(row)
        self._broken = False

    def _moved(self, move: Callable[..., Moved], *arguments: Any) -> Moved:
        """What moving the learner returns; until its row is written the session is broken."""
        self._broken = True
        try:
            return move(*arguments)
        except Exception:
            self._broken = False  # a refusal leaves the learner as it was; an interruption may not
            raise

    def _check_whole(self) -> None:
        if self._broken:
            raise RuntimeError("the ledger failed while this session was writing to it; rebuild it with replay()")

    def ask(self, items: Any, context: Any = None, ids: Sequence[str] | None = None) -> Offer:
        """Choose among `items`: {id: item}, a list of texts, dicts or vectors, or a (K, D) matrix.

        A list's ids are `ids`, or "0", "1", ... A context is crossed with every item's features. A fitted session takes
        a list of ids that it knows, or `session.catalog` for all of them, and texts as {id: text}. A dict in which
        `vector` holds numbers or `features` is a dict has parts: the vector is learnt, or else the text, and features.
        """
        self._check_whole()
        names, rows = self._read(items, context, ids)
        done = is_done(self, rows)
        ticket = tickets.ticket(self._stream, self.ordinal)
        choice = self.learner.choose(rows, ticket)
        offer_id, shown = str(self.ordinal), tuple([names[k] for k in choice.shown])
        left = shown[leftmost(ticket, len(shown))]
        row = {"kind": "ask", "id": offer_id, "items": tuple(names), "rows": rows, "left": left, **record(choice)}
        self._append(row)
        self.ordinal += 1
        if choice.query == Query.NONE:
            self._told[offer_id] = Told(Query.NONE, shown, None)
        else:
            others = tuple(name for name in names if name not in shown) if choice.query == Query.BEST else ()
            self._pending[offer_id] = Pending(rows, choice, shown, others)
        return Offer(offer_id, choice, shown, left, choice.memo.get("chance"), done)

    def _read(self, items: Any, context: Any, ids: Sequence[str] | None) -> tuple[Sequence[str], SparseRows]:
        """The items' ids and rows."""
        items, ids = self._looked_up(items, context, ids)
        if (
            type(items) is not list and isinstance(items, Mapping) and not hasattr(items, "tocsr")
        ):  # a dok_matrix is a dict
            if ids is not None:
                raise ValueError("ids are the keys of the mapping; pass them once")
            ids, items = list(items), list(items.values())
        names: Sequence[str] | None = None if ids is None else checked_ids(ids)
        rows = self._featurize(items, context)
        if names is None:
            names = _numbered(len(rows))
        if len(names) != len(rows):
            raise ValueError(f"need one id per item, got {len(names)} ids for {len(rows)} items")
        return names, rows

    def _looked_up(self, items: Any, context: Any, ids: Sequence[str] | None) -> tuple[Any, Sequence[str] | None]:
        """Items that the session knows by name as their rows and names; all others as they came."""
        found = None if self.catalog is None else self.catalog.found(items, context, ids)
        return (items, ids) if found is None else (found[0], found[1] if ids is None else ids)

    def _featurize(self, items: Any, context: Any) -> SparseRows:
        """Vectors without a context as they are, in any container; a featurizer reads everything else."""
        if self.featurizer is None or (self.catalog is not None and isinstance(items, SparseRows)):
            kind, items = kind_and_items(items)
            if kind == "vectors" and context is None:
                return as_rows(items, self.learner.dim).packed()
        if isinstance(items, SparseRows):
            items = items.csr()
        if (featurizer := self.featurizer or self._hashing) is None:
            featurizer = self._hashing = Featurizer(dim=self.learner.dim)
        return as_rows(featurizer(items, context=context), self.learner.dim)

    def tell(self, offer_id: str, answer: str | float | None, *, voter: str | None = None, kind: str = "person") -> str:
        """Learn an answer: "first", "second", "tie", "skip", "both_bad", a shown item's id, or a strength in [-1, 1].

        "yes" and "no" answer BEST; of more than two shown, name the best by its id. Returns "learnt", "skipped", or
        "repeat" if the same answer came before; another answer to the same offer is an AnswerError. `voter` names who
        answered, a "person" or a "judge": logged, and weighed where the learner was made with `believe`.
        """
        self._check_whole()
        source = checked_source(Source(voter, 0, kind))
        if not isinstance(offer_id, str):
            raise AnswerError(f"an offer's id is a string, got {offer_id!r}")
        if told := self._told.get(offer_id):
            if told.reads(answer) != told.value:
                raise AnswerError(f"offer {offer_id!r} was answered {told.value!r} before, got {answer!r} now")
            return "repeat"
        if offer_id not in self._pending:
            raise AnswerError(f"no offer has the id {offer_id!r}")
        rows, choice, shown, others = self._pending[offer_id]
        memo = choice.memo
        outside, ties = bool(memo.get("outside")), bool(memo.get("ties", True))
        value = read_answer(answer, choice.query, shown, outside=outside, ties=ties, items=others)
        said = self._said(rows, choice, source)
        if value is not None:
            self._moved(self.learner.learn, rows, choice, value, *said)
        self._append({"kind": "tell", "id": offer_id, "answer": value, **recorded(*(said or (source,)))})
        del self._pending[offer_id]
        # Of the other items only the one that was named: a long session must not keep every id it has seen.
        named = tuple([name for name in others if name == answer])
        self._told[offer_id] = Told(choice.query, shown, value, outside, ties, named)
        return "skipped" if value is None else "learnt"

    def _said(self, rows: SparseRows, choice: Choice, source: Source) -> tuple[Source, ...]:
        """The source with its side and weight, for a learner that heeds one; else nothing."""
        if (learner := believer(self.learner)) is None:
            return ()
        source = sourced(source, choice)
        return (replace(source, weight=learner.weigh(rows, choice, source)),)

    def board(
        self,
        items: Any = None,
        context: Any = None,
        ids: Sequence[str] | None = None,
        *,
        groups: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Any:
        """Who of these items wins, and how sure that is: a `Board`. None: the items that a fitted session knows.

        `groups`, {id: group}: a board of the groups' means. `names`: what the items are called on it, if not by their
        ids. Options as of `Conquer.board`: delta, interval, tau2, U.
        """
        names, rows = known_items(self) if items is None else self._read(items, context, ids)
        return board_of_items(self, names, rows, groups, options)

    def rank(self, items: Any = None, context: Any = None, ids: Sequence[str] | None = None) -> list[str]:
        """The items' ids by score, best first; equal scores in the order given."""
        names, rows = known_items(self) if items is None else self._read(items, context, ids)
        return ranked(self.learner, names, rows)

    @property
    def delta(self) -> float:
        """The chance at which a board may err, where nobody says another."""
        return self.looks.delta

    @property
    def pending(self) -> tuple[str, ...]:
        """The ids of offers without an answer."""
        return tuple(self._pending)

    def dumps(self) -> bytes:
        """The learner, the featurizer, the place in the ticket stream and the open offers as one file's bytes."""
        # Imported here: the file form lies beside its reader, which needs this class.
        from conquer.session.session_file import dumps_session

        return dumps_session(self)
