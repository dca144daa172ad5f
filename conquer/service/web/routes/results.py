"""What a model has learnt and from what: boards, rankings, voters, and the log; a parser's files.

The parser's own modules are imported where they are used: that takes a while, and few servers need them.
"""

import functools
import io
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from conquer.boards import Interval
from conquer.learners.voters import Voter
from conquer.service.engine.queue import NOW
from conquer.service.engine.turn import Turn
from conquer.service.errors import conflict
from conquer.service.model.pick_learner import PickLearner
from conquer.service.model.schemas import NO_CONTEXT, Identifier, RawContext, RawItems, Strict
from conquer.service.web.endpoint import Call, Routes, attachment
from conquer.service.work import tasks
from conquer.service.work.boards import BoardReply, Look, RankingReply, rank
from conquer.service.work.erasure import Gone, erase_person
from conquer.service.work.exports import chunks
from conquer.service.work.flags import LatestReply, latest
from conquer.service.work.ledgers import Replayed, feed, read_ledger
from conquer.service.work.pool import groups_of

routes = Routes()
_Position = Annotated[int, Meta(ge=0, le=1 << 60)]
_ENDINGS = {"jsonl": "log.jsonl", "csv": "csv"}
"""Names of files to save; the other forms are lines of JSON."""


class BoardQuery(Strict):
    """`delta`: chance of error; `stop`: tolerance; `group`, `groups`: one group of the pool, or groups by a feature."""

    delta: Annotated[float, Meta(gt=0, lt=1)] | None = None
    interval: Interval = "proved"
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
    """Items to rank, as in choose; no round is used."""

    items: RawItems
    context: RawContext = NO_CONTEXT


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
    "POST", "/v1/models/{name}/rank", "read", limit="round_bytes",
    example={"items": [{"id": "a", "text": "A lovely pot."}, {"id": "b", "text": "It broke at once."}]},
)  # fmt: skip
async def rank_items(call: Call, body: RankingRequest) -> RankingReply:
    """Rank items without using a round."""
    items, context = bytes(body.items), bytes(body.context)
    return await call.on_model(lambda turn: rank(turn, items, context, turn.limits.cells), reads=True)


class LogQuery(Strict):
    """`after`: the position of the last row that the reader has."""

    format: Literal["jsonl", "preferences", "ledger", "answers", "csv"] = "jsonl"
    after: _Position = 0


class LatestQuery(Strict):
    """`before`: a position; `open` are flags that were not dealt with."""

    kind: Literal["answers", "flags", "open"] = "answers"
    before: _Position = 1 << 60
    limit: Annotated[int, Meta(ge=1, le=50)] = 20


class EraseRequest(Strict):
    voter: Identifier


@routes.add("GET", "/v1/models/{name}/log", "read", kind="application/x-ndjson")
async def read_log(call: Call, query: LogQuery) -> Response:
    """The log: jsonl, preferences, ledger, answers or csv."""
    form, model = query.format, await call.read(lambda _, header: header)
    task = await call.brief(functools.partial(tasks.find, model.settings.task))
    if form == "answers" and task.answer_lines is None:
        raise conflict("no_parser", f"model {call.model!r} is not a parser: read its log in another format")
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/x-ndjson"
    rows = chunks(call.server.database, model, form, query.after, task.answer_lines)
    return attachment(
        call.server.engine.long.stream(call.owner, rows), f"{call.model}.{_ENDINGS.get(form, f'{form}.jsonl')}", kind
    )


@routes.add("GET", "/v1/models/{name}/latest", "read")
async def read_latest(call: Call, query: LatestQuery) -> LatestReply:
    """The last answers or flags with their texts."""
    return await call.read(lambda connection, header: latest(connection, header, query.kind, query.before, query.limit))


@routes.add("POST", "/v1/models/{name}/log", "admin", limit="upload_bytes")
async def write_log(call: Call, body: bytes) -> Replayed:
    """Train a fresh model on a ledger."""
    await call.loaded()
    done: Replayed = await call.long(feed(read_ledger(io.BytesIO(body)), call.now))
    return done


@routes.add("POST", "/v1/models/{name}/erase", "admin", example={"voter": "ann"})
async def erase(call: Call, body: EraseRequest) -> Gone:
    """Remove a voter's rows; the model becomes what it would be without them."""
    await call.loaded()
    engine = call.server.engine
    # It continues when the client hangs up.
    job = erase_person(engine, call.model, body.voter)
    gone, generation = await engine.long.run(call.owner, job, urgent=True, bounded=True)
    await call.replayed(generation)
    found: Gone = gone
    return found


@routes.add("GET", "/v1/models/{name}/trees", "read", kind="text/plain")
async def parser_trees(call: Call) -> Response:
    """A parser's trees, CoNLL-U."""
    from conquer.service.work.parse_learner import parser_of
    from conquer.service.work.parse_results import trees

    # Parsing takes long and needs only a copy of the weights.
    parser, pool = await call.copied(lambda turn: (parser_of(turn), list(groups_of(turn))))
    data = await call.long(functools.partial(trees, parser, pool))
    return attachment(data, f"{call.model}.conllu", "text/plain; charset=utf-8")


@routes.add("GET", "/v1/models/{name}/parser/file", "read", kind="application/octet-stream")
async def parser_file(call: Call) -> Response:
    """The parser for conquer parse predict."""
    from conquer.parsing.parser import dumps
    from conquer.service.work.parse_learner import parser_of

    return attachment(await call.copied(lambda turn: dumps(parser_of(turn))), f"{call.model}.parser")
