"""Votes from elsewhere, learnt in slices; sent twice, learnt once."""

import hashlib
from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any

import msgspec

from conquer.service.engine.turn import Turn
from conquer.service.errors import conflict, invalid
from conquer.service.model.event import Event
from conquer.service.model.pick_learner import PickLearner
from conquer.service.model.reading import Reader
from conquer.service.model.records import Entry
from conquer.service.model.schemas import Group
from conquer.service.settings import Limits
from conquer.service.work.answering import weigh
from conquer.service.work.pool import groups_of
from conquer.service.work.vote_rows import ReadVote, read_file

Run = Callable[[Callable[[Turn], Any]], Any]
"""Have the writer do it on the model, and wait."""
_SLICE, _BYTES = 200, 1 << 20
"""Votes looked up in one turn, and what they may take."""
_SECONDS = 0.02
"""A turn ends with the vote that brings it here: a vote may take a microsecond or, of a wide model, a whole turn."""


class VotesReply(msgspec.Struct):
    """What became of a file: votes learnt now, those that had been learnt before, and those that teach nothing.

    `undone`: those that had been learnt and were taken back. They stay so; an answer to their event says them again.
    """

    votes: int
    learnt: int
    repeated: int
    undone: int
    ties: int
    skipped: int
    both_bad: int


class Slice(msgspec.Struct):
    """What became of the votes of one turn."""

    learnt: int = 0
    repeated: int = 0
    undone: int = 0

    @property
    def votes(self) -> int:
        return self.learnt + self.repeated + self.undone


def vote(run: Run, data: bytes, *, name: str | None, kind: str, content: str | None) -> VotesReply:
    """Learn a file of votes; blocks, so it needs a thread of its own.

    Nothing is learnt unless all of it can be read. What was cut off half-way goes on when it is sent again under the
    same name, by default a digest of the file: each vote is an event of its own. Other votes under that name are
    refused.
    """
    reader, pool = run(_state)
    found, votes = read_file(data, reader, pool, kind, content)
    mark = name or hashlib.blake2b(data, digest_size=12).hexdigest()
    done = Slice()
    while done.votes < len(votes):
        first = done.votes
        part = _next(votes, first)

        def work(turn: Turn, part: Sequence[ReadVote] = part, first: int = first) -> Slice:
            return _learn(turn, mark, first, part)

        new = run(work)
        done = Slice(done.learnt + new.learnt, done.repeated + new.repeated, done.undone + new.undone)
    return VotesReply(len(votes), done.learnt, done.repeated, done.undone, found.ties, found.skips, found.both_bad)


def _state(turn: Turn) -> tuple[Reader, list[Group]]:
    state = turn.state
    if not isinstance(state.learner, PickLearner) or not state.learner.learner.duels:
        raise conflict("no_votes", f"model {state.name!r} does not learn from which of two was better")
    own = state.learner.reader
    return Reader(own.settings, Limits(), own.featurizer), list(groups_of(turn))


def _next(votes: Sequence[ReadVote], first: int) -> Sequence[ReadVote]:
    """The votes from a place on that one turn may look up, at least one."""
    stop, stored = first, 0
    while stop < min(len(votes), first + _SLICE) and (stop == first or stored + votes[stop].stored <= _BYTES):
        stored += votes[stop].stored
        stop += 1
    return votes[first:stop]


def _learn(turn: Turn, mark: str, first: int, part: Sequence[ReadVote]) -> Slice:
    """Append the votes that are not there yet, as far as the time of one turn goes."""
    began, done = monotonic(), Slice()
    ids = [f"vote-{mark}-{first + k}" for k in range(len(part))]
    turn.look_up(ids)
    for event_id, one in zip(ids, part, strict=True):
        event = turn.event(event_id)
        if event is None:
            _append(turn, event_id, one)
            done.learnt += 1
        elif _stands(event, one, mark):
            done.repeated += 1
        else:
            done.undone += 1
        if monotonic() - began >= _SECONDS:
            break
    return done


def _stands(event: Event, one: ReadVote, mark: str) -> bool:
    """Whether this vote is still learnt; a RefusalError where the event is about another one."""
    row, left = one.row, event.chosen.left if event.sided else None
    asked = (event.voter, event.shown, left, bytes(event.chosen.context))
    same = event.chosen.ordinal < 0 and asked == (one.voter, row.names, row.left, bytes(row.context))
    position, said = event.answers.get(one.voter or "", (0, None))
    stands = said is not None and position == event.position
    if same and stands and said is not None:
        same = (said.winner, said.value, said.kind) == (row.winner, row.value, row.kind)
    if not same:
        raise conflict(
            "other_votes", f"the votes {mark!r} are others: {event.id!r} is in the log, and not as in this file"
        )
    return stands


def _append(turn: Turn, event_id: str, one: ReadVote) -> None:
    turn.check_unused(event_id)
    learner, row = turn.state.learner, msgspec.structs.replace(one.row)
    read = learner.read(bytes(row.items), bytes(row.context))
    event = Event.of(Entry(0, 0.0, event_id, one.voter, row))
    event.round, said = read, row.said
    try:
        learner.check(read, event.choice)
    except (ValueError, TypeError) as error:
        raise invalid(str(error)) from None
    weigh(turn.state, event, said, one.voter)
    row.weight = said.weight
    turn.append(row, event_id, one.voter, read)
