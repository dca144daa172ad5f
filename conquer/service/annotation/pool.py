"""Questions for people from a model's own items: what was uploaded, and the next question drawn from it."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, select

from conquer.service.annotation.asked import NEAR, Asked
from conquer.service.annotation.leases import held, lease, pairs_held, taken
from conquer.service.commands.choosing import CellRoom, decide, reply
from conquer.service.commands.drawing import looking, narrowed
from conquer.service.commands.reading import decode_items
from conquer.service.commands.repeats import again
from conquer.service.commands.standings import BoardReply
from conquer.service.errors import conflict
from conquer.service.http.schemas import ChooseReply, ChooseRequest, Group, Item, Raw
from conquer.service.log.event import Event
from conquer.service.log.served import May
from conquer.service.log.transaction import Turn
from conquer.service.store import pool_table
from conquer.service.store.schema import models
from conquer.tickets import stream, ticket
from conquer.types import Query

_OTHERS = "everything is being answered by others"
_PAUSED = "paused: whoever leads this will go on later; what you have answered counts"


class Question(msgspec.Struct):
    """What a page shows: the event with its items in full, and how far this voter has come."""

    event: ChooseReply | None
    items: list[Item]
    context: Any
    answered: int
    reason: str | None = None
    """Without an event: why there is none now."""
    done: bool | msgspec.UnsetType = msgspec.UNSET
    """Without an event: whether there is nothing more to ask this person, unless items are added."""
    paused: bool | msgspec.UnsetType = msgspec.UNSET
    """Without an event: the model is paused."""
    board: BoardReply | msgspec.UnsetType | None = msgspec.UNSET
    """At the end: who has won, where the model can tell."""
    parse: Any = None
    """For a parse question: the sentence, its tree, the word and the two heads."""


def add_groups(connection: Connection, model: int, groups: Sequence[Group]) -> int:
    """Store the groups of a new model, at once; return how many items they hold."""
    rows = list(pool_table.rows_of(groups))
    pool_table.write(connection, model, 0, rows)
    pool_table.show(connection, model, len(rows))
    return sum(len(group.items) for group in groups)


def groups_of(turn: Turn) -> list[Group]:
    """The model's groups, in memory with it; what another server has shown since is read now."""
    folded = turn.folded
    if folded.pooled < turn.pooled:
        pool_table.read_into(turn.connection, folded.id, folded.pool, folded.pooled, turn.pooled)
        folded.hold_pool(turn.pooled)
    return folded.pool


def asked_now(turn: Turn, pool: list[Group]) -> Asked | None:
    """Who answered about which pairs of the pool, up to now; None where that is too long to read in a turn."""
    folded = turn.folded
    asked: Asked | None = folded.asked
    if asked is None or asked.void or asked.pooled != sum(len(group.items) for group in pool):
        asked = Asked(pool, folded.settings.quota)
    if folded.position - max(asked.position, turn.base) > NEAR:
        return None
    turn.flush()
    asked.catch_up(turn.connection, folded.id, folded.position)
    folded.asked = asked
    return None if asked.void else asked


def read_asked(connection: Connection, model: int, head: int, quota: int | None) -> Asked:
    """The same from the store, beside the writer, up to the row at `head`."""
    asked = Asked(read_pool(connection, model), quota)
    asked.catch_up(connection, model, head)
    return asked


def read_pool(connection: Connection, model: int) -> list[Group]:
    """A model's groups, from the store."""
    pool: list[Group] = []
    pooled = connection.execute(select(models.c.pooled).where(models.c.id == model)).scalar()
    pool_table.read_into(connection, model, pool, 0, pooled or 0)
    return pool


