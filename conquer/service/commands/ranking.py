"""Items by score as the model stands now: no round, no interval, nothing logged."""

from typing import Annotated

import msgspec
from msgspec import Meta

from conquer.service.commands.pick_learner import PickLearner
from conquer.service.errors import conflict
from conquer.service.log.transaction import Turn


class RankedItem(msgspec.Struct):
    id: str
    score: float


class RankingReply(msgspec.Struct):
    """The items, best first; equal scores in the order given."""

    items: Annotated[list[RankedItem], Meta(min_length=1)]


def rank(turn: Turn, items: bytes, context: bytes, room: int) -> RankingReply:
    """Items by what the model thinks of them now; no round is used and nothing is logged."""
    learner = turn.folded.learner
    if not isinstance(learner, PickLearner):
        raise conflict("no_ranking", f"model {turn.folded.name!r} does not rank items")
    read = learner.read(items, context, room)
    scores = learner.scored(read)
    order = sorted(range(len(scores)), key=lambda k: -scores[k])
    return RankingReply([RankedItem(read.ids[k], scores[k]) for k in order])
