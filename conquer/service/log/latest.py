"""The last answers and the last flags of a model with the texts they are about: what a lead looks at."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, select

from conquer.service.log.contents import prompt_of
from conquer.service.log.records import ABSENT, Answered, Entry, Flagged, Raw, Voted
from conquer.service.store import log_table
from conquer.service.store.flag_table import settled_up_to
from conquer.service.store.schema import log

WINDOW = 20_000
"""Rows looked through at once: flags are rare, and there is no index of them."""
_LONGEST = 500
"""Characters of a text that are told."""
KINDS = {"answers": ("answer", "vote"), "flags": ("flag",), "open": ("flag",)}
"""What may be asked for; `open` are flags that nobody has settled."""


class ShownText(msgspec.Struct):
    """An item that was shown: its text, or its features as JSON, cut after 500 characters; null where it is gone.

    `label`, `image` and `format` are there where it has them.
    """

    id: str
    text: str | None
    label: str | msgspec.UnsetType | None = msgspec.UNSET
    image: str | msgspec.UnsetType | None = msgspec.UNSET
    format: str | msgspec.UnsetType | None = msgspec.UNSET


class LatestRow(msgspec.Struct):
    """An answer (`winner`, `learnt`, `reason`) or a flag (`comment`, `settled`) with its question.

    `word`: of a parse question.
    """

    position: int
    at: float
    event: str | None
    voter: str | None
    items: list[ShownText]
    context: str | None = None
    word: str | None = None
    winner: str | None = None
    learnt: bool | None = None
    reason: str | None = None
    comment: str | None = None
    settled: bool | None = None


class LatestReply(msgspec.Struct):
    """Newest first; `next` is what to give as `before` to look further back, null where there is nothing earlier."""

    rows: list[LatestRow]
    next: int | None


class _AskedRow(msgspec.Struct):
    """All that is read of a question's row."""

    names: tuple[str, ...] = ()
    items: Raw = ABSENT
    context: Raw = ABSENT
    memo: dict[str, Any] = {}


class _Content(msgspec.Struct):
    id: str
    text: str | None = None
    features: Raw = ABSENT
    vector: Raw = ABSENT
    label: str | None = None
    image: str | None = None
    format: str | None = None


_asked = msgspec.json.Decoder(_AskedRow).decode
_contents = msgspec.json.Decoder(list[_Content]).decode


def latest(connection: Connection, header: log_table.Header, kind: str, before: int, limit: int) -> LatestReply:
    """At most `limit` standing answers or flags at positions below `before`. Not for the event loop."""
    last = min(before - 1, header.position)
    first = max(header.base, last - WINDOW)
    here = (log.c.model_id == header.id) & (log.c.position > first) & (log.c.position <= last)
    wanted = select(log.c.position).where(here, log.c.kind.in_(KINDS[kind])).order_by(log.c.position.desc())
    places = list(connection.execute(wanted.limit(limit)).scalars())
    undone = log_table.undone(connection, header.id, places[-1]) if places else frozenset()
    found = [_row(connection, header.id, place) for place in places if place not in undone]
    _settle(connection, header.id, [row for row in found if row is not None])
    further = places[-1] if len(places) == limit else first + 1 if first > header.base else None
    return LatestReply([row for row in found if row is not None and not (kind == "open" and row.settled)], further)


def _settle(connection: Connection, model: int, rows: Sequence[LatestRow]) -> None:
    """Say of each flag among the rows whether it is settled."""
    flags = [row for row in rows if row.comment is not None]
    ends = settled_up_to(connection, model, list({row.event for row in flags if row.event})) if flags else {}
    for row in flags:
        row.settled = row.position <= ends.get(row.event or "", 0)


def _row(connection: Connection, model: int, place: int) -> LatestRow | None:
    """One row at a time: the items of a single question may be as large as a request may be."""
    entry: Entry = next(log_table.entries(connection, model, place - 1, 1))[0]
    body = entry.body
    if not isinstance(body, Answered | Voted | Flagged):
        return None
    text = entry.text.decode() if isinstance(body, Voted) else None
    for _, asked in () if text is not None else log_table.decisions(connection, model, [entry.event]):
        text = asked
    row = LatestRow(place, entry.at, entry.event, entry.voter, *_question(text))
    if isinstance(body, Flagged):
        row.comment = body.comment
    else:
        said = body.said if isinstance(body, Voted) else body
        row.winner, row.learnt, row.reason = said.winner, said.value is not None, said.reason
    return row


def _question(text: str | None) -> tuple[list[ShownText], str | None, str | None]:
    """What was shown, under which context, and for a parse question about which word.

    >>> _question('{"names":["b"],"items":[{"id":"a","text":"x"},{"id":"b","text":"y"}],"context":"tea"}')
    ([ShownText(id='b', text='y', label=UNSET, image=UNSET, format=UNSET)], 'tea', None)
    """
    try:
        asked = _asked(text or "{}")
        items = _contents(asked.items) if asked.items != ABSENT else []
        context = prompt_of(asked.context)
    except (msgspec.DecodeError, RecursionError):
        # A damaged row shows nothing.
        return [], None, None
    if "sentence" in asked.memo and items:
        forms = _forms(items[0].text or "")
        known = _in_words(forms)
        shown = [ShownText(name, known.get(name)) for name in asked.names]
        return shown, _cut(" ".join(forms)), known.get(str(asked.memo.get("word")))
    told = {item.id: item for item in items}
    about = context if isinstance(context, str) or context is None else msgspec.json.encode(context).decode()
    return [_shown(name, told.get(name)) for name in asked.names], None if about is None else _cut(about), None


def _shown(name: str, item: _Content | None) -> ShownText:
    if item is None:
        return ShownText(name, None)
    besides = (one or msgspec.UNSET for one in (item.label, item.image, item.format))
    return ShownText(name, _told(item), *besides)


def _forms(sentence: str) -> Sequence[str]:
    """The words of a sentence in CoNLL-U."""
    rows = [line.split("\t") for line in sentence.splitlines()]
    return [row[1] for row in rows if len(row) > 1 and row[0].isdecimal()]


def _told(item: _Content) -> str:
    if item.text is not None:
        return _cut(item.text)
    return _cut(bytes(item.vector if item.features == ABSENT else item.features).decode())


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _in_words(forms: Sequence[str]) -> dict[str, str]:
    """What the numbers of a sentence's words stand for, the root too; a word that is there twice has its place with it.

    >>> _in_words(["the", "dog", "saw", "the", "cat"])["4"], _in_words(["dogs", "bark"])["0"]
    ('the (word 4)', 'the sentence itself')
    """
    named = {
        str(place): f"{form} (word {place})" if forms.count(form) > 1 else form for place, form in enumerate(forms, 1)
    }
    return {"0": "the sentence itself", **named}