def next_question(turn: Turn, voter: str, seconds: float, shared: bool = False) -> Question | None:
    """The voter's open question if there is one, else a new one that nobody else is answering.

    `seconds`: how long it stays theirs. `shared`: others may be answering the same. None: who answered about what must
    first be read from a long log, by `read_asked` beside the writer.
    """
    open_event = held(turn, voter)
    if open_event is not None:
        return _question(turn, open_event, voter)
    if turn.header.paused:
        return Question(None, [], None, _answered(turn, voter), _PAUSED, paused=True)
    pool = groups_of(turn)
    if not pool:
        raise conflict("no_items", f"model {turn.folded.name!r} has no items: upload some first")
    may = asked = None
    if turn.folded.learner.pairwise:
        asked = asked_now(turn, pool)
        if asked is None:
            return None
        may = _open_for(turn, asked, voter)
    busy = set() if shared else taken(turn, voter)
    event = again(turn, voter, busy)
    if event is None and not (asked is not None and asked.over & {voter, None}):
        event = _drawn(turn, pool, busy, voter, may)
    if event is None:
        reason, done = _ended(turn, pool, busy, asked, voter)
        return Question(None, [], None, _answered(turn, voter), reason, done or msgspec.UNSET)
    lease(turn, event, voter, seconds)
    return _question(turn, event, voter)


def _pairs_for(asked: Asked, voter: str | None, quota: int | None) -> May:
    """The pairs that this person has not met and that still need answers; None is a person who has met none."""

    def may(one: str, other: str) -> bool:
        if quota is not None and asked.votes_of(one, other) >= quota:
            return False
        return voter is None or not asked.has_met(voter, one, other)

    return may


def _open_for(turn: Turn, asked: Asked, voter: str) -> May:
    """The same, without the pairs that others are answering right now where they fill the quota."""
    quota, may = turn.folded.settings.quota, _pairs_for(asked, voter, turn.folded.settings.quota)
    held = Counter() if quota is None else pairs_held(turn, voter)
    if quota is None or not held:
        return may

    def still(one: str, other: str) -> bool:
        return may(one, other) and asked.votes_of(one, other) + held[frozenset((one, other))] < quota

    return still


def _ended(turn: Turn, pool: list[Group], busy: set[str], asked: Asked | None, voter: str) -> tuple[str, bool]:
    """Why there is no question now, and whether there will be none."""
    quota = turn.folded.settings.quota
    if asked is None or not _over(turn, pool, asked, voter):
        others = busy or (quota is not None and pairs_held(turn, voter))
        return (_OTHERS if others else turn.folded.learner.exhausted), False
    if quota is not None and _over(turn, pool, asked, None):
        return f"every pair has its {quota} answers" if quota > 1 else "every pair has its answer", True
    return "you have answered about every pair", True


def _over(turn: Turn, pool: list[Group], asked: Asked, voter: str | None) -> bool:
    """Whether no pair is left for this person, or (None) for anybody; all pairs are looked through once."""
    if not asked.over & {voter, None}:
        may = _pairs_for(asked, voter, turn.folded.settings.quota)
        if turn.folded.learner.draw(random.Random(0), pool, set(), {}, may) is not None:
            return False
        asked.over.add(voter)
    return voter is not None or None in asked.over


def _drawn(turn: Turn, pool: list[Group], busy: set[str], voter: str, may: May | None) -> Event | None:
    """Rounds drawn from the pool until one has a question; silent rounds are logged like any other."""
    folded, room = turn.folded, CellRoom()
    for _ in range(folded.learner.draws):
        rng = random.Random(ticket(stream("pool", folded.settings.seed), folded.tally.ordinal))
        drawn = folded.learner.draw(rng, pool, busy, folded.tally.asked, may)
        if drawn is None:
            return None
        items, context, read = narrowed(drawn, may, looking(folded.learner, folded.ticket(), may))
        request = ChooseRequest(items=Raw(items), context=Raw(context), voter=voter)
        event = decide(turn, request, items, context, read, room)
        if event.choice.query is not Query.NONE:
            return event
    return None


def _question(turn: Turn, event: Event, voter: str) -> Question:
    by_id = {item.id: item for item in decode_items(bytes(event.chosen.items))}
    # A question about a part of an item shows the whole of it, and its context is nothing to read.
    context = msgspec.json.decode(bytes(event.chosen.context)) if event.about is None else None
    view = turn.folded.learner.view(turn.folded.round_of(event), event)
    shown = [by_id[one] for one in event.subjects]
    return Question(reply(event), shown, context, _answered(turn, voter), parse=view)


def _answered(turn: Turn, voter: str) -> int:
    return turn.folded.tally.voters.get(voter, 0)
