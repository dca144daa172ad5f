"""The rounds of a domain's part: the same features, sets and judge for every algorithm, drawn from named streams."""

import itertools
from dataclasses import dataclass

import numpy as np

from conquer.data import splits
from conquer.features.vocabulary import Kind, restrict
from conquer.judges import rewards_of
from conquer.kernels import reviews as testsets
from conquer.rows import Rounds, SparseRows
from conquer.study.reviews.domains import Domain
from conquer.study.reviews.spec import LARGEST, Spec
from conquer.tickets import stream, tickets
from conquer.types import Floats, Ints

CHECKPOINTS = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""Shares of the training rounds after which the test error is measured; the last is the result."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A learning part and its test part, with the features of the learning part; `span` is the domain's."""

    X: SparseRows
    stars: Floats
    ratings: Floats
    groups: Ints
    learning: Ints
    evaluation: Ints
    span: float = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class Course:
    """What a learner goes through: `segments` between checkpoints, then test sets."""

    segments: tuple[Rounds, ...]
    sets: Ints
    """All training rounds, (T, K)."""
    tests: Ints
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """One repetition of a domain: its part, and the units of the development part, which chose the parameters."""

    spec: Spec
    domain: Domain
    number: int
    part: Part
    development: Ints

    def course(self, items: int, passes: int = 1, checkpoints: tuple[float, ...] = (1.0,)) -> Course:
        """The training rounds and test sets of `items` each."""
        learning, kind = self.part.learning, self.spec.rounds
        if kind == "training":
            once = draw(self.part, learning, learning.size, items, stream("rounds", items, *self._name))
        else:
            once = disjoint(learning, LARGEST if kind == "training/20" else items, items, *self._name)
        return course(self.part, once, passes, self.spec.test_sets, checkpoints, *self._name)

    def development_sets(self, items: int) -> Ints:
        """Sets of the development part, on which the ceiling's penalty is chosen."""
        seed = stream("development", items, *self._name)
        return draw(self.part, self.development, self.spec.test_sets, items, seed)

    @property
    def _name(self) -> tuple[int, str, int]:
        return self.spec.seed, self.domain.name, self.number


def split(spec: Spec, domain: Domain, number: int) -> Split:
    """The repetition of this number."""
    development = splits.development(domain.strata, domain.hashes, spec.development)
    parts = splits.repetition(domain.units, development, number, spec.seed, domain.name, spec.test)
    part = restricted(domain, parts.training, parts.test, spec.features, spec.hashing)
    return Split(spec, domain, number, part, development)


def restricted(domain: Domain, learning: Ints, evaluation: Ints, kind: Kind, bits: int | None = None) -> Part:
    """The domain with n-grams, idf and norms from its learning part alone; `bits` hashes the n-grams."""
    ratings = (domain.ratings - 3.0) / 2.0  # as rewards_of, which takes no NaN padding
    counts = domain.rows if bits is None else hashed(domain.rows, bits)
    X = domain.rows if domain.groups.size else compact(restrict(counts, learning, kind))
    return Part(X, domain.stars, ratings, domain.groups, learning, evaluation, domain.span)


def hashed(rows: SparseRows, bits: int) -> SparseRows:
    """The same counts in 2^bits columns, each n-gram in one of them with a random sign.

    >>> np.abs(hashed(SparseRows([0, 2], [0, 5], [1.0, 2.0], 9), 20).data).tolist()
    [1.0, 2.0]
    """
    words = tickets(stream("columns"), 0, rows.dim)
    columns = (words >> np.uint64(64 - bits)).astype(np.int32)
    signs = 1.0 - 2.0 * (words & np.uint64(1))
    return SparseRows(rows.indptr, columns[rows.indices], rows.data * signs[rows.indices], 1 << bits)


