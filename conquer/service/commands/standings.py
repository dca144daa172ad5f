"""Who wins and how sure that is: a model's board, computed from a copy of it beside the writer."""

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import numpy as np
from sqlalchemy import Connection

from conquer.boards import Board
from conquer.rows import stack
from conquer.service.commands.copying import Scoring, scoring
from conquer.service.commands.grouping import group_names, most_items
from conquer.service.commands.pick_learner import PickLearner
from conquer.service.commands.reading import decode_items
from conquer.service.errors import conflict, invalid
from conquer.service.http.schemas import Group, ModelSettings
from conquer.service.log.transaction import Turn
from conquer.service.store import log_table

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
    On a board of groups `id` is the group and `count` how many items its mean is of.
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
    """Whether one may stop asking; `more`: about how many answers are still needed, null where no number is enough."""

    done: bool
    leader: str
    tolerance: float
    chance: float
    more: Bound
    text: str


class BoardReply(msgspec.Struct):
    """Items best first. null stands for infinity. `pairs`: how many pairs are told apart, of how many.

    `mean`: of all scores, from which `low` and `high` are counted. `groups`: the feature by whose values the items are
    grouped, null where they stand for themselves.
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


@dataclass(frozen=True, slots=True)
class Look:
    """What is asked of a board."""

    delta: float
    interval: Interval
    tolerance: float | None
    group: int | None = None
    groups: str | None = None
    """A feature: the board is of the means of the items that share its value."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A model at a position, apart from the writer's: what it has learnt, and the items to put on its board."""

    model: int
    position: int
    generation: int
    scoring: Scoring
    groups: tuple[Group, ...]
    most: int
    """How many items the board may be of."""


def snapshot(turn: Turn, pool: Sequence[Group], look: Look) -> Copied:
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
    group = look.group
    if group is not None and not 0 <= group < len(pool):
        raise invalid(f"group must be in [0, {len(pool)}), got {group}")
    groups = tuple(pool) if group is None else (pool[group],)
    count, most = sum(len(one.items) for one in groups), most_items(learner, look.groups is not None)
    if count > most:
        remedy = "say which with group=NUMBER" if len(pool) > 1 else "rank them with POST .../rank"
        raise conflict("too_many_items", f"this board is of at most {most:,} items, there are {count:,}: {remedy}")
    return Copied(folded.id, folded.position, folded.generation, scoring(learner), groups, most)


def check_board(settings: ModelSettings, interval: str = "anytime") -> None:
    """A RefusalError, with the reason and the remedy, where a model of these settings has no board."""
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
        return f"{error}; over HTTP: make a model with 'full' or 'kernel' and feed it this one's ledger"
    return None


def latest_groups(connection: Connection, model: int, most: int) -> tuple[Group, ...]:
    """The items of the latest rounds and votes, each id once, under the context it was last seen in."""
    seen: set[str] = set()
    found = []
    rounds = log_table.latest_choices(connection, model, _ROUNDS)
    votes = log_table.latest_votes(connection, model, _VOTES)
    told = [(bytes(one.items), bytes(one.context)) for one in rounds]
    told += [(bytes(one.items), bytes(one.context)) for one in votes]
    for raw, context in told:
        items = [item for item in decode_items(raw) if item.id not in seen]
        items = items[: max(0, most - len(seen))]
        seen.update(item.id for item in items)
        if items:
            found.append(Group(items, msgspec.json.decode(context)))
    return tuple(found)


def board_of_copy(copy: Copied, look: Look) -> BoardReply:
    """The board; takes a while, so not for the event loop or the writer."""
    items = [item for group in copy.groups for item in group.items]
    if not items:
        raise conflict("no_items", "nothing has been asked yet and no items were uploaded: there is nothing to rank")
    groups = None if look.groups is None else group_names(items, look.groups)
    learner = copy.scoring.learner()
    reads = [learner.read(_json(group.items), _json(group.context)) for group in copy.groups]
    rows = stack([read.rows for read in reads])
    try:
        listed = {"names": [item.id for item in items]} if groups is None else {"groups": groups}
        board = learner.learner.board(rows, delta=look.delta, interval=look.interval, **listed)
    except (ValueError, ArithmeticError) as error:
        raise conflict("no_board", str(error)) from None
    texts = [item.label or item.text for item in items] if groups is None else [None] * len(board)
    return _told(board, texts, Counter(groups or ()), copy, look)


def _told(board: Board, texts: Sequence[str | None], counts: Mapping[str, int], copy: Copied, look: Look) -> BoardReply:
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
    pairs = int(board.better.sum()), count * (count - 1) // 2
    mean = float(board.scores.mean())
    return BoardReply(rows, mean, pairs, board.answers, copy.position, look.interval, look.delta, stop, look.groups)


def _bound(value: Any) -> Bound:
    return None if value is None or not math.isfinite(value) else float(value)
