"""Voters weighed: a learner that learns each voter's side bias and reliability together with the items' worth."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import checked_answer, number, positive, whole
from conquer.kernels.rounds import settings as st
from conquer.learners.algorithm import summary
from conquer.learners.batch import learn_in_turn
from conquer.learners.conquer import Conquer
from conquer.learners.voters import ANSWERS, GAINED, Voter, Voters, checked_source
from conquer.models.model import CompiledModel
from conquer.rows import SparseRows, as_rows
from conquer.types import Choice, Floats, Ints, Source

BELIEVE = ("voters", "people")
NAMES = ("voters", "trust", "nuisance", "judges", "taste")
MOST_VOTERS, MOST_JUDGES = 4096, 64
TASTE = 0.5
"""The prior scale of a judge's deviation from people, relative to the weights, by default."""


def columns(dim: int, parameters: Mapping[str, Any]) -> int:
    """The number of features of the model: the items', the side's, the voters' and the judges'.

    >>> columns(10, {"lam": 1.0}), columns(10, {"believe": "voters", "voters": 64, "nuisance": [], "judges": 2})
    (10, 75)
    """
    if parameters.get("believe") is None:
        return dim
    voters = whole("voters", parameters["voters"], 0, MOST_VOTERS)
    judges = whole("judges", parameters["judges"], 0, MOST_JUDGES)
    return dim + 1 + voters + judges * len(copied(dim, parameters["nuisance"]))


def copied(dim: int, nuisance: Any) -> Sequence[int]:
    """The features that are copied for every judge."""
    if isinstance(nuisance, str) and nuisance == "all":
        return range(dim)
    if isinstance(nuisance, str) or not isinstance(nuisance, Sequence):
        raise ValueError(f"nuisance must be 'all' or a list of features, got {nuisance!r}")
    features = [whole("nuisance", feature, 0, dim - 1) for feature in nuisance]
    if len(set(features)) != len(features):
        raise ValueError(f"nuisance must name different features, got {features}")
    return sorted(features)


def completed(row: Any, model: str, values: Mapping[str, Any], belief: Mapping[str, Any]) -> dict[str, Any]:
    """`belief` with its defaults, or a ValueError that says why this algorithm cannot weigh voters."""
    if belief["believe"] not in BELIEVE:
        raise ValueError(f"believe must be None, 'voters' or 'people', got {belief['believe']!r}")
    if row.policy is None or row.policy.reply != st.REPLY_DUEL:
        raise ValueError(f"believe= is for CONQUER's rules, which show two items and learn; not for {row.name}")
    if values.get("projection") is not None:
        raise ValueError("believe= cannot be combined with projection: side columns have no bound")
    if model == "kernel" and values["kernel"] != "linear":
        raise ValueError(f"believe= requires kernel='linear', got {values['kernel']!r}")
    taste = "all" if belief["believe"] == "people" else ()
    return {"voters": 64, "trust": 1.0, "nuisance": taste, "judges": 2, "taste": TASTE, **belief}


Models = tuple[CompiledModel, ...]
Fresh = Callable[[], CompiledModel]


