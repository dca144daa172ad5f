"""Simulation: a learner over rounds that a judge answers, in one compiled loop or call by call; and its trace."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from conquer.boards.evidence import Answers, Evidence
from conquer.checks import checked_answer, checked_seed
from conquer.judges import LawJudge, make_judge
from conquer.kernels.core import background
from conquer.kernels.models import calls
from conquer.kernels.rounds import settings as st
from conquer.kernels.rounds.loop import Log, World
from conquer.learners.algorithm import Algorithm
from conquer.learners.batch import batch_learner
from conquer.learners.conquer import Conquer
from conquer.metrics import regrets
from conquer.policies import Policy
from conquer.registry import MODELS, make
from conquer.rows import Rounds
from conquer.tickets import stream, tickets
from conquer.types import Choice, Floats, Ints, Judge, Learner, Query

if TYPE_CHECKING:
    import polars

_QUERIES = np.array([q.name for q in Query])
_DELTA = 0.05
"""The level of the tests by which `tob` chooses."""
_MOMENT = 0.05
"""Seconds: after a chunk of rounds that takes less, the next chunk is larger."""


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """What happened in a simulation of T rounds: `simulate`'s result.

    Attributes
    ----------
    shown : (T, k) int64
        Positions of the items shown, first choice first, -1 for none; k is 2, or as many as the learner shows.
    query : (T,) int64
        Values of `Query`.
    answers : (T,) float64
        Answers in [-1, 1]: 0 where nothing was asked, NaN where the judge gave no answer.
    chance : (T,) float64
        The probability of each choice; NaN where it has no closed form.
    best : (T,) float64
        The largest reward of each round.
    rewards : (T, k) float64
        Rewards of the items shown, NaN for none.
    learner : Learner
        The learner after the last round.
    evidence : Evidence or None
        A record of every answer for boards, items by their row numbers; None unless it was asked for.

    Examples
    --------
    >>> trace = simulate("gnr", Rounds(np.eye(3), [[0, 1, 2]] * 50, [1.0, 0.0, -1.0]))
    >>> trace.shown.shape, trace.query_rate, trace.to_frame().columns[:3]
    ((50, 2), 1.0, ['round', 'first', 'second'])
    """

    shown: Ints
    query: Ints
    answers: Floats
    chance: Floats
    best: Floats
    rewards: Floats
    learner: Learner
    evidence: Evidence | None = None

    @property
    def regret(self) -> Floats:
        """(T,): the paper's (weak) regret, the largest reward less the best one shown."""
        return self._regrets()["weak"]

    @property
    def strong_regret(self) -> Floats:
        """(T,): twice the average regret."""
        return self._regrets()["strong"]

    @property
    def average_regret(self) -> Floats:
        """(T,): the largest reward less the mean of those shown."""
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

    def __repr__(self) -> str:
        regret = self.regret
        last = regret[-max(1, regret.size // 10) :]
        return (
            f"<Trace: {self.learner.name}, rounds {regret.size:,}, regret {regret.sum():.1f}, per round in the last "
            f"tenth {last.mean() if last.size else 0.0:.4f}, asked {self.query_rate:.0%}>"
        )

    def to_frame(self) -> "polars.DataFrame":
        """One polars row per round; items shown beyond two are columns shown_2, shown_3, ..."""
        import polars

        return polars.DataFrame(
            {
                "round": np.arange(self.query.size),
                "first": self.shown[:, 0],
                "second": self.shown[:, 1],
                **{f"shown_{k}": self.shown[:, k] for k in range(2, self.shown.shape[1])},
                "query": _QUERIES[self.query],
                "answer": self.answers,
                "chance": self.chance,
                "regret": self.regret,
            }
        )


def simulate(
    algorithm: str | Policy | Algorithm | Learner,
    rounds: Rounds,
    *,
    judge: str | Judge | Sequence[Judge] = "linear",
    seed: int | np.random.Generator = 0,
    delay: int = 0,
    batch: int = 1,
    compiled: bool = True,
    evidence: bool = False,
    **parameters: Any,
) -> Trace:
    """Run a learner over all rounds.

    Parameters
    ----------
    algorithm : str, Policy, Algorithm or Learner
        What `make` takes, for a fresh learner with `parameters`; or a learner, which continues to learn.
    rounds : Rounds
        Items, sets and rewards.
    judge : str, callable or sequence of callables
        The law of the answers: "linear", "noisy", "logistic", "perfect", "raters" or "best"; or a function of choice,
        rewards and ticket that returns an answer in [-1, 1], or None, which is not learnt; or a sequence with one
        function per round. For more than two shown items the judge names the best by the same law.
    seed : int or numpy Generator
        A number gives the tickets that a `Session` of that seed uses. The judge's stream is separate, so all
        algorithms meet the same judge.
    delay, batch : int
        Answers arrive `delay` rounds late and are learnt `batch` at a time; the rest is learnt at the end.
    compiled : bool
        Use the compiled loop where it can run the learner and the judge; the results are identical.
    evidence : bool
        Keep a record of every answer, for boards: `trace.learner.board(X, evidence=trace.evidence, ids=range(len(X)))`.
        `tob` with a full or kernel model always keeps one, since it chooses by it, as it does in a session.
    **parameters
        As of `make`; the number of features comes from the rounds.

    Returns
    -------
    Trace

    Raises
    ------
    ValueError
        The learner does not fit the rounds, a judge is unknown, or a number is out of range.
    TypeError
        `parameters` were given with a learner, or `dim` with a name.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3)); X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> rounds = Rounds(X, rng.integers(0, 50, (400, 5)), X @ [0.8, 0.0, -0.6])
    >>> trace = simulate("gnr", rounds, model="full", seed=1)
    >>> trace.shown.shape, bool(trace.regret[:50].mean() > trace.regret[-50:].mean())
    ((400, 2), True)
    """
    if isinstance(algorithm, str | Policy | Algorithm):
        if "dim" in parameters:
            raise TypeError(f"the rounds have {rounds.X.dim} features, so dim is not given, got {parameters['dim']!r}")
        learner = make(algorithm, dim=rounds.X.dim, **parameters)
    elif parameters:
        raise TypeError(f"parameters belong to a learner made by name, got {sorted(parameters)}")
    else:
        learner = algorithm
    judges = make_judge(judge) if isinstance(judge, str) else judge
    _check(learner, rounds, judges, delay, batch)
    delay, batch = int(delay), int(batch)
    size, (own, judge_tickets) = len(rounds), _tickets(seed, len(rounds))
    # Traces have a column for a second item even if one is shown.
    picks = np.full((size, max(2, learner.shows)), -1, np.int64)
    narrows = bool(getattr(learner, "narrows", False))
    if evidence and not getattr(learner, "records", False):
        raise ValueError(f"evidence is kept of duels that a full or kernel model learns, not for {learner!r}")
    columns = 4 if evidence or narrows else 2
    log = Log(picks, np.zeros(size, np.int64), np.zeros((size, columns)), np.zeros(2, np.int64))
    found = Evidence() if columns == 4 else None
    if compiled and not narrows and isinstance(judges, LawJudge) and isinstance(learner, Conquer) and learner.compiled:
        manner = judges.code, float(judges.scale), delay, batch
        world = World(rounds.sets, rounds.sizes, rounds.rewards, rounds.ratings, own, judge_tickets, *manner)
        run_compiled(learner, rounds, world, log)
    else:
        by_round = judges if isinstance(judges, Sequence) else [judges] * size
        run_by_calls(learner, rounds, by_round, (own, judge_tickets), log, (delay, batch), found if narrows else None)
    if found is not None and not len(found):
        _record(found, rounds, log)
    return _trace(learner, rounds, log, found)


def run_compiled(learner: Conquer, rounds: Rounds, world: World, log: Log) -> None:
    """Fill the log by the compiled loop, a chunk of rounds at a time."""
    model, X, total = learner.model, rounds.X, len(rounds)
    if total == 0:
        return
    learner.check_draw(int(rounds.sizes.max()))
    with model.in_use():
        model.reserve(rounds[int(rounds.sizes.argmax())].items)
    # A few rounds at first, since the next call may find the loop compiled; then as many as take a moment.
    chunk = 4
    limit = min(chunk, total)
    while log.cursor.min() < total:
        began = time.perf_counter()
        with model.in_use():
            status = calls.run(model.state, X.indptr, X.indices, X.data, X.rows, learner.packed_rule, world, log, limit)
            if status == st.FULL:
                model.make_room(rounds[int(log.cursor.min())].items)
        if status not in (st.OK, st.FULL):
            model.fail(status, X)
        if status == st.OK:
            chunk = 8 * chunk if time.perf_counter() - began < _MOMENT else chunk
            limit = min(total, limit + chunk)


def run_by_calls(
    learner: Learner,
    rounds: Rounds,
    judges: Sequence[Judge],
    tickets: tuple[NDArray[np.uint64], NDArray[np.uint64]],
    log: Log,
    pace: tuple[int, int],
    evidence: Evidence | None = None,
) -> None:
    """The same with one call per choice and answer: for Python rules and judges, and the compiled loop's definition."""
    total, (delay, batch), (own, judge_tickets) = len(rounds), pace, tickets
    choices: list[Choice] = []
    learned = 0
    for t in range(total):
        here = rounds[t]
        among = None
        if evidence is not None:
            race, scores = evidence.race(rounds.sets[t, : rounds.sizes[t]].tolist()), learner.scores(here.items)
            among = race.candidates(scores, _DELTA)
        choose: Any = learner.choose
        choice: Choice = choose(here.items, int(own[t])) if among is None else choose(here.items, int(own[t]), among)
        if log.reals.shape[1] == 4 and choice.query == Query.DUEL:
            log.reals[t, 2:] = cast(Conquer, learner).forecast(here.items, choice)
        log.query[t], log.picks[t, : len(choice.shown)] = choice.query, choice.shown
        log.reals[t, 0] = np.nan if choice.memo["chance"] is None else choice.memo["chance"]
        values = here.ratings if _uses_ratings(judges[t]) and choice.query == Query.DUEL else here.rewards
        assert values is not None
        answer = judges[t](choice, values, int(judge_tickets[t]))
        if choice.query != Query.NONE:
            log.reals[t, 1] = np.nan if answer is None else checked_answer(answer, shown=len(choice.shown))
        choices.append(choice)
        due = t + 1 - delay if (t + 1) % batch == 0 else 0
        for late in range(learned, total if t + 1 == total else due):
            if choices[late].query != Query.NONE and not np.isnan(log.reals[late, 1]):
                learner.learn(rounds[late].items, choices[late], float(log.reals[late, 1]))
                if evidence is not None:
                    _record(evidence, rounds, log, late, late + 1)
            learned = late + 1


def _record(evidence: Evidence, rounds: Rounds, log: Log, start: int = 0, stop: int | None = None) -> None:
    """Add the answered duels of these rounds, items by their row numbers."""
    part = slice(start, stop)
    kept = (log.query[part] == Query.DUEL) & ~np.isnan(log.reals[part, 1])
    sets, picks, reals = rounds.sets[part][kept], log.picks[part][kept], log.reals[part][kept]
    at = np.arange(len(sets))
    first, second = sets[at, picks[:, 0]], sets[at, picks[:, 1]]
    ids, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    one, two = places[: len(sets)], places[len(sets) :]
    chance, answer, gap, deviation = reals.T
    anonymous, full = np.full(len(sets), -1), np.ones(len(sets))
    sizes = rounds.sizes[part][kept]
    evidence.extend(ids.tolist(), Answers(one, two, gap, deviation, chance, sizes, anonymous, full, answer))


def _trace(learner: Learner, rounds: Rounds, log: Log, evidence: Evidence | None) -> Trace:
    """The trace of a filled log: the rewards of the items shown are looked up."""
    shown = log.picks.copy()
    shown[log.query != Query.DUEL, 1:] = -1
    padded = np.where(rounds.sets >= 0, rounds.rewards[rounds.sets], -np.inf)
    rewards = np.full(shown.shape, np.nan)
    for column in range(shown.shape[1]):
        there = shown[:, column] >= 0
        rewards[there, column] = padded[there, shown[there, column]]
    best = padded.max(axis=1) if len(rounds) else np.empty(0)
    return Trace(shown, log.query, log.reals[:, 1], log.reals[:, 0], best, rewards, learner, evidence)


def call_kernels() -> None:
    """Call every kernel of both drivers and of batches once, with small rounds."""
    rounds = Rounds(np.eye(3), [[0, 1, 2], [2, 1, 0]], [1.0, 0.0, -1.0], ratings=np.zeros((3, 1)))
    for model in MODELS:
        for compiled in (True, False):
            trace = simulate("gnr", rounds, model=model, compiled=compiled, evidence=model != "diagonal")
            if trace.evidence is not None:
                trace.evidence.race(range(3), 0.5)
        learner = make("gnr", dim=3, model=model)
        learner.scores(np.eye(3))
        learner.model.update(np.eye(3), {0: 1.0}, 1.0)
        if batch := batch_learner(learner):
            batch.choose_all(rounds.X, [0, 3], [0])
            batch.learn_all(rounds.X, np.array([[0, 1]]), [1.0], [0], [0])


def compile_kernels() -> Iterator[tuple[str, float]]:
    """Compile every kernel of both drivers, yielding (kernel, seconds waited for it) as each is done."""
    background.compile_all()
    call_kernels()
    yield from background.finish()


def _uses_ratings(judge: Judge) -> bool:
    """Whether a judge compares people's ratings, not rewards."""
    return isinstance(judge, LawJudge) and judge.law == "raters"


def _check(learner: Learner, rounds: Rounds, judge: Judge | Sequence[Judge], delay: int, batch: int) -> None:
    if learner.dim != rounds.X.dim:
        raise ValueError(f"the learner has {learner.dim} features, the rounds {rounds.X.dim}")
    if learner.duels and len(rounds) and rounds.sizes.min() < 2:
        raise ValueError(f"{learner.name} shows two items; round {int(rounds.sizes.argmin())} has one")
    judges = judge if isinstance(judge, Sequence) else [judge]
    if isinstance(judge, Sequence) and len(judge) != len(rounds):
        raise ValueError(f"a sequence of judges needs one per round, got {len(judge)} for {len(rounds)} rounds")
    if wrong := [one for one in judges if not callable(one)]:
        raise ValueError(f"judge must be a name or a function of choice, rewards and ticket, got {wrong[0]!r}")
    if any(map(_uses_ratings, judges)) and not rounds.ratings.size:
        raise ValueError("judge='raters' needs rounds with ratings")
    if delay < 0 or delay != int(delay) or batch < 1 or batch != int(batch):
        raise ValueError(f"delay must be a whole number >= 0 and batch >= 1, got {delay!r} and {batch!r}")


def _tickets(seed: int | np.random.Generator, count: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    if isinstance(seed, np.random.Generator):
        judge = seed.spawn(1)[0]
        return _drawn(seed, count), _drawn(judge, count)
    number = checked_seed(seed)
    return tickets(stream("policy", number), 0, count), tickets(stream("judge", number), 0, count)


def _drawn(rng: np.random.Generator, count: int) -> NDArray[np.uint64]:
    return rng.integers(0, 2**64, size=count, dtype=np.uint64)
