"""The cost of a decision: choose and learn over millions of sparse features, beside Vowpal Wabbit and a plain read."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import Goal, Race, cores, each, processor_seconds, race, running_on
from benchmarks.workload import PAPER_DIM, draw_rounds, zipf_items
from conquer.registry import make
from conquer.rows import Rounds
from conquer.simulation import simulate

ALGORITHMS = ("ttg", "gnr", "gnc", "gnt")
MUST = {"ttg": 5.0, "gnr": 5.0, "gnc": 3.5, "gnt": 2.2}
"""Vowpal Wabbit's time over ours."""
VOWPAL = "--cb_explore_adf --epsilon 0.1 -b 23 --noconstant --quiet"
_PASSES = 5
_SEED = 0


@dataclass(frozen=True, slots=True)
class Effort:
    """The amount of work: rounds of ten items, turns, and the size of the items."""

    rounds: int
    turns: int
    items: int = 50_000
    nonzeros: int = 150
    dim: int = PAPER_DIM


FULL = Effort(10_000, 9)
QUICK = Effort(2000, 5)


def measure(folder: Path, effort: Effort) -> Race:
    """Microseconds a round of every contender, on one core where the system has affinity.

    On two cores Vowpal Wabbit's two threads exchange cache lines, which takes as long as its learning in some runs and
    nothing in others.
    """
    rounds = draw_rounds(zipf_items(effort.items, effort.nonzeros, effort.dim, seed=0), effort.rounds, 10, seed=1)
    with running_on({max(cores())} if cores() else set()):
        field = {name: simulated(name, rounds) for name in ALGORITHMS}
        X = rounds.X
        field["stream"] = each(lambda: read_rows(X.indptr, X.indices, X.data, rounds.sets), len(rounds))
        with suppress(ImportError):
            field["vw cache"] = vowpal(rounds, folder)
        return race(field, effort.turns)


def goals(race: Race) -> list[Goal]:
    """The targets; those of Vowpal Wabbit only where it is installed."""
    found = [Goal("ttg / streaming the rows", race.ratio("ttg", "stream"), 2.5, False)]
    if "vw cache" in race.turns:
        for name, must in MUST.items():
            found.append(Goal(f"Vowpal Wabbit from its cache / {name}", race.ratio("vw cache", name), must, True))
    return found


def simulated(name: str, rounds: Rounds, *, model: Literal["diagonal", "full"] = "diagonal") -> Callable[[], float]:
    """The compiled simulation, with a learner that is reset before each turn.

    Without the reset a rule with a gate asks less from turn to turn.
    """
    learner = make(name, dim=rounds.X.dim, model=model)
    fresh = [(array, array.copy()) for array in learner.model.state if isinstance(array, np.ndarray)]

    def turn() -> float:
        for array, first in fresh:
            array[:] = first
        return processor_seconds(lambda: simulate(learner, rounds, seed=_SEED)) / len(rounds) * 1e6

    return turn


def _read_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], data: NDArray[np.float64], sets: NDArray[np.int64]
) -> float:
    """The sum of all entries of all rounds' rows: the least that any method does."""
    a = b = c = d = 0.0
    ids = np.int32(0)
    for row in sets.ravel():
        start, stop = indptr[row], indptr[row + 1]
        four = start + (stop - start) // 4 * 4
        for j in range(start, four, 4):
            a += data[j]
            b += data[j + 1]
            c += data[j + 2]
            d += data[j + 3]
            ids ^= indices[j] ^ indices[j + 1] ^ indices[j + 2] ^ indices[j + 3]
        for j in range(four, stop):
            a += data[j]
            ids ^= indices[j]
    return (a + b) + (c + d) + ids


read_rows: Any = numba.njit(_read_rows)


def vowpal(rounds: Rounds, folder: Path) -> Callable[[], float]:
    """Vowpal Wabbit from its binary cache: the difference of five passes and one, so that its start cancels out.

    `folder` must be empty, because Vowpal Wabbit prefers a cache that exists to the text.
    """
    import vowpalwabbit

    text, cache = folder / "rounds.vw", folder / "rounds.cache"
    text.write_text("\n\n".join("\n".join(part) for part in example_lines(rounds)) + "\n\n")

    def passes(count: int) -> float:
        options = f"{VOWPAL} -d {text} --cache_file {cache} --passes {count} --holdout_off"
        return processor_seconds(lambda: vowpalwabbit.Workspace(options).finish())

    passes(1)
    return lambda: (passes(_PASSES) - passes(1)) / (_PASSES - 1) / len(rounds) * 1e6


def example_lines(rounds: Rounds) -> list[list[str]]:
    """The rounds as Vowpal Wabbit's text: a line an item, the logged one (drawn at random) with cost and chance."""
    X = rounds.X
    rng = np.random.default_rng(0)
    texts: dict[int, str] = {}
    lines = []
    for members in rounds.sets.tolist():
        logged = int(rng.integers(len(members)))
        part = []
        for i, row in enumerate(members):
            if row not in texts:
                entries = slice(X.indptr[row], X.indptr[row + 1])
                pairs = zip(X.indices[entries].tolist(), X.data[entries].tolist(), strict=True)
                texts[row] = "|f " + " ".join(f"{r}:{value:.6g}" for r, value in pairs)
            label = f"0:{-rounds.rewards[row]:.4g}:{1 / len(members):.4g} " if i == logged else ""
            part.append(label + texts[row])
        lines.append(part)
    return lines
