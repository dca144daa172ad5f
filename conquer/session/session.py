"""Ask and tell with item ids: offers for people or products, answers late and in any order, each learnt once."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast, overload

import numpy as np

from conquer import tickets
from conquer.answers import AnswerError, Word, checked_ids, leftmost, read_answer
from conquer.boards import Board, BoardSettings, Evidence
from conquer.checks import LARGEST, checked_seed, number, whole
from conquer.features.featurizer import Featurizer
from conquer.items import SHOWN, Item, Items, kind_and_items
from conquer.learners.believer import believer
from conquer.learners.conquer import Conquer
from conquer.learners.rules import Rules
from conquer.learners.voters import checked_source
from conquer.rows import SparseRows, as_rows
from conquer.saving import LARGEST_DIM_IN_FILE
from conquer.session.catalog import Catalog
from conquer.session.ledger import choice_record, opening, source_record, with_side
from conquer.types import Choice, ItemId, Learner, Ledger, Offer, Query, Source

Outcome = Literal["learnt", "skipped", "repeat"]
"""What `Session.tell` did with an answer."""
SessionItems = Items | Mapping[Any, Any] | Iterable[Item | int]
"""Items by id, in a list, as rows, or the ids of a catalog."""
REMEMBERED = 10_000
"""How many closed offers a session remembers, to recognise repeated answers."""
_NUMBERED = tuple(map(str, range(100)))
_MISSING: Any = object()
_ANYONE = Source()


class OwnFeaturizer(Protocol):
    """A featurizer written by the user: items and a context to rows (K, dim)."""

    @property
    def dim(self) -> int: ...
    def __call__(self, items: Any, context: Any = None) -> Any: ...


class OfferQuestion(NamedTuple):
    """What an offer asks: enough to read its answer.

    `others` are the ids of a BEST round that were not shown: naming one of them is a no.
    """

    query: Query
    shown: tuple[ItemId, ...]
    left: ItemId
    outside: bool = False
    ties: bool = True
    others: tuple[ItemId, ...] = ()

    def read(self, answer: Any) -> float | None:
        """The number to learn, or None."""
        return read_answer(
            answer, self.query, self.shown, outside=self.outside, ties=self.ties, items=self.others, left=self.left
        )


class OpenOffer(NamedTuple):
    """An offer without an answer: its items, the choice to learn from, and the question."""

    rows: SparseRows
    choice: Choice
    question: OfferQuestion


class ClosedOffer(NamedTuple):
    """An offer that takes no more answers; `why`: "answered", "cancelled", "expired" or "silent" (asks nothing)."""

    question: OfferQuestion
    value: float | None
    why: str = "answered"


def question_of(choice: Choice, shown: tuple[ItemId, ...], others: tuple[ItemId, ...]) -> OfferQuestion:
    """The question that a choice asks about items of these ids."""
    outside, ties = bool(choice.memo.get("outside")), bool(choice.memo.get("ties", True))
    return OfferQuestion(choice.query, shown, shown[leftmost(choice.ticket, len(shown))], outside, ties, others)


class Session:
    """A learner that is asked and told by item ids; every answer is learnt once, in whatever order answers come.

    A session remembers its open offers and the last 10,000 closed offers, for boards 72 bytes of every answer, and
    nothing else unless it has a ledger. It is not thread-safe: use it from one thread, or with a lock around every
    call.

    Parameters
    ----------
    learner : Learner
        What chooses and learns; see `conquer.make`. The session owns it.
    featurizer : Featurizer, optional
        How items become rows; its dim must be the learner's. By default vectors are taken as they are, texts and dicts
        are hashed. Any callable with a `dim` works; files store only its class name; pass it to `Session.load`.
    seed : int
        The round with ordinal t draws ticket t of this seed, as `simulate` does.
    ledger : Ledger, optional
        Records every round, for `conquer.replay`: `MemoryLedger()`, or any object with `append` and `rows`. Without
        one nothing is recorded.
    stop : float, optional
        A tolerance, at least 0: an offer is `done` once no item of its round can be better than the leader by more. The
        test is `Board.stop`'s.
    board : BoardSettings, optional
        The settings of this session's boards, also for `stop`.
    open_offers : int
        How many unanswered offers are kept; the oldest expire, and answers to them are refused.

    Raises
    ------
    TypeError
        `learner` is not a learner, or `seed` not a whole number.
    ValueError
        The featurizer's dim differs from the learner's, a number is out of range, or `stop` is given to a learner that
        has no board.

    Notes
    -----
    An offer is open until it is answered, cancelled or expired, and never opens again: the same answer once more is a
    "repeat", another one an `AnswerError`. A call that is interrupted while it learns leaves the session unusable: load
    a file, or rebuild the learner with `conquer.replay`.

    Examples
    --------
    >>> from conquer import make
    >>> session = Session(make("gnr", dim=2**10), seed=0)
    >>> offer = session.ask({"tea": "green leaf tea", "mug": "blue mug", "pot": "iron pot"})
    >>> session.tell(offer, winner=offer.shown[1])
    'learnt'
    >>> session.tell(offer, "second")
    'repeat'
    """

    def __init__(
        self,
        learner: Learner,
        *,
        featurizer: Featurizer | OwnFeaturizer | None = None,
        seed: int = 0,
        ledger: Ledger | None = None,
        stop: float | None = None,
        board: BoardSettings | None = None,
        open_offers: int = 10_000,
    ) -> None:
        if isinstance(learner, type) or not callable(getattr(learner, "choose", None)):
            name = learner if isinstance(learner, str) else getattr(learner, "name", "gnr")
            raise TypeError(f"a session takes a learner: make({name!r}, dim=...), got {learner!r:.80}")
        if featurizer is not None and featurizer.dim != learner.dim:
            raise ValueError(f"the featurizer makes {featurizer.dim} features, the learner has {learner.dim}")
        if board is not None and not isinstance(board, BoardSettings):
            raise TypeError(f"board must be BoardSettings(...), got {board!r:.80}")
        self.learner, self.featurizer, self.seed = learner, featurizer, checked_seed(seed)
        self.open_offers = whole("open_offers", open_offers, 1)
        self.stop = None if stop is None else number("stop", stop, 0, LARGEST)
        self.board_settings = board or BoardSettings()
        if stop is not None:
            # A learner without a board is refused here.
            learner.board(SparseRows([0, 0], [], [], learner.dim), **asdict(self.board_settings))
        self.ledger = ledger
        self.catalog: Catalog | None = None
        """The items that the learner was fitted on, by id; `ask` takes their ids alone."""
        self.votes: Callable[[Session, SparseRows], Support] | None = None
        """Gives the votes of `conquer.fit` for boards; None: those of the ledger. Files do not store it."""
        self.style: Mapping[str, tuple[float, float]] = {}
        """{name: (weight, standard deviation)} of the style that `conquer.fit` kept out of the scores."""
        self.evidence: Evidence | None = None
        """A record of every answer about items with ids and without a context, for boards; None for learners without.

        Of kernel models, whose forecasts take the square of the answers, only if a stop, a board or `tob` asks for it.
        """
        wanted = stop is not None or board is not None or getattr(learner, "narrows", False)
        if getattr(learner, "records", False) and (wanted or not learner.model.grows):
            self.evidence = Evidence()
        self.ordinal = 0
        """The number of the next round."""
        self._stream = tickets.stream("policy", self.seed)
        self._open: dict[str, OpenOffer] = {}
        self._closed: dict[str, ClosedOffer] = {}
        self._user = 0
        """The thread that is inside a call."""
        self._broken = False
        self._hashing: Featurizer | None = None
        """What reads items if no featurizer was given; made when first needed."""
        self._log({"kind": "open", "seed": self.seed}, opening(learner) if ledger is not None else {})

    def __repr__(self) -> str:
        open_offers = len(self._open)
        return f"<Session: {self.learner!r}, rounds {self.ordinal:,}, open {open_offers:,}, seed {self.seed}>"

    def _log(self, row: Mapping[str, Any], more: Mapping[str, Any]) -> None:
        """Record a row. If the ledger fails, the session stays broken."""
        self._broken = True
        if self.ledger is not None:
            self.ledger.append({**row, **more})
        self._broken = False

    def _enter(self) -> None:
        """Take the session for this thread until `_user` is 0 again."""
        me = get_ident()
        # CPython does not switch threads between the test and the store.
        if self._user not in (0, me):
            raise RuntimeError(
                "another thread is using this session: sessions are not thread-safe, use a lock around every call"
            )
        self._user = me
        if self._broken:
            self._user = 0
            raise RuntimeError(
                "an earlier call was interrupted while it learnt or wrote to the ledger: load a saved session, or "
                "rebuild the learner with replay()"
            )

    def ask(self, items: SessionItems, context: Item | None = None, ids: Sequence[ItemId] | None = None) -> Offer:
        """Choose which items to show, and open an offer for the answer.

        Parameters
        ----------
        items
            {id: item}; a list of texts, dicts or vectors; a (K, D) matrix; or a list of dicts that each have an "id".
            Ids are strings or whole numbers and are kept as they are. A list's ids are `ids`, or else "0", "1", ....
            A fitted session also takes a list of ids of its `catalog`, or the catalog itself. If a dict has a
            numeric `vector` or a dict `features`, only these parts are learnt: see `conquer.items`.
        context
            A text, dict or vector that is crossed with every item's features.
        ids
            One id per item of a list or matrix.

        Returns
        -------
        Offer
            The ids to show; `offer.asks` says whether an answer is wanted.

        Raises
        ------
        ValueError, TypeError
            The items, their ids or their features cannot be used; the round counter does not change.
        """
        self._enter()
        try:
            names, rows, named = self._read(items, context, ids)
            ticket, done = tickets.ticket(self._stream, self.ordinal), False
            if self.evidence is not None and named:
                choice, done = self._asked(names, rows, ticket, self.evidence)
            else:
                choice = self.learner.choose(rows, ticket)
                done = self.stop is not None and self._board(names, rows, named).stop(self.stop).done
            offer_id, shown = str(self.ordinal), tuple([names[k] for k in choice.shown])
            others = tuple([name for name in names if name not in shown]) if choice.query is Query.BEST else ()
            question = question_of(choice, shown, others)
            if self.ledger is not None:
                row = {"kind": "ask", "id": offer_id, "items": tuple(names), "rows": rows, "left": question.left}
                self._log(row, choice_record(choice))
            self.ordinal += 1
            if choice.query is Query.NONE:
                self._remember(offer_id, ClosedOffer(question, None, "silent"))
            else:
                self._open[offer_id] = OpenOffer(rows, choice, question)
                if len(self._open) > self.open_offers:
                    self._close(next(iter(self._open)), "expired")
        finally:
            self._user = 0
        return Offer(offer_id, choice, shown, question.left, choice.memo.get("chance"), done)

    def _asked(self, names: Sequence[ItemId], rows: SparseRows, ticket: int, evidence: Evidence) -> tuple[Choice, bool]:
        """The choice, with a forecast in its memo for the bets on its answer, and whether the race may stop."""
        learner, done, among = cast(Conquer, self.learner), False, None
        if (self.stop is not None or learner.narrows) and len(names) > 1:
            race, delta = evidence.race(names, self.stop), self.board_settings.delta
            scores = learner.scores(rows)
            if self.stop is not None and len(evidence) < learner.answers:
                done = self._board(names, rows, True).stop(self.stop).done  # the model has learnt elsewhere, too
            elif self.stop is not None:
                leader, left = race.left(scores, delta)
                done = leader is not None and not left.size
            among = race.candidates(scores, delta) if learner.narrows else None
        choice = learner.choose(rows, ticket) if among is None else learner.choose(rows, ticket, among)
        if choice.query is Query.DUEL:
            cast(dict[str, Any], choice.memo)["forecast"] = learner.forecast(rows, choice)
        return choice, done

    def _remember(self, offer_id: str, closed: ClosedOffer) -> None:
        self._closed[offer_id] = closed
        if len(self._closed) > REMEMBERED:
            del self._closed[next(iter(self._closed))]

    def _close(self, offer_id: str, why: str) -> None:
        """Close an open offer without an answer."""
        self._log({"kind": "cancel", "id": offer_id}, {"why": why})
        self._remember(offer_id, ClosedOffer(self._open.pop(offer_id).question, None, why))

    def _read(
        self, items: Any, context: Any, ids: Sequence[ItemId] | None
    ) -> tuple[Sequence[ItemId], SparseRows, bool]:
        """The items' ids and rows, and whether an id alone says what is compared: not a position, nor in a context."""
        found = None if self.catalog is None else self.catalog.lookup(items, context, ids)
        if found is not None:
            items, ids = found[0], found[1] if ids is None else ids
        elif type(items) is list:
            if ids is None and items and isinstance(items[0], Mapping) and "id" in items[0]:
                ids, items = _split_ids(items)
        elif isinstance(items, Mapping) and not hasattr(items, "tocsr"):  # a dok_matrix is a dict
            if ids is not None:
                raise ValueError("the mapping's keys are the ids: pass {id: item} or ids=, not both")
            ids, items = list(items), list(items.values())
        names: Sequence[ItemId] | None = None if ids is None else checked_ids(ids)
        named = names is not None and context is None
        rows = self._featurize(items, context)
        if names is None:
            count = len(rows)
            names = _NUMBERED[:count] if count <= len(_NUMBERED) else [str(k) for k in range(count)]
        if len(names) != len(rows):
            raise ValueError(f"need one id per item, got {len(names)} ids for {len(rows)} items")
        return names, rows, named

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

    @overload
    def tell(
        self, offer: Offer | str, answer: Word | float | None, *, voter: str | None = None, kind: str = "person"
    ) -> Outcome: ...
    @overload
    def tell(
        self, offer: Offer | str, *, winner: ItemId, voter: str | None = None, kind: str = "person"
    ) -> Outcome: ...
    def tell(
        self,
        offer: Offer | str,
        answer: Any = _MISSING,
        *,
        winner: Any = _MISSING,
        voter: str | None = None,
        kind: str = "person",
    ) -> Outcome:
        """Learn the answer to an offer.

        Parameters
        ----------
        offer : Offer or str
            The offer or its id.
        answer
            "first" or "second" in the order of `offer.shown`, "left" or "right" by `offer.left`, "tie"; "yes" or "no"
            to a BEST question; "skip" or None for no answer; "both_bad", ignored by most learners; or how strongly the
            first is preferred, a number in [-1, 1]. A shown item's id works too; type checkers accept it as `winner=`
            only, so that they find misspelt words. Where ids are whole numbers, a whole number is always an id, and
            strengths are floats.
        winner : str or int
            The id of the preferred item, instead of `answer`.
        voter : str, optional
            Who answered: recorded, and weighed by learners made with `believe`.
        kind : {"person", "judge"}
            What the voter is.

        Returns
        -------
        {"learnt", "skipped", "repeat"}
            "repeat" if the same answer came before; it is not learnt again.

        Raises
        ------
        AnswerError
            The offer is unknown, cancelled or expired, the answer does not fit it, or another answer came before. The
            learner is unchanged.

        Examples
        --------
        >>> from conquer import make
        >>> session = Session(make("gnr", dim=2))
        >>> offer = session.ask({7: [1.0, 0.0], 8: [0.0, 1.0]})
        >>> session.tell(offer, winner=8)
        'learnt'
        """
        if (answer is _MISSING) == (winner is _MISSING):
            raise TypeError("tell takes an answer or winner=, and not both")
        if winner is not _MISSING and (not isinstance(winner, str | int | np.integer) or isinstance(winner, bool)):
            raise AnswerError(f"winner must be the id of a shown item, got {winner!r:.80}")
        self._enter()
        try:
            plain = voter is None and kind == "person"
            source = _ANYONE if plain else checked_source(Source(voter, 0, kind))
            return self._tell(offer, answer if winner is _MISSING else winner, source)
        finally:
            self._user = 0

    def _tell(self, offer: Offer | str, answer: Any, source: Source) -> Outcome:
        offer_id = _id_of(offer)
        if closed := self._closed.get(offer_id):
            if closed.why in ("cancelled", "expired"):
                raise AnswerError(f"offer {offer_id!r} {self._reason(closed)}, got the answer {answer!r}")
            if closed.question.read(answer) != closed.value:
                raise AnswerError(f"offer {offer_id!r} was answered {closed.value!r} before, got {answer!r} now")
            return "skipped" if closed.why == "silent" else "repeat"
        rows, choice, question = self._opened(offer_id)
        value = question.read(answer)
        if (weighing := believer(self.learner)) is not None:
            source = with_side(source, choice)
            source = replace(source, weight=weighing.weigh(rows, choice, source))
        if value is not None:
            self._broken = True
            try:
                self.learner.learn(rows, choice, value, *(() if weighing is None else (source,)))
            except Exception:
                self._broken = False  # a refusal leaves the learner as it was; an interruption may not
                raise
            if self.evidence is not None and (forecast := choice.memo.get("forecast")) is not None:
                first, second = question.shown
                self.evidence.add(
                    first,
                    second,
                    forecast,
                    value,
                    chance=choice.memo.get("chance"),
                    size=rows.rows.size,
                    voter=source.voter,
                    weight=1.0 if source.weight is None else source.weight,
                )
        self._log({"kind": "tell", "id": offer_id, "answer": value}, source_record(source))
        del self._open[offer_id]
        # Keep only the named item, to save memory.
        named = tuple([name for name in question.others if name == answer])
        self._remember(offer_id, ClosedOffer(question._replace(others=named), value))
        return "skipped" if value is None else "learnt"

    def _opened(self, offer_id: str) -> OpenOffer:
        """The open offer with this id."""
        if found := self._open.get(offer_id):
            return found
        if offer_id.isdecimal() and int(offer_id) < self.ordinal:
            raise AnswerError(
                f"offer {offer_id!r} is closed and no longer remembered (the session keeps {REMEMBERED:,})"
            )
        raise AnswerError(f"no offer has the id {offer_id!r}")

    def _reason(self, closed: ClosedOffer) -> str:
        if closed.why == "expired":
            return f"has expired: this session keeps {self.open_offers:,} unanswered offers (open_offers=)"
        return "asks nothing" if closed.why == "silent" else f"was {closed.why}"

    def cancel(self, offer: Offer | str) -> None:
        """Close an offer that will not be answered; later answers to it are refused.

        Cancelling it again changes nothing. AnswerError: the offer is unknown, was answered or asks nothing.
        """
        self._enter()
        try:
            offer_id = _id_of(offer)
            closed = self._closed.get(offer_id)
            if closed is None:
                self._opened(offer_id)
                self._close(offer_id, "cancelled")
            elif closed.why in ("answered", "silent"):
                raise AnswerError(f"offer {offer_id!r} {self._reason(closed)} and cannot be cancelled")
        finally:
            self._user = 0

    def board(
        self,
        items: SessionItems | None = None,
        context: Item | None = None,
        ids: Sequence[ItemId] | None = None,
        *,
        groups: Mapping[Any, str] | None = None,
        **options: Any,
    ) -> Board:
        """Which of these items wins, and how certain that is. The round counter does not change.

        Parameters
        ----------
        items, context, ids
            As in `ask`; without items, the catalog of a fitted session.
        groups : mapping, optional
            {id: group}: a board of the groups' means.
        **options
            Fields of `BoardSettings` for this board alone, and `names`: the items' names on it, if not their ids.

        Returns
        -------
        Board

        Raises
        ------
        ValueError
            The learner has no board, an item has no group, or there are no items.
        """
        names, rows, named = self._listed(items, context, ids)
        return self._board(names, rows, named, groups, options)

    def _board(
        self,
        names: Sequence[ItemId],
        rows: SparseRows,
        named: bool,
        groups: Mapping[Any, str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Board:
        settings = asdict(self.board_settings)
        if self.ordinal and settings["design"] == "fixed" and getattr(self.learner, "share", 0.0) < 1.0:
            # Some pairs were chosen by looking at answers, whatever the first ones were.
            settings["design"] = "adaptive"
        if groups is None:
            settings["names"] = list(map(str, names))
            settings |= {"evidence": self.evidence, "ids": names} if named else {}
        else:
            if lacking := [name for name in names if name not in groups]:
                raise ValueError(f"groups has no entry for item {lacking[0]!r:.80}")
            settings["groups"] = [groups[name] for name in names]
        among = {} if self.catalog is None else {"among": len(self.catalog)}
        made: Board = self.learner.board(rows, **{**settings, **among, **(options or {})})
        if (self.votes is None and self.ledger is None) or groups is not None:
            return made
        return replace(made, support=partial(self.votes or _from_ledger, self, rows))

    def _listed(
        self, items: Any, context: Any, ids: Sequence[ItemId] | None
    ) -> tuple[Sequence[ItemId], SparseRows, bool]:
        """What `_read` says of `items`, or of the catalog."""
        if items is None and self.catalog is None:
            raise ValueError("items are required: only a fitted session has a catalog")
        return self._read(self.catalog if items is None else items, context, ids)

    def scores(
        self, items: SessionItems | None = None, context: Item | None = None, ids: Sequence[ItemId] | None = None
    ) -> dict[Any, float]:
        """{id: score}, higher is better; items as in `board`."""
        names, rows, _ = self._listed(items, context, ids)
        return dict(zip(names, self.learner.scores(rows).tolist(), strict=True))

    def rank(
        self, items: SessionItems | None = None, context: Item | None = None, ids: Sequence[ItemId] | None = None
    ) -> list[Any]:
        """The items' ids, best first; equal scores keep the given order. Items as in `board`."""
        names, rows, _ = self._listed(items, context, ids)
        return [names[k] for k in np.argsort(-self.learner.scores(rows), kind="stable")]

    @property
    def pending(self) -> tuple[str, ...]:
        """The ids of open offers, oldest first."""
        return tuple(self._open)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write learner, featurizer, open offers and recent answers to one file, all or nothing; not the ledger."""
        from conquer.session.session_file import save  # it imports this class

        save(self, path)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        featurizer: Featurizer | OwnFeaturizer | None = None,
        ledger: Ledger | None = None,
        rules: Rules | None = None,
        largest_dim: int = LARGEST_DIM_IN_FILE,
    ) -> "Session":
        """The session of a file, which continues bit for bit; parameters as in `conquer.load`.

        TypeError: the file holds a learner. FileError: it is damaged, or needs `featurizer` or `rules`.
        """
        from conquer.session.session_file import load

        found = load(path, featurizer=featurizer, ledger=ledger, rules=rules, largest_dim=largest_dim)
        if not isinstance(found, cls):
            raise TypeError(f"{os.fspath(path)!r} holds a learner, not a session: use conquer.load")
        return found

    def dumps(self) -> bytes:
        """The bytes that `save` writes."""
        from conquer.session.session_file import dumps_session

        return dumps_session(self)


def _from_ledger(session: Session, rows: SparseRows) -> "Support":
    from conquer.session.votes import ledger_table, support_of

    assert session.ledger is not None
    return support_of(session.learner, rows, ledger_table(session.ledger.rows()))


def _id_of(offer: Offer | str) -> str:
    found = offer.id if isinstance(offer, Offer) else offer
    if not isinstance(found, str):
        raise AnswerError(f"an offer's id is a string, got {found!r:.80}")
    return found


def _split_ids(items: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[Any]]:
    """The ids of dicts that have one, and the items without them: a dict with nothing but a text is that text."""
    for position, item in enumerate(items):
        if not isinstance(item, Mapping) or "id" not in item:
            raise ValueError(f"all items or none have an 'id': item 0 has one, item {position} has none")
    rest: list[Any] = [{key: value for key, value in item.items() if key != "id"} for item in items]
    if all({"text"} <= item.keys() <= {"text", *SHOWN} for item in rest):
        rest = [item["text"] for item in rest]
    return [item["id"] for item in items], rest


if TYPE_CHECKING:
    from conquer.boards.fragility import Support

    def _misspelt(session: Session) -> None:
        """A type checker finds a misspelt word."""
        session.tell("0", "frist")  # type: ignore[call-overload]
