"""Flags: people's remarks on questions. And a lead's list of the latest answers and flags with their texts."""

from collections import Counter

import msgspec
from sqlalchemy import Connection, select

from conquer.service.engine.turn import Turn
from conquer.service.errors import conflict
from conquer.service.model.records import Answered, Entry, Flagged, Settled, Voted
from conquer.service.model.schemas import AnswerReply, Item
from conquer.service.store import log as log_table
from conquer.service.store.schema import log
from conquer.service.work.exports import content_of, items_in, prompt_of, text_of

PER_VOTER, PER_EVENT, OPEN = 5, 20, 10_000
"""Flags by one voter on one event, on one event in all, and unsettled ones of a model. 2,000 characters each."""
WINDOW = 20_000
"""Rows searched for one page of the list: flags are rare and have no index."""
KINDS = {"answers": ("answer", "vote"), "flags": ("flag",), "open": ("flag",)}
"""Kinds of lists and their rows; `open` are unsettled flags."""
_LONGEST = 500
"""Characters of a text in the list."""


def flag(turn: Turn, event_id: str, voter: str | None, comment: str) -> AnswerReply:
    """Store a person's remark on a question. Raises RefusalError if the event or the model has too many."""
    event = turn.known(event_id)
    voter, tally = voter or event.voter, turn.state.tally
    if tally.flags - (tally.settled or 0) >= OPEN:
        message = f"model {turn.state.name!r} has {OPEN:,} unsettled flags; settle some first"
        raise conflict("too_many_flags", message)
    turn.flush()
    others = log_table.flags_after(turn.connection, turn.state.id, event_id, 0, PER_EVENT)
    if len(others) >= PER_EVENT or sum(one == voter for _, one in others) >= PER_VOTER:
        message = f"an event takes {PER_EVENT} flags, {PER_VOTER} of one voter; event {event_id!r} has {len(others)}"
        raise conflict("too_many_flags", message)
    turn.append(Flagged(comment), event_id, voter)
    return AnswerReply("ignored", event_id, "flagged")


def settle(turn: Turn, event_id: str) -> AnswerReply:
    """Mark an event's flags as settled; a second time changes nothing. Each row belongs to the voter who flagged."""
    turn.known(event_id)
    turn.flush()
    connection, model = turn.connection, turn.state.id
    after = log_table.settled_up_to(connection, model, [event_id]).get(event_id, 0)
    flags = log_table.flags_after(connection, model, event_id, after, PER_EVENT)
    for position, voter in flags:
        turn.append(Settled(position), event_id, voter)
    if not flags and not after:
        raise conflict("not_flagged", f"event {event_id!r} has no flag to settle")
    return AnswerReply("ignored" if flags else "repeat", event_id, "settled")


class LatestRow(msgspec.Struct):
    """An answer (`winner`, `learnt`, `reason`) or a flag (`comment`, `settled`) with its question.

    An item is its id, label, image and format, and its text or features, cut after 500 characters; of a parse question
    a word, and `word` is the one whose head is asked for.
    """

    position: int
    at: float
    event: str | None
    voter: str | None
    items: list[Item]
    context: str | None = None
    word: str | None = None
    winner: str | None = None
    learnt: bool | None = None
    reason: str | None = None
    comment: str | None = None
    settled: bool | None = None


class LatestReply(msgspec.Struct):
    """Newest first; `next` is the `before` of the following page, null on the last page."""

    rows: list[LatestRow]
    next: int | None


def latest(connection: Connection, header: log_table.Header, kind: str, before: int, limit: int) -> LatestReply:
    """At most `limit` answers or flags at positions below `before`, without undone ones."""
    last = min(before - 1, header.position)
    first = max(header.base, last - WINDOW)
    here = (log.c.model_id == header.id) & (log.c.position > first) & (log.c.position <= last)
    wanted = select(log.c.position).where(here, log.c.kind.in_(KINDS[kind])).order_by(log.c.position.desc())
    places = list(connection.execute(wanted.limit(limit)).scalars())
    undone = log_table.undone(connection, header.id, places[-1]) if places else frozenset()
    found = [_row(connection, header.id, place) for place in places if place not in undone]
    rows = [row for row in found if row is not None]
    if kind != "answers":
        ends = log_table.settled_up_to(connection, header.id, list({row.event for row in rows if row.event}))
        for row in rows:
            row.settled = row.position <= ends.get(row.event or "", 0)
    further = places[-1] if len(places) == limit else first + 1 if first > header.base else None
    return LatestReply([row for row in rows if not (kind == "open" and row.settled)], further)


def _row(connection: Connection, model: int, place: int) -> LatestRow | None:
    """One row at a time: the items of a single question may be as large as a request."""
    entry: Entry = log_table.entries(connection, model, place - 1, 1)[0]
    body = entry.body
    if not isinstance(body, Answered | Voted | Flagged):
        return None
    row = LatestRow(place, entry.at, entry.event, entry.voter, [])
    if isinstance(body, Flagged):
        row.comment = body.comment
    else:
        said = body.said if isinstance(body, Voted) else body
        row.winner, row.learnt, row.reason = said.winner, said.value is not None, said.reason
    event = log_table.events_within(connection, model, [str(entry.event)])[0].get(str(entry.event))
    if event is not None:
        chosen, items = event.chosen, items_in(event.chosen.items)
        if event.about is not None and items:
            # A parse question: words in place of their numbers.
            sentence, words = _words(next(iter(items.values())).text or "")
            row.items = [Item(name, words.get(name)) for name in chosen.names]
            row.context, row.word = _cut(sentence), words.get(str(event.about[1]))
        else:
            row.items = [_shown(items.get(name) or Item(name)) for name in chosen.names]
            row.context = _cut(text_of(prompt_of(chosen.context)))
    return row


def _shown(item: Item) -> Item:
    text = _cut(text_of(content_of(item)))
    return msgspec.structs.replace(item, text=text, features=None, vector=None, meta=None)


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _words(conllu: str) -> tuple[str, dict[str, str]]:
    r"""A sentence in CoNLL-U as text, and its words by number, 0 for the root; a word that occurs twice has its number.

    >>> _words("1\tthe\n2\tcat\n3\tsaw\n4\tthe\n5\tdog\n")[1]["4"], _words("1\tdogs\n2\tbark\n")
    ('the (word 4)', ('dogs bark', {'0': 'the sentence itself', '1': 'dogs', '2': 'bark'}))
    """
    rows = [line.split("\t") for line in conllu.splitlines()]
    forms = {row[0]: row[1] for row in rows if len(row) > 1 and row[0].isdecimal()}
    times = Counter(forms.values())
    words = {number: f"{form} (word {number})" if times[form] > 1 else form for number, form in forms.items()}
    return " ".join(forms.values()), {"0": "the sentence itself", **words}
