"""Boards: items best first, with intervals, computed from a copy of the model as long work."""

import asyncio
import functools
import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta
from sqlalchemy import Connection

from conquer.boards import Board
from conquer.learners.believer import believer
from conquer.models.full import Full
from conquer.rows import stack
from conquer.service.engine.engine import Engine
from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError, conflict, invalid, stopping
from conquer.service.model.pick_learner import PickLearner
from conquer.service.model.reading import decode_items
from conquer.service.model.records import Decision, Voted
from conquer.service.model.schemas import Group, Item, ModelSettings, Value
from conquer.service.store import log
from conquer.service.work.copying import Scoring, scoring
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
Interval = Literal["anytime", "proved", "fixed"]
Bound = float | None
"""A number, or null where it is infinite, which JSON cannot express."""
Version = tuple[int, int, int]
"""A model's id, its position, and the last correction it was replayed with."""


class BoardItem(msgspec.Struct):
    """`low`, `high`: interval of the score minus the mean, null where infinite. `better`: items it certainly beats.

    `best`: whether it may be the best. `more`: answers needed to separate it from the next item, null if no number is
    enough. On a board of groups `id` is the group and `count` its number of items.
    """

    id: str
    rank: int
    score: float
    low: Bound
    high: Bound
    better: int
    best: bool
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

    `groups`: the feature whose values group the items, null on a board of items.
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


class RankedItem(msgspec.Struct):
    id: str
    score: float


class RankingReply(msgspec.Struct):
    """The items, best first; equal scores in the order given."""

    items: Annotated[list[RankedItem], Meta(min_length=1)]


@dataclass(frozen=True, slots=True)
class Look:
    """Parameters of a board. `group`: one group of the pool; `groups`: a feature, means by its value are ranked."""

    delta: float
    interval: Interval
    tolerance: float | None
    group: int | None = None
    groups: str | None = None


@dataclass(frozen=True, slots=True)
class _Copy:
    """A model at a version, apart from the engine's, and the items for its board, at most `most`."""

    version: Version
    scoring: Scoring
    groups: tuple[Group, ...]
    most: int


def rank(turn: Turn, items: bytes, context: bytes, room: int) -> RankingReply:
    """Items by the model's current scores; no round is used and nothing is logged."""
    learner = turn.state.learner
    if not isinstance(learner, PickLearner):
        raise conflict("no_ranking", f"model {turn.state.name!r} does not rank items")
    read = learner.read(items, context, room)
    scores = learner.scored(read)
    order = sorted(range(len(scores)), key=lambda k: -scores[k])
    return RankingReply([RankedItem(read.ids[k], scores[k]) for k in order])


def check_board(settings: ModelSettings, interval: str = "anytime") -> None:
    """Raise RefusalError, with the reason and the remedy, where a model of these settings has no board."""
    reason = _no_board(settings.algorithm, settings.model, _json(settings.parameters), interval)
    if reason is not None:
        raise conflict("no_board", reason)


@functools.lru_cache(1024)
def _no_board(algorithm: str, model: str | None, parameters: bytes, interval: str) -> str | None:
    from conquer import registry

    try:
        learner = registry.find(algorithm).build(2, model, **msgspec.json.decode(parameters))
        learner.board(np.eye(2), interval=interval)
    except (ValueError, TypeError) as error:
        return f"{error}; over HTTP: create a model with 'full' or 'kernel' and replay this one's ledger into it"
    return None


@dataclass(eq=False, slots=True)
class _Order:
    """A board being waited for. Requests for the same board share it until it is begun."""

    name: str
    look: Look
    key: str
    done: "asyncio.Future[BoardReply]"
    begun: bool = False


