"""Off-policy estimates: what another policy would have earned, from the answers and chances in a ledger."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from conquer.features.featurizer import Featurizer
from conquer.models.diagonal import Diagonal
from conquer.rows import SparseRows
from conquer.session.ledger import rows_of
from conquer.tickets import stream, tickets
from conquer.types import Choice, Floats, Ledger, Query

METHODS = ("ips", "snips", "dr")
_Z = 1.959964
Choices = list[list[Choice]]


class OverlapError(ValueError):
    """The log lacks what the target would show, so that no estimate from it is reliable."""


@dataclass(frozen=True, slots=True, eq=False)
class Logged:
    """One answered duel: the items, the ordered pair shown, its chance, and the outcome."""

    rows: SparseRows
    shown: tuple[int, ...]
    chance: float
    outcome: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its 95 % interval; `used` rounds had weight, as good as `effective` of equal weight."""

    method: str
    value: float
    low: float
    high: float
    rounds: int
    used: int
    effective: float


def read_log(
    ledger: Ledger | Iterable[Mapping[str, Any]] | str | Path,
    *,
    explored: bool = False,
    featurizer: Featurizer | None = None,
) -> list[Logged]:
    """The answered duels of a session's ledger, or of a service's in a file. The outcome: +1 if the first item won.

    `featurizer`: that of a service's model, where it was fitted.

    `explored`: only the rounds with a pair drawn uniformly, for learners whose own chances are unknown. Rounds without
    a recorded chance are left out, which is unbiased: whether it is known does not depend on the pair drawn.
    """
    rows = rows_of(ledger, featurizer)
    asked: dict[str, Mapping[str, Any]] = {}
    found = []
    for row in rows:
        if row["kind"] == "ask" and row["query"] == Query.DUEL and len(row["shown"]) == 2:
            asked[row["id"]] = row
        elif row["kind"] == "tell" and row["answer"] is not None and row["id"] in asked:
            ask = asked.pop(row["id"])
            memo, items = ask["memo"], ask["rows"]
            if explored and not memo.get("explored"):
                continue
            count = len(items)
            chance = 1.0 / (count * (count - 1)) if explored else memo.get("chance")
            if chance is None:
                continue
            found.append(Logged(items, tuple(ask["shown"]), float(chance), float(row["answer"])))
    if not found:
        raise OverlapError(
            "no answered duel has a recorded chance: log with explore=; for rules without known chances, such as gnt, "
            "read that log with explored=True"
        )
    return found


def matches(log: Sequence[Logged], target: Any, *, samples: int = 1, seed: int = 0) -> tuple[Floats, Choices]:
    """(n,): the share of the target's sampled choices equal to the logged pair; and those choices."""
    own = tickets(stream("target", seed), 0, len(log) * samples)
    choices = [
        [target.choose(entry.rows, int(own[k * samples + s])) for s in range(samples)] for k, entry in enumerate(log)
    ]
    shares = [np.mean([choice.shown == entry.shown for choice in row]) for entry, row in zip(log, choices, strict=True)]
    return np.array(shares), choices


