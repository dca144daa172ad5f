"""The cost of a decision: choose and learn over millions of sparse features, beside what a user would pick instead."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from conquer.bench.timing import Race, cores, each, processor_seconds, race, running_on
from conquer.bench.work import PAPER_DIM, draw_rounds, named_items, zipf_items
from conquer.features.featurizer import Featurizer
from conquer.kernels.bench.streaming import read_rows
from conquer.kernels.rounds import settings as st
from conquer.learners.conquer import Conquer
from conquer.policies import TTG
from conquer.registry import make
from conquer.rows import Rounds
from conquer.simulation import simulate
from conquer.tickets import stream, tickets
from conquer.types import Choice, Learner, Query

ALGORITHMS = ("ttg", "gnr", "gnw", "gnu", "gnc", "gnt", "confidit")
CANNOT = {
    "contextualbandits": "one model per arm over a context that all arms share: items have no features of their own",
    "bayesianbandits": "a precision matrix of D x D, also when sparse: not at 6 million features",
    "mabwiser": "dense contexts and a D x D matrix per arm",
    "river": "a dense D x D matrix per arm",
}

SEED = 0
DICTS = 100
"""Rounds whose items are dicts."""

Contenders = dict[str, Callable[[], float]]


def anew(learner: Learner, work: Callable[[], object], rounds: int) -> Callable[[], float]:
    """Microseconds per round of `work` by a learner that knows nothing at the start of each turn.

    Its memory has been touched; without forgetting, a rule with a gate would ask less and less from turn to turn.
    """
    cells = learner.model.state[0]
    fresh = cells[0].copy()

    def turn() -> float:
        cells[:], learner.model.stats[:] = fresh, 0.0
        return processor_seconds(work) / rounds * 1e6

    return turn


def compiled(name: str, rounds: Rounds, **parameters: Any) -> Callable[[], float]:
    """The simulation loop."""
    learner = make(name, dim=rounds.X.dim, **parameters)
    return anew(learner, lambda: simulate(learner, rounds, seed=SEED), len(rounds))


def choosing_only(rounds: Rounds) -> Callable[[], float]:
    """ttg that has learnt these rounds once and learns no more."""
    taught = make("ttg", dim=rounds.X.dim)
    simulate(taught, rounds, seed=SEED)
    learner = Conquer(taught.model, replace(TTG, reply=st.REPLY_IGNORE))
    return each(lambda: simulate(learner, rounds, seed=SEED), len(rounds))


def by_calls(name: str, rounds: Rounds) -> Callable[[], float]:
    """choose and learn from Python on rows already built, with all their checks: the compiled loop's very choices."""
    learner = make(name, dim=rounds.X.dim)
    return anew(learner, calls(learner, rounds), len(rounds))


def calls(learner: Learner, rounds: Rounds) -> Callable[[], list[Choice]]:
    """The rounds of the compiled loop with its tickets and answers; returns the choices."""
    trace = simulate(make(learner.name, dim=rounds.X.dim), rounds, seed=SEED)
    views = [rounds[t].items for t in range(len(rounds))]
    numbers = tickets(stream("policy", SEED), 0, len(views)).tolist()
    answers = trace.answers.tolist()

    def work() -> list[Choice]:
        choices = []
        for view, number, answer in zip(views, numbers, answers, strict=True):
            choice = learner.choose(view, number)
            choices.append(choice)
            if choice.query is not Query.NONE:
                learner.learn(view, choice, answer)
        return choices

    return work


def by_dicts(name: str, rounds: Rounds, limit: int) -> Callable[[], float]:
    """The same from dicts of named numbers, hashed on the fly."""
    featurizer = Featurizer(dim=2**22)
    learner = make(name, dim=2**22)
    few = named_items(rounds, limit)

    def work() -> None:
        for number, items in enumerate(few):
            rows = featurizer(items)
            choice = learner.choose(rows, number)
            learner.learn(rows, choice, 1.0)

    return each(work, len(few))


