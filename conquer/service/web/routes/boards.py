"""Boards, rankings and voters: which items win, how certain that is, and how far each voter is relied on."""

from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta

from conquer.boards import Interval
from conquer.learners.voters import Voter
from conquer.service.engine.queue import NOW
from conquer.service.engine.turn import Turn
from conquer.service.errors import conflict
from conquer.service.model.pick_learner import PickLearner
from conquer.service.model.schemas import NewContext, NewItem, Raw, Strict
from conquer.service.web.call import Call
from conquer.service.web.endpoint import Routes
from conquer.service.work.boards import BoardReply, Look, RankingReply, rank

routes = Routes()


class BoardQuery(Strict):
    """`delta`: chance of error; `stop`: tolerance; `group`, `groups`: one group of the pool, or groups by a feature."""

    delta: Annotated[float, Meta(gt=0, lt=1)] | None = None
    interval: Interval = "anytime"
    stop: Annotated[float, Meta(gt=0, lt=2)] | None = None
    group: Annotated[int, Meta(ge=0, le=1_000_000)] | None = None
    groups: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    limit: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None


class VotersReply(msgspec.Struct):
    """Voters in the order of their first answers; `worth`: the number of people whose answers equal the judges'.

    `worth` is null for a diagonal model, which keeps no variances of pairs.
    """

    believe: str
    voters: tuple[Voter, ...]
    worth: float | None


class RankingRequest(Strict):
    """`items` and `context` as the bytes that came, decoded by the featuriser."""

    items: Raw
    context: Raw = Raw(b"null")


class RankingDocument(Strict):
    """Items to rank, as in choose; no round is used."""

    items: Annotated[list[NewItem], Meta(min_length=1, max_length=1000)]
    context: NewContext = None


@routes.add("GET", "/v1/models/{name}/board", "read")
async def read_board(call: Call, query: BoardQuery) -> BoardReply:
    """Which items win, how certain that is, and whether to stop."""
    settings = await call.on_model(lambda turn: turn.state.settings)
    delta, stop = query.delta or settings.delta, query.stop or settings.stop
    look = Look(delta, query.interval, stop, query.group, query.groups)
    board = await call.server.boards.read(call.model, look, call.key.id)
    return board if query.limit is None else msgspec.structs.replace(board, items=board.items[: query.limit])


@routes.add("GET", "/v1/models/{name}/voters", "read")
async def read_voters(call: Call) -> VotersReply:
    """Each voter's pull to a side, agreement and weight."""

    def work(turn: Turn) -> tuple[Callable[[], tuple[Voter, ...]], str, float | None]:
        learner = turn.state.learner
        if not isinstance(learner, PickLearner):
            raise conflict("no_voters", f"model {call.model!r} does not weigh voters")
        return learner.voters(), str(turn.state.settings.believe), learner.worth()

    voters, believe, worth = await call.on_model(work, reads=True, after=NOW)
    # Thousands of names take a while.
    return VotersReply(believe, await call.brief(voters), worth)


@routes.add(
    "POST", "/v1/models/{name}/rank", "read", limit="round_bytes", document=RankingDocument,
    example={"items": [{"id": "a", "text": "A lovely pot."}, {"id": "b", "text": "It broke at once."}]},
)  # fmt: skip
async def rank_items(call: Call, body: RankingRequest) -> RankingReply:
    """Rank items without using a round."""
    items, context = bytes(body.items), bytes(body.context)
    return await call.on_model(lambda turn: rank(turn, items, context, turn.limits.cells), reads=True)
