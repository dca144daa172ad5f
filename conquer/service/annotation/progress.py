"""How far the questions about a pool have come, in all and by person."""

import msgspec

from conquer.service.annotation.pool import asked_now, groups_of
from conquer.service.errors import conflict
from conquer.service.log.transaction import Turn

_MOST = 256
"""People who are told of."""


class VoterProgress(msgspec.Struct):
    name: str
    pairs: int
    """About how many pairs they have answered, whatever they said."""


class Progress(msgspec.Struct):
    """`pairs` of the pool, those `covered` by an answer that counts; with a `quota` also how many answers that makes.

    `answered` of `wanted` count towards the quota; both are null without one. `voters`: most pairs first.
    """

    pairs: int
    covered: int
    quota: int | None
    answered: int | None
    wanted: int | None
    voters: list[VoterProgress]


def progress(turn: Turn) -> Progress | None:
    """As of now; None where who answered about what must first be read from a long log (`pool.read_asked`)."""
    folded = turn.folded
    if not folded.learner.pairwise:
        raise conflict("no_pairs", f"model {folded.name!r} asks about parts of its items, not about pairs of them")
    asked = asked_now(turn, groups_of(turn))
    if asked is None:
        return None
    quota = folded.settings.quota
    voters = [VoterProgress(*one) for one in asked.voters(_MOST)]
    answered, wanted = (None, None) if quota is None else (asked.filled, quota * asked.pairs)
    return Progress(asked.pairs, asked.covered, quota, answered, wanted, voters)
