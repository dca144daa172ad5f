"""Simulate: rounds x judge -> trace, in one compiled loop or, for rules written in Python, call by call."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conquer.checks import checked_answer, checked_seed
from conquer.judges import LawJudge, make_judge
from conquer.kernels.core import building
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.loop import CHOSEN, Log, World
from conquer.learners.conquer import Conquer
from conquer.metrics import regrets
from conquer.registry import MODELS, make
from conquer.rows import Rounds
from conquer.tickets import stream, tickets
from conquer.types import Choice, Floats, Ints, Judge, Learner, Query

_MOMENT = 0.05
"""Seconds: a stretch of rounds that takes less may be followed by a longer one."""
_QUERIES = np.array([q.name for q in Query])


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What happened: positions `shown` (T, k) with -1 for none, `query` (T,), `answers` (T,), rewards of all concerned.

    k is 2, or as many as the learner shows. `regret` (T,) is the paper's (weak) one, that of the best shown;
    `average_regret` is the mean over the shown ones and `strong_regret` twice that.
    """

    shown: Ints
    query: Ints
    answers: Floats
    chance: Floats
    best: Floats
    rewards: Floats
    learner: Learner

    @property
    def regret(self) -> Floats:
        return self._regrets()["weak"]

    @property
    def strong_regret(self) -> Floats:
        return self._regrets()["strong"]

    @property
    def average_regret(self) -> Floats:
        return self._regrets()["average"]

    def _regrets(self) -> dict[str, Floats]:
        if self.rewards.shape[1] == 2:
            return regrets(self.best, self.rewards[:, 0], self.rewards[:, 1])
        gaps = self.best[:, None] - self.rewards
        average = np.nanmean(gaps, axis=1)
        return {"weak": np.nanmin(gaps, axis=1), "strong": 2.0 * average, "average": average}

    @property
    def query_rate(self) -> float:
        """The share of rounds with a question."""
        return float((self.query != Query.NONE).mean()) if self.query.size else 0.0

    def _facts(self) -> dict[str, Any]:
        regret = self.regret
        last = regret[-max(1, regret.size // 10) :]
        return {
            "rounds": self.query.size,
            "regret": f"{regret.sum():.1f}",
            "per round in the last tenth": f"{last.mean() if last.size else 0.0:.4f}",
            "asked": f"{self.query_rate:.0%}",
            "learner": getattr(self.learner, "name", "") or "one's own",
        }

    def __repr__(self) -> str:
        from conquer.learners import notebook

        return notebook.line("Trace", self._facts())

    def _repr_html_(self) -> str:
        from conquer.learners import notebook

        return notebook.table("Trace", self._facts())

    def to_frame(self) -> Any:
        """One polars row per round; items shown beyond two are columns shown_2, shown_3, ..."""
        import polars

        return polars.DataFrame(
            {
                "round": np.arange(self.query.size),
                "first": self.shown[:, 0],
                "second": self.shown[:, 1],
                **{f"shown_{place}": self.shown[:, place] for place in range(2, self.shown.shape[1])},
                "query": _QUERIES[self.query],
                "answer": self.answers,
                "chance": self.chance,
                "regret": self.regret,
            }
        )


def simulate(
    algorithm: str | Learner,
    rounds: Rounds,
    *,
    judge: str | Judge | Sequence[Judge] = "linear",
    seed: int | np.random.Generator = 0,
    delay: int = 0,
    batch: int = 1,
    covariance: str = "on-answer",
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
        learner: Learner = make(algorithm, dim=rounds.X.dim, **parameters)
    elif parameters:
        raise TypeError(f"parameters belong to a learner made by name, got {sorted(parameters)}")
    else:
        learner = algorithm
    law = make_judge(judge) if isinstance(judge, str | LawJudge) else judge
    _check(learner, rounds, law, delay, batch, covariance)
    delay, batch = int(delay), int(batch)
    size, (own, judges) = len(rounds), _tickets(seed, len(rounds))
    # Traces have a column for a second item even where one is shown.
    picks = np.full((size, max(2, learner.shows)), -1, np.int64)
    log = Log(picks, np.zeros(size, np.int64), np.zeros((size, 2)), np.zeros(2, np.int64))
    on_show = covariance == "on-show"
    if compiled and isinstance(law, LawJudge) and isinstance(learner, Conquer) and learner.compiled:
        order, scale = np.array([law.code, delay, batch], np.int64), float(law.scale)
        world = World(rounds.sets, rounds.sizes, rounds.rewards, rounds.ratings, own, judges, order, scale)
        _run_compiled(learner, rounds, world, log, on_show, progress)
    else:
        laws = law if isinstance(law, Sequence) else [law] * size
        _run_plainly(learner, rounds, laws, (own, judges), log, (delay, batch), on_show, progress)
    return _trace(learner, rounds, log)


def rehearse() -> None:
    """Call every kernel of both drivers, with few and small rounds."""
    rounds = Rounds(np.eye(3), [[0, 1, 2], [2, 1, 0]], [1.0, 0.0, -1.0], ratings=np.zeros((3, 1)))
    for model in MODELS:
        for compiled in (True, False):
            simulate("gnr", rounds, model=model, compiled=compiled)
        if model != "kernel":
            simulate("gnr", rounds, model=model, covariance="on-show", compiled=False)
        learner = make("gnr", dim=3, model=model)
        learner.scores(np.eye(3))
        learner.model.update(np.eye(3), {0: 1.0}, 1.0)


def warm() -> Iterator[tuple[str, float]]:
    """Compile every kernel of both drivers, yielding (kernel, seconds waited for it) as each is done."""
    building.be_eager()
    rehearse()
    yield from building.settle()


def _check(
    learner: Learner, rounds: Rounds, law: Judge | Sequence[Judge], delay: int, batch: int, covariance: str
) -> None:
    if learner.dim != rounds.X.dim:
        raise ValueError(f"the learner has {learner.dim} features, the rounds {rounds.X.dim}")
    if learner.duels and len(rounds) and rounds.sizes.min() < 2:
        raise ValueError(f"{learner.name} shows two items; round {int(rounds.sizes.argmin())} has one")
    laws = law if isinstance(law, Sequence) else [law]
    if isinstance(law, Sequence) and len(law) != len(rounds):
        raise ValueError(f"a sequence of judges needs one per round, got {len(law)} for {len(rounds)} rounds")
    if wrong := [one for one in laws if not callable(one)]:
        raise ValueError(f"judge must be a name or a function of choice, rewards and ticket, got {wrong[0]!r}")
    if any(map(_rates, laws)) and not rounds.ratings.size:
        raise ValueError("judge='raters' needs rounds with ratings")
    if delay < 0 or delay != int(delay) or batch < 1 or batch != int(batch):
        raise ValueError(f"delay must be a whole number >= 0 and batch >= 1, got {delay!r} and {batch!r}")
    if covariance not in ("on-answer", "on-show"):
        raise ValueError(f"covariance must be 'on-answer' or 'on-show', got {covariance!r}")


def _rates(law: Judge) -> bool:
    return isinstance(law, LawJudge) and law.law == "raters"


def _tickets(seed: int | np.random.Generator, count: int) -> tuple[Any, Any]:
    if isinstance(seed, np.random.Generator):
        judge = seed.spawn(1)[0]
        return _drawn(seed, count), _drawn(judge, count)
    number = checked_seed(seed)
    return tickets(stream("policy", number), 0, count), tickets(stream("judge", number), 0, count)


def _drawn(rng: np.random.Generator, count: int) -> Any:
    return rng.integers(0, 2**64, size=count, dtype=np.uint64)


def _run_compiled(
    learner: Conquer, rounds: Rounds, world: World, log: Log, on_show: bool, progress: Callable[[int], None] | None
) -> None:
    model, X, total = learner.model, rounds.X, len(rounds)
    if total == 0:
        return
    plan = learner.plan.copy()
    plan[st.COVARIANCE] = on_show and learner.duels
    with model.held():
        model.reserve(rounds[int(rounds.sizes.argmax())].items)
        if on_show and learner.duels:
            learner.begin_exposing()
    # A few rounds at first: whatever the tier, the next call may find the loop compiled. Then as many as take a moment.
    chunk, most = 4, max(1, total // 200) if progress else total
    limit = min(chunk, most)
    while log.cursor.min() < total:
        began = time.perf_counter()
        with model.held():
            learner.check_bound()
            status = model.calls.run(
                X.indptr, X.indices, X.data, X.rows, *model.state, plan, learner.knobs, model.work, world, log, limit
            )
            if status == st.FULL:
                model.make_room(rounds[int(log.cursor.min())].items)
        if status not in (st.OK, st.FULL):
            model.fail(status, X)
        if status == st.OK:
            chunk = min(most, 8 * chunk if time.perf_counter() - began < _MOMENT else chunk)
            limit = min(total, limit + chunk)
            if progress:
                progress(int(log.cursor[CHOSEN]))


def _run_plainly(
    learner: Learner,
    rounds: Rounds,
    laws: Sequence[Judge],
    tickets: tuple[Any, Any],
    log: Log,
    pace: tuple[int, int],
    on_show: bool,
    progress: Callable[[int], None] | None,
) -> None:
    """The same, call by call: rules and judges written in Python, and the definition of the compiled loop."""
    total, (delay, batch), (own, judges) = len(rounds), pace, tickets
    choices: list[Choice] = []
    learned = 0
    for t in range(total):
        here = rounds[t]
        choice = learner.choose(here.items, int(own[t]))
        log.query[t], log.picks[t, : len(choice.shown)] = choice.query, choice.shown
        log.reals[t, 0] = np.nan if choice.memo["chance"] is None else choice.memo["chance"]
        values = here.ratings if _rates(laws[t]) and choice.query == Query.DUEL else here.rewards
        assert values is not None
        answer = laws[t](choice, values, int(judges[t]))
        log.reals[t, 1] = 0.0 if answer is None else checked_answer(answer)
        if on_show and choice.query == Query.DUEL:
            choice = learner.expose(here.items, choice)
        choices.append(choice)
        due = t + 1 - delay if (t + 1) % batch == 0 else 0
        for late in range(learned, total if t + 1 == total else due):
            if choices[late].query != Query.NONE:
                learner.learn(rounds[late].items, choices[late], float(log.reals[late, 1]))
            learned = late + 1
        if progress:
            progress(t + 1)


def _trace(learner: Learner, rounds: Rounds, log: Log) -> Trace:
    shown = log.picks.copy()
    shown[log.query != Query.DUEL, 1:] = -1
    size = len(rounds)
    padded = np.where(rounds.sets >= 0, rounds.rewards[rounds.sets], -np.inf)
    rewards = np.full(shown.shape, np.nan)
    for column in range(shown.shape[1]):
        there = shown[:, column] >= 0
        rewards[there, column] = padded[there, shown[there, column]]
    best = padded.max(axis=1) if size else np.empty(0)
    return Trace(shown, log.query, log.reals[:, 1], log.reals[:, 0], best, rewards, learner)
