"""Questions for people from a model's own items: draws, leases so that no two people get the same, repeats."""

import random
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, delete, func, insert, select

from conquer.service.annotation.uploads import Group
from conquer.service.commands import answering as asking
from conquer.service.commands.reading import decode_items
from conquer.service.commands.repeats import again, subjects
from conquer.service.errors import conflict
from conquer.service.http.schemas import ChooseReply, ChooseRequest, Item, Raw
from conquer.service.log.event import Event
from conquer.service.log.records import Chosen
from conquer.service.log.transaction import Turn
from conquer.service.store.schema import items, leases
from conquer.tickets import stream, ticket

_json = msgspec.json.Encoder().encode
_group = msgspec.json.Decoder(Group).decode
_DRAWS = 25


class Question(msgspec.Struct):
    """What a page shows: the event with its items in full, and how far this voter has come."""

    event: ChooseReply | None
    items: list[Item]
    context: Any
    answered: int
    reason: str | None = None
    """Without an event: why there is none now."""
    parse: Any = None
    """For a parse question: the sentence, its tree, the word and the two heads."""


def add_groups(connection: Connection, model: int, groups: Sequence[Group]) -> int:
    """Store more groups of a model; return how many items they hold. An id that is there already is refused."""
    there = {item.id for group in read_pool(connection, model) for item in group.items}
    twice = next((item.id for group in groups for item in group.items if item.id in there), None)
    if twice is not None:
        raise conflict("item_exists", f"there is an item {twice!r} already: an id names one item")
    last = connection.execute(select(func.max(items.c.number)).where(items.c.model_id == model)).scalar()
    rows = [
        {"model_id": model, "number": number, "body": _json(group).decode()}
        for number, group in enumerate(groups, 0 if last is None else last + 1)
    ]
    connection.execute(insert(items), rows)
    return sum(len(group.items) for group in groups)


def groups_of(turn: Turn) -> list[Group]:
    """The model's groups, read once and kept with it."""
    pool = turn.folded.pool
    count = turn.connection.execute(
        select(func.count()).select_from(items).where(items.c.model_id == turn.folded.id)
    ).scalar_one()
    if pool is None or len(pool) != count:
        pool = turn.folded.pool = read_pool(turn.connection, turn.folded.id)
        turn.folded.pool_bytes = sum(2 * len(item.text or "") + 500 for group in pool for item in group.items)
    return pool


def read_pool(connection: Connection, model: int) -> list[Group]:
    found = connection.execute(select(items.c.body).where(items.c.model_id == model).order_by(items.c.number))
    return [_group(row.body) for row in found]


def next_question(turn: Turn, voter: str, seconds: float, shared: bool = False) -> Question:
    """The voter's open question if there is one, else a new one that nobody else is answering."""
    held = _held(turn, voter)
    if held is not None:
        return _question(turn, held, voter)
    pool = groups_of(turn)
    if not pool:
        raise conflict("no_items", f"model {turn.folded.name!r} has no items: upload some first")
    taken = set() if shared else _taken(turn, voter)
    if _parsing(turn):
        from conquer.service.parser.questions import drawn

        event = again(turn, voter, taken) or drawn(turn, pool, taken, voter)
    else:
        event = again(turn, voter, taken) or _drawn(turn, pool, taken, voter)
    if event is None:
        answered = turn.folded.tally.voters.get(voter, 0)
        done = "every word has been asked about" if _parsing(turn) else "nothing is left to ask: the model is sure"
        reason = "everything is being answered by others" if taken else done
        return Question(None, [], None, answered, reason)
    _lease(turn, event, voter, seconds)
    return _question(turn, event, voter)


def _parsing(turn: Turn) -> bool:
    return turn.folded.settings.task == "parse"


def release(turn: Turn, event_id: str) -> None:
    turn.connection.execute(delete(leases).where(leases.c.model_id == turn.folded.id, leases.c.event_id == event_id))


def _held(turn: Turn, voter: str) -> Event | None:
    """Where this voter stopped."""
    found = turn.connection.execute(
        select(leases.c.event_id).where(leases.c.model_id == turn.folded.id, leases.c.voter == voter).limit(1)
    ).scalar()
    event = turn.event(found) if found is not None else None
    return event if event is not None and voter not in event.answers else None


def _taken(turn: Turn, voter: str) -> set[str]:
    turn.connection.execute(delete(leases).where(leases.c.model_id == turn.folded.id, leases.c.until < turn.now))
    found = turn.connection.execute(
        select(leases.c.subject).where(leases.c.model_id == turn.folded.id, leases.c.voter != voter)
    )
    return {row.subject for row in found}


def _lease(turn: Turn, event: Event, voter: str, seconds: float) -> None:
    turn.connection.execute(delete(leases).where(leases.c.model_id == turn.folded.id, leases.c.voter == voter))
    # Shared questions are held by several: the voter is part of such a lease's subject.
    held = _taken(turn, voter)
    rows = [
        {
            "model_id": turn.folded.id,
            "subject": item if item not in held else f"{item}\x1f{voter}",
            "voter": voter,
            "event_id": event.id,
            "until": turn.now + seconds,
        }
        for item in subjects(event)
    ]
    turn.connection.execute(insert(leases), rows)


def _drawn(turn: Turn, pool: list[Group], taken: set[str], voter: str) -> Event | None:
    """Rounds drawn from the pool until one has a question; silent rounds are logged like any other."""
    folded = turn.folded
    for _ in range(_DRAWS):
        rng = random.Random(ticket(stream("pool", folded.settings.seed), folded.tally.ordinal))
        group = pool[rng.randrange(len(pool))]
        free = [item for item in group.items if item.id not in taken]
        if len(free) < 2:
            free_groups = [g for g in pool if sum(item.id not in taken for item in g.items) >= 2]
            if not free_groups:
                return None
            group = free_groups[rng.randrange(len(free_groups))]
            free = [item for item in group.items if item.id not in taken]
        drawn = rng.sample(free, min(folded.settings.per_round, len(free)))
        request = ChooseRequest(items=Raw(_json(drawn)), context=Raw(_json(group.context)), voter=voter)
        reply = asking.choose(turn, request)
        if reply.query != "none":
            return turn.event(reply.event_id)
    return None


def _question(turn: Turn, event: Event, voter: str) -> Question:
    chosen: Chosen = event.chosen
    by_id = {item.id: item for item in decode_items(bytes(chosen.items))}
    context = msgspec.json.decode(bytes(chosen.context))
    answered = turn.folded.tally.voters.get(voter, 0)
    if _parsing(turn):
        from conquer.service.parser.questions import view

        return Question(asking.reply(event), list(by_id.values()), None, answered, parse=view(turn, event))
    return Question(asking.reply(event), [by_id[one] for one in event.shown], context, answered)