def compact(rows: SparseRows) -> SparseRows:
    """The same rows without empty columns, the others in their order."""
    used = np.zeros(rows.dim, bool)
    used[rows.indices] = True
    place = (np.cumsum(used) - 1).astype(np.int32)
    return SparseRows(rows.indptr, place[rows.indices], rows.data, max(1, int(used.sum())))


def draw(part: Part, pool: Ints, count: int, items: int, seed: int) -> Ints:
    """(count, items) rows: distinct members of `pool` in each round, or whole groups in shuffled order."""
    if part.groups.size:
        turns = -(-count // pool.size)
        rng = np.random.default_rng(seed)
        order = np.concatenate([rng.permutation(pool) for _ in range(turns)])[:count]
        return np.ascontiguousarray(part.groups[order])
    if pool.size < items:
        raise ValueError(f"rounds of {items} items need at least as many reviews to draw from, got {pool.size}")
    sets = np.empty((count, items), np.int64)
    testsets.draw_sets(pool, tickets(seed, 0, count), sets)
    return sets


def count_of(rounds: str, training: int, items: int) -> int:
    """The number of rounds of one pass over a training part.

    >>> [count_of(rounds, 15_000, 5) for rounds in ("training", "training/20", "training/K")]
    [15000, 750, 3000]
    """
    return training if rounds == "training" else training // (LARGEST if rounds == "training/20" else items)


def disjoint(pool: Ints, size: int, items: int, *name: object) -> Ints:
    """(pool // size, items): the first `items` of disjoint random sets of `size` members of the pool.

    The sets depend on `size` and `name` alone: fewer items are a part of the same sets.

    >>> sets = disjoint(np.arange(45), 20, 5, "books")
    >>> sets.shape, np.unique(sets).size
    ((2, 5), 10)
    """
    count = pool.size // size
    if not count:
        raise ValueError(f"{pool.size} reviews are too few for a set of {size}")
    shuffled = np.random.default_rng(stream("disjoint", size, *name)).permutation(pool)
    return np.ascontiguousarray(shuffled[: count * size].reshape(count, size)[:, :items])


def course(
    part: Part, once: Ints, passes: int, test_sets: int, checkpoints: tuple[float, ...], *name: object
) -> Course:
    """The rounds `once` (T, K), repeated in every pass, and `test_sets` sets of K for the test error.

    The draws depend on `name`, which has nothing of the algorithm, so that comparisons are paired.
    """
    items = once.shape[1]
    sets = np.tile(once, (passes, 1))
    cuts = np.unique([0] + [max(1, round(share * len(sets))) for share in checkpoints])
    rewards = rewards_of(part.stars)
    ratings = part.ratings if part.ratings.size else None
    segments = tuple(Rounds(part.X, sets[start:stop], rewards, ratings) for start, stop in itertools.pairwise(cuts))
    tests = draw(part, part.evaluation, test_sets, items, stream("tests", items, *name))
    return Course(segments, sets, tests, stream("answers", items, *name))


def test_error(part: Part, tests: Ints, scores: Floats) -> float:
    """Mean of (max stars - stars of the top score)/span over the sets; `scores` has one value for each row of X."""
    sizes = np.full(len(tests), tests.shape[1])
    return float(testsets.mean_shortfall(tests, sizes, scores, part.stars / part.span))


def equal_pairs(sets: Ints, stars: Floats) -> float:
    """The share of equally good items among the pairs within each set."""
    return float(testsets.equal_pairs(sets, np.full(len(sets), sets.shape[1]), stars))


def unique_best(sets: Ints, stars: Floats) -> float:
    """The share of the sets in which one item has more stars than every other.

    >>> unique_best(np.array([[0, 1], [1, 2]]), np.array([1.0, 5.0, 5.0]))
    0.5
    """
    worth = stars[sets]
    return float(((worth == worth.max(axis=1, keepdims=True)).sum(axis=1) == 1).mean())


def rows_of(part: Part, units: Ints) -> Ints:
    """The rows of some reviews or groups."""
    return part.groups[units].ravel() if part.groups.size else units