def evaluate(
    log: Sequence[Logged], target: Any, *, method: str = "dr", samples: int = 1, seed: int = 0, least: float = 30.0
) -> Estimate:
    """The target's mean outcome per round, without learning, estimated from another policy's log.

    `ips` weighs matching rounds by one over their chance; `snips` divides by the sum of the weights, not by the
    rounds; `dr` uses a fitted linear model where they do not match. Raises an OverlapError if fewer than `least`
    effective rounds are left, or if the mean weight is below 1 by three standard errors: then the log never shows part
    of what the target would.
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
    shares, choices = matches(log, target, samples=samples, seed=seed)
    outcomes = np.array([entry.outcome for entry in log])
    weights = shares / np.array([entry.chance for entry in log])
    effective = check_overlap(weights, least)
    if method == "ips":
        return _mean("ips", weights * outcomes, weights, effective)
    if method == "snips":
        value = float((weights @ outcomes) / weights.sum())
        spread = weights * (outcomes - value) / weights.mean()
        return _around("snips", value, spread, weights, effective)
    return _mean("dr", _robust(log, choices, weights, outcomes), weights, effective)


def check_overlap(weights: Floats, least: float) -> float:
    """The effective number of rounds, or an OverlapError."""
    total, squares = float(weights.sum()), float(weights @ weights)
    effective = total * total / squares if squares > 0 else 0.0
    if effective < least:
        raise OverlapError(f"only {effective:.1f} effective rounds match the target, {least:g} are needed")
    mean, error = float(weights.mean()), float(weights.std(ddof=1)) / math.sqrt(weights.size)
    if mean + 3.0 * error < 1.0:
        raise OverlapError(
            f"the weights' mean is {mean:.2f} (+- {error:.2f}), not 1: in about {100 * (1 - mean):.0f} % of the rounds "
            "the target shows a pair that this log never could"
        )
    return effective


def _mean(method: str, terms: Floats, weights: Floats, effective: float) -> Estimate:
    value = float(terms.mean())
    return _around(method, value, terms - value, weights, effective)


def _around(method: str, value: float, deviations: Floats, weights: Floats, effective: float) -> Estimate:
    half = _Z * float(np.sqrt((deviations**2).sum())) / deviations.size
    used = int((weights > 0).sum())
    return Estimate(method, value, value - half, value + half, weights.size, used, effective)


def _robust(log: Sequence[Logged], choices: Choices, weights: Floats, outcomes: Floats) -> Floats:
    """Terms of the doubly robust estimate; each half of the log uses a model fitted on the other."""
    dim, terms = log[0].rows.dim, np.zeros(len(log))
    for half in (0, 1):
        model = Diagonal(dim)
        for k, entry in enumerate(log):
            if k % 2 != half:
                model.update(entry.rows, {entry.shown[0]: 0.5, entry.shown[1]: -0.5}, entry.outcome)
        for k, entry in enumerate(log):
            if k % 2 == half:
                scores = model.scores(entry.rows)
                own = np.mean([_guess(scores, choice.shown) for choice in choices[k]])
                terms[k] = own + weights[k] * (outcomes[k] - _guess(scores, entry.shown))
    return terms


def _guess(scores: Floats, shown: tuple[int, ...]) -> float:
    return float(np.clip(0.5 * (scores[shown[0]] - scores[shown[-1]]), -1.0, 1.0))


def compare_with_log(log: Sequence[Logged], target: Any, *, seed: int = 0, least: float = 30.0) -> Estimate:
    """The doubly robust difference between the target and what was logged, paired by round."""
    shares, choices = matches(log, target, seed=seed)
    outcomes = np.array([entry.outcome for entry in log])
    weights = shares / np.array([entry.chance for entry in log])
    effective = check_overlap(weights, least)
    return _mean("dr", _robust(log, choices, weights, outcomes) - outcomes, weights, effective)


def taught(target: Any, log: Sequence[Logged]) -> Any:
    """The target after learning the outcomes of these rounds."""
    for entry in log:
        target.learn(entry.rows, Choice(entry.shown, Query.DUEL, 0, {}), entry.outcome)
    return target


def compare_targets(log: Sequence[Logged], one: Any, two: Any, *, seed: int = 0, least: float = 30.0) -> Estimate:
    """The doubly robust difference one - two, paired by round."""
    terms, effective, used = [], math.inf, np.zeros(len(log))
    outcomes = np.array([entry.outcome for entry in log])
    chances = np.array([entry.chance for entry in log])
    for target in (one, two):
        shares, choices = matches(log, target, seed=seed)
        weights = shares / chances
        effective = min(effective, check_overlap(weights, least))
        used = np.maximum(used, weights)
        terms.append(_robust(log, choices, weights, outcomes))
    return _mean("dr", terms[0] - terms[1], used, effective)
