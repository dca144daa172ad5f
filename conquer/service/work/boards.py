"""Boards: items best first, with intervals, computed from a copy of the model as long work."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Generator, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta
from sqlalchemy import Connection

from conquer.boards import Interval
from conquer.learners.believer import believer
from conquer.learners.conquer import Conquer
from conquer.learners.learner_board import check_board
from conquer.models.full import Full
from conquer.rows import SparseRows, stack
from conquer.service.engine.engine import Engine
from conquer.service.engine.queue import NOW
from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, conflict, invalid, stopping
from conquer.service.model.pick_learner import PickLearner, fresh_learner
from conquer.service.model.reading import decode_items
from conquer.service.model.records import Decision, Voted
from conquer.service.model.schemas import Group, Item, Value
from conquer.service.store import log
from conquer.service.work.decisions import check_cost
from conquer.service.work.pool import groups_of

WAITING = 16
"""Boards that may wait; more are refused."""
SHARE = 2
"""Boards that may wait for one model, and for one key."""
MOST = 300
"""Items or groups on one board."""
LISTED = 5000
"""Items whose groups are ranked by a full model, which scores only the group means."""
_LARGEST = 288 << 20
"""Bytes of a model that is copied for a board: enough for a full model of 4,096 features with its voters' columns."""
_ROUNDS, _VOTES = 50, 1000
"""Rounds and votes whose items are on the board of a model without a pool."""
_KEPT = 64
_json = msgspec.json.Encoder().encode
Bound = float | None
"""A number, or null where it is infinite, which JSON cannot express."""


class BoardItem(msgspec.Struct):
    """`low`, `high`: interval of the score minus the mean, null where infinite. `better`: items it certainly beats.

    `best`: whether it may be the best. `more`: answers needed to separate it from the next item, null if no number is
    enough. `rank_low`, `rank_high`: the best and the worst rank that is possible; `tier`: everything in one beats
    everything in the next. `win`: the chance to win against a mean item. On a board of groups `id` is the group and
    `count` its number of items.
    """

    id: str
    rank: int
    score: float
    low: Bound
    high: Bound
    beats: int = msgspec.field(name="better")
    may_be_best: bool = msgspec.field(name="best")
    rank_low: int
    rank_high: int
    tier: int
    win: float
    elo: float
    more: Bound
    text: str | None = None
    count: int | None = None


class StopReply(msgspec.Struct):
    """Whether to stop asking; `more`: answers still needed, null where no number is enough."""

    done: bool
    leader: str
    tolerance: float
    chance: float
    more: Bound
    text: str


class BoardReply(msgspec.Struct):
    """Items best first. `pairs`: pairs with a certain order, and all pairs. `mean`: of all scores.

    `groups`: the feature whose values group the items, null on a board of items. `fit_p`: a p-value of the law that
    every item has one score. `warnings`: what makes the board doubtful, and what to do.
    """

    items: list[BoardItem]
    mean: float
    pairs: tuple[int, int]
    answers: int
    position: int
    interval: Interval
    delta: float
    stop: StopReply | None
    groups: str | None = None
    fit_p: float = 1.0
    warnings: tuple[str, ...] = ()


class RankedItem(msgspec.Struct):
    id: str
    score: float


class RankingReply(msgspec.Struct):
    """The items, best first; equal scores in the order given."""

    items: Annotated[list[RankedItem], Meta(min_length=1)]


class Look(NamedTuple):
    """Parameters of a board. `group`: one group of the pool; `groups`: a feature, means by its value are ranked."""

    delta: float
    interval: Interval
    tolerance: float | None
    group: int | None = None
    groups: str | None = None


def rank(turn: Turn, items: bytes, context: bytes, room: int) -> RankingReply:
    """Items by the model's current scores; no round is used and nothing is logged."""
    learner = turn.state.learner
    if not isinstance(learner, PickLearner):
        raise conflict("no_ranking", f"model {turn.state.name!r} does not rank items")
    read = learner.read(items, context, room)
    check_cost(learner, read, turn.limits.operations)
    scores = learner.scored(read)
    order = sorted(range(len(scores)), key=lambda k: -scores[k])
    return RankingReply([RankedItem(read.ids[k], scores[k]) for k in order])


_Version = tuple[int, int, int]
"""A model's id, its position and its rows of items. The model is settled: the same version gives the same board."""


