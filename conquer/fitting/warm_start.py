"""A session warmed up by votes from elsewhere: read, sum or learn, and know the items by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from conquer.data.votes import Found, VoteReading
from conquer.data.votes.parts import PART_BYTES
from conquer.data.votes.repeats import Repeats
from conquer.features.featurizer import Featurizer
from conquer.fitting.contents import Moments, RowMaker
from conquer.fitting.counts import PairCounts
from conquer.fitting.learning import learner_of, settle_counts, settle_moments
from conquer.fitting.solving import adds, is_bound
from conquer.fitting.sources import items_of, maker_of, peek, sources_of
from conquer.fitting.stepwise import learn_votes
from conquer.fitting.sums import (
    MOST_KNOWN,
    PartSum,
    PartTask,
    VoterKinds,
    check_contradictions,
    merged,
    remember,
    sum_part,
)
from conquer.fitting.workers import spread
from conquer.rows import SparseRows
from conquer.session import Session
from conquer.session.catalog import Catalog
from conquer.types import Learner

Progress = Callable[[str, int, int], None]
"""Told what is going on, how much there is of it and how much is done."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A fitted session, and what was found in the votes."""

    session: Session
    found: Found


@dataclass(frozen=True, slots=True)
class FitRecipe:
    """What learns: an algorithm by name, its model and parameters; `seed` is the session's."""

    algorithm: str
    model: str | None
    parameters: Mapping[str, Any]
    seed: int
    one_by_one: bool = False

    def learner(self, dim: int) -> Learner:
        return learner_of(self.algorithm, self.model, dim, self.parameters)

    def sums(self, learner: Learner) -> bool:
        """Whether votes are summed and solved once: neither asked for one by one, nor needed so by eta's bound."""
        return adds(learner) and not self.one_by_one and not is_bound(learner)


def fit(votes: Any, items: Any = None, *, algorithm: str = "gnr", **parameters: Any) -> Session:
    """A session whose learner has learnt from votes; `session.catalog` are the items by id.

    votes: a file, several files, or (first, second, winner) tuples or mappings. items: a file or {id: item} where
    votes speak of texts, dicts or vectors by id. The parameters are those of `fitted`: how votes are read and summed,
    and the algorithm's own.

    >>> session = fit([("tea", "mug", "tea"), ("tea", "pot", "first"), ("mug", "pot", "tie")])
    >>> scores = session.learner.scores(session.catalog.rows)
    >>> session.catalog.names[scores.argmax()], session.learner.answers
    ('tea', 3)
    """
    return fitted(votes, items, algorithm=algorithm, **parameters).session


def fitted(
    votes: Any,
    items: Any = None,
    *,
    algorithm: str = "gnr",
    model: str | None = None,
    dim: int | None = None,
    featurizer: Featurizer | None = None,
    context: bool = False,
    things: str | None = None,
    columns: Mapping[str, str] | None = None,
    kind: str = "person",
    both_bad: str = "skip",
    contradictions: bool = False,
    strict: bool = True,
    seed: int = 0,
    jobs: int = 1,
    cluster: str | None = None,
    part_bytes: int = PART_BYTES,
    one_by_one: bool = False,
    progress: Progress | None = None,
    **parameters: Any,
) -> Fitted:
    """`fit`, with what was found in the votes.

    model: None takes a full one up to 2,048 features. dim: columns of texts and dicts, 2**20 by default. featurizer:
    how texts and dicts become rows. context: cross every vote's context with its things. things, columns, kind,
    both_bad and strict are those of `read_votes`. contradictions: True takes two answers of one voter to one question
    as two votes. jobs and cluster: where parts of about `part_bytes` are summed, if what is learnt is a sum.
    one_by_one: learn every vote in its turn even then, which a board with `proved` intervals needs.
    """
    told = progress or (lambda what, total, done: None)
    reading: dict[str, Any] = {"things": things, "columns": columns, "kind": kind, "both_bad": both_bad}
    reading["strict"] = strict
    sources = sources_of(votes, part_bytes)
    contents = None if items is None else items_of(items)
    width = 0
    if contents is not None:
        reading |= {"things": "ids", "known": frozenset(contents)}
    else:
        reading["things"], width = peek(sources, reading)
    maker = maker_of(reading["things"], contents, dim=dim, width=width, featurizer=featurizer, context=context)
    recipe = FitRecipe(algorithm, model, parameters, seed, one_by_one)
    by_name = not context and (maker is None or contents is not None)
    # What can be refused is refused before anything is read.
    learner = recipe.learner(2 if maker is None else maker.dim)
    tasks = [PartTask(source, reading, None if by_name else maker, contradictions=contradictions) for source in sources]
    if by_name:
        total = _summed(tasks, told, jobs, cluster)
        return _by_name(recipe, tasks, total, maker, dim, told)
    assert maker is not None
    if recipe.sums(learner):
        full = learner.parameters.get("model") == "full"
        total = _summed([replace(task, full=full) for task in tasks], told, jobs, cluster)
        assert isinstance(total.sums, Moments)
        told("solving", 1, 0)
        settle_moments(learner, total.sums)
        return Fitted(_session(recipe, learner, maker, _listed(total.seen, maker)), total.found)
    return _in_order(recipe, learner, tasks, maker, told)


