"""How cost grows with rounds, features, items and non-zeros."""

from collections.abc import Callable
from functools import partial

import numpy as np

from conquer.bench.timing import each, race
from conquer.bench.work import draw_rounds, zipf_items
from conquer.registry import make
from conquer.rows import Rounds, SparseRows
from conquer.simulation import simulate

Points = dict[str, list[float]]


def slope(x: list[float], y: list[float]) -> float:
    """The power of growth: the slope of log y over log x.

    >>> round(slope([1, 10, 100], [5, 50, 500]), 6)
    1.0
    """
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def over_rounds(most: int) -> Points:
    """Cost per round after t rounds, one learner living on, in blocks of a thousand rounds.

    Each of the last blocks before a mark is followed by one of a learner of the first mark's age: a machine that is
    slower for a minute slows both, so their ratio is what counts.
    """
    block, marks = 1000, (3 * 10**3, 10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6)
    rounds = draw_rounds(zipf_items(5000, 150, 10**6, seed=0), block, 10, seed=1)
    old, young = make("ttg", dim=10**6), make("ttg", dim=10**6)
    works = [each(partial(simulate, learner, rounds, seed=0), block) for learner in (old, young)]
    state = young.model.state[0]
    points: Points = {"x": [], "microseconds": []}
    done, base = 0, 0.0
    for mark in (mark for mark in marks if mark <= most):
        lasting = min(30, mark // block - done)
        for _ in range(mark // block - done - lasting):
            works[0]()
        pairs = []
        for _ in range(lasting):
            state[:], young.model.stats[:] = (0.0, 1.0), 0.0
            works[1]()
            pairs.append((works[0](), works[1]()))
        done = mark // block
        base = base or float(np.median([pair[1] for pair in pairs]))
        points["x"].append(float(mark))
        points["microseconds"].append(base * float(np.median([pair[0] / pair[1] for pair in pairs])))
    return points


def over(values: list[int], rounds_for: Callable[[int], Rounds], turns: int) -> Points:
    """Median microseconds per round of ttg for each value, all taking turns."""
    field = {}
    for value in values:
        rounds = rounds_for(value)
        learner = make("ttg", dim=rounds.X.dim)
        field[str(value)] = each(partial(simulate, learner, rounds, seed=0), len(rounds))
    taken = race(field, turns)
    return {"x": [float(v) for v in values], "microseconds": [taken.median(str(v)) for v in values]}


def kernel_over_rounds(most: int, budget: int | None) -> Points:
    """Cost per round of gnc with the kernel model around t answers, the median of three learners."""
    runs = [_kernel_run(most, budget) for _ in range(3)]
    middle = np.median([run["microseconds"] for run in runs], axis=0)
    return {"x": runs[0]["x"], "microseconds": middle.tolist()}


def _kernel_run(most: int, budget: int | None) -> Points:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 20)) / np.sqrt(20)
    block = 50
    learner = make("gnc", dim=20, model="kernel", eta=1e6, **({} if budget is None else {"budget": budget}))
    points: Points = {"x": [], "microseconds": []}
    for done in range(0, most, block):
        sets = np.array([rng.choice(200, 10, replace=False) for _ in range(block)])
        rounds = Rounds(X, sets, rng.random(200) * 2 - 1)
        points["microseconds"].append(each(partial(simulate, learner, rounds, seed=0), block)())
        points["x"].append(float(done + block))
    return points


def measure(*, quick: bool, note: Callable[[str], None]) -> dict[str, Points]:
    """{what grows: points}."""
    note("growth")
    turns, size = (2, 500) if quick else (5, 2000)
    base = zipf_items(5000, 150, 10**6, seed=0)

    def of_dim(dim: int) -> Rounds:
        return draw_rounds(zipf_items(5000, 150, dim, seed=0), size, 10, seed=1)

    few = zipf_items(5000, 150, 10**4, seed=0)

    def of_room(dim: int) -> Rounds:
        return draw_rounds(SparseRows(few.indptr, few.indices, few.data, dim), size, 10, seed=1)

    def of_items(count: int) -> Rounds:
        return draw_rounds(base, max(50, size * 5 // count), count, seed=1)

    def of_nonzeros(nonzeros: int) -> Rounds:
        return draw_rounds(zipf_items(2000, nonzeros, 10**6, seed=0), max(100, size * 50 // nonzeros), 10, seed=1)

    return {
        "rounds t": over_rounds(10**5 if quick else 10**6),
        "features D, 10,000 in use": over([10**4, 10**5, 10**6, 10**7], of_room, turns),
        "features D, all in use": over([10**4, 10**5, 10**6, 10**7], of_dim, turns),
        "items K": over([2, 5, 10, 20, 50, 100, 200], of_items, turns),
        "non-zeros": over([10, 30, 100, 300, 1000, 2000], of_nonzeros, turns),
        "kernel, answers t": kernel_over_rounds(300 if quick else 800, None),
        "kernel, budget 100": kernel_over_rounds(300 if quick else 800, 100),
    }