class CrossPrediction:
    """Two models, each of half of the voters: a voter's answers are predicted by the model they are not in.

    Voters are assigned in turn. The models are made when the second named voter appears; answers without a name enter
    neither. `apart`: judges enter neither and are predicted by the model that has learnt more.
    """

    def __init__(self, model: CompiledModel, fresh: Fresh, *, apart: bool) -> None:
        self.model, self.fresh, self.apart = model, fresh, apart
        self.models: Models = ()
        self.half: list[int] = []
        """Of every numbered voter: 0 or 1, or -1 for one that enters neither."""

    def of(self, voter: int, kind: str) -> int:
        """The half of a voter with this number, also of the next new one."""
        if voter < len(self.half):
            return self.half[voter]
        return -1 if self.apart and kind == "judge" else sum(half >= 0 for half in self.half) % 2

    def ready(self, voter: int, table: Voters) -> Models:
        """The models, new if this is the second voter; `learn` keeps them.

        If all answers so far are the first voter's, their model starts as a copy of the main one.
        """
        if self.models or voter == 0:
            return self.models
        models = self.fresh(), self.fresh()
        if self.half[0] == 0 and self.model.stats[st.LEARNT] == table.sums[0, ANSWERS]:
            models[0].restore(self.model.arrays())
        return models

    def predict(self, models: Models, voter: int, kind: str, two: SparseRows) -> float:
        """p in [-1, 1]: the answer to this pair that the others' answers predict; 0 without any."""
        if not models:
            return 0.0
        half = self.of(voter, kind)
        fuller = int(models[1].stats[st.LEARNT] > models[0].stats[st.LEARNT])
        scores = models[fuller if half < 0 else 1 - half].scores(two)
        return min(1.0, max(-1.0, float(scores[0] - scores[1]) / 2))

    def learn(self, models: Models, voter: int, kind: str, step: tuple[Any, ...]) -> None:
        """Keep the models, and learn the voter's answer in its half."""
        half, self.models = self.of(voter, kind), models
        if voter == len(self.half):
            self.half.append(half)
        if models and half >= 0:
            # The main model has taken the step; this one skips it if it would overflow.
            with suppress(ArithmeticError):
                models[half].move(*step)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The models' arrays, each under its half."""
        return {f"half{h}.{name}": a for h, model in enumerate(self.models) for name, a in model.arrays().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]], kinds: Sequence[str]) -> None:
        """Take the state of `arrays()`, with the kinds of all voters in order."""
        for voter, kind in enumerate(kinds):
            self.half.append(self.of(voter, kind))
        if len(kinds) < 2:
            return
        models = self.fresh(), self.fresh()
        for h, model in enumerate(models):
            prefix = f"half{h}."
            model.restore({name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)})
        self.models = models


Rest = list[tuple[Any, Any, float]]
"""Rows of an answer besides the items': features, values and a factor each."""
_NO_SOURCE = Source()
_HALVES = {side: np.array([side / 2]) for side in (-1, 1)}
_POSITIONS = np.arange(8)
"""Positions of the rows of an answer: two items, a side, two of a judge."""


