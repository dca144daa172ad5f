"""Simulate: rounds x judge -> trace, in one compiled loop or, for rules written in Python, call by call."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from conquer.checks import checked_seed
from conquer.judges import LawJudge, make_judge
from conquer.kernels.core import background
from conquer.kernels.rounds.loop import Log, World
from conquer.learners.batch import in_bulk
from conquer.learners.conquer import Conquer
from conquer.registry import MODELS, make
from conquer.rows import Rounds
from conquer.simulation.drivers import rates, run_compiled, run_plainly
from conquer.simulation.trace import Trace, trace_of
from conquer.tickets import stream, tickets
from conquer.types import Judge, Learner


def simulate(
    algorithm: str | Learner,
    rounds: Rounds,
    *,
    judge: str | Judge | Sequence[Judge] = "linear",
    seed: int | np.random.Generator = 0,
    delay: int = 0,
    batch: int = 1,
    compiled: bool = True,
    progress: Callable[[int], None] | None = None,
    **parameters: Any,
) -> Trace:
    """Run a learner over all rounds; a name makes a fresh one with `parameters`, a learner goes on learning.

    Answers arrive `delay` rounds late and are learnt `batch` at a time; those still out at the end are learnt then.
    An int seed gives the tickets that a Session of that seed would use; a Generator gives its next draws. The
    judge's stream is its own, so all algorithms meet the same judge. A judge of your own (any function of choice,
    rewards and ticket) is asked call by call; a sequence of judges has one for every round. A learner that shows more
    than two is asked for the best of them by the same law. `progress(t)` is called now and then.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3)); X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> rounds = Rounds(X, rng.integers(0, 50, (400, 5)), X @ [0.8, 0.0, -0.6])
    >>> trace = simulate("gnr", rounds, model="full", seed=1)
    >>> trace.shown.shape, bool(trace.regret[:50].mean() > trace.regret[-50:].mean())
    ((400, 2), True)
    """
    if isinstance(algorithm, str):
        if "dim" in parameters:
            raise TypeError(f"the rounds have {rounds.X.dim} features, so dim is not given, got {parameters['dim']!r}")
        learner: Learner = make(algorithm, dim=rounds.X.dim, **parameters)
    elif parameters:
        raise TypeError(f"parameters belong to a learner made by name, got {sorted(parameters)}")
    else:
        learner = algorithm
    law = make_judge(judge) if isinstance(judge, str | LawJudge) else judge
    _check(learner, rounds, law, delay, batch)
    delay, batch = int(delay), int(batch)
    size, (own, judges) = len(rounds), _tickets(seed, len(rounds))
    # Traces have a column for a second item even where one is shown.
    picks = np.full((size, max(2, learner.shows)), -1, np.int64)
    log = Log(picks, np.zeros(size, np.int64), np.zeros((size, 2)), np.zeros(2, np.int64))
    if compiled and isinstance(law, LawJudge) and isinstance(learner, Conquer) and learner.compiled:
        order, scale = np.array([law.code, delay, batch], np.int64), float(law.scale)
        world = World(rounds.sets, rounds.sizes, rounds.rewards, rounds.ratings, own, judges, order, scale)
        run_compiled(learner, rounds, world, log, progress)
    else:
        laws = law if isinstance(law, Sequence) else [law] * size
        run_plainly(learner, rounds, laws, (own, judges), log, (delay, batch), progress)
    return trace_of(learner, rounds, log)


def rehearse() -> None:
    """Call every kernel of both drivers and of many rounds in one call, with few and small rounds."""
    rounds = Rounds(np.eye(3), [[0, 1, 2], [2, 1, 0]], [1.0, 0.0, -1.0], ratings=np.zeros((3, 1)))
    for model in MODELS:
        for compiled in (True, False):
            simulate("gnr", rounds, model=model, compiled=compiled)
        learner = make("gnr", dim=3, model=model)
        learner.scores(np.eye(3))
        learner.model.update(np.eye(3), {0: 1.0}, 1.0)
        if many := in_bulk(learner):
            many.choose_all(rounds.X, [0, 3], [0])
            many.learn_all(rounds.X, np.array([[0, 1]]), [1.0], [0], [0])


def warm() -> Iterator[tuple[str, float]]:
    """Compile every kernel of both drivers, yielding (kernel, seconds waited for it) as each is done."""
    background.compile_all()
    rehearse()
    yield from background.finish()


def _check(learner: Learner, rounds: Rounds, law: Judge | Sequence[Judge], delay: int, batch: int) -> None:
    if learner.dim != rounds.X.dim:
        raise ValueError(f"the learner has {learner.dim} features, the rounds {rounds.X.dim}")
    if learner.duels and len(rounds) and rounds.sizes.min() < 2:
        raise ValueError(f"{learner.name} shows two items; round {int(rounds.sizes.argmin())} has one")
    laws = law if isinstance(law, Sequence) else [law]
    if isinstance(law, Sequence) and len(law) != len(rounds):
        raise ValueError(f"a sequence of judges needs one per round, got {len(law)} for {len(rounds)} rounds")
    if wrong := [one for one in laws if not callable(one)]:
        raise ValueError(f"judge must be a name or a function of choice, rewards and ticket, got {wrong[0]!r}")
    if any(map(rates, laws)) and not rounds.ratings.size:
        raise ValueError("judge='raters' needs rounds with ratings")
    if delay < 0 or delay != int(delay) or batch < 1 or batch != int(batch):
        raise ValueError(f"delay must be a whole number >= 0 and batch >= 1, got {delay!r} and {batch!r}")


def _tickets(seed: int | np.random.Generator, count: int) -> tuple[Any, Any]:
    if isinstance(seed, np.random.Generator):
        judge = seed.spawn(1)[0]
        return _drawn(seed, count), _drawn(judge, count)
    number = checked_seed(seed)
    return tickets(stream("policy", number), 0, count), tickets(stream("judge", number), 0, count)


def _drawn(rng: np.random.Generator, count: int) -> Any:
    return rng.integers(0, 2**64, size=count, dtype=np.uint64)
