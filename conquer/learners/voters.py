"""The table of voters: sums over each one's answers, the weight they give, and a report."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import checked_voter, number
from conquer.files import adopt
from conquer.types import Floats, Source

KINDS = ("person", "judge")
Interval = tuple[float, float]
ANSWERS, LEFT, RIGHT, AGREED, AGAINST, TOGETHER, SQUARES, NOISE, GAINED = range(9)
"""Columns of a voter's sums: answers; decisive ones for the left and the right; for and against the prediction from
the others' answers; sums of y p, of p^2 and of y^2 (y without the side's effect, p the prediction); and what a
judge's answers were worth, in people's answers."""
_SUMS = 9


@dataclass(frozen=True, slots=True)
class Voter:
    """One voter as `learner.voters()` reports it; intervals have 95 % coverage.

    `left`: the share of decisive answers (no ties, side known) for the left. `side`: what the left is worth to this
    voter, learnt, in units of an answer (0: nothing, 1: always left); its interval is None on diagonal models.
    `agreement`: the share of decisive answers that agree with the prediction from the others' answers. `weight`: the
    rho of the next answer. `doubtful`, with its `reason`: a significant side bias or a significantly low weight, after
    a correction for the number of voters. A share without answers is None.
    """

    name: str
    kind: str
    answers: int
    left: float | None
    left_interval: Interval
    side: float
    side_interval: Interval | None
    agreement: float | None
    agreement_interval: Interval
    weight: float
    weight_interval: Interval
    doubtful: bool
    reason: str


def checked_source(source: Source) -> Source:
    """The source; a ValueError if it is not valid."""
    if source.kind not in KINDS:
        raise ValueError(f"a voter's kind must be one of {', '.join(map(repr, KINDS))}, got {source.kind!r}")
    if source.voter is not None:
        checked_voter(source.voter)
    elif source.kind == "judge":
        raise ValueError("a judge needs a name: its answers are weighed by its earlier ones")
    if isinstance(source.side, bool) or source.side not in (-1, 0, 1):
        raise ValueError(f"a side must be +1 (the first shown is on the left), -1 or 0 (unknown), got {source.side!r}")
    if source.weight is not None:
        number("weight", source.weight, 0, 1)
    return source


def wilson(hits: float, count: float, z: float = 1.96) -> Interval:
    """Wilson's interval of a share.

    >>> [round(end, 2) for end in wilson(7, 10)]
    [0.4, 0.89]
    """
    if count == 0:
        return 0.0, 1.0
    share, spread = hits / count, z * z / count
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / count + spread / (4 * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def _within(value: float, low: float = 0.0) -> float:
    """The nearest number in [low, 1]."""
    return min(1.0, max(low, value))


class Voters:
    """Every named voter in the order of first appearance, with nine sums each.

    >>> voters = Voters(trust=1.0)
    >>> voters.add(Source("ann"), answer=1.0, net=1.0, predicted=0.5)
    0
    >>> voters.weight(0)
    1.0
    """

    def __init__(self, trust: float) -> None:
        self.trust = trust
        self.names: dict[tuple[str, str], int] = {}
        self.judges: dict[int, int] = {}
        """The index among judges of each judge's number among voters."""
        self.sums: Floats = np.zeros((8, _SUMS))

    def __len__(self) -> int:
        return len(self.names)

    def find(self, source: Source) -> int:
        """The voter's number; the next free one for a new name."""
        return self.names.get((source.kind, source.voter or ""), len(self.names))

    def _name(self, key: tuple[str, str]) -> None:
        """Give a new voter the next number."""
        if key not in self.names:
            if key[0] == "judge":
                self.judges[len(self.names)] = len(self.judges)
            self.names[key] = len(self.names)

    def judge(self, voter: int) -> int:
        """The index of this voter among judges, also of the next new one."""
        return self.judges.get(voter, len(self.judges))

    def estimate(self, voter: int) -> tuple[float, float]:
        """(rho before it is clipped, its standard error): the slope of y on p; 1 for a new voter."""
        if voter >= len(self.names):
            return 1.0, 1.0 / math.sqrt(self.trust)
        answers, together, squares, noise = self.sums[voter, [ANSWERS, TOGETHER, SQUARES, NOISE]].tolist()
        variance = (1.0 + noise) / (1.0 + answers)
        prior = self.trust * variance
        return (prior + together) / (prior + squares), math.sqrt(variance / (prior + squares))

    def weight(self, voter: int) -> float:
        """rho: the estimate plus one standard error, within [0, 1]: trusted until the data says otherwise."""
        rho, error = self.estimate(voter)
        return _within(rho + error)

    def add(self, source: Source, *, answer: float, net: float, predicted: float, gained: float = 0.0) -> int:
        """Count one answer; returns the voter's number. `net`: y without the side's effect; `predicted`: p."""
        voter = self.find(source)
        self._name((source.kind, source.voter or ""))
        if voter >= len(self.sums):
            self.sums = np.concatenate([self.sums, np.zeros_like(self.sums)])
        row = self.sums[voter]
        row[ANSWERS] += 1
        if answer * source.side:
            row[LEFT if answer * source.side > 0 else RIGHT] += 1
        if answer * predicted:
            row[AGREED if answer * predicted > 0 else AGAINST] += 1
        row[TOGETHER] += net * predicted
        row[SQUARES] += predicted * predicted
        row[NOISE] += net * net
        row[GAINED] += gained
        return voter

    def report(self, key: tuple[str, str], side: float, deviation: float | None) -> Voter:
        """The voter's report; `side` and its standard deviation come from the model."""
        (kind, name), voter = key, self.names[key]
        row = self.sums[voter].tolist()
        rho, error = self.estimate(voter)
        sides, met = row[LEFT] + row[RIGHT], row[AGREED] + row[AGAINST]
        strict = NormalDist().inv_cdf(1 - 0.025 / len(self.names))
        reasons = []
        low, high = wilson(row[LEFT], sides, strict)
        if not low <= 0.5 <= high:
            reasons.append(f"picks the left in {row[LEFT] / sides:.0%} of {sides:.0f} answers")
        if rho + strict * error < 0.5:
            # Ties neither agree nor disagree with a prediction.
            share, count = (f"{row[AGREED] / met:.0%}", met) if met else ("none", row[ANSWERS])
            reasons.append(f"agrees with the others in {share} of {count:.0f} answers")
        return Voter(
            name,
            kind,
            int(row[ANSWERS]),
            row[LEFT] / sides if sides else None,
            wilson(row[LEFT], sides),
            _within(side, -1.0),
            None
            if deviation is None
            else (_within(side - 1.96 * deviation, -1.0), _within(side + 1.96 * deviation, -1.0)),
            row[AGREED] / met if met else None,
            wilson(row[AGREED], met),
            self.weight(voter),
            (_within(rho - 1.96 * error), _within(rho + 1.96 * error)),
            bool(reasons),
            "; ".join(reasons),
        )

    def reports(self, sides: Sequence[float], deviations: Sequence[float] | None) -> tuple[Voter, ...]:
        """Every voter; the last of `sides` and `deviations` is that of all later voters."""
        last = len(sides) - 1
        return tuple(
            self.report(key, sides[min(k, last)], None if deviations is None else deviations[min(k, last)])
            for key, k in self.names.items()
        )

    def copied(self) -> "Voters":
        """A copy that shares nothing with these."""
        twin = Voters(self.trust)
        twin.names, twin.judges, twin.sums = dict(self.names), dict(self.judges), self.sums.copy()
        return twin

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The names as JSON bytes and the sums; empty without voters."""
        if not self.names:
            return {}
        text = json.dumps([list(key) for key in self.names]).encode()
        return {"voters.names": np.frombuffer(text, np.uint8), "voters.sums": self.sums[: len(self.names)]}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the state of `arrays()`, checked."""
        if "voters.names" not in arrays:
            return
        keys = [(kind, checked_source(Source(name, kind=kind)).voter or "") for kind, name in _listed(arrays)]
        (sums,) = adopt(arrays, {"voters.sums": (len(keys), _SUMS)})
        counts = sums[:, [ANSWERS, LEFT, RIGHT, AGREED, AGAINST]]
        if len(set(keys)) != len(keys) or (counts != np.floor(counts)).any() or (counts[:, 0] < 1).any():
            raise ValueError("voters must differ, and each must have a whole number of answers above 0")
        if (np.delete(sums, TOGETHER, axis=1) < 0).any() or (
            counts[:, [1, 3]] + counts[:, [2, 4]] > counts[:, :1]
        ).any():
            raise ValueError("a voter's sums must not be negative, nor count more than the answers")
        for key in keys:
            self._name(key)
        self.sums = sums if len(keys) else self.sums


def _listed(arrays: Mapping[str, NDArray[Any]]) -> list[Any]:
    text = arrays["voters.names"]
    if text.dtype != np.uint8 or text.ndim != 1:
        raise ValueError(f"array 'voters.names' must be uint8 with one dimension, got {text.dtype} of {text.shape}")
    listed = json.loads(text.tobytes())
    if not isinstance(listed, list) or not listed:
        raise ValueError("the voters' names must be a list with at least one")
    return listed
