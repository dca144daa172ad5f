"""Whom to believe: a learner that learns each voter's pull to a side, and how far their answers can be relied on."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import checked_answer, positive, whole
from conquer.kernels.rounds import settings as st
from conquer.learners.algorithm import summary
from conquer.learners.batch import learn_in_turn
from conquer.learners.conquer import Conquer
from conquer.learners.voters import ANSWERS, GAINED, Voter, Voters, checked_source
from conquer.models.model import CompiledModel
from conquer.rows import SparseRows, as_rows
from conquer.types import Choice, Floats, Ints, Source

BELIEVE = ("voters", "people")
NAMES = ("voters", "trust", "nuisance", "judges")
MOST_PLACES, MOST_JUDGES = 4096, 64
TASTE = 0.5
"""The scale of a judge's copies: its taste is thought to differ from people's by half of what tastes come to."""


def columns(dim: int, parameters: Mapping[str, Any]) -> int:
    """How many features the model of a learner with these parameters has: its own, the side's, voters' and judges'.

    >>> columns(10, {"lam": 1.0}), columns(10, {"believe": "voters", "voters": 64, "nuisance": [], "judges": 2})
    (10, 75)
    """
    if parameters.get("believe") is None:
        return dim
    places = whole("voters", parameters["voters"], 0, MOST_PLACES)
    judges = whole("judges", parameters["judges"], 0, MOST_JUDGES)
    return dim + 1 + places + judges * len(copied(dim, parameters["nuisance"]))


def copied(dim: int, nuisance: Any) -> Sequence[int]:
    """The features of which every judge has a copy of its own."""
    if isinstance(nuisance, str) and nuisance == "all":
        return range(dim)
    if isinstance(nuisance, str) or not isinstance(nuisance, Sequence):
        raise ValueError(f"nuisance must be 'all' or a list of features, got {nuisance!r}")
    features = [whole("nuisance", feature, 0, dim - 1) for feature in nuisance]
    if len(set(features)) != len(features):
        raise ValueError(f"nuisance must name different features, got {features}")
    return sorted(features)


def completed(row: Any, model: str, values: Mapping[str, Any], belief: Mapping[str, Any]) -> dict[str, Any]:
    """`belief` with its defaults, or the reason why this row of the table cannot be told whom to believe."""
    if belief["believe"] not in BELIEVE:
        raise ValueError(f"believe must be None, 'voters' or 'people', got {belief['believe']!r}")
    if row.policy is None or row.policy.reply != st.REPLY_DUEL:
        raise ValueError(f"believe= is for CONQUER's rules, which show two items and learn; not for {row.name}")
    if values.get("projection") is not None:
        raise ValueError("believe= goes without projection: the side's columns are no item's, so no slab bounds them")
    if model == "kernel" and values["kernel"] != "linear":
        raise ValueError(f"believe= adds columns to a row: only kernel='linear' adds them up, got {values['kernel']!r}")
    taste = "all" if belief["believe"] == "people" else ()
    return {"voters": 64, "trust": 1.0, "nuisance": taste, "judges": 2, **belief}


Models = tuple[CompiledModel, ...]
Fresh = Callable[[], CompiledModel]


class Halves:
    """Voters take turns between two halves; each half's answers are learnt by a model of its own.

    A voter's answer is foretold by the other half's model, in which none of theirs is. The models are made when the
    second named voter appears; nameless answers enter neither. `apart`: judges enter neither, and are foretold by the
    model that has learnt more.
    """

    def __init__(self, model: CompiledModel, fresh: Fresh, *, apart: bool) -> None:
        self.whole, self.fresh, self.apart = model, fresh, apart
        self.models: Models = ()
        self.half: list[int] = []
        """Of every voter that has a number: 0 or 1, or -1 for those who enter neither."""

    def of(self, voter: int, kind: str) -> int:
        """The half of a voter with this number, known or about to be."""
        if voter < len(self.half):
            return self.half[voter]
        return -1 if self.apart and kind == "judge" else sum(half >= 0 for half in self.half) % 2

    def ready(self, voter: int, table: Voters) -> Models:
        """The models, made where this is the second voter, or none; nothing is kept yet.

        Where all answers so far are the first voter's, they are in the whole model and need not be lost.
        """
        if self.models or voter == 0:
            return self.models
        models = self.fresh(), self.fresh()
        if self.half[0] == 0 and self.whole.stats[st.LEARNT] == table.sums[0, ANSWERS]:
            models[0].restore(self.whole.arrays())
        return models

    def foretell(self, models: Models, voter: int, kind: str, two: SparseRows) -> float:
        """p in [-1, 1]: what the others' answers say to this pair, as an answer; 0 while there are none."""
        if not models:
            return 0.0
        half = self.of(voter, kind)
        fuller = int(models[1].stats[st.LEARNT] > models[0].stats[st.LEARNT])
        scores = models[fuller if half < 0 else 1 - half].scores(two)
        return min(1.0, max(-1.0, float(scores[0] - scores[1]) / 2))

    def learn(self, models: Models, voter: int, kind: str, step: tuple[Any, ...]) -> None:
        """Keep the models, and learn the voter's answer in their half."""
        half, self.models = self.of(voter, kind), models
        if voter == len(self.half):
            self.half.append(half)
        if models and half >= 0:
            # The whole model has taken the step. Where this one's digits cannot hold it, it goes without.
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
"""Rows of an answer that are no item's: features, values, and the factor of each."""
_NOBODY = Source()
_HALVES = {side: np.array([side / 2]) for side in (-1, 1)}
_PLACES = np.arange(8)
"""Positions of the rows of an answer: two items, a side, two of a judge's own."""


