"""`conquer measure regret`: regret of the paper's parser beside its bound, on sentences whose rewards are linear."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from conquer import tickets
from conquer.models.full import Full
from conquer.parsing.learner import EdgeLearner, EdgeRule
from conquer.parsing.trees import best_tree
from conquer.rows import as_rows
from conquer.study.plots.canvas import save
from conquer.study.plots.parsing import bound
from conquer.study.progress import QUIET, RUNNING, Bars, StudyProgress
from conquer.theory import theorem2
from conquer.types import Floats

ROUNDS, DIM, SIZE = 1_000_000, 2, 2
"""With two words and two dimensions the bound is two thirds of the worst case after a million sentences."""
_STEP = 100


@dataclass(frozen=True, slots=True)
class LinearRun:
    """Cumulative `regret` after each of `rounds`: reward of the best tree minus that of the learner's tree."""

    rounds: tuple[int, ...]
    regret: tuple[float, ...]
    norm: float


def _table(flat: Floats, size: int) -> Floats:
    table = np.zeros((size + 1, size + 1))
    table[1:][~np.eye(size + 1, dtype=bool)[1:]] = flat
    return table


def linear_regret(
    rounds: int,
    dim: int,
    size: int,
    *,
    seed: int = 0,
    ask: str = "confusion",
    marks: int = 10,
    lam: float = 1.0,
    progress: StudyProgress = QUIET,
) -> LinearRun:
    """Ask about `rounds` sentences of `size` words with fresh unit features in `dim` dimensions.

    An edge's reward is u* . phi for one unit vector u*, a tree's is the mean of its edges; the answer prefers the
    first tree with chance (1 + difference / 2) / 2. Full matrix, tree scaling and projection, as in the listing.

    >>> run = linear_regret(50, 2, 2)
    >>> run.rounds[-1], run.regret[-1] <= 2 * 50
    (50, True)
    """
    rng = np.random.default_rng(tickets.stream("linear treebank", seed, dim, size))
    truth = rng.normal(size=dim)
    truth /= np.linalg.norm(truth)
    learner = EdgeLearner(Full(dim, lam=lam, projection="sequential"), EdgeRule(ask=ask, scale="tree"))
    ends = sorted({int(end) for end in np.rint(np.geomspace(min(100, rounds), rounds, marks))})
    words = np.arange(1, size + 1)
    total, sums = 0.0, []
    for t in range(1, rounds + 1):
        X = rng.normal(size=(size * size, dim))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        rewards = _table(X @ truth, size)
        edges = as_rows(X, dim)
        choice = learner.choose(edges, rng)
        mine = learner.tree(edges)
        best = best_tree(rewards)
        total += float(rewards[words, best].mean() - rewards[words, mine].mean())
        if len(choice.shown) == 2:
            first, second = (X[edge] @ truth for edge in choice.shown)
            prefers = rng.random() < 0.5 * (1.0 + 0.5 * (first - second) / size)
            learner.learn(edges, choice, 1.0 if prefers else -1.0)
        if t in ends:
            sums.append(total)
        if t % _STEP == 0 or t == rounds:
            progress.advance(t % _STEP or _STEP)
    return LinearRun(tuple(ends), tuple(sums), float(np.linalg.norm(truth)))


def against_bound(runs: Sequence[LinearRun], dim: int, size: int) -> list[dict[str, float]]:
    """By number of rounds: regret of the runs (mean, least, most), theorem 2's bound and the worst possible regret.

    >>> line = against_bound([LinearRun((100,), (3.0,), 1.0), LinearRun((100,), (5.0,), 1.0)], 2, 2)[0]
    >>> line["mean"], line["most"], line["worst"], line["bound"] > line["worst"]
    (4.0, 5.0, 200.0, True)
    """
    table = []
    for at, rounds in enumerate(runs[0].rounds):
        seen = [run.regret[at] for run in runs]
        regret = {"mean": float(np.mean(seen)), "least": min(seen), "most": max(seen)}
        table.append({"rounds": rounds, **regret, "bound": theorem2(rounds, dim, size), "worst": 2.0 * rounds})
    return table


def run_regret(out: str | Path, *, rounds: int = ROUNDS, seeds: int = 1) -> None:
    """Write regret.csv, regret.png and regret.pdf into the folder `out`, again after every seed."""
    import polars as pl
    from rich.console import Console

    for name, value in (("rounds", rounds), ("seeds", seeds)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    folder, console = Path(out), Console()
    folder.mkdir(parents=True, exist_ok=True)
    runs: list[LinearRun] = []
    with Bars(console) as bars:
        bars.begin(RUNNING, rounds * seeds)
        for seed in range(seeds):
            runs.append(linear_regret(rounds, DIM, SIZE, seed=seed, marks=25, progress=bars))
            frame = pl.DataFrame(against_bound(runs, DIM, SIZE))
            frame.write_csv(folder / "regret.csv")
            save(bound(frame), folder / "regret")
            console.print(f"{seed + 1} of {seeds} seeds: {frame.rows(named=True)[-1]}")