def _summed(tasks: list[PartTask], told: Progress, jobs: int, cluster: str | None) -> PartSum:
    """The sum over all parts; every part is summed on its own, and added in the order of the parts."""
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    here = cluster is None and (jobs == 1 or len(tasks) == 1)
    told("reading votes", len(tasks), 0)
    done, before = 0, 0

    def tell(votes: int) -> None:
        told(f"reading votes ({before + votes:,})", len(tasks), done)

    def results() -> Any:
        nonlocal done, before
        run = (lambda task: sum_part(task, tell)) if here else sum_part
        for place, result in spread(run, tasks, jobs=jobs, cluster=cluster):
            done, before = done + 1, before + result.found.votes
            tell(0)
            yield place, result

    return merged(tasks, results())


def _by_name(
    recipe: FitRecipe, tasks: list[PartTask], total: PartSum, maker: RowMaker | None, dim: int | None, told: Progress
) -> Fitted:
    """From counts of pairs of names to a session that knows them."""
    sums = total.sums
    assert isinstance(sums, PairCounts)
    if maker is None:
        names = list(sums.names)
        if dim is not None and dim < len(names):
            raise ValueError(f"dim must be at least the number of ids, {len(names)}, got {dim}")
        size = dim or len(names)
        rows = SparseRows(np.arange(len(names) + 1), np.arange(len(names)), np.ones(len(names)), size)
    else:
        assert maker.items is not None
        names = list(maker.items)
        places = {name: place for place, name in enumerate(names)}
        sums = _numbered(sums, places)
        rows = maker.rows(names)
    learner = recipe.learner(rows.dim)
    known = Catalog(names, rows, closed=maker is None)
    if recipe.sums(learner):
        told("solving", 1, 0)
        settle_counts(learner, sums, rows)
    else:
        places = known.places
        readings = [VoteReading(task.source, **task.options) for task in tasks]
        blocks = ((reading.at, block) for reading in readings for block in reading.blocks())
        tell = _counting(told, total.found.votes)
        learn_votes(learner, blocks, rows=rows, places=places.__getitem__, maker=None, told=tell)
    return Fitted(_session(recipe, learner, maker, known), total.found)


def _numbered(sums: PairCounts, places: Mapping[str, int]) -> PairCounts:
    """The same sums with names numbered as items are."""
    again = PairCounts(names=dict(places), gains=np.zeros(len(places)))
    again.add(sums)
    return again


def _in_order(recipe: FitRecipe, learner: Learner, tasks: list[PartTask], maker: RowMaker, told: Progress) -> Fitted:
    """Votes between texts, dicts or vectors, learnt one by one as they are read."""
    found = Found()
    seen: dict[str, Any] = {}
    records = []
    kinds = VoterKinds(tasks)
    for place, task in enumerate(tasks):
        reading, repeats = VoteReading(task.source, **task.options), Repeats()

        def blocks(reading: VoteReading = reading, repeats: Repeats = repeats, task: PartTask = task) -> Any:
            for block in reading.blocks():
                if not task.contradictions:
                    repeats.add(block)
                remember(seen, block)
                yield reading.at, block

        learn_votes(learner, blocks(), rows=None, places=None, maker=maker, told=_counting(told, 0))
        kinds.add(place, reading.kinds)
        found.add(reading.found)
        records.append(repeats.records)
    check_contradictions(tasks, records)
    return Fitted(_session(recipe, learner, maker, _listed(seen, maker)), found)


def _counting(told: Progress, total: int) -> Callable[[int], None]:
    return lambda done: told("learning votes", max(total, done), done)


def _listed(seen: dict[str, Any], maker: RowMaker) -> Catalog | None:
    """The things that votes spoke of, where they are few enough to be listed."""
    if not seen or len(seen) > MOST_KNOWN or maker.contexts:
        return None
    return Catalog(list(seen), replace(maker, items=None).rows(list(seen.values())))


def _session(recipe: FitRecipe, learner: Learner, maker: RowMaker | None, known: Catalog | None) -> Session:
    session = Session(learner, featurizer=None if maker is None else maker.featurizer, seed=recipe.seed)
    session.catalog = known
    return session
