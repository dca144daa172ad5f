"""The log over HTTP: out in five forms, its last answers and flags, in as a ledger, and without a person's rows."""

import functools
import io

from conquer.service.errors import Kind, RefusalError, conflict, invalid, unknown_model
from conquer.service.model.schemas import Identifier, Strict
from conquer.service.store import log as log_table
from conquer.service.web.messages import Reply, attachment
from conquer.service.web.routing import Call, Endpoint
from conquer.service.work import tasks
from conquer.service.work.boards import Look
from conquer.service.work.erasure import Gone, erase_person
from conquer.service.work.exports import FORMATS, chunks
from conquer.service.work.flags import KINDS, LatestReply, latest
from conquer.service.work.ledgers import Replayed, feed, read_ledger

_MOST = 50
_ENDINGS = {"jsonl": "log.jsonl", "csv": "csv"}
"""Of files to save; the other forms are lines of JSON under their own names."""


class EraseRequest(Strict):
    voter: Identifier


async def read_log(call: Call) -> Reply:
    form = call.query.get("format", "jsonl")
    if form not in FORMATS:
        raise invalid(f"format must be one of {', '.join(FORMATS)}, got {form!r}")
    after, model = _position(call, "after", 0), await _header(call)
    task = await call.brief(functools.partial(tasks.find, model.settings.task))
    if form == "answers" and task.answer_lines is None:
        raise conflict("no_parser", f"model {call.model!r} does not parse: its answers are its log's")
    board = await _scores(call) if form == "preferences" else {}
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/x-ndjson"
    reply = attachment(b"", f"{call.model}.{_ENDINGS.get(form, f'{form}.jsonl')}", kind)
    reply.chunks = call.stream(chunks(call.server.database, model, form, after, task.answer_lines, board))
    return reply


async def read_latest(call: Call) -> LatestReply:
    kind = call.query.get("kind", "answers")
    if kind not in KINDS:
        raise invalid(f"kind must be one of {', '.join(KINDS)}, got {kind[:80]!r}")
    before, limit = _position(call, "before", 1 << 60), _position(call, "limit", 20)
    if not 1 <= limit <= _MOST:
        raise invalid(f"limit must be a whole number in [1, {_MOST}], got {limit}")
    header = await _header(call)
    return await call.read(lambda connection: latest(connection, header, kind, before, limit))


def _position(call: Call, name: str, default: int) -> int:
    text = call.query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise invalid(f"{name} must be a {'position' if name != 'limit' else 'whole number'}, got {text[:80]!r}")
    return int(text)


async def _header(call: Call) -> log_table.Header:
    found = await call.read(lambda connection: log_table.headers(connection, [call.model]))
    if call.model not in found:
        raise unknown_model(call.model)
    return found[call.model]


async def _scores(call: Call) -> dict[str, float]:
    """The scores of the items on the model's board, by id; none where it has no board."""
    try:
        board = await call.server.boards.read(call.model, Look(0.05, "anytime", None), call.key.id)
    except RefusalError as refusal:
        if refusal.kind is not Kind.CONFLICT:
            raise
        return {}
    return {one.id: one.score for one in board.items}


async def write_log(call: Call) -> Replayed:
    """Train a fresh model on a ledger's answers."""
    await call.on_model(lambda turn: None, reads=True)
    job = feed(read_ledger(io.BytesIO(call.body)), call.learn_now)
    done: Replayed = await call.long(job)
    return done


async def erase(call: Call) -> Gone:
    """Remove a person from the log: the model becomes what it would be without their rows."""
    await call.on_model(lambda turn: None, reads=True)
    engine = call.server.engine
    gone: Gone
    # It goes on when the client hangs up.
    job = erase_person(engine, call.model, call.body.voter)
    gone, generation = await engine.long.run(call.owner, job, urgent=True)
    await call.replayed(generation)
    return gone


ENDPOINTS = (
    Endpoint(
        "GET", "/v1/models/{name}/log", "read", "The log: jsonl, preferences, ledger, answers or csv", read_log,
        query=("format", "after"), kind="application/x-ndjson",
    ),
    Endpoint(
        "GET", "/v1/models/{name}/latest", "read", "The last answers or flags with their texts", read_latest,
        reply=LatestReply, query=("kind", "before", "limit"),
    ),
    Endpoint(
        "POST", "/v1/models/{name}/log", "admin", "Train a fresh model on a ledger", write_log, bytes, Replayed,
        upload=True,
    ),
    Endpoint(
        "POST", "/v1/models/{name}/erase", "admin", "Remove a voter's rows", erase, EraseRequest, Gone,
        example={"voter": "ann"},
    ),
)  # fmt: skip
