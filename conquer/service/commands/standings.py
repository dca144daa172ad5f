"""Who wins and how sure that is: a model's board, computed from a copy of it beside the writer; and plain rankings."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta
from sqlalchemy import Connection

from conquer.boards import Board
from conquer.rows import stack
from conquer.service.commands.copying import Scoring, scoring
from conquer.service.commands.pick_learner import PickLearner
from conquer.service.commands.reading import decode_items
from conquer.service.errors import conflict, invalid
from conquer.service.http.schemas import Group, Item, ModelSettings
from conquer.service.log.transaction import Turn
from conquer.service.store import log_table

MOST = 300
"""Items on one board."""
_LARGEST = 288 << 20
"""Bytes of a model that is copied for a board: a full one of 4,096 features with its voters' columns is smaller."""
_ROUNDS, _VOTES = 50, 1000
"""The rounds and votes whose items are on the board of a model without a pool."""
_json = msgspec.json.Encoder().encode
Interval = Literal["anytime", "proved", "fixed"]
Bound = float | None
"""A number, or null where it is infinite: JSON has no other way to say so."""


class BoardItem(msgspec.Struct):
    """`low` and `high`: of the score less the mean, null where infinite. `better`: how many are worse, surely.

    `best`: whether it may be the best. `more`: about how many answers would separate it from the next, null if none do.
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


class StopReply(msgspec.Struct):
    """Whether one may stop asking; `more`: about how many answers are still needed, null where no number is enough."""

    done: bool
    leader: str
    tolerance: float
    chance: float
    more: Bound
    text: str


class BoardReply(msgspec.Struct):
    """Items best first. null stands for infinity. `pairs`: how many pairs are told apart, of how many.

    `mean`: of all scores, from which `low` and `high` are counted.
    """

    items: list[BoardItem]
    mean: float
    pairs: tuple[int, int]
    answers: int
    position: int
    interval: Interval
    delta: float
    stop: StopReply | None


@dataclass(frozen=True, slots=True)
class Look:
    """What is asked of a board."""

    delta: float
    interval: Interval
    tolerance: float | None
    group: int | None = None


@dataclass(frozen=True, slots=True)
class Copied:
    """A model at a position, apart from the writer's: what it has learnt, and the items to put on its board."""

    model: int
    position: int
    generation: int
    scoring: Scoring
    groups: tuple[Group, ...]


def snapshot(turn: Turn, pool: Sequence[Group], group: int | None) -> Copied:
    """The model as it is now, copied; a RefusalError where it has no board."""
    folded = turn.folded
    learner = folded.learner
    if not isinstance(learner, PickLearner):
        raise conflict("no_board", f"model {folded.name!r} does not rank items: it has no board")
    check_board(folded.settings)
    if learner.model_size > _LARGEST:
        raise conflict(
            "no_board", f"the model takes {learner.model_size:,} bytes, a board is made of at most {_LARGEST:,}"
        )
    if group is not None and not 0 <= group < len(pool):
        raise invalid(f"group must be in [0, {len(pool)}), got {group}")
    groups = tuple(pool) if group is None else (pool[group],)
    count = sum(len(one.items) for one in groups)
    if count > MOST:
        remedy = "say which with group=NUMBER" if len(pool) > 1 else "rank them with POST .../rank"
        raise conflict("too_many_items", f"a board has at most {MOST} items, there are {count:,}: {remedy}")
    return Copied(folded.id, folded.position, folded.generation, scoring(learner), groups)


def check_board(settings: ModelSettings, interval: str = "anytime") -> None:
    """A RefusalError, with the reason and the remedy, where a model of these settings has no board."""
    reason = _no_board(settings.algorithm, settings.model, _json(settings.parameters), interval)
    if reason is not None:
        raise conflict("no_board", reason)


