"""The everyday path: ask and tell of a session with dicts, texts and vectors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import Goal, Race, each, race
from conquer.registry import make
from conquer.session import Session

ALGORITHM = "gnr"
"""It asks in every round, so a turn costs the same however much has been learnt."""
DIM = 2**20
FLOATS = 384
Round = tuple[Any, Any]
"""The items of a round and their context."""


def _small(rng: np.random.Generator) -> Round:
    items = [
        {
            **{f"number{k}": float(value) for k, value in enumerate(rng.normal(size=5))},
            **{f"word{k}": f"value{value}" for k, value in enumerate(rng.integers(5, size=2))},
            "new": bool(rng.integers(2)),
        }
        for _ in range(5)
    ]
    return items, {"user": f"user{rng.integers(20)}", "hour": float(rng.integers(24)), "day": "monday"}


def _named(rng: np.random.Generator) -> Round:
    names = [[f"name{k}" for k in rng.choice(5000, 150, replace=False)] for _ in range(10)]
    return [dict(zip(some, rng.normal(size=150).tolist(), strict=True)) for some in names], None


def _texts(rng: np.random.Generator) -> Round:
    ranks = np.exp(rng.random((5, 80)) * np.log(50_000)).astype(int)
    return [" ".join(f"word{rank}" for rank in line) for line in ranks.tolist()], None


def _vectors(rng: np.random.Generator) -> Round:
    return rng.normal(size=(5, FLOATS)).tolist(), None


PATHS: dict[str, tuple[Callable[[np.random.Generator], Round], int, float | None]] = {
    "5 dicts of 8 features and a context": (_small, DIM, 60.0),
    "10 dicts of 150 named numbers": (_named, DIM, 300.0),
    "5 texts of 80 words": (_texts, DIM, None),
    f"5 lists of {FLOATS} floats": (_vectors, FLOATS, None),
}
"""How a round is drawn, the features of its learner, and the target in microseconds."""


def measure(*, quick: bool) -> Race:
    """Microseconds of one ask and one tell for every path."""
    field = {}
    for name, (draw, dim, _) in PATHS.items():
        rng = np.random.default_rng(0)
        rounds = [draw(rng) for _ in range(50 if quick else 100)]
        field[name] = by_session(rounds, dim)
    return race(field, 5 if quick else 15)


def goals(race: Race) -> list[Goal]:
    """The targets of the paths that have one."""
    return [
        Goal(f"ask + tell, {name}, us", race.spread(name), must, False)
        for name, (_, _, must) in PATHS.items()
        if must is not None
    ]


def by_session(rounds: list[Round], dim: int) -> Callable[[], float]:
    """ask and tell of one session that continues from turn to turn."""
    session = Session(make(ALGORITHM, dim=dim))

    def work() -> None:
        for items, context in rounds:
            session.tell(session.ask(items, context).id, "first")

    return each(work, len(rounds))