class Boards:
    """Boards are long work, one at a time; each is kept until its model changes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._kept: OrderedDict[tuple[int, Look], tuple[Version, BoardReply]] = OrderedDict()
        self._lock = threading.Lock()
        self._orders: list[_Order] = []
        self._closed = False

    async def read(self, name: str, look: Look, key: str = "") -> BoardReply:
        """The model's board now, without answers undone before. `key`: whose share it counts against.

        Raises RefusalError if the model has no board, or too many boards wait.
        """
        version = await self._engine.call(name, _version, owner=key, reads=True, settled=True)
        with self._lock:
            kept = self._kept.get((version[0], look))
        if kept is not None and kept[0] == version:
            return kept[1]
        order = next((one for one in self._orders if not one.begun and (one.name, one.look) == (name, look)), None)
        return await asyncio.shield((order or self._order(name, look, key)).done)

    def _order(self, name: str, look: Look, key: str) -> _Order:
        if self._closed:
            raise stopping()
        if (waiting := len(self._orders)) >= WAITING:
            raise RefusalError(Kind.BUSY, "busy", f"{waiting} boards are being computed; try again", retry_after=1)
        of_model = sum(one.name == name for one in self._orders) >= SHARE
        if of_model or (key and sum(one.key == key for one in self._orders) >= SHARE):
            whose = f"of model {name!r}" if of_model else "for this key"
            message = f"{SHARE} boards {whose} are being computed; try again"
            raise RefusalError(Kind.BUSY, "busy", message, retry_after=1)
        loop = asyncio.get_running_loop()
        order = _Order(name, look, key, loop.create_future())
        # The exception counts as seen when every caller has gone.
        order.done.add_done_callback(lambda done: done.cancelled() or done.exception())
        # One lane for all boards: one copy of a model is in memory at a time.
        made = self._engine.long.submit("boards", self._make(order), counted=False)
        self._orders.append(order)
        made.add_done_callback(lambda made: loop.call_soon_threadsafe(self._tell, order, made))
        return order

    def _tell(self, order: _Order, made: "Future[BoardReply] | None") -> None:
        """Deliver a board; None: the server is stopping."""
        if order in self._orders:
            self._orders.remove(order)
        if order.done.done():
            return
        error = stopping() if made is None or made.cancelled() else made.exception()
        if error is not None:
            order.done.set_exception(error)
        elif made is not None:
            order.done.set_result(made.result())

    def _make(self, order: _Order) -> Generator[None, None, BoardReply]:
        order.begun, look = True, order.look
        if self._closed:
            raise stopping()

        def copied(turn: Turn) -> tuple[bool, _Copy]:
            return turn.state.stale, _copied(turn, look)

        stale, copy = self._engine.call_now(order.name, copied, reads=True)
        if not copy.groups:
            yield
            with self._engine.database.reading() as connection:
                copy = replace(copy, groups=_latest_groups(connection, copy.version[0], copy.most))
        board = yield from compute(copy, look)
        if not stale:
            with self._lock:
                self._kept[copy.version[0], look] = copy.version, board
                self._kept.move_to_end((copy.version[0], look))
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return board

    def turn_away(self) -> None:
        """Refuse boards that have not begun; called on the event loop when the server is about to stop."""
        self._closed = True
        for order in [one for one in self._orders if not one.begun]:
            self._tell(order, None)


def _version(turn: Turn) -> Version:
    return turn.state.id, turn.state.position, turn.state.generation


def _copied(turn: Turn, look: Look) -> _Copy:
    """Copy the model as it is now; a RefusalError where it has no board."""
    learner, pool = turn.state.learner, groups_of(turn)
    if not isinstance(learner, PickLearner):
        raise conflict("no_board", f"model {turn.state.name!r} does not rank items: it has no board")
    check_board(turn.state.settings)
    if learner.model_size > _LARGEST:
        size = f"the model takes {learner.model_size:,} bytes; the largest with a board takes {_LARGEST:,}"
        raise conflict("no_board", size)
    group = look.group
    if group is not None and not 0 <= group < len(pool):
        raise invalid(f"group must be in [0, {len(pool)}), got {group}")
    groups = tuple(pool) if group is None else (pool[group],)
    count, most = sum(len(one.items) for one in groups), _most_items(learner, look.groups is not None)
    if count > most:
        remedy = "choose one with group=NUMBER" if len(pool) > 1 else "rank them with POST .../rank"
        raise conflict("too_many_items", f"this board has at most {most:,} items, the pool has {count:,}: {remedy}")
    return _Copy(_version(turn), scoring(learner), groups, most)


def _most_items(learner: PickLearner, grouped: bool) -> int:
    believing = believer(learner.learner)
    inner = learner.learner if believing is None else believing.learner
    return LISTED if grouped and isinstance(getattr(inner, "model", None), Full) else MOST


def _latest_groups(connection: Connection, model: int, most: int) -> tuple[Group, ...]:
    """The items of the latest rounds and votes, each id once, with the context of its last round."""
    seen: set[str] = set()
    found = []
    rounds: list[Decision | Voted] = log.latest(connection, model, "choose", _ROUNDS)
    for one in rounds + log.latest(connection, model, "vote", _VOTES):
        items = [item for item in decode_items(bytes(one.items)) if item.id not in seen][: max(0, most - len(seen))]
        seen.update(item.id for item in items)
        if items:
            found.append(Group(items, msgspec.json.decode(bytes(one.context))))
    return tuple(found)


def compute(copy: _Copy, look: Look) -> Generator[None, None, BoardReply]:
    items = [item for group in copy.groups for item in group.items]
    if not items:
        raise conflict("no_items", "the model has no items and no rounds: there is nothing to rank")
    groups = None if look.groups is None else group_names(items, look.groups)
    learner, reads = copy.scoring.learner(), []
    for group in copy.groups:
        yield
        reads.append(learner.read(_json(group.items), _json(group.context)))
    yield
    try:
        listed = {"names": [item.id for item in items]} if groups is None else {"groups": groups}
        rows = stack([read.rows for read in reads])
        board = learner.learner.board(rows, delta=look.delta, interval=look.interval, **listed)
    except (ValueError, ArithmeticError) as error:
        raise conflict("no_board", str(error)) from None
    yield
    texts = [item.label or item.text for item in items] if groups is None else [None] * len(board)
    return _reply(board, texts, Counter(groups or ()), copy, look)


def _reply(board: Board, texts: Sequence[str | None], counts: Mapping[str, int], copy: _Copy, look: Look) -> BoardReply:
    beaten, maybe, count = board.better.sum(axis=1), set(board.best.tolist()), len(board)
    more = [*board.more.tolist(), None]
    rows = [
        BoardItem(
            id=board.name(k),
            rank=rank,
            score=float(board.scores[k]),
            low=_bound(board.low[k]),
            high=_bound(board.high[k]),
            better=int(beaten[k]),
            best=k in maybe,
            more=_bound(more[rank - 1]),
            text=(texts[k] or "")[:200] or None,
            count=counts.get(board.name(k)),
        )
        for rank, k in enumerate(board.order.tolist(), 1)
    ]
    stop = None
    if look.tolerance is not None:
        said = board.stop(look.tolerance)
        leader = board.name(said.leader)
        stop = StopReply(said.done, leader, said.tolerance, said.chance, _bound(said.more), said.text)
    pairs, mean = (int(board.better.sum()), count * (count - 1) // 2), float(board.scores.mean())
    return BoardReply(rows, mean, pairs, board.answers, copy.version[1], look.interval, look.delta, stop, look.groups)


def _bound(value: Any) -> Bound:
    return None if value is None or not math.isfinite(value) else float(value)


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
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else str(value)
    return (value or "").strip()
