"""Every answer as a row of a table, for people who use spreadsheets."""

import csv
import io
from datetime import UTC, datetime
from typing import Any

import msgspec

from conquer.service.http.schemas import Item
from conquer.service.log.contents import EXPORTED, content_of, items_in, prompt_of, shown_of
from conquer.service.log.event import Event
from conquer.service.log.records import Answered, Entry, Voted

_COLUMNS = (
    "position", "at", "event_id", "voter", "kind", "winner", "value", "weight", "learnt", "reason", "seconds", "left",
    "first_id", "first", "first_score", "second_id", "second", "second_score", "context", "source",
    *(f"first_{name}" for name in EXPORTED), *(f"second_{name}" for name in EXPORTED),
)  # fmt: skip


def _line(cells: list[Any]) -> bytes:
    r"""One row, every cell of which stays in it.

    >>> _line(["mug\r=1+1", 2])
    b'"mug\r=1+1",2\n'
    """
    text = io.StringIO()
    # A writer quotes the letters of its own line end alone: with a bare \n, a \r in a text would begin a row.
    csv.writer(text, lineterminator="\r\n").writerow([_safe(cell) for cell in cells])
    return text.getvalue().removesuffix("\r\n").encode() + b"\n"


def _safe(cell: Any) -> Any:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it, also where blanks come first.

    >>> _safe("=1+1"), _safe("\\n =1"), _safe(-0.5), _safe("tea"), _safe(" tea")
    ("'=1+1", "'\\n =1", -0.5, 'tea', ' tea')
    """
    if not isinstance(cell, str):
        return cell
    formula = cell[:1] in ("\t", "\r", "\n") or cell.lstrip()[:1] in ("=", "+", "-", "@")
    return f"'{cell}" if formula else cell


CSV_HEADER = _line(list(_COLUMNS))


def table_row(entry: Entry, event: Event) -> bytes:
    """An answer or a vote with its question. Scores are those of the moment in which the question was chosen."""
    vote = isinstance(entry.body, Voted)
    said: Answered = entry.body.said if vote else entry.body
    contents = items_in(event.chosen.items)
    scores = event.chosen.scores
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
    for k in range(2):
        name = event.shown[k] if k < len(event.shown) else None
        place = event.chosen.shown[k] if k < len(event.chosen.shown) else -1
        cells += [name, _content(contents.get(name or "")), scores[place] if 0 <= place < len(scores) else None]
    context = prompt_of(event.chosen.context)
    cells += [context if isinstance(context, str) or context is None else msgspec.json.encode(context).decode()]
    cells += ["vote" if vote else "planted" if event.chosen.planted else "question"]
    for k in range(2):
        cells += shown_of(contents.get(event.shown[k] if k < len(event.shown) else ""))
    return _line(cells)


def _content(item: Item | None) -> str | None:
    if item is None:
        return None
    content = content_of(item)
    return content if isinstance(content, str) else msgspec.json.encode(content).decode()
