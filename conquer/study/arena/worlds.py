"""The arena's worlds: items, their rewards and the judges, built from a seed for every repetition."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.judges import LawJudge
from conquer.rows import Rounds
from conquer.tickets import Draws, draw_ticket, stream
from conquer.types import Choice, Floats, Judge, Query


@dataclass(frozen=True, slots=True, eq=False)
class ArenaWorld:
    """Rounds with rewards, a law of answers, and difficulties.

    `flipped` (T,) bool: the rounds with reversed answers. `delay`: after how many rounds answers arrive. `matrix`
    (K, K): preferences of fixed arms in place of the law.
    """

    rounds: Rounds
    judge: LawJudge
    flipped: NDArray[np.bool_]
    delay: int = 0
    matrix: Floats | None = None

    @property
    def judges(self) -> list[Judge]:
        """The judge of each of the T rounds."""
        answer = self.judge if self.matrix is None else self._by_matrix
        return [_reversed(answer) if wrong else answer for wrong in self.flipped]

    def _by_matrix(self, choice: Choice, rewards: Floats, rng: np.random.Generator | int) -> float | None:
        if self.matrix is None or choice.query != Query.DUEL or len(choice.shown) != 2:
            return self.judge(choice, rewards, rng)
        return 1.0 if Draws(draw_ticket(rng)).uniform(0) < self.matrix[choice.shown] else -1.0


def _reversed(judge: Judge) -> Judge:
    """A judge with the opposite answers."""

    def answer(choice: Choice, rewards: Floats, rng: np.random.Generator | int) -> float | None:
        value = judge(choice, rewards, rng)
        return None if value is None else -value

    return answer


@dataclass(frozen=True, slots=True)
class Setting:
    """One kind of world: its number of rounds, items and features, and how it is built from a generator.

    Every grid point is tried on `tuning` separate worlds, each `share` as long as the real ones.
    """

    name: str
    text: str
    build: Callable[["Setting", np.random.Generator], ArenaWorld] = field(repr=False)
    rounds: int = 1000
    items: int = 10
    dim: int = 10
    kernel: bool = False
    fixed: bool = False
    tuning: int = 4
    share: float = 1.0

    def make(self, seed: int, purpose: str, repetition: int) -> ArenaWorld:
        """The world of one repetition, the same for every algorithm."""
        return self.build(self, np.random.default_rng(stream("arena", seed, self.name, purpose, repetition)))

    def described(self) -> dict[str, Any]:
        """What the numbers depend on besides the builder, as JSON values."""
        return {name: getattr(self, name) for name in ("name", "rounds", "items", "dim", "tuning", "share")}


def unit(values: Floats) -> Floats:
    """Rows of length 1."""
    return np.asarray(values / np.linalg.norm(values, axis=-1, keepdims=True))


def _fresh(setting: Setting, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """(T K, D) unit items, and (T K,) the round of each."""
    X = unit(rng.normal(size=(setting.rounds * setting.items, setting.dim)))
    return X, np.repeat(np.arange(setting.rounds), setting.items)


def _world(setting: Setting, X: Floats, rewards: Floats, judge: LawJudge) -> ArenaWorld:
    sets = np.arange(setting.rounds * setting.items).reshape(setting.rounds, setting.items)
    return ArenaWorld(Rounds(X, sets, np.clip(rewards, -1.0, 1.0)), judge, np.zeros(setting.rounds, bool))


def linear(setting: Setting, rng: np.random.Generator) -> ArenaWorld:
    """Rewards x.theta, answered by the linear law."""
    X, _ = _fresh(setting, rng)
    return _world(setting, X, X @ unit(rng.normal(size=setting.dim)), LawJudge("linear"))


def logistic(setting: Setting, rng: np.random.Generator) -> ArenaWorld:
    """Rewards x.theta, answered by Bradley-Terry with scale 5."""
    X, _ = _fresh(setting, rng)
    return _world(setting, X, X @ unit(rng.normal(size=setting.dim)), LawJudge("logistic", 5.0))


def bumps(setting: Setting, rng: np.random.Generator) -> ArenaWorld:
    """Rewards that are not linear: a sum of bumps of both signs on the sphere."""
    X, _ = _fresh(setting, rng)
    centres, heights = unit(rng.normal(size=(12, setting.dim))), rng.choice([-1.0, 1.0], 12)
    values = np.exp(-4.0 * (2.0 - 2.0 * X @ centres.T)) @ heights
    return _world(setting, X, values / np.abs(values).max(), LawJudge("linear"))


def corrupted(setting: Setting, rng: np.random.Generator) -> ArenaWorld:
    """The linear world; the answers of the first tenth of the rounds are reversed."""
    world = linear(setting, rng)
    return replace(world, flipped=np.arange(setting.rounds) < setting.rounds // 10)


def delayed(setting: Setting, rng: np.random.Generator) -> ArenaWorld:
    """The linear world; every answer arrives 50 rounds late."""
    return replace(linear(setting, rng), delay=50)


def drifting(setting: Setting, rng: np.random.Generator) -> ArenaWorld:
    """Rewards x.theta_t, theta turning by half a circle over the run."""
    X, t = _fresh(setting, rng)
    plane = np.linalg.qr(rng.normal(size=(setting.dim, 2)))[0].T
    angle = np.pi * t / setting.rounds
    theta = np.cos(angle)[:, None] * plane[0] + np.sin(angle)[:, None] * plane[1]
    return _world(setting, X, (X * theta).sum(axis=1), LawJudge("linear"))


def synthetic_preferences(kind: str, count: int, rng: np.random.Generator) -> Floats:
    """(K, K) preferences: "bradley-terry", "condorcet" (random with a winner), "copeland" (without), "cyclic".

    >>> synthetic_preferences("cyclic", 3, np.random.default_rng(0)).tolist()
    [[0.5, 0.7, 0.3], [0.3, 0.5, 0.7], [0.7, 0.3, 0.5]]
    """
    upper = np.triu_indices(count, 1)
    P = np.full((count, count), 0.5)
    if kind == "bradley-terry":
        worth = rng.normal(size=count)
        P = 1.0 / (1.0 + np.exp(worth[None, :] - worth[:, None]))
    elif kind == "cyclic":
        ahead = (np.arange(count)[None, :] - np.arange(count)[:, None]) % count
        P = np.where(ahead == 0, 0.5, np.where(ahead <= (count - 1) // 2, 0.7, 0.3))
        if count % 2 == 0:
            P[ahead == count // 2] = 0.5
    else:
        P[upper] = rng.uniform(0.2, 0.8, upper[0].size)
        P.T[upper] = 1.0 - P[upper]
        winner = int(rng.integers(count))
        P[winner], P[:, winner] = 0.65, 0.35
        P[winner, winner] = 0.5
        if kind == "copeland":
            loses = int((winner + 1 + rng.integers(count - 1)) % count)
            P[winner, loses], P[loses, winner] = 0.35, 0.65
            rest = [k for k in range(count) if k not in (winner, loses)]
            for k in rest[: max(len(rest) // 2, 1)]:  # the arm that beats the winner loses to half of the others
                P[loses, k], P[k, loses] = 0.35, 0.65
    return P


def arms(kind: str) -> Callable[[Setting, np.random.Generator], ArenaWorld]:
    """Fixed arms with preferences of this kind; a reward is the chance against the winner, or the Copeland score."""

    def build(setting: Setting, rng: np.random.Generator) -> ArenaWorld:
        P = synthetic_preferences(kind, setting.items, rng)
        beats = (P > 0.5).sum(axis=1)
        wins = P[:, beats.argmax()] if beats.max() == len(P) - 1 else beats / (len(P) - 1)
        rewards = 2.0 * wins - 1.0
        return matrix_world(setting, P, rewards)

    return build


def matrix_world(setting: Setting, P: Floats, rewards: Floats) -> ArenaWorld:
    """The same arms in every round, one feature each, with these preferences."""
    sets = np.tile(np.arange(len(P)), (setting.rounds, 1))
    rounds = Rounds(np.eye(len(P)), sets, np.clip(rewards, -1.0, 1.0))
    return ArenaWorld(rounds, LawJudge("linear"), np.zeros(setting.rounds, bool), matrix=P)


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("linear", "fresh items, linear rewards, linear answers", linear),
        Setting("logistic", "fresh items, linear rewards, Bradley-Terry answers", logistic),
        Setting("kernel", "fresh items, rewards that are not linear", bumps, rounds=400, dim=3, kernel=True),
        Setting("corrupted", "linear, the first tenth of the answers reversed", corrupted),
        Setting("delayed", "linear, answers 50 rounds late", delayed),
        Setting("drifting", "linear, theta turns by half a circle", drifting),
        Setting("arms", "fixed arms, Bradley-Terry", arms("bradley-terry"), fixed=True),
        Setting("condorcet", "fixed arms, a winner over cyclic preferences", arms("condorcet"), fixed=True),
        Setting("copeland", "fixed arms, no arm beats all", arms("copeland"), fixed=True),
        Setting("standard", "the literature's: logistic, D = 10, 30 items, T = 2,000", logistic, 2000, 30, 10),
        Setting("long", "linear, 20 features, T = 20,000", linear, 20_000, 10, 20, tuning=6, share=0.5),
    )
}
_BIG = ("standard", "long")


@dataclass(frozen=True, slots=True)
class ArenaPreset:
    """Worlds, the algorithms that meet there, and the number of rounds; None: the worlds' own."""

    worlds: tuple[str, ...]
    algorithms: tuple[str, ...] = ("all",)
    rounds: int | None = None


PRESETS = {
    "small": ArenaPreset(("linear", "logistic", "arms"), ("paper", "colstim", "pairucb"), 500),
    "worlds": ArenaPreset(tuple(name for name in SETTINGS if name not in _BIG)),
    **{name: ArenaPreset((name,)) for name in _BIG},
}
"""small takes about two minutes on two cores; worlds, which has all algorithms everywhere, hours."""