@functools.lru_cache(1024)
def _no_board(algorithm: str, model: str | None, parameters: bytes, interval: str) -> str | None:
    from conquer import registry

    try:
        learner = registry.make(algorithm, dim=2, model=model, **msgspec.json.decode(parameters))
        learner.board(np.eye(2), interval=interval)
    except (ValueError, TypeError) as error:
        return f"{error}; over HTTP: make a model with 'full' or 'kernel' and feed it this one's ledger"
    return None


def latest_groups(connection: Connection, model: int) -> tuple[Group, ...]:
    """The items of the latest rounds and votes, each id once, under the context it was last seen in."""
    seen: set[str] = set()
    found = []
    rounds = log_table.latest_choices(connection, model, _ROUNDS)
    votes = log_table.latest_votes(connection, model, _VOTES)
    told = [(bytes(one.items), bytes(one.context)) for one in rounds]
    told += [(bytes(one.items), bytes(one.context)) for one in votes]
    for raw, context in told:
        items = [item for item in decode_items(raw) if item.id not in seen]
        items = items[: max(0, MOST - len(seen))]
        seen.update(item.id for item in items)
        if items:
            found.append(Group(items, msgspec.json.decode(context)))
    return tuple(found)


def board_of_copy(copy: Copied, look: Look) -> BoardReply:
    """The board; takes a while, so not for the event loop or the writer."""
    items = [item for group in copy.groups for item in group.items]
    if not items:
        raise conflict("no_items", "nothing has been asked yet and no items were uploaded: there is nothing to rank")
    learner = copy.scoring.learner()
    reads = [learner.read(_json(group.items), _json(group.context)) for group in copy.groups]
    rows = stack([read.rows for read in reads])
    try:
        names = [item.id for item in items]
        board = learner.learner.board(rows, delta=look.delta, interval=look.interval, names=names)
    except (ValueError, ArithmeticError) as error:
        raise conflict("no_board", str(error)) from None
    return _told(board, items, copy, look)


def _told(board: Board, items: Sequence[Item], copy: Copied, look: Look) -> BoardReply:
    beaten, maybe, count = board.better.sum(axis=1), set(board.best.tolist()), len(board)
    more = [*board.more.tolist(), None]
    rows = [
        BoardItem(
            id=items[k].id,
            rank=rank,
            score=float(board.scores[k]),
            low=_bound(board.low[k]),
            high=_bound(board.high[k]),
            better=int(beaten[k]),
            best=k in maybe,
            more=_bound(more[rank - 1]),
            text=(items[k].label or items[k].text or "")[:200] or None,
        )
        for rank, k in enumerate(board.order.tolist(), 1)
    ]
    stop = None
    if look.tolerance is not None:
        said = board.stop(look.tolerance)
        leader = board.name(said.leader)
        stop = StopReply(said.done, leader, said.tolerance, said.chance, _bound(said.more), said.text)
    pairs = int(board.better.sum()), count * (count - 1) // 2
    mean = float(board.scores.mean())
    return BoardReply(rows, mean, pairs, board.answers, copy.position, look.interval, look.delta, stop)


def _bound(value: Any) -> Bound:
    return None if value is None or not math.isfinite(value) else float(value)


class RankedItem(msgspec.Struct):
    id: str
    score: float


class RankingReply(msgspec.Struct):
    """The items, best first; equal scores in the order given."""

    items: Annotated[list[RankedItem], Meta(min_length=1)]


def rank(turn: Turn, items: bytes, context: bytes, room: int) -> RankingReply:
    """Items by what the model thinks of them now; no round is used and nothing is logged."""
    learner = turn.folded.learner
    if not isinstance(learner, PickLearner):
        raise conflict("no_ranking", f"model {turn.folded.name!r} does not rank items")
    read = learner.read(items, context, room)
    scores = learner.scored(read)
    order = sorted(range(len(scores)), key=lambda k: -scores[k])
    return RankingReply([RankedItem(read.ids[k], scores[k]) for k in order])
