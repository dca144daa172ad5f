"""The log over HTTP: out in five forms, its last answers and flags, in as a ledger, and without a person's rows."""

import asyncio
import functools
import io
from collections.abc import AsyncIterator, Callable
from typing import Any

from sqlalchemy import Connection

from conquer.service import tasks
from conquer.service.commands.standings import Look
from conquer.service.errors import Kind, RefusalError, conflict, invalid, unknown_model
from conquer.service.http.messages import Reply, attachment
from conquer.service.http.routing import Call, Endpoint
from conquer.service.http.schemas import Identifier, Strict
from conquer.service.jobs.erasure import Gone, erase_person
from conquer.service.log.event import Event
from conquer.service.log.exchange import Replayed, feed, line, opening, preference, read_ledger
from conquer.service.log.latest import KINDS, LatestReply, latest
from conquer.service.log.records import Answered, Entry, Voted
from conquer.service.log.tables import CSV_HEADER, table_row
from conquer.service.server import Server
from conquer.service.store import log_table

Record = Callable[[Entry, Event], bytes | None]
Lines = Callable[[Connection, int], Record]
_CHUNK = 500
_BYTES = 4 << 20
"""A piece of an export ends with the answer that brings it here: each may say what its items say."""
_MOST = 50
_FORMATS = ("jsonl", "preferences", "ledger", "answers", "csv")
_ENDINGS = {"jsonl": "log.jsonl", "csv": "csv"}
"""Of files to save; the other forms are lines of JSON under their own names."""


class EraseRequest(Strict):
    voter: Identifier


async def read_log(call: Call) -> Reply:
    form = call.query.get("format", "jsonl")
    if form not in _FORMATS:
        raise invalid(f"format must be one of {', '.join(_FORMATS)}, got {form!r}")
    after, model = _position(call, "after", 0), await _header(call)
    task = await asyncio.get_running_loop().run_in_executor(None, tasks.find, model.settings.task)
    if form == "answers" and task.answer_lines is None:
        raise conflict("no_parser", f"model {call.model!r} does not parse: its answers are its log's")
    board = await _scores(call) if form == "preferences" else {}
    chunks = _lines(call.server, model, form, after, task.answer_lines, board)
    kind = "text/csv; charset=utf-8" if form == "csv" else "application/x-ndjson"
    reply = attachment(b"", f"{call.model}.{_ENDINGS.get(form, f'{form}.jsonl')}", kind)
    reply.chunks = chunks
    return reply


async def read_latest(call: Call) -> LatestReply:
    kind = call.query.get("kind", "answers")
    if kind not in KINDS:
        raise invalid(f"kind must be one of {', '.join(KINDS)}, got {kind[:80]!r}")
    before, limit = _position(call, "before", 1 << 60), _position(call, "limit", 20)
    if not 1 <= limit <= _MOST:
        raise invalid(f"limit must be a whole number in [1, {_MOST}], got {limit}")
    header = await _header(call)
    found: LatestReply = await _in_thread(
        call.server, lambda connection: latest(connection, header, kind, before, limit)
    )
    return found


def _position(call: Call, name: str, default: int) -> int:
    text = call.query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > 18:
        raise invalid(f"{name} must be a {'position' if name != 'limit' else 'whole number'}, got {text[:80]!r}")
    return int(text)


async def _header(call: Call) -> log_table.Header:
    found = await _in_thread(call.server, lambda connection: log_table.headers(connection, [call.model], lock=False))
    if call.model not in found:
        raise unknown_model(call.model)
    header: log_table.Header = found[call.model]
    return header


async def _scores(call: Call) -> dict[str, float]:
    """The scores of the items on the model's board, by id; none where it has no board."""
    try:
        board = await call.server.boards.read(call.model, Look(0.05, "anytime", None), call.key.id)
    except RefusalError as refusal:
        if refusal.kind is not Kind.CONFLICT:
            raise
        return {}
    return {one.id: one.score for one in board.items}


async def _in_thread(server: Server, work: Any) -> Any:
    def go() -> Any:
        with server.database.reading() as connection:
            return work(connection)

    return await asyncio.get_running_loop().run_in_executor(None, go)


async def _lines(
    server: Server,
    header: log_table.Header,
    form: str,
    after: int,
    answer_lines: Lines | None,
    board: dict[str, float],
) -> AsyncIterator[bytes]:
    """Chunk by chunk, each in a transaction of its own: rows never change their place, so the whole is consistent."""
    if form == "ledger":
        yield opening(header)
    record: Record | None = None
    undone: frozenset[int] = frozenset()
    if form == "csv":
        yield CSV_HEADER
    if form in ("preferences", "answers", "csv"):
        undone = await _in_thread(server, lambda connection: log_table.undone(connection, header.id, 0))
        record = table_row if form == "csv" else functools.partial(preference, board=board)
        if form == "answers" and answer_lines is not None:
            record = await _in_thread(server, lambda connection: answer_lines(connection, header.id))
    while True:
        text, last = await _in_thread(server, lambda c, at=after: _chunk(c, header, at, undone, record))
        if last is None:
            return
        if text:
            yield text
        after = last


def _chunk(
    connection: Connection, header: log_table.Header, after: int, undone: frozenset[int], record: Record | None
) -> tuple[bytes, int | None]:
    """The next rows as text, and the last one's position: None where there are no more. Not for the event loop."""
    rows = next(log_table.entries(connection, header.id, after, _CHUNK), [])
    if not rows:
        return b"", None
    if record is None:
        return b"".join(map(line, rows)), rows[-1].position
    return _records(connection, header, rows, undone, record)


def _records(
    connection: Connection, header: log_table.Header, rows: list[Entry], undone: frozenset[int], record: Record
) -> tuple[bytes, int]:
    """What the standing answers among the rows are written as, some megabytes at most; how far they reach."""
    answers = [row for row in rows if isinstance(row.body, Answered | Voted) and row.position not in undone]
    wanted = list(dict.fromkeys(str(row.event) for row in answers))
    events, done, _ = log_table.events_within(connection, header.id, wanted)
    texts: list[bytes] = []
    covered, size = set(wanted[:done]), 0
    for row in answers:
        if str(row.event) not in covered or size > _BYTES:
            return b"".join(texts), row.position - 1
        text = record(row, events[str(row.event)]) if str(row.event) in events else None
        texts += [] if text is None else [text]
        size += 0 if text is None else len(text)
    return b"".join(texts), rows[-1].position


async def write_log(call: Call) -> Replayed:
    """Train a fresh model on a ledger's answers."""
    body = call.body

    def work() -> Replayed:
        # Cut into lines here, as they are read: the body may be long.
        return feed(read_ledger(io.BytesIO(body)), call.weighed_now)

    return await call.beside(call.server.long_work, work)


async def erase(call: Call) -> Gone:
    """Remove a person from the log: the model becomes what it would be without their rows."""
    work = functools.partial(erase_person, call.server.writer, call.model, call.body.voter)
    gone, generation = await call.beside(call.server.long_work, work)
    await call.folded_with(generation)
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
