"""Feel-good Thompson sampling: two chains of Langevin steps on losses that reward optimism."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import number, positive, whole
from conquer.files import adopt
from conquer.learners.algorithm import Values
from conquer.rivals.estimators.covariance import all_features
from conquer.rivals.estimators.estimator import sigmoid
from conquer.rivals.learner import Arrays, Method, Pick, duel
from conquer.rows import SparseRows
from conquer.tickets import Draws
from conquer.types import Choice, Floats


class FGTS:
    """theta^1 and theta^2 from tempered posteriors that reward optimism; the two argmaxes are played.

    Xuheng Li, Heyang Zhao and Quanquan Gu: Feel-good Thompson sampling for contextual dueling bandits, 2024 (FGTS.CDB).

    Loss of chain j for a round: eta ln(1 + e^(-y theta.z)) - mu max_a theta.(x_a - x_other), where x_other is the item
    of the other chain; prior lam |theta|^2/2. After every answer each chain takes Langevin steps of size
    pace/(lam + eta answers), stable for unit items, on the loss of all rounds, estimated from a minibatch. Draws of the
    answered round's ticket: the minibatches from 0, the noise from 2^20.

    `eta`: the temperature of the likelihood. `mu`: the weight of optimism. `steps` and `pace`: the number and size of
    the Langevin steps per answer. `batch`: rounds in a minibatch. `history`: the number of rounds kept.

    >>> from conquer.registry import make
    >>> learner = make("fgts", dim=3)
    >>> learner.learn(np.eye(3), learner.choose(np.eye(3), 7), +1)
    >>> learner.model.chains.shape
    (2, 3)
    """

    duels = True
    shows = 2

    def __init__(
        self, dim: int, *, eta: float, mu: float, lam: float, pace: float, steps: int, batch: int, history: int
    ) -> None:
        self.dim, self.eta, self.mu, self.lam, self.pace = dim, eta, mu, lam, pace
        self.steps, self.batch, self.history = steps, batch, history
        self.chains: Floats = np.zeros((2, dim))
        self.items: Floats = np.zeros((0, 0, dim))
        self.pairs: Floats = np.zeros((0, 2))
        self.answers: Floats = np.zeros(0)

    def pick(self, X: SparseRows, draws: Draws) -> Pick:
        values = all_features(X) @ self.chains.T
        return duel(draws.largest(values[:, 0]), draws.largest(values[:, 1], tie=1))

    def learn(self, X: SparseRows, choice: Choice, answer: float) -> None:
        items, pairs, answers = self._remembered(all_features(X), choice, answer)
        count, draws, chains = answers.size, Draws(choice.ticket), self.chains.copy()
        pace = self.pace / (self.lam + self.eta * count)
        batch = min(self.batch, count)
        for step in range(self.steps):
            chosen = np.minimum((draws.uniforms(batch, step * batch) * count).astype(int), count - 1)
            noise = draws.normals(2 * self.dim, 2**20 + step * 2 * self.dim).reshape(2, self.dim)
            for j in range(2):
                slope = self.gradient(j, chains[j], items[chosen], pairs[chosen].astype(int), answers[chosen])
                drift = (count / batch) * slope + self.lam * chains[j]
                chains[j] += -pace * drift + np.sqrt(2.0 * pace) * noise[j]
        if not np.isfinite(chains).all():
            raise ArithmeticError(f"the Langevin chains diverged: set pace below {self.pace}")
        self.items, self.pairs, self.answers, self.chains = items, pairs, answers, chains

    def gradient(self, j: int, theta: Floats, items: Floats, pairs: NDArray[Any], answers: Floats) -> Floats:
        """(D,): the slope of chain j's summed loss over some rounds."""
        at = np.arange(len(answers))
        z = items[at, pairs[:, 0]] - items[at, pairs[:, 1]]
        # A strength y counts as both answers, weighted (1 + y)/2 and (1 - y)/2.
        fit = self.eta * ((sigmoid(z @ theta) - 0.5 * (1.0 + answers)) @ z)
        values = np.where(np.isnan(items[:, :, 0]), -np.inf, items @ theta)
        feel = items[at, values.argmax(axis=1)] - items[at, pairs[:, 1 - j]]
        return np.asarray(fit - self.mu * feel.sum(axis=0))

    def _remembered(self, items: Floats, choice: Choice, answer: float) -> tuple[Floats, Floats, Floats]:
        """The kept rounds with this one appended; rounds of fewer items are padded with NaN."""
        width = max(self.items.shape[1], len(items))
        old = self.items[-(self.history - 1) :] if self.history > 1 else self.items[:0]
        kept = np.full((len(old) + 1, width, self.dim), np.nan)
        kept[: len(old), : old.shape[1]] = old
        kept[-1, : len(items)] = items
        pairs = np.concatenate([self.pairs[self.pairs.shape[0] - len(old) :], [choice.shown]])
        answers = np.append(self.answers[self.answers.size - len(old) :], answer)
        return kept, pairs.astype(np.float64), answers

    def scores(self, X: SparseRows) -> Floats:
        """The mean of the two chains' scores."""
        return np.asarray(all_features(X) @ self.chains.mean(axis=0))

    def arrays(self) -> dict[str, NDArray[Any]]:
        absent = np.isnan(self.items[:, :, 0])
        return {
            "chains": self.chains,
            "items": np.nan_to_num(self.items, nan=0.0),
            "absent": absent.astype(np.int64),
            "pairs": self.pairs,
            "outcomes": self.answers,
        }

    def restore(self, arrays: Arrays) -> None:
        shapes = {"chains": (2, self.dim), "items": (-1, -1, self.dim), "pairs": (-1, 2), "outcomes": (-1,)}
        chains, items, pairs, answers = adopt(arrays, shapes)
        (absent,) = adopt(arrays, {"absent": items.shape[:2]}, np.int64)
        if not len(items) == len(pairs) == answers.size or answers.size > self.history:
            raise ValueError(
                f"expected items, pairs and answers of at most {self.history} rounds, "
                f"got {len(items)}, {len(pairs)} and {answers.size}"
            )
        if answers.size and not (
            pairs.min() >= 0 and pairs.max() < items.shape[1] and (pairs == pairs.astype(int)).all()
        ):
            raise ValueError(f"pairs must be positions in [0, {items.shape[1]})")
        items[absent != 0] = np.nan
        self.chains, self.items, self.pairs, self.answers = chains, items, pairs, answers


def build(dim: int, model: str, values: Values) -> Method:
    return FGTS(
        dim,
        eta=number("eta", values["eta"], 0.0),
        mu=number("mu", values["mu"], 0.0),
        lam=positive("lam", values["lam"]),
        pace=positive("pace", values["pace"]),
        steps=whole("steps", values["steps"], 1, 1000),
        batch=whole("batch", values["batch"], 1, 1000),
        history=whole("history", values["history"], 1),
    )