class Believer:
    """A learner whose model has columns for the side and for each voter's side, with a reliability per voter.

    Rows keep their D features; column D is the side, the next `voters` columns are the voters' own, in the order of
    first appearance. Scores and choices do not use them. `believe="people"`: judges are weighed by what people's
    answers predict, never by each other's, and the first two (`judges`) have copies of all features, which absorb what
    a judge likes and people do not; `taste` is its scale beside the items' worth. `nuisance`: the features to copy,
    "all" or a list of columns. `trust`: the prior weight of a new voter's reliability, in squared predictions.

    >>> from conquer.registry import make
    >>> learner = make("gnr", dim=3, model="full", believe="voters")
    >>> for ticket in range(40):
    ...     choice, side = learner.choose(np.eye(3), ticket), 1 - 2 * (ticket % 2)
    ...     learner.learn(np.eye(3), choice, side, Source("lefty", side=side))
    >>> learner.voters()[0].left, learner.scores(np.eye(3)).shape
    (1.0, (3,))
    """

    compiled = False
    __repr__ = summary
    duels = True
    fixed_arms = False

    def __init__(
        self,
        learner: Conquer,
        believe: str,
        *,
        dim: int,
        fresh: Fresh,
        voters: int = 64,
        trust: float = 1.0,
        nuisance: Sequence[int] | str = (),
        judges: int = 2,
        taste: float = TASTE,
    ) -> None:
        self.learner, self.believe, self.dim, self.width = learner, believe, dim, learner.dim
        self.voter_columns = whole("voters", voters, 0, MOST_VOTERS)
        self.judges = whole("judges", judges, 0, MOST_JUDGES)
        self.taste = number("taste", taste, 0, 100)
        self.copies = copied(dim, nuisance)
        self._side = np.array([dim], np.int32)
        self.table = Voters(positive("trust", trust))
        self.cross = CrossPrediction(learner.model, fresh, apart=believe == "people")
        self.parameters: Mapping[str, Any] = {
            **learner.parameters,
            "believe": believe,
            "voters": self.voter_columns,
            "trust": self.table.trust,
            "nuisance": nuisance if isinstance(nuisance, str) else list(self.copies),
            "judges": self.judges,
            "taste": self.taste,
        }

    @property
    def name(self) -> str:
        return self.learner.name

    @property
    def model(self) -> Any:
        """The model with all columns; items' rows have only the first D."""
        return self.learner.model

    @property
    def policy(self) -> Any:
        return self.learner.policy

    @property
    def eta(self) -> float:
        return self.learner.eta

    @property
    def shows(self) -> int:
        return 2

    @property
    def takes_batches(self) -> bool:
        """Whether `choose_all` and `learn_all` work."""
        return self.learner.takes_batches

    @property
    def answers(self) -> int:
        return self.learner.answers

    @property
    def fresh(self) -> bool:
        return self.learner.fresh

    def _wide(self, X: Any) -> SparseRows:
        return as_rows(X, self.dim).widened(self.width)

    @property
    def records(self) -> bool:
        return self.learner.records

    @property
    def narrows(self) -> bool:
        return self.learner.narrows

    def forecast(self, X: Any, choice: Choice) -> tuple[float, float]:
        return self.learner.forecast(self._wide(X), choice)

    def choose(self, X: Any, rng: np.random.Generator | int, among: Ints | None = None) -> Choice:
        """The learner's choice."""
        return self.learner.choose(self._wide(X), rng, among)

    def chance_of(self, X: Any, shown: tuple[int, ...], ticket: int) -> float | None:
        return self.learner.chance_of(self._wide(X), shown, ticket)

    def choose_and_score(self, X: Any, rng: np.random.Generator | int) -> tuple[Choice, Floats]:
        return self.learner.choose_and_score(self._wide(X), rng)

    def choose_all(
        self, X: SparseRows, starts: Sequence[int], tickets: Sequence[int]
    ) -> tuple[list[Choice | None], Floats]:
        """The choices of many rounds and every row's score, as the learner's `choose_all` gives them."""
        return self.learner.choose_all(self._wide(X), starts, tickets)

    def scores(self, X: Any, ticket: int = 0) -> Floats:
        """(K,): the model's scores."""
        return self.learner.scores(self._wide(X), ticket)

    def check(self, choice: Choice, count: int) -> tuple[int, int]:
        return self.learner.check(choice, count)

    def board(self, X: Any, *arguments: Any, **options: Any) -> Any:
        """The learner's board, of the items alone."""
        inner: Any = self.learner
        return inner.board(self._wide(X), *arguments, **options)

    def weigh(self, X: Any, choice: Choice, source: Source) -> float:
        """rho in [0, 1]: the weight that an answer of this source has now. Changes nothing."""
        return self._weight(checked_source(source))

    def _weight(self, source: Source) -> float:
        return 1.0 if source.voter is None else self.table.weight(self.table.find(source))

    def learn(self, X: Any, choice: Choice, answer: float, source: Source | None = None) -> None:
        """One step along rho (phi_m - phi_n)/2 and the side's columns towards the answer.

        rho is the source's weight if a log has one, else `weigh`'s. Without a source it is 1 and no side enters.
        """
        wide, source = self._wide(X), checked_source(source or _NO_SOURCE)
        pair, answer = self.check(choice, wide.rows.size), checked_answer(answer)
        weight = self._weight(source) if source.weight is None else float(source.weight)
        if source.voter is None and source.side:
            # The common case: two items and a side, without a voter to weigh.
            rows = _joined(wide, pair, ((self._side, _HALVES[source.side], 1.0),))
            self.model.move(rows, _POSITIONS[:3], np.array([weight / 2, -weight / 2, 1.0]), answer, choice.ticket)
            return
        two = wide.view(wide.rows[list(pair)])
        extra = self._extra(two, source)
        rows = _joined(wide, pair, extra) if extra else two
        values = np.array([weight / 2, -weight / 2, *[factor for *_, factor in extra]])
        step = rows, _POSITIONS[: values.size], values, answer, choice.ticket
        if source.voter is None:
            self.model.move(*step)
            return
        voter, net = self.table.find(source), answer
        models = self.cross.ready(voter, self.table)
        predicted = self.cross.predict(models, voter, source.kind, two)
        before = self._information(two, source)
        if source.side:
            net -= min(1.0, max(-1.0, float(self.model.scores(rows.take([2]))[0])))
        self.model.move(*step)
        gained = self._information(two, source) - before
        self.table.add(source, answer=answer, net=net, predicted=predicted, gained=max(0.0, gained))
        self.cross.learn(models, voter, source.kind, step)

    def learn_all(
        self, X: SparseRows, pairs: Ints, answers: Sequence[float], sides: Sequence[int], tickets: Sequence[int]
    ) -> int:
        """Learn many answers to duels in order, without a voter and at full weight; returns how many were learnt.

        As the learner's `learn_all`; a known side is learnt with its answer.
        """
        rows, rule = self.learner.batch_rows(self._wide(X)), self.learner.packed_rule
        return learn_in_turn(self.model, rows, rule, pairs, answers, sides, tickets, self._side)

    def _extra(self, two: SparseRows, source: Source) -> Rest:
        """The part of u that belongs to a named voter: rows of features and values, each with a factor."""
        if source.voter is None:
            return []
        rows: Rest = []
        voter = self.table.find(source)
        if source.side:
            sides = [self.dim, self.dim + 1 + voter][: 2 if voter < self.voter_columns else 1]
            rows.append((sides, [source.side / 2] * len(sides), 1.0))
        if source.kind == "judge" and len(self.copies) and (judge := self.table.judge(voter)) < self.judges:
            start = self.dim + 1 + self.voter_columns + judge * len(self.copies)
            for row, factor in zip(two.rows.tolist(), (self.taste / 2, -self.taste / 2), strict=True):
                entries = slice(two.indptr[row], two.indptr[row + 1])
                ids = two.indices[entries]
                data = two.data[entries]
                if len(self.copies) < self.dim:
                    kept = np.isin(ids, self.copies)
                    positions, data = np.searchsorted(self.copies, ids[kept]), data[kept]
                    rows.append((positions + start, data, factor))
                else:
                    rows.append((ids + start, data, factor))
        return rows

    def _information(self, two: SparseRows, source: Source) -> float:
        """The pair's precision, one over its variance, in answers of people; for judges on exact models, else 0."""
        if source.kind != "judge" or not self.model.exact:
            return 0.0
        variance = float(self.model.contrasts(two, 1)[0]) / 4
        return 1.0 / variance if variance > 0 else 0.0

    def voters(self) -> tuple[Voter, ...]:
        """Every named voter, in the order of first appearance."""
        return self.table.reports(*self.sides())

    def sides(self) -> tuple[list[float], list[float] | None]:
        """What the left is worth to each voter, and its standard deviation where the model is exact.

        It is the sum of the global side and their own, which only the penalty separates. Voters without a column of
        their own share the last entry.
        """
        count = min(len(self.table), self.voter_columns + 1)
        if not count:
            return [], None
        ids = [[self.dim, self.dim + 1 + voter] if voter < self.voter_columns else [self.dim] for voter in range(count)]
        starts = np.cumsum([0, *map(len, ids)])
        rows = SparseRows(starts, np.concatenate(ids), np.full(starts[-1], 0.5), self.width)
        deviations = np.sqrt(self.model.variances(rows)).tolist() if self.model.exact else None
        return self.model.scores(rows).tolist(), deviations

    def worth(self) -> float:
        """The number of people's answers that the judges' answers replace; for full and kernel models.

        An answer counts the answers by a person to the same pair that would give the same precision.
        """
        if not self.model.exact:
            raise ValueError("a diagonal model keeps no variances of pairs, so it cannot tell what judges were worth")
        return float(self.table.sums[list(self.table.judges), GAINED].sum())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The model's arrays, the voters' sums, and those of the two predicting models."""
        return self.learner.arrays() | self.table.arrays() | self.cross.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the state of `arrays()`, checked; a fresh learner only."""
        self.table.restore(arrays)
        self.cross.restore(arrays, [kind for kind, _ in self.table.names])
        self.learner.restore(arrays)


def _joined(rows: SparseRows, pair: tuple[int, int], extra: Sequence[tuple[Any, Any, float]]) -> SparseRows:
    """Two of the rows, followed by rows with these entries."""
    ids, data, starts = [], [], [0]
    for k in pair:
        row = rows.rows.item(k)
        start, stop = rows.indptr.item(row), rows.indptr.item(row + 1)
        ids.append(rows.indices[start:stop])
        data.append(rows.data[start:stop])
        starts.append(starts[-1] + stop - start)
    for columns, values, _ in extra:
        ids.append(np.asarray(columns, np.int32))
        data.append(values)
        starts.append(starts[-1] + len(columns))
    return SparseRows.made(np.array(starts, np.int64), np.concatenate(ids), np.concatenate(data), rows.dim)


def believer(learner: Any) -> Believer | None:
    """The learner that weighs voters: this one, or the one it wraps; None otherwise."""
    while not isinstance(learner, Believer):
        learner = getattr(learner, "learner", None)
        if learner is None:
            return None
    return learner
