"""The everyday paths: a session's ask and tell with what people have at hand, beside the same rounds on ready rows."""

from collections.abc import Callable
from typing import Any

import numpy as np

from conquer.bench.timing import Race, each, race
from conquer.features.featurizer import Featurizer
from conquer.registry import make
from conquer.session import Session

ALGORITHM = "gnr"
"""It asks in every round, so a turn costs the same however much has been learnt."""
DIM = 2**20
FLOATS = 384

Asked = tuple[Any, Any]
"""The items of a round and their context."""


def _small(rng: np.random.Generator) -> Asked:
    items = [
        {
            **{f"number{k}": float(value) for k, value in enumerate(rng.normal(size=5))},
            **{f"word{k}": f"value{value}" for k, value in enumerate(rng.integers(5, size=2))},
            "new": bool(rng.integers(2)),
        }
        for _ in range(5)
    ]
    return items, {"user": f"user{rng.integers(20)}", "hour": float(rng.integers(24)), "day": "monday"}


def _named(rng: np.random.Generator) -> Asked:
    names = [[f"name{k}" for k in rng.choice(5000, 150, replace=False)] for _ in range(10)]
    return [dict(zip(some, rng.normal(size=150).tolist(), strict=True)) for some in names], None


def _texts(rng: np.random.Generator) -> Asked:
    ranks = np.exp(rng.random((5, 80)) * np.log(50_000)).astype(int)
    return [" ".join(f"word{rank}" for rank in line) for line in ranks.tolist()], None


def _lists(rng: np.random.Generator) -> Asked:
    return rng.normal(size=(5, FLOATS)).tolist(), None


def _array(rng: np.random.Generator) -> Asked:
    return rng.normal(size=(5, FLOATS)), None


PATHS: dict[str, tuple[Callable[[np.random.Generator], Asked], int]] = {
    "5 dicts of 8 features and a context": (_small, DIM),
    "10 dicts of 150 named numbers": (_named, DIM),
    "5 texts of 80 words": (_texts, DIM),
    f"5 lists of {FLOATS} floats": (_lists, FLOATS),
    f"an array of 5 x {FLOATS} floats": (_array, FLOATS),
}
"""How a round of each path is drawn, and the features of its learner."""
AIMS = {"5 dicts of 8 features and a context": (60, 35), "10 dicts of 150 named numbers": (300, 150)}
"""Microseconds: what must be reached, and the stretch."""


def ready(name: str) -> str:
    """The contender that has the rows of a path before its time is taken."""
    return f"{name}, rows ready"


def by_session(rounds: list[Asked], dim: int) -> Callable[[], float]:
    """ask and tell of one session that goes on from turn to turn, with everything that they check and log."""
    session = Session(make(ALGORITHM, dim=dim))

    def work() -> None:
        for items, context in rounds:
            session.tell(session.ask(items, context).id, "first")

    return each(work, len(rounds))


def by_rows(rounds: list[Asked], dim: int) -> Callable[[], float]:
    """choose and learn on the rows of these items."""
    learner, featurizer = make(ALGORITHM, dim=dim), Featurizer(dim=dim)
    made = [featurizer(items, context) for items, context in rounds]

    def work() -> None:
        for number, rows in enumerate(made):
            learner.learn(rows, learner.choose(rows, number), 1.0)

    return each(work, len(rounds))


def measure(*, quick: bool) -> Race:
    """Every path and its rounds on ready rows, turn by turn."""
    count, field = (50 if quick else 100), {}
    for name, (draw, dim) in PATHS.items():
        rng = np.random.default_rng(0)
        rounds = [draw(rng) for _ in range(count)]
        field[name], field[ready(name)] = by_session(rounds, dim), by_rows(rounds, dim)
    return race(field, 5 if quick else 15)
