"""A model's log as a file, in bounded chunks: JSON lines, a ledger, preference pairs, a table or a task's own lines."""

import csv
import io
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from sqlalchemy import Connection

from conquer.items import SHOWN, has_parts
from conquer.service.model.reading import decode_items
from conquer.service.model.records import ABSENT, Answered, Entry, Event, Voted
from conquer.service.model.schemas import EventId, Identifier, Item, Raw
from conquer.service.store import log
from conquer.service.store.database import Database

Record = Callable[[Entry, Answered, Event], bytes | None]
"""(row, answer, event) to a line; None where there is none."""
_ROWS = 250
"""Rows read for one chunk."""
_BYTES = 4 << 20
"""A chunk ends with the answer that exceeds this: each may be as long as its items."""
EXPORTED = tuple(name for name in SHOWN if name != "format")
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
    task_lines: Callable[[Connection, log.Header], Record] | None,
) -> Iterator[bytes]:
    """The rows after a position. Each chunk is one slice of long work; some are empty.

    `task_lines`: how the model's task writes its answers. Each chunk is read in its own transaction; positions never
    change, so together they are consistent.
    """
    records: dict[str, Record] = {"csv": table_row, "preferences": preference}
    with database.reading() as connection:
        record = task_lines(connection, header) if form == "answers" and task_lines else records.get(form)
        undone = log.undone(connection, header.id, 0) if record else frozenset()
    if form == "ledger":
        yield _json(Line("open", body=Raw(_json({"name": header.name, "settings": header.settings})))) + b"\n"
    if form == "csv":
        yield _table_line(list(_COLUMNS))
    while True:
        with database.reading() as connection:
            rows = log.entries(connection, header.id, after, _ROWS)
            if not rows:
                return
            if record is None:
                text, after = b"".join(map(_line, rows)), rows[-1].position
            else:
                text, after = _records(connection, header.id, rows, undone, record)
        yield text


def _line(row: Entry) -> bytes:
    return _json(Line(row.kind, row.position, row.at, row.event, row.voter, Raw(_json(row.body)))) + b"\n"


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
        if str(row.event) in events:
            said: Answered = row.body.said if isinstance(row.body, Voted) else row.body
            texts.append(record(row, said, events[str(row.event)]) or b"")
            size += len(texts[-1])
    return b"".join(texts), rows[-1].position


def preference(entry: Entry, said: Answered, event: Event) -> bytes | None:
    """An answer as a prompt/chosen/rejected record; None where no item won against one other.

    Items are their texts where they have them, with labels, meta and images. `margin`: the chosen item's lead in score
    when the question was chosen.
    """
    if said.value is None or said.value == 0 or len(event.shown) != 2 or event.about is not None:
        return None
    items, scores = items_in(event.chosen.items), _scores(event)
    won, lost = event.shown[said.value < 0], event.shown[said.value > 0]
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
        "margin": scores[won] - scores[lost] if len(scores) == 2 else None,
    }
    # For display, where one of the two has it.
    there = [name for name in EXPORTED if any(getattr(items[one], name) is not None for one in (won, lost))]
    roles = (("chosen", items[won]), ("rejected", items[lost]))
    record |= {f"{role}_{name}": getattr(item, name) for name in there for role, item in roles}
    return _json(record) + b"\n"


def _scores(event: Event) -> dict[str, float]:
    """The scores of what was shown, from when the question was chosen."""
    chosen = event.chosen
    return {name: chosen.scores[k] for name, k in zip(event.shown, chosen.shown, strict=True) if k < len(chosen.scores)}


def table_row(entry: Entry, said: Answered, event: Event) -> bytes:
    """An answer or a vote with its question, as a row of a table."""
    chosen, scores = event.chosen, _scores(event)
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
        chosen.left if event.sided else None,
    ]
    contents = items_in(chosen.items)
    pair = [(name, contents.get(name)) for name in event.shown[:2]] + [("", None)] * (2 - len(event.shown))
    for name, item in pair:
        cells += [name or None, None if item is None else text_of(content_of(item)), scores.get(name)]
    source = "vote" if isinstance(entry.body, Voted) else "planted" if chosen.planted else "question"
    cells += [text_of(prompt_of(chosen.context)), source]
    cells += [text_of(getattr(item, name, None)) for _, item in pair for name in EXPORTED]
    return _table_line(cells)


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


def items_in(raw: Any) -> dict[str, Item]:
    """The items of a row, by id."""
    return {item.id: item for item in decode_items(bytes(raw))}


def content_of(item: Item) -> Any:
    """Its text, or else its features or its vector.

    >>> content_of(Item("a", text="good tea", vector=[0.5])), content_of(Item("b", vector=[0.5]))
    ('good tea', [0.5])
    """
    return item.text if item.text is not None else item.features or item.vector


def prompt_of(raw: Any) -> Any:
    """A context as sent, or its text where it has a vector or features too.

    >>> prompt_of(b'"a pot for two"'), prompt_of(b'{"text": "a pot for two", "vector": [0.5]}'), prompt_of(b"null")
    ('a pot for two', 'a pot for two', None)
    """
    context = msgspec.json.decode(bytes(raw))
    return context["text"] if has_parts(context) and isinstance(context.get("text"), str) else context


def text_of(content: Any) -> str | None:
    """A text as it is, None as None, anything else as JSON."""
    return content if content is None or isinstance(content, str) else msgspec.json.encode(content).decode()
