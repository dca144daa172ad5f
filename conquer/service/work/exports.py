"""A model's log as a file, in bounded chunks: JSON lines, a ledger, preference pairs, a table or a task's own lines."""

import csv
import functools
import io
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from sqlalchemy import Connection

from conquer.service.model.contents import EXPORTED, content_of, items_in, prompt_of, shown_of, shown_with
from conquer.service.model.event import Event
from conquer.service.model.records import ABSENT, Answered, Entry, Voted
from conquer.service.model.schemas import EventId, Identifier, Item, Raw
from conquer.service.store import log
from conquer.service.store.database import Database

FORMATS = ("jsonl", "preferences", "ledger", "answers", "csv")
Record = Callable[[Entry, Event], bytes | None]
"""An answer and its event to a line; None where there is none."""
_ROWS = 250
"""Rows read for one chunk."""
_BYTES = 4 << 20
"""A chunk ends with the answer that exceeds this: each may be as long as its items."""
_COLUMNS = (
    "position", "at", "event_id", "voter", "kind", "winner", "value", "weight", "learnt", "reason", "seconds", "left",
    "first_id", "first", "first_score", "second_id", "second", "second_score", "context", "source",
    *(f"first_{name}" for name in EXPORTED), *(f"second_{name}" for name in EXPORTED),
)  # fmt: skip
_json = msgspec.json.Encoder().encode


class Line(msgspec.Struct, omit_defaults=True):
    """A line of a ledger: a log row, or the opening line with the model's name and settings."""

    kind: Annotated[str, Meta(max_length=64)]
    position: Annotated[int, Meta(ge=0, le=1 << 62)] = 0
    at: float = 0.0
    event_id: EventId | None = None
    voter: Identifier | None = None
    body: Raw = ABSENT


def chunks(
    database: Database,
    header: log.Header,
    form: str,
    after: int,
    task_lines: Callable[[Connection, int], Record] | None,
    board: Mapping[str, float],
) -> Iterator[bytes]:
    """The rows after a position, in one of FORMATS. Each chunk is one slice of long work; some are empty.

    `task_lines`: how the model's task writes its answers. `board`: scores by item, for preferences. Each chunk is read
    in its own transaction; positions never change, so together they are consistent.
    """
    records: dict[str, Record] = {"csv": table_row, "preferences": functools.partial(preference, board=board)}
    record, undone = records.get(form), frozenset[int]()
    if form == "ledger":
        yield _json(Line("open", body=Raw(_json({"name": header.name, "settings": header.settings})))) + b"\n"
    if form == "csv":
        yield _table_line(list(_COLUMNS))
    if form in ("preferences", "answers", "csv"):
        with database.reading() as connection:
            undone = log.undone(connection, header.id, 0)
            if form == "answers" and task_lines is not None:
                record = task_lines(connection, header.id)
    while True:
        with database.reading() as connection:
            rows = log.entries(connection, header.id, after, _ROWS)
            if not rows:
                return
            if record is None:
                text, after = b"".join(map(line, rows)), rows[-1].position
            else:
                text, after = _records(connection, header.id, rows, undone, record)
        yield text


def _records(
    connection: Connection, model: int, rows: list[Entry], undone: frozenset[int], record: Record
) -> tuple[bytes, int]:
    """The answers among the rows that were not undone, some megabytes at most, and the last position they cover."""
    answers = [row for row in rows if isinstance(row.body, Answered | Voted) and row.position not in undone]
    wanted = list(dict.fromkeys(str(row.event) for row in answers))
    events, done, _ = log.events_within(connection, model, wanted)
    texts: list[bytes] = []
    covered, size = set(wanted[:done]), 0
    for row in answers:
        if str(row.event) not in covered or size > _BYTES:
            return b"".join(texts), row.position - 1
        text = record(row, events[str(row.event)]) if str(row.event) in events else None
        if text is not None:
            texts.append(text)
            size += len(text)
    return b"".join(texts), rows[-1].position


