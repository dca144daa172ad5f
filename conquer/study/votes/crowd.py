"""A fit of crowd votes on models beside Bradley-Terry: do both put the models into the same order?"""

from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from conquer.data.votes import Vote, read_votes
from conquer.fitting import fit
from conquer.study.votes.bradley_terry import strengths
from conquer.types import Floats

LAMS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_HELD_OUT = 5
"""One pair in so many is held out to choose lam."""


def crowd(path: Path) -> dict[str, Any]:
    """Kendall's tau of a fit's order with Bradley-Terry's, both with ties as half wins, and where ties are dropped.

    lam is the default. `predicting` is the one that best predicts the votes on pairs held out: it is larger, because
    it pulls models with few votes to the middle, which Bradley-Terry does not.
    """
    votes = list(read_votes(path))
    lam = 1.0
    predicting, errors = predicting_lam(votes)
    names = sorted({name for vote in votes for name in (vote.first, vote.second)})
    reference = strengths(_wins(votes, names))
    decisive = [vote for vote in votes if vote.value != 0]
    return {
        "votes": len(votes),
        "items": len(names),
        "ties": len(votes) - len(decisive),
        "lam": lam,
        "predicting": predicting,
        "errors": errors,
        "tau": _tau(votes, names, lam, reference),
        "taus": {one: _tau(votes, names, one, reference) for one in LAMS},
        "tau_without_ties": _tau(decisive, names, lam, reference),
        "tau_both_without_ties": _tau(decisive, names, lam, strengths(_wins(decisive, names))),
    }


def predicting_lam(votes: list[Vote]) -> tuple[float, dict[float, float]]:
    """The lam with the least squared error on the votes of held-out pairs, and the error of each."""
    held = [_is_held_out(vote) for vote in votes]
    training = [vote for vote, out in zip(votes, held, strict=True) if not out]
    errors = {}
    for lam in LAMS:
        session = fit(training, lam=lam)
        assert session.catalog is not None
        known, scores = session.catalog.places, session.learner.scores(session.catalog.rows)
        tested = [
            vote.value - 0.5 * (scores[known[vote.first]] - scores[known[vote.second]])
            for vote, out in zip(votes, held, strict=True)
            if out and vote.first in known and vote.second in known
        ]
        errors[lam] = float(np.mean(np.square(tested)))
    return min(errors, key=lambda lam: errors[lam]), errors


def _is_held_out(vote: Vote) -> bool:
    """By the hash of the two names, so that all votes on a pair are on one side."""
    text = "\n".join(sorted((vote.first, vote.second)))
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "little") % _HELD_OUT == 0


def _wins(votes: list[Vote], names: list[str]) -> Floats:
    places = {name: place for place, name in enumerate(names)}
    wins = np.zeros((len(names), len(names)))
    for one, two, share in _shares(votes, places):
        wins[one, two] += share
        wins[two, one] += 1.0 - share
    return wins


def _shares(votes: list[Vote], places: dict[str, int]) -> Iterator[tuple[int, int, float]]:
    return ((places[vote.first], places[vote.second], (1.0 + vote.value) / 2.0) for vote in votes)


def _tau(votes: list[Vote], names: list[str], lam: float, reference: Floats) -> float:
    from scipy.stats import kendalltau

    session = fit(votes, lam=lam)
    assert session.catalog is not None
    scores = session.learner.scores(session.catalog.rows)
    found = {name: scores[place] for name, place in session.catalog.places.items()}
    return float(kendalltau([found[name] for name in names], reference).statistic)