class Believer:
    """A learner whose model has columns for the side and for each voter's side, and a reliability per voter.

    Rows keep their D features; column D is the side, the next `voters` ones are the voters' own, given in the order of
    first appearance. Scores and choices never see them. `believe="people"`: judges are weighed by what people's answers
    foretell, and never by each other's, and the first two (`judges`) have copies of all features: what a judge likes
    and people do not is the judge's own. `nuisance` names the features to copy, "all" or a list such as a length's.
    `trust`: how much speaks for a new voter, in squared predictions.

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
    ) -> None:
        self.learner, self.believe, self.dim, self.width = learner, believe, dim, learner.dim
        self.places, self.judges = whole("voters", voters, 0, MOST_PLACES), whole("judges", judges, 0, MOST_JUDGES)
        self.copies = copied(dim, nuisance)
        self._side = np.array([dim], np.int32)
        self.table = Voters(positive("trust", trust))
        self.halves = Halves(learner.model, fresh, apart=believe == "people")
        self.parameters: Mapping[str, Any] = {
            **learner.parameters,
            "believe": believe,
            "voters": self.places,
            "trust": self.table.trust,
            "nuisance": nuisance if isinstance(nuisance, str) else list(self.copies),
            "judges": self.judges,
        }

    @property
    def name(self) -> str:
        return self.learner.name

    @property
    def model(self) -> Any:
        """The model with all columns; an item's row has none of the side's."""
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
    def bulk(self) -> bool:
        """Whether `choose_all` and `learn_all` can do it."""
        return self.learner.bulk

    @property
    def answers(self) -> int:
        return self.learner.answers

    @property
    def fresh(self) -> bool:
        return self.learner.fresh

    def _wide(self, X: Any) -> SparseRows:
        return as_rows(X, self.dim).widened(self.width)

    def choose(self, X: Any, rng: np.random.Generator | int) -> Choice:
        """The learner's choice."""
        return self.learner.choose(self._wide(X), rng)

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
        """The learner's board: it speaks of the items alone."""
        inner: Any = self.learner
        return inner.board(self._wide(X), *arguments, **options)

    def weigh(self, X: Any, choice: Choice, source: Source) -> float:
        """rho in [0, 1]: the weight with which an answer of this source would enter now. Changes nothing."""
        return self._weight(checked_source(source))

    def _weight(self, source: Source) -> float:
        return 1.0 if source.voter is None else self.table.weight(self.table.find(source))

    def learn(self, X: Any, choice: Choice, answer: float, source: Source | None = None) -> None:
        """One step along rho (phi_m - phi_n)/2 and the side's columns towards the answer.

        rho is the source's weight where a log has one, else `weigh`'s. Without a source it is 1 and no side enters.
        """
        wide, source = self._wide(X), checked_source(source or _NOBODY)
        pair, answer = self.check(choice, wide.rows.size), checked_answer(answer)
        weight = self._weight(source) if source.weight is None else float(source.weight)
        if source.voter is None and source.side:
            # The everyday answer: two items and a side, and nobody to weigh.
            rows = _joined(wide, pair, ((self._side, _HALVES[source.side], 1.0),))
            self.model.move(rows, _PLACES[:3], np.array([weight / 2, -weight / 2, 1.0]), answer, choice.ticket)
            return
        two = wide.view(wide.rows[list(pair)])
        extra = self._extra(two, source)
        rows = _joined(wide, pair, extra) if extra else two
        values = np.array([weight / 2, -weight / 2, *[factor for *_, factor in extra]])
        step = rows, _PLACES[: values.size], values, answer, choice.ticket
        if source.voter is None:
            self.model.move(*step)
            return
        voter, net = self.table.find(source), answer
        models = self.halves.ready(voter, self.table)
        foretold = self.halves.foretell(models, voter, source.kind, two)
        known = self._known(two, source)
        if source.side:
            net -= min(1.0, max(-1.0, float(self.model.scores(rows.take([2]))[0])))
        self.model.move(*step)
        gained = self._known(two, source) - known
        self.table.add(source, answer=answer, net=net, foretold=foretold, gained=max(0.0, gained))
        self.halves.learn(models, voter, source.kind, step)

    def learn_all(
        self, X: SparseRows, pairs: Ints, answers: Sequence[float], sides: Sequence[int], tickets: Sequence[int]
    ) -> int:
        """Learn many answers to duels in order, of nobody in particular and at full weight; how many were learnt.

        As the learner's `learn_all`; an answer's side, where it is known, is learnt with it.
        """
        rows, rule = self.learner.many(self._wide(X)), self.learner.rule
        return learn_in_turn(self.model, rows, rule, pairs, answers, sides, tickets, self._side)

    def _extra(self, two: SparseRows, source: Source) -> Rest:
        """The part of u that is no item's and a named voter's: rows of features and values, each with its factor."""
        if source.voter is None:
            return []
        rows: Rest = []
        voter = self.table.find(source)
        if source.side:
            sides = [self.dim, self.dim + 1 + voter][: 2 if voter < self.places else 1]
            rows.append((sides, [source.side / 2] * len(sides), 1.0))
        if source.kind == "judge" and len(self.copies) and (judge := self.table.judge(voter)) < self.judges:
            start = self.dim + 1 + self.places + judge * len(self.copies)
            for row, factor in zip(two.rows.tolist(), (TASTE / 2, -TASTE / 2), strict=True):
                entries = slice(two.indptr[row], two.indptr[row + 1])
                ids = two.indices[entries]
                data = two.data[entries]
                if len(self.copies) < self.dim:
                    kept = np.isin(ids, self.copies)
                    places, data = np.searchsorted(self.copies, ids[kept]), data[kept]
                    rows.append((places + start, data, factor))
                else:
                    rows.append((ids + start, data, factor))
        return rows

    def _known(self, two: SparseRows, source: Source) -> float:
        """What is known of this pair, in answers of people to it: one over the variance; of judges on exact models."""
        if source.kind != "judge" or not self.model.exact:
            return 0.0
        variance = float(self.model.contrasts(two, 1)[0]) / 4
        return 1.0 / variance if variance > 0 else 0.0

    def voters(self) -> tuple[Voter, ...]:
        """Every named voter, in the order of first appearance."""
        return self.table.reports(*self.sides())

    def sides(self) -> tuple[list[float], list[float] | None]:
        """What the left is worth to each voter, and its standard deviation where the model is exact.

        It is the global side and their own, which only the penalty tells apart. Whoever has no column of their own has
        the last in the list, with all others like them.
        """
        count = min(len(self.table), self.places + 1)
        if not count:
            return [], None
        ids = [[self.dim, self.dim + 1 + voter] if voter < self.places else [self.dim] for voter in range(count)]
        starts = np.cumsum([0, *map(len, ids)])
        rows = SparseRows(starts, np.concatenate(ids), np.full(starts[-1], 0.5), self.width)
        deviations = np.sqrt(self.model.variances(rows)).tolist() if self.model.exact else None
        return self.model.scores(rows).tolist(), deviations

    def worth(self) -> float:
        """How many people's answers the judges' ones were worth; for full and kernel models.

        An answer's worth is how often a person would have had to answer the same pair for it to be as well known.
        """
        if not self.model.exact:
            raise ValueError("a diagonal model cannot say what judges were worth: it keeps no variances of pairs")
        return float(self.table.sums[list(self.table.judges), GAINED].sum())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The model's arrays, the voters' sums, and the halves' models."""
        return self.learner.arrays() | self.table.arrays() | self.halves.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the state of `arrays()`, checked; a fresh learner only."""
        self.table.restore(arrays)
        self.halves.restore(arrays, [kind for kind, _ in self.table.names])
        self.learner.restore(arrays)


def _joined(rows: SparseRows, pair: tuple[int, int], extra: Sequence[tuple[Any, Any, float]]) -> SparseRows:
    """Two of the rows, and more with these entries."""
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
    """The learner that weighs voters, where this one is it or is wrapped around it.

    >>> from conquer.registry import make
    >>> believer(make("gnr", dim=3)) is None, believer(make("gnr", dim=3, believe="voters", explore=0.1)) is None
    (True, False)
    """
    while not isinstance(learner, Believer):
        learner = getattr(learner, "learner", None)
        if learner is None:
            return None
    return learner