def line(entry: Entry) -> bytes:
    """A row as a line of a ledger."""
    body = Raw(_json(entry.body))
    return _json(Line(entry.kind, entry.position, entry.at, entry.event, entry.voter, body)) + b"\n"


def preference(entry: Entry, event: Event, board: Mapping[str, float]) -> bytes | None:
    """An answer as a prompt/chosen/rejected record; None where no item won against one other.

    Items are their texts where they have them, with labels, meta and images. `margin`: the chosen item's lead in score
    when the question was chosen; `board`: current scores by id.
    """
    said: Answered = entry.body.said if isinstance(entry.body, Voted) else entry.body
    if said.value is None or said.value == 0 or len(event.shown) != 2 or event.about is not None:
        return None
    items = items_in(event.chosen.items)
    won, lost = event.shown[said.value < 0], event.shown[said.value > 0]
    scores = [event.chosen.scores[k] for k in event.chosen.shown] if event.chosen.scores else []
    record = {
        "prompt": prompt_of(event.chosen.context),
        "chosen": content_of(items[won]),
        "rejected": content_of(items[lost]),
        "strength": abs(said.value),
        "event_id": event.id,
        "voter": entry.voter,
        "at": entry.at,
        "kind": said.kind,
        "weight": said.weight,
        "chosen_id": won,
        "rejected_id": lost,
        "margin": (scores[0] - scores[1]) * (1 if said.value > 0 else -1) if scores else None,
        "chosen_score": board.get(won),
        "rejected_score": board.get(lost),
    }
    return _json(record | shown_with(items, [("chosen", won), ("rejected", lost)])) + b"\n"


def table_row(entry: Entry, event: Event) -> bytes:
    """An answer or a vote with its question, as a row of a table. Scores are from when the question was chosen."""
    vote = isinstance(entry.body, Voted)
    said: Answered = entry.body.said if vote else entry.body
    contents, scores = items_in(event.chosen.items), event.chosen.scores
    cells: list[Any] = [
        entry.position,
        datetime.fromtimestamp(entry.at, UTC).isoformat(timespec="seconds"),
        event.id,
        entry.voter,
        said.kind,
        said.winner,
        said.value,
        said.weight,
        said.value is not None,
        said.reason,
        said.seconds,
        event.chosen.left if event.sided else None,
    ]
    pair = [event.shown[k] if k < len(event.shown) else None for k in range(2)]
    for k, name in enumerate(pair):
        place = event.chosen.shown[k] if k < len(event.chosen.shown) else -1
        cells += [name, _content(contents.get(name or "")), scores[place] if 0 <= place < len(scores) else None]
    cells += [text_of(prompt_of(event.chosen.context))]
    cells += ["vote" if vote else "planted" if event.chosen.planted else "question"]
    for name in pair:
        cells += shown_of(contents.get(name or ""))
    return _table_line(cells)


def _content(item: Item | None) -> str | None:
    return None if item is None else text_of(content_of(item))


def text_of(content: Any) -> str | None:
    """A text as it is, None as None, anything else as JSON."""
    return content if content is None or isinstance(content, str) else _json(content).decode()


def _table_line(cells: list[Any]) -> bytes:
    r"""One row of CSV.

    >>> _table_line(["mug\r=1+1", 2])
    b'"mug\r=1+1",2\n'
    """
    text = io.StringIO()
    # The writer quotes the characters of its own line end only: with a bare \n, a \r in a text would begin a row.
    csv.writer(text, lineterminator="\r\n").writerow([_safe(cell) for cell in cells])
    return text.getvalue().removesuffix("\r\n").encode() + b"\n"


def _safe(cell: Any) -> Any:
    """An apostrophe before a text that a spreadsheet would read as a formula, also after blanks.

    >>> _safe("=1+1"), _safe("\\n =1"), _safe(-0.5), _safe("tea"), _safe(" tea")
    ("'=1+1", "'\\n =1", -0.5, 'tea', ' tea')
    """
    if not isinstance(cell, str):
        return cell
    formula = cell[:1] in ("\t", "\r", "\n") or cell.lstrip()[:1] in ("=", "+", "-", "@")
    return f"'{cell}" if formula else cell
