"""What happened in a simulation: items shown, answers, regret."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from conquer.kernels.rounds.loop import Log
from conquer.metrics import regrets
from conquer.rows import Rounds
from conquer.types import Floats, Ints, Learner, Query

_QUERIES = np.array([q.name for q in Query])


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What happened: positions `shown` (T, k) with -1 for none, `query` (T,), `answers` (T,), rewards of all concerned.

    k is 2, or as many as the learner shows. `regret` (T,) is the paper's (weak) one, that of the best shown;
    `average_regret` is the mean over the shown ones and `strong_regret` twice that.
    """

    shown: Ints
    query: Ints
    answers: Floats
    chance: Floats
    best: Floats
    rewards: Floats
    learner: Learner

    @property
    def regret(self) -> Floats:
        return self._regrets()["weak"]

    @property
    def strong_regret(self) -> Floats:
        return self._regrets()["strong"]

    @property
    def average_regret(self) -> Floats:
        return self._regrets()["average"]

    def _regrets(self) -> dict[str, Floats]:
        if self.rewards.shape[1] == 2:
            return regrets(self.best, self.rewards[:, 0], self.rewards[:, 1])
        gaps = self.best[:, None] - self.rewards
        average = np.nanmean(gaps, axis=1)
        return {"weak": np.nanmin(gaps, axis=1), "strong": 2.0 * average, "average": average}

    @property
    def query_rate(self) -> float:
        """The share of rounds with a question."""
        return float((self.query != Query.NONE).mean()) if self.query.size else 0.0

    def __repr__(self) -> str:
        regret = self.regret
        last = regret[-max(1, regret.size // 10) :]
        return (
            f"<Trace: {self.learner.name}, rounds {regret.size:,}, regret {regret.sum():.1f}, per round in the last "
            f"tenth {last.mean() if last.size else 0.0:.4f}, asked {self.query_rate:.0%}>"
        )

    def to_frame(self) -> Any:
        """One polars row per round; items shown beyond two are columns shown_2, shown_3, ..."""
        import polars

        return polars.DataFrame(
            {
                "round": np.arange(self.query.size),
                "first": self.shown[:, 0],
                "second": self.shown[:, 1],
                **{f"shown_{place}": self.shown[:, place] for place in range(2, self.shown.shape[1])},
                "query": _QUERIES[self.query],
                "answer": self.answers,
                "chance": self.chance,
                "regret": self.regret,
            }
        )


def trace_of(learner: Learner, rounds: Rounds, log: Log) -> Trace:
    """The trace of a log that a driver has filled: the rewards of what was shown are looked up."""
    shown = log.picks.copy()
    shown[log.query != Query.DUEL, 1:] = -1
    size = len(rounds)
    padded = np.where(rounds.sets >= 0, rounds.rewards[rounds.sets], -np.inf)
    rewards = np.full(shown.shape, np.nan)
    for column in range(shown.shape[1]):
        there = shown[:, column] >= 0
        rewards[there, column] = padded[there, shown[there, column]]
    best = padded.max(axis=1) if size else np.empty(0)
    return Trace(shown, log.query, log.reals[:, 1], log.reals[:, 0], best, rewards, learner)
