"""The full matrix beside BLAS: K dense items, one symmetric update a round."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.decisions import simulated
from benchmarks.timing import Goal, Race, each, race
from conquer.rows import Rounds

DIM, ITEMS = 1000, 10
GREEDY, BOUNDED = ("ttg", "gnr"), ("gnu", "gnc")
_VECTOR, _MATRIX = "dsymv + dsyr", "dsymm + dsyr"


def measure(*, quick: bool) -> Race:
    """Microseconds a round of greedy rules, rules with widths, and the BLAS calls that each needs at least."""
    size = 50 if quick else 200
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, DIM))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rounds = Rounds(X, np.array([rng.choice(100, ITEMS, replace=False) for _ in range(size)]), rng.random(100) * 2 - 1)
    field = {name: simulated(name, rounds, model="full") for name in (*GREEDY, *BOUNDED)}
    field |= {_VECTOR: with_blas(1, size), _MATRIX: with_blas(ITEMS, size)}
    return race(field, 3 if quick else 9)


def goals(race: Race) -> list[Goal]:
    """The targets at D = 1000."""
    return [Goal(f"full {name} / {_VECTOR}", race.ratio(name, _VECTOR), 2.0, False) for name in GREEDY] + [
        Goal(f"full {name} / {_MATRIX}", race.ratio(name, _MATRIX), 1.5, False) for name in BOUNDED
    ]


def with_blas(columns: int, rounds: int) -> Callable[[], float]:
    """A^-1 times one vector or K of them, and one symmetric rank-one update."""
    from scipy.linalg import blas

    matrix = np.asfortranarray(np.eye(DIM))
    x: Any = np.asfortranarray(np.random.default_rng(0).normal(size=(DIM, columns)) / np.sqrt(DIM))

    def work() -> None:
        for _ in range(rounds):
            if columns == 1:
                blas.dsymv(1.0, matrix, x[:, 0], lower=1)
            else:
                blas.dsymm(1.0, matrix, x, lower=1)
            blas.dsyr(-1e-9, x[:, 0], a=matrix, lower=1, overwrite_a=1)

    return each(work, rounds)