def with_scipy(rounds: Rounds, limit: int) -> Callable[[], float]:
    """ttg as one would write it first: a CSR matrix, its rows by number, numpy for the rest."""
    X = rounds.X.csr()
    X.sum_duplicates()  # sorted rows: with others scipy clears D cells for every difference
    w, A = np.zeros(X.shape[1]), np.ones(X.shape[1])
    sets: Any = rounds.sets[:limit]

    def work() -> None:
        for members in sets:
            items = X[members]
            second, first = np.argsort(items @ w)[-2:]
            u = (items[[first]] - items[[second]]).tocoo()
            ids, values = u.coords[1], u.data / 2
            scaled = values / A[ids]
            w[ids] += (1.0 - values @ w[ids]) / (1.0 + values @ scaled) * scaled
            A[ids] += values * values

    return each(work, len(sets))


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: `counts` are the K, `rounds` those at K = 10; others get as many items in all."""

    rounds: int
    turns: int
    counts: tuple[int, ...]
    orders: tuple[bool, ...]
    items: int = 50_000
    nonzeros: int = 150
    dim: int = PAPER_DIM


FULL = Effort(10_000, 9, (5, 10, 20, 50), (True, False))
QUICK = Effort(2000, 5, (10,), (True,))


def measure(folder: Path, work: Effort, note: Callable[[str], None]) -> tuple[dict[str, Race], list[str]]:
    """{what: race} for each K and order of ids, and the names of the rivals that are not installed.

    Everyone runs on one core, where the system lets one choose it: Vowpal Wabbit's two threads on two cores send each
    other cache lines, which takes as long as its learning in some runs and nothing in others.
    """
    everywhere = cores()
    if not everywhere:
        note("decisions: this system has no sched_setaffinity, so nobody is kept to one core")
    with running_on({max(everywhere)} if everywhere else set()):
        return _raced(folder, work, note, everywhere)


def _raced(
    folder: Path, work: Effort, note: Callable[[str], None], everywhere: set[int]
) -> tuple[dict[str, Race], list[str]]:
    races: dict[str, Race] = {}
    missing: set[str] = set()
    for ordered in work.orders:
        X = zipf_items(work.items, work.nonzeros, work.dim, seed=0, ordered=ordered)
        for count in work.counts if ordered else (10,):
            rounds = draw_rounds(X, max(1, work.rounds * 10 // count), count, seed=1)
            name = f"K = {count}, ids {'by frequency' if ordered else 'shuffled'}"
            note(f"decisions, {name}")
            main = count == 10 and ordered
            field, absent = contenders(rounds, folder / f"{count}{ordered}", main=main)
            missing |= absent
            if main and "vw cache" in field and len(everywhere) > 1:
                field["vw cache, two cores"] = on_cores(field["vw cache"], everywhere)
            races[name] = race(field, work.turns if count == 10 else max(1, work.turns // 3))
    return races, sorted(missing)


def on_cores(contender: Callable[[], float], chosen: set[int]) -> Callable[[], float]:
    """The same contender, left to itself on these cores: the processor time of all its threads."""

    def turn() -> float:
        with running_on(chosen):
            return contender()

    return turn


def contenders(rounds: Rounds, folder: Path, *, main: bool) -> tuple[Contenders, set[str]]:
    """Everyone who can do these rounds, and who is not installed; `main` adds the ways that nobody is fast in."""
    field: Contenders = {name: compiled(name, rounds) for name in ALGORITHMS}
    field |= {f"{name} float32": compiled(name, rounds, storage="float32") for name in ("ttg", "gnc")}
    X = rounds.X
    for name, ahead in (("stream", False), ("stream, rows fetched ahead", True)):
        field[name] = each(partial(read_rows, X.indptr, X.indices, X.data, rounds.sets, ahead), len(rounds))
    field |= {f"{name} calls": by_calls(name, rounds) for name in ("ttg", "gnc", "gnt")}
    if main:
        field |= {"random": compiled("random", rounds), "ttg without learning": choosing_only(rounds)}
        field["ttg dicts"] = by_dicts("ttg", rounds, DICTS)
        field["ttg scipy"] = with_scipy(rounds, 300)
    try:
        from conquer.bench import vowpal

        rivals = vowpal.contenders(rounds, folder, named_items(rounds, DICTS))
    except ImportError:
        return field, {"vowpalwabbit"}
    return field | {name: rival for name, rival in rivals.items() if main or name == "vw cache"}, set()