class _Order(NamedTuple):
    key: str
    board: "asyncio.Future[BoardReply]"


class Boards:
    """Boards are long work, one at a time. For the event loop.

    A board is kept by the version of its model, also while it is being made: requests for the same one share it.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._orders: OrderedDict[tuple[_Version, Look], _Order] = OrderedDict()
        self._closed = False

    async def read(self, name: str, look: Look, key: str = "") -> BoardReply:
        """The model's board now, without answers undone before. `key`: whose share it counts against.

        Raises RefusalError if the model has no board, or too many boards wait.
        """
        version = await self._engine.call(name, _version, owner=key, reads=True, after=NOW)
        place = version, look
        order = self._orders.get(place) or self._order(place, name, key)
        try:
            return await asyncio.shield(order.board)
        except asyncio.CancelledError:
            if order.board.cancelled():
                raise stopping() from None
            raise

    def _order(self, place: tuple[_Version, Look], name: str, key: str) -> _Order:
        if self._closed:
            raise stopping()
        waiting = [(model, one.key) for ((model, *_), _), one in self._orders.items() if not one.board.done()]
        for which, count, most in (
            (f"boards of model {name!r}", sum(model == place[0][0] for model, _ in waiting), SHARE),
            ("boards for this key", sum(bool(key) and one == key for _, one in waiting), SHARE),
            ("boards", len(waiting), WAITING),
        ):
            if count >= most:
                raise RefusalError(Kind.BUSY, "busy", f"{count} {which} are being computed; try again", retry_after=1)
        # One lane for all boards: one copy of a model is in memory at a time.
        made = self._engine.long.run("boards", self._make(name, place[1]))

        def settle(board: "asyncio.Future[BoardReply]") -> None:
            # A failure is not kept; its exception counts as seen when every caller has gone.
            if board.cancelled() or board.exception() is not None:
                self._orders.pop(place, None)

        made.add_done_callback(settle)
        order = self._orders[place] = _Order(key, made)
        if len(self._orders) > _KEPT:
            self._orders.popitem(last=False)
        return order

    def _make(self, name: str, look: Look) -> Generator[None, None, BoardReply]:
        copy: BoardCopy = self._engine.call_now(name, partial(_copied, look=look), reads=True)
        yield
        if not copy.groups:
            with self._engine.database.reading() as connection:
                copy = copy._replace(groups=_latest_groups(connection, copy.version[0], copy.most))
        return (yield from compute(copy, look))

    def turn_away(self) -> None:
        """Refuse boards that are not done; called on the event loop when the server is about to stop."""
        self._closed = True
        for order in list(self._orders.values()):
            order.board.cancel()


def _version(turn: Turn) -> _Version:
    return turn.state.id, turn.state.position, turn.pooled


class BoardCopy(NamedTuple):
    """What a board is made of: the model at a version, copied, and the items, at most `most`."""

    version: _Version
    learner: Callable[[], PickLearner]
    groups: Sequence[Group]
    most: int


def copied_learner(learner: PickLearner) -> Callable[[], PickLearner]:
    """Copy the weights, without voters; the function makes a learner of them, in another thread."""
    settings, featurizer, believing = learner.settings, learner.reader.featurizer, believer(learner.learner)
    inner = learner.learner if believing is None else believing.learner
    evidence = None if learner.evidence is None else learner.evidence.copied()
    arrays = {name: array.copy() for name, array in inner.arrays().items()}

    def twin() -> PickLearner:
        fresh = fresh_learner(settings)
        fresh.restore(arrays)
        return PickLearner(settings, fresh, featurizer, evidence)

    return twin


def _copied(turn: Turn, look: Look) -> BoardCopy:
    """Copy the model as it is now. Raises RefusalError if it has no board."""
    learner, pool = turn.state.learner, groups_of(turn)
    if not isinstance(learner, PickLearner):
        raise conflict("no_board", f"model {turn.state.name!r} does not rank items: it has no board")
    try:
        believing = believer(learner.learner)
        inner: Any = learner.learner if believing is None else believing.learner
        if isinstance(inner, Conquer):
            check_board(inner, look.interval)
        else:
            inner.board(SparseRows([0, 0], [], [], inner.dim), interval=look.interval)
    except (ValueError, TypeError) as error:
        remedy = "over HTTP: create a model with 'full' or 'kernel' and replay this one's ledger into it"
        raise conflict("no_board", f"{error}; {remedy}") from None
    if learner.model_size > _LARGEST:
        size = f"the model takes {learner.model_size:,} bytes; the largest with a board takes {_LARGEST:,}"
        raise conflict("no_board", size)
    group = look.group
    if group is not None and not 0 <= group < len(pool):
        raise invalid(f"group must be in [0, {len(pool)}), got {group}")
    groups = list(pool) if group is None else [pool[group]]
    count = sum(len(one.items) for one in groups)
    most = LISTED if look.groups is not None and isinstance(getattr(learner.learner, "model", None), Full) else MOST
    if count > most:
        remedy = "choose one with group=NUMBER" if len(pool) > 1 else "rank them with POST .../rank"
        raise conflict("too_many_items", f"this board has at most {most:,} items, the pool has {count:,}: {remedy}")
    return BoardCopy(_version(turn), copied_learner(learner), groups, most)


def _latest_groups(connection: Connection, model: int, most: int) -> list[Group]:
    """The items of the latest rounds and votes, each id once, with the context of its last round."""
    seen: set[str] = set()
    found = []
    rounds: list[Decision | Voted] = log.latest(connection, model, "choose", _ROUNDS)
    for one in rounds + log.latest(connection, model, "vote", _VOTES):
        items = [item for item in decode_items(bytes(one.items)) if item.id not in seen][: max(0, most - len(seen))]
        seen.update(item.id for item in items)
        if items:
            found.append(Group(items, msgspec.json.decode(bytes(one.context))))
    return found


def compute(copy: BoardCopy, look: Look) -> Generator[None, None, BoardReply]:
    items = [item for group in copy.groups for item in group.items]
    if not items:
        raise conflict("no_items", "the model has no items and no rounds: there is nothing to rank")
    groups = None if look.groups is None else group_names(items, look.groups)
    learner, reads = copy.learner(), []
    for group in copy.groups:
        yield
        reads.append(learner.read(_json(group.items), _json(group.context)))
    yield
    try:
        listed: dict[str, Any] = {"groups": groups}
        if groups is None:
            listed = {"names": [item.id for item in items], "evidence": learner.evidence}
        features = stack([read.rows for read in reads])
        board = learner.learner.board(features, delta=look.delta, interval=look.interval, **listed)
    except (ValueError, ArithmeticError) as error:
        raise conflict("no_board", str(error)) from None
    yield
    texts = [item.label or item.text or "" for item in items] if groups is None else [""] * len(board)
    counts = Counter(groups or ())
    rows = [
        BoardItem(**row, text=texts[k][:200] or None, count=counts.get(row["id"]))
        for row, k in zip(board.rows(), board.order.tolist(), strict=True)
    ]
    stop = None
    if look.tolerance is not None:
        said = board.stop(look.tolerance)
        stop = StopReply(said.done, board.name(said.leader), said.tolerance, said.chance, said.more, said.text)
    pairs, mean = (int(board.better.sum()), len(board) * (len(board) - 1) // 2), float(board.scores.mean())
    return BoardReply(
        rows, mean, pairs, board.answers, copy.version[1], look.interval, look.delta, stop, look.groups,
        board.fit_p, board.warnings,
    )  # fmt: skip


def group_names(items: Sequence[Item], feature: str) -> list[str]:
    """Each item's group, the value of one of its features.

    Raises RefusalError if an item lacks the feature, or there are too many groups.

    >>> group_names([Item("a", features={"brand": "x"}), Item("b", features={"brand": 2.0})], "brand")
    ['x', '2']
    """
    names = [_name((item.features or {}).get(feature)) for item in items]
    if (lacking := next((item.id for item, name in zip(items, names, strict=True) if not name), None)) is not None:
        raise conflict("no_group", f"groups must name a feature of every item, {lacking!r} has no {feature[:80]!r}")
    if (count := len(set(names))) > MOST:
        raise conflict("too_many_items", f"a board has at most {MOST} groups, {feature[:80]!r} has {count:,} values")
    return names


def _name(value: Value | None) -> str:
    """A value as a name; 2.0 is 2."""
    if value is None or isinstance(value, str):
        return (value or "").strip()
    return _json(value).decode().removesuffix(".0")
