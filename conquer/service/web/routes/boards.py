"""Boards, rankings and voters over HTTP: who wins, how sure that is, when to stop, and whom to believe."""

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from conquer.boards import INTERVALS
from conquer.learners.voters import Voter
from conquer.service.engine.turn import Turn
from conquer.service.errors import conflict, invalid
from conquer.service.model.pick_learner import PickLearner
from conquer.service.model.schemas import NewContext, NewItem, Raw, Strict
from conquer.service.web.routing import Call, Endpoint
from conquer.service.work.boards import BoardReply, Look, RankingReply, rank

_NAME = 200
"""Characters of a feature's name that a board is grouped by."""


class RankingRequest(Strict):
    """`items` and `context` as the bytes that came, decoded by the featuriser."""

    items: Raw
    context: Raw = Raw(b"null")


class RankingDocument(Strict):
    """Items to rank, as in choose; no round is used."""

    items: Annotated[list[NewItem], Meta(min_length=1, max_length=1000)]
    context: NewContext = None


async def read_board(call: Call) -> BoardReply:
    query = call.query
    interval = query.get("interval", "anytime")
    if interval not in INTERVALS:
        raise invalid(f"interval must be one of {', '.join(INTERVALS)}, got {interval[:80]!r}")
    group = _whole(query, "group", 0, 1_000_000)
    limit = _whole(query, "limit", 1, 1_000_000)
    groups = query.get("groups")
    if groups is not None and not 1 <= len(groups) <= _NAME:
        raise invalid(f"groups must name a feature by 1 to {_NAME} characters, got {groups[:80]!r}")
    settings = await call.on_model(lambda turn: turn.state.settings)
    delta, tolerance = _number(query, "delta", 1.0), _number(query, "stop", 2.0)
    look = Look(
        settings.delta if delta is None else delta,
        interval,
        settings.stop if tolerance is None else tolerance,
        group,
        groups,
    )
    board = await call.server.boards.read(call.model, look, call.key.id)
    return board if limit is None else _cut(board, limit)


class VoterReply(msgspec.Struct):
    """A voter as the model sees them; intervals are of 95 %. See `conquer.learners.voters.Voter`."""

    name: str
    kind: str
    answers: int
    left: float | None
    left_interval: tuple[float, float]
    side: float
    side_interval: tuple[float, float] | None
    agreement: float | None
    agreement_interval: tuple[float, float]
    weight: float
    weight_interval: tuple[float, float]
    doubtful: bool
    reason: str


class VotersReply(msgspec.Struct):
    """Who has answered, in the order of first appearance; `worth`: of how many people's answers the judges' were.

    null where the model cannot say: a diagonal one keeps no variances of pairs.
    """

    believe: str
    voters: list[VoterReply]
    worth: float | None


async def read_voters(call: Call) -> VotersReply:
    def work(turn: Turn) -> tuple[Callable[[], tuple[Voter, ...]], str, float | None]:
        learner = turn.state.learner
        if not isinstance(learner, PickLearner):
            raise conflict("no_voters", f"model {call.model!r} believes everyone alike")
        return learner.voters(), str(turn.state.settings.believe), learner.worth()

    voters, believe, worth = await call.on_model(work, reads=True, settled=True)

    def tell() -> VotersReply:
        # Thousands of names take a while.
        return VotersReply(believe, [VoterReply(**dataclasses.asdict(one)) for one in voters()], worth)

    reply: VotersReply = await call.brief(tell)
    return reply


async def rank_items(call: Call) -> RankingReply:
    request: RankingRequest = call.body
    items, context = bytes(request.items), bytes(request.context)
    room = call.server.settings.limits.cells
    return await call.on_model(lambda turn: rank(turn, items, context, room), reads=True)


def _cut(board: BoardReply, limit: int) -> BoardReply:
    """The first of the list; what is said of them is about the whole board."""
    return msgspec.structs.replace(board, items=board.items[:limit])


def _number(query: dict[str, str], name: str, most: float) -> float | None:
    """A number in (0, most), or none given."""
    text = query.get(name)
    if text is None:
        return None
    try:
        value = float(text) if len(text) <= 30 else 0.0
    except ValueError:
        value = 0.0
    if not 0 < value < most:
        raise invalid(f"{name} must be a number in (0, {most:g}), got {text[:80]!r}")
    return value


def _whole(query: dict[str, str], name: str, least: int, most: int) -> int | None:
    text = query.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 7 and least <= int(text) <= most):
        raise invalid(f"{name} must be a whole number in [{least}, {most}], got {text[:80]!r}")
    return int(text)


ENDPOINTS: tuple[Any, ...] = (
    Endpoint(
        "GET", "/v1/models/{name}/board", "read", "Who wins, how sure that is, and whether one may stop", read_board,
        reply=BoardReply, query=("delta", "interval", "stop", "group", "groups", "limit"),
    ),
    Endpoint(
        "GET", "/v1/models/{name}/voters", "read", "Each voter's pull to a side, agreement and weight", read_voters,
        reply=VotersReply,
    ),
    Endpoint(
        "POST", "/v1/models/{name}/rank", "read", "Rank items without using a round", rank_items, RankingRequest,
        RankingReply, document=RankingDocument, items=True,
        example={"items": [{"id": "a", "text": "A lovely pot."}, {"id": "b", "text": "It broke at once."}]},
    ),
)  # fmt: skip
