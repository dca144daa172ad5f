"""Many rounds at once: read in one pass and chosen in one call, each decided as it would be alone."""

import secrets
from collections.abc import Iterator, Sequence
from typing import Any, cast

from conquer.service.engine.turn import Begun, Turn
from conquer.service.errors import RefusalError
from conquer.service.model.learner_protocol import Bulk
from conquer.service.model.records import ABSENT, Decision, Raw
from conquer.service.model.schemas import ChooseReply, ChooseRequest
from conquer.service.work.choosing import CellRoom, ReadRound, choose, decide, known, read, reply
from conquer.types import Query

SMALL_ROUND = 16 << 10
"""Bytes of a round up to which no more is kept of it than the two items it shows: the rest is read again if needed."""
TOGETHER = 1 << 20
"""Bytes of rounds that are read together."""
_FAILED = 8
"""So many rounds that cannot be chosen for are found in the midst of others; then each is tried alone."""
_TOKEN = 16
"""Digits of an event's id that nobody can guess."""
_DUEL = Query.DUEL
_ALONE = -1
"""In place of its place: a round that is not read together with others."""
Found = ReadRound | RefusalError | int | None
"""A round as it was read, why it cannot be, its place among those read together, or None: it is known already."""
Result = ChooseReply | RefusalError


def choose_all(turn: Turn, requests: Sequence[ChooseRequest], room: CellRoom | None = None) -> list[Result]:
    """Each as `choose` decides it, or why it is refused. `room` is that of all of them; None: each has its own.

    Rounds are read before they are decided: nothing that is read depends on what is decided.
    """
    results: list[Result] = []
    for part, sizes in _parts(requests):
        results += _choose_part(turn, part, sizes, room)
    return results


def _parts(requests: Sequence[ChooseRequest]) -> Iterator[tuple[Sequence[ChooseRequest], list[int]]]:
    """So many in turn that reading them together takes little memory, and the bytes of each."""
    sizes = [len(request.items) for request in requests]
    first = total = 0
    if sum(sizes) > TOGETHER:
        for place, size in enumerate(sizes):
            total += size
            if total > TOGETHER and place > first:
                yield requests[first:place], sizes[first:place]
                first, total = place, size
    yield requests[first:], sizes[first:]


def _choose_part(
    turn: Turn, requests: Sequence[ChooseRequest], sizes: Sequence[int], room: CellRoom | None
) -> list[Result]:
    bulk, ids = turn.state.learner.bulk, set[str]()
    found: list[Found] = []
    texts: list[bytes] = []
    for request, size in zip(requests, sizes, strict=True):
        new = request.event_id is None or _is_new(turn, request, ids)
        if new is not True:
            found.append(new or None)
        elif bulk is not None and size <= SMALL_ROUND and request.context == ABSENT:
            found.append(len(texts))
            texts.append(bytes(request.items))
        else:
            found.append(_ALONE)
    rounds = bulk.read(texts) if bulk is not None and texts else None
    cells = bulk.understood(rounds) if bulk is not None and texts else []
    for number, place in enumerate(found):
        if isinstance(place, int) and (
            place == _ALONE or cells[place] < 0 or (room is not None and not room.take(sizes[number], cells[place]))
        ):
            found[number] = _read_alone(turn, requests[number], room)
    return _decided_all(turn, requests, found, room, bulk, rounds, texts)


def is_small(items: Raw, context: Raw) -> bool:
    """Whether a round may be done together with others."""
    return len(items) <= SMALL_ROUND and context == ABSENT


def _is_new(turn: Turn, request: ChooseRequest, ids: set[str]) -> bool | RefusalError:
    """Whether it is neither known nor will be once an earlier one of `ids` is decided; or why it is refused."""
    if request.event_id is None:
        return True
    try:
        if request.event_id in ids or known(turn, request) is not None:
            return False
    except RefusalError as refusal:
        return refusal
    ids.add(request.event_id)
    return True


def _read_alone(turn: Turn, request: ChooseRequest, room: CellRoom | None) -> ReadRound | RefusalError:
    try:
        return read(turn, request, room or CellRoom(turn.limits))
    except RefusalError as refusal:
        return refusal


def _decided_all(
    turn: Turn,
    requests: Sequence[ChooseRequest],
    found: Sequence[Found],
    room: CellRoom | None,
    bulk: Bulk | None,
    rounds: Any,
    texts: Sequence[bytes],
) -> list[Result]:
    """All in order; those that were read together and stand side by side in one call."""
    results: list[Result] = []
    failed = 0
    while (first := len(results)) < len(found):
        last = first
        while failed <= _FAILED and last < len(found) and isinstance(found[last], int):
            last += 1
        if last == first or bulk is None:
            results.append(_decided_alone(turn, requests[first], found[first], room))
            continue
        place: Any = found[first]
        results += _decided_run(turn, requests[first:last], bulk, rounds, place, texts)
        if len(results) < last:
            # What is wrong with this one it says alone; those behind it get other tickets.
            results.append(_decided_alone(turn, requests[len(results)], place, room))
            failed += 1
    return results


def _decided_run(
    turn: Turn, requests: Sequence[ChooseRequest], bulk: Bulk, rounds: Any, place: int, texts: Sequence[bytes]
) -> list[Result]:
    """The replies to rounds from `place` on, up to the first that cannot be chosen for."""
    tickets, lefts = turn.state.next_tickets(len(requests))
    chosen = bulk.choose(rounds, place, place + len(requests), tickets)
    tokens, ordinal = secrets.token_hex(_TOKEN // 2 * len(requests)), turn.state.tally.ordinal
    begun: list[Begun] = []
    each = zip(requests, chosen, lefts, texts[place : place + len(requests)], strict=True)
    for number, (request, one, left, text) in enumerate(each):
        if one is None:
            break
        choice, names, scores = one
        query, memo = choice.query, cast("dict[str, Any]", choice.memo)
        decision = Decision(
            ordinal + number,
            choice.ticket,
            1 if query is _DUEL else int(query),
            choice.shown,
            names,
            names[left] if len(names) == 2 else names[0],
            Raw(text),
            scores,
            ABSENT,
            memo,
        )
        name = request.event_id or f"{ordinal + number:x}-{tokens[_TOKEN * number : _TOKEN * (number + 1)]}"
        begun.append((decision, choice, len(text), name, request.voter))
    opened = turn.open_all(begun)
    # At once: the rows are in room that is used again for the next that are read.
    turn.state.hold_pairs(opened, bulk.pairs(rounds, place, [event.choice for event in opened]))
    return [reply(event) for event in opened]


def _decided_alone(turn: Turn, request: ChooseRequest, found: Found, room: CellRoom | None) -> Result:
    if isinstance(found, RefusalError):
        return found
    # A round that was read together has had its room.
    room = CellRoom(turn.limits) if room is None or isinstance(found, int) else room
    try:
        if isinstance(found, ReadRound):
            return reply(decide(turn, request, *found, room))
        return choose(turn, request, room)
    except RefusalError as refusal:
        if refusal.tainted:
            raise
        return refusal
