"""Whom to believe: a learner that learns each voter's pull to a side, and how far their answers can be relied on."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.checks import checked_answer, positive, whole
from conquer.kernels.rounds import settings as st
from conquer.learners.belief import MOST_NUISANCE, MOST_PLACES
from conquer.learners.conquer import Conquer
from conquer.learners.halves import Fresh, Halves, Models
from conquer.learners.voters import ANSWERS, COUNTED, Voter, Voters, checked_source
from conquer.rows import SparseRows, as_rows
from conquer.types import Choice, Floats, Source

_NOBODY = Source()


class Believing:
    """A learner whose model has columns for the side and for each voter's side, and a reliability per voter.

    Rows keep their D features; column D is the side, the next `voters` ones are the voters' own, given in the order of
    first appearance. Scores and choices never see them. `believe="people"`: judges are weighed by what people's answers
    foretell, and never by each other's. `trust`: how much speaks for a new voter, in squared predictions. `nuisance`:
    features of which every judge has a column of its own, such as a length.

    >>> from conquer.registry import make
    >>> learner = make("gnr", dim=3, model="full", believe="voters")
    >>> for ticket in range(40):
    ...     choice, side = learner.choose(np.eye(3), ticket), 1 - 2 * (ticket % 2)
    ...     learner.learn(np.eye(3), choice, side, Source("lefty", side=side))
    >>> learner.voters()[0].left, learner.scores(np.eye(3)).shape
    (1.0, (3,))
    """

    compiled = False
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
        nuisance: Sequence[int] = (),
    ) -> None:
        self.learner, self.believe, self.dim, self.width = learner, believe, dim, learner.dim
        self.places = whole("voters", voters, 0, MOST_PLACES)
        self.nuisance = np.array([whole("nuisance", column, 0, dim - 1) for column in nuisance], np.int64)
        if len(set(nuisance)) != len(nuisance) or len(nuisance) > MOST_NUISANCE:
            raise ValueError(f"nuisance must name at most {MOST_NUISANCE} different features, got {list(nuisance)}")
        self.table = Voters(positive("trust", trust))
        self.halves = Halves(learner.model, fresh, apart=believe == "people")
        self.parameters: Mapping[str, Any] = {
            **learner.parameters,
            "believe": believe,
            "voters": self.places,
            "trust": self.table.trust,
            "nuisance": self.nuisance.tolist(),
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

    def choose_and_score(self, X: Any, rng: np.random.Generator | int) -> tuple[Choice, Floats]:
        return self.learner.choose_and_score(self._wide(X), rng)

    def scores(self, X: Any, ticket: int = 0) -> Floats:
        """(K,): the model's scores."""
        return self.learner.scores(self._wide(X), ticket)

    def check(self, choice: Choice, count: int) -> tuple[int, int]:
        return self.learner.check(choice, count)

    def expose(self, X: Any, choice: Choice) -> Choice:
        """Count a shown pair in the widths, as an answer of full weight: who will answer is not known yet."""
        return self.learner.expose(self._wide(X), choice)

    def begin_exposing(self) -> None:
        self.learner.begin_exposing()

    def board(self, X: Any, *arguments: Any, **options: Any) -> Any:
        """The learner's board: it speaks of the items alone."""
        inner: Any = self.learner
        return inner.board(self._wide(X), *arguments, **options)

    def weigh(self, X: Any, choice: Choice, source: Source) -> float:
        """rho in [0, 1]: the weight with which an answer of this source would enter now. Changes nothing."""
        source = checked_source(source)
        return 1.0 if source.voter is None else self.table.weight(self.table.find(source))

    def learn(self, X: Any, choice: Choice, answer: float, source: Source | None = None) -> None:
        """One step along rho (phi_m - phi_n)/2 and the side's columns towards the answer.

        rho is the source's weight where a log has one, else `weigh`'s. Without a source it is 1 and no side enters.
        """
        wide, source = self._wide(X), checked_source(source or _NOBODY)
        pair, answer = self.check(choice, wide.rows.size), checked_answer(answer)
        weight = self.weigh(X, choice, source) if source.weight is None else float(source.weight)
        two = wide.take(pair)
        extra, voter = self._extra(two, source), self.table.find(source)
        rows = _joined(two, *extra) if extra else two
        values = np.array([weight / 2, -weight / 2, 1.0][: len(rows)])
        foretold, net, models = 0.0, answer, Models()
        if source.voter is not None:
            models = self.halves.ready(voter, self.table)
            foretold = self.halves.foretell(models, voter, source.kind, two)
            if extra:
                net -= min(1.0, max(-1.0, float(self.model.scores(rows.take([2]))[0])))
        step = rows, np.arange(len(rows)), values, answer, choice.ticket
        self.model.move(*step, bool(choice.memo.get("exposed")))
        if source.voter is not None:
            self.table.add(source, answer=answer, weight=weight, net=net, foretold=foretold)
            self.halves.learn(models, voter, source.kind, step)

    def _extra(self, two: SparseRows, source: Source) -> tuple[list[int], list[float]] | None:
        """The columns of u that are no item's, and its values there; None: it has none."""
        voter, dim = self.table.find(source), self.dim
        placed = source.voter is not None and voter < self.places
        sides = [dim, dim + 1 + voter] if placed else [dim]
        ids, values = (sides, [source.side / 2] * len(sides)) if source.side else ([], [])
        if placed and source.kind == "judge" and self.nuisance.size:
            dense = two.csr()[:, self.nuisance].toarray()
            start = dim + 1 + self.places + voter * self.nuisance.size
            ids = [*ids, *range(start, start + self.nuisance.size)]
            values = [*values, *((dense[0] - dense[1]) / 2).tolist()]
        return (ids, values) if ids else None

    def voters(self) -> tuple[Voter, ...]:
        """Every named voter, in the order of first appearance."""
        count = len(self.table)
        if not count:
            return ()
        # What the left is worth to a voter: the global side and their own, which only the penalty tells apart.
        ids = [[self.dim, self.dim + 1 + voter] if voter < self.places else [self.dim] for voter in range(count)]
        starts = np.cumsum([0, *map(len, ids)])
        rows = SparseRows(starts, np.concatenate(ids), np.full(starts[-1], 0.5), self.width)
        sides = self.model.scores(rows).tolist()
        deviations = np.sqrt(self.model.variances(rows)).tolist() if self.model.exact else [None] * count
        return tuple(self.table.report(*one) for one in zip(range(count), sides, deviations, strict=True))

    def worth(self) -> float:
        """How many people's answers the judges' ones were worth: their sum of rho^2 over a person's mean rho^2."""
        judged = np.array([kind == "judge" for kind, _ in self.table.names], bool)
        sums = self.table.sums[: len(self.table)]
        nameless = float(self.model.stats[st.LEARNT] - sums[:, ANSWERS].sum())
        people = sums[~judged][:, [ANSWERS, COUNTED]].sum(axis=0) + nameless
        return float(sums[judged, COUNTED].sum()) * (float(people[0] / people[1]) if people[1] > 0 else 1.0)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The model's arrays, the voters' sums, and the halves' models."""
        return self.learner.arrays() | self.table.arrays() | self.halves.arrays()

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take the state of `arrays()`, checked; a fresh learner only."""
        self.table.restore(arrays)
        self.halves.restore(arrays, [kind for kind, _ in self.table.names])
        self.learner.restore(arrays)


def _joined(two: SparseRows, ids: list[int], values: list[float]) -> SparseRows:
    """The two rows, and a third with these entries."""
    packed = two.packed()
    return SparseRows.made(
        np.append(packed.indptr, packed.indptr[-1] + len(ids)),
        np.append(packed.indices, np.array(ids, np.int32)),
        np.append(packed.data, values),
        two.dim,
    )


def believer(learner: Any) -> Believing | None:
    """The learner that weighs voters, where this one is it or is wrapped around it.

    >>> from conquer.registry import make
    >>> believer(make("gnr", dim=3)) is None, believer(make("gnr", dim=3, believe="voters", explore=0.1)) is None
    (True, False)
    """
    while not isinstance(learner, Believing):
        learner = getattr(learner, "learner", None)
        if learner is None:
            return None
    return learner
