"""`fit`: a session whose learner has learnt the votes of other systems."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from conquer.boards import BoardSettings
from conquer.boards.fragility import VoteTable
from conquer.data.compression import DataError, name_of
from conquer.data.contradictions import Records, records_of
from conquer.data.items import Content, ItemReader, items_from_rows, read_items
from conquer.data.style import LENGTH, checked_style
from conquer.data.tables import PART_BYTES, FilePart, cut, sniff
from conquer.data.votes import Vote, VoteBlock, VoteReading, VoterKind, VoteTally
from conquer.features.featurizer import Featurizer
from conquer.fitting.learner_state import (
    is_additive,
    learn_ids,
    learn_items,
    learner_of,
    solve_moments,
    solve_pairs,
    solve_styled,
)
from conquer.fitting.parts import MOST_LISTED, PartSum, PartTask, check_contradictions, list_items, merge, sum_part
from conquer.fitting.revision import taught
from conquer.fitting.style import style_weights
from conquer.fitting.vote_sums import Moments, PairCounts, RowMaker, Where, one_thread
from conquer.fitting.vote_table import VoteSource, left_out_error
from conquer.fitting.workers import spread
from conquer.items import ItemKind, has_parts, kind_and_items
from conquer.models.full import Full
from conquer.registry import find
from conquer.rows import SparseRows
from conquer.session import Session
from conquer.session.catalog import Catalog
from conquer.types import ItemId, Learner

DEFAULT_DIM = 2**20
"""Columns of texts and dicts."""
LAMS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""What lam="auto" chooses from, whatever the votes are."""
TEXT_LAM = 10.0
"""Of texts: the best of 1, 3, 10, 30 on eight topics of arguments, each predicted by a fit to all other topics."""
Path = str | os.PathLike[str]
Votes = Path | Iterable[Path] | Iterable[Vote | Mapping[str, Any] | Sequence[Any]]
Items = Path | Mapping[ItemId, Any] | Sequence[Mapping[str, Any]]
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it there is, and how much is done."""


def fit(
    votes: Votes,
    items: Items | None = None,
    *,
    algorithm: str = "gnr",
    model: Literal["full", "diagonal", "kernel"] | None = None,
    dim: int | None = None,
    featurizer: Featurizer | None = None,
    context: bool = False,
    content: Content | None = None,
    columns: Mapping[str, str] | None = None,
    kind: VoterKind = "person",
    both_bad: Literal["skip", "tie"] = "skip",
    contradictions: bool = False,
    strict: bool = True,
    one_by_one: bool = False,
    most: int | None = None,
    style: Sequence[str] | None = None,
    design: Literal["adaptive", "fixed"] = "adaptive",
    seed: int = 0,
    jobs: int = 1,
    cluster: str | None = None,
    tally: VoteTally | None = None,
    progress: Progress | None = None,
    **parameters: Any,
) -> Session:
    """Learn votes that other systems gathered, and return a session to continue with.

    `session.catalog` holds the items by id, and `session.board()` ranks them.

    Parameters
    ----------
    votes: a file or several (CSV, TSV, JSON lines, JSON, Parquet, PrefLib, a ledger), or Python rows: (first, second,
        winner), (winner, loser), or mappings with the fields of a file. The winner is an item, "first", "second",
        "tie", "skip", or a strength from +1 (the first won) to -1. A whole number that is the id of one of the two
        items names that item; where ids are whole numbers, strengths are floats.
    items: {id: item}, rows with an `id`, or a file of these, where votes name texts, dicts or vectors by id.
    algorithm: the name of the algorithm that learns; `conquer.algorithms` lists them.
    model: "full", "diagonal" or "kernel". By default full up to 2,048 features or 5,000 ids; more ids need `most`, or
        a model by name.
    dim: columns of texts and dicts, 2**20 by default.
    featurizer: makes the rows of texts and dicts.
    context: cross the context of each vote with its two items.
    content: "ids", "texts", "dicts" or "vectors", where the votes do not show what their items are.
    columns: {"first": name, "second": name, "winner": name, ...}, where columns of files have unusual names.
    kind: "person" or "judge", the voters where no column says it.
    both_bad: "skip", or "tie" to learn "both are bad" as a tie.
    contradictions: take two answers of one voter to one question as two votes; by default they are refused.
    strict: refuse the first bad row; otherwise bad rows are left out and listed in `tally`.
    one_by_one: learn vote by vote where sums would do, for the same weights up to rounding.
    most: keep the votes among the `most` ids that are in most votes, where there are more ids.
    style: what explains votes and never enters scores: "side"; of votes between ids "length" and "lists" of their texts
        (response_a and response_b, ...), and other columns, as "tokens_a/tokens_b" or one with the difference; of votes
        between texts "length". `session.style` has their weights; `conquer.fitting.style` takes them off again.
    design: "fixed" states that pairs were chosen without looking at answers: boards are then narrower, until the
        session asks itself.
    seed: seed for the session's choices.
    jobs, cluster: the number of processes, or the address of a Dask scheduler, that sum parts of the votes.
    tally: filled with the numbers of votes, ties, skips and refused rows.
    progress: called with what is being done, how much of it there is, and how much is done.
    parameters: those of the algorithm, such as `lam`. Texts have lam = 10 by default. lam="auto", for ids and a full
        model: whichever of 0.03, 0.1, 0.3, 1, 3, 10 predicts each vote best from all others; the session's boards then
        share their delta among these six.

    Returns
    -------
    Session: its learner has learnt all votes.

    Raises
    ------
    conquer.data.compression.DataError: a vote that cannot be read; the message names file, line and remedy.
    ValueError, TypeError: a parameter that does not fit.

    Examples
    --------
    >>> session = fit([("tea", "mug", "tea"), ("tea", "pot", "first"), ("mug", "pot", "tie")])
    >>> scores = session.learner.scores(session.catalog.rows)
    >>> session.catalog.names[scores.argmax()], session.learner.answers
    ('tea', 3)
    >>> fit([("tea", "mug"), ("tea", "pot")]).catalog.names
    ('tea', 'mug', 'pot')
    """
    report = progress or (lambda what, total, done: None)
    options: dict[str, Any] = {"content": content, "columns": columns, "kind": kind, "both_bad": both_bad}
    options["strict"] = strict
    tally = VoteTally() if tally is None else tally
    sources = _sources(votes)
    contents = None if items is None else _items(items)
    width = 0
    if contents is not None:
        options |= {"content": "ids", "known": frozenset(contents)}
    else:
        options["content"], width = _peek(sources, options, tally)
    maker = _maker(options["content"], contents, dim=dim, width=width, featurizer=featurizer, context=context)
    row = find(algorithm)
    if maker is not None and row.policy is not None and "lam" in row.takes and _has_texts(options["content"], maker):
        parameters = {"lam": TEXT_LAM, **parameters}
    recipe = _Recipe(algorithm, model, parameters, seed, one_by_one, BoardSettings(design=design))
    by_id = not context and (maker is None or contents is not None)
    named = () if style is None else checked_style(style)
    if named and maker is None:
        options["style"] = named
    elif named and not (named == (LENGTH,) and maker is not None and isinstance(maker.featurizer, Featurizer)
                        and maker.featurizer.length and _has_texts(options["content"], maker)):  # fmt: skip
        raise ValueError("style is for votes between ids, and ['length'] for votes between texts with length=True")
    if most is not None and (maker is not None or most < 2):
        raise ValueError(f"most must be a number of ids from 2, of votes between ids, got {most!r}")
    # Whatever can be refused is refused before anything is read.
    learner = recipe.learner(2 if maker is None else maker.dim)
    if recipe.chooses_lam and not (by_id and recipe.from_sums(learner) and type(learner.model) is Full):
        raise ValueError("lam='auto' is for votes between ids, a full model and votes that are summed: name a number")
    tasks = [PartTask(source, options, None if by_id else maker, contradictions=contradictions) for source in sources]
    if by_id:
        total = _sum(tasks, report, jobs, cluster)
        if most is not None and isinstance(total.sums, PairCounts) and len(total.sums.names) > most:
            tally.notes.append(f"{len(total.sums.names):,} ids: kept the {most:,} that are in most votes")
            kept = frozenset(total.sums.frequent(most))
            tasks = [replace(task, options={**task.options, "kept": kept}) for task in tasks]
            total = _sum(tasks, report, jobs, cluster)
        tally.add(total.tally)
        return _from_pairs(recipe, tasks, total, maker, dim, report, named if maker is None else ())
    assert maker is not None
    if recipe.from_sums(learner):
        full = learner.parameters.get("model") == "full"
        total = _sum([replace(task, full=full) for task in tasks], report, jobs, cluster)
        tally.add(total.tally)
        assert isinstance(total.sums, Moments)
        report("solving", 1, 0)
        solve_moments(learner, total.sums)
        source = VoteSource(tasks, maker, (), maker.dim)
        session = _session(recipe, learner, maker, _listed(total.seen, maker), source)
    else:
        session = _in_order(recipe, tasks, maker, tally, report)
    return _unseen_length(session) if named else session


def _unseen_length(session: Session) -> Session:
    """The session with items whose length explained the votes and does not count from now on."""
    learner, catalog = session.learner, session.catalog
    assert isinstance(session.featurizer, Featurizer)
    model: Any = learner.model
    session.featurizer, last = replace(session.featurizer, length=False), learner.dim - 1
    length = SparseRows([0, 1], [last], [0.5], learner.dim)
    session.style = {LENGTH: (float(model.scores(length)[0]), float(np.sqrt(model.variances(length)[0])))}
    if catalog is not None:
        own = catalog.rows.packed()
        data = np.where(own.indices == last, 0.0, own.data)
        session.catalog = Catalog(catalog.names, SparseRows(own.indptr, own.indices, data, own.dim))
    return session


@dataclass(frozen=True, slots=True)
class _Recipe:
    """What learns: an algorithm by name, its model and parameters; `seed` is the session's."""

    algorithm: str
    model: str | None
    parameters: Mapping[str, Any]
    seed: int
    one_by_one: bool
    board: BoardSettings

    def learner(self, dim: int, *, ids: bool = False, taste: float | None = None) -> Learner:
        parameters = {**self.parameters, "lam": LAMS[0]} if self.chooses_lam else self.parameters
        if taste is not None:
            parameters = {**parameters, "taste": taste}
        return learner_of(self.algorithm, self.model, dim, parameters, ids=ids)

    @property
    def chooses_lam(self) -> bool:
        """Whether lam is the one that predicts each vote best from the others."""
        return isinstance(self.parameters.get("lam"), str) and self.parameters["lam"] == "auto"

    def from_sums(self, learner: Learner) -> bool:
        """Whether votes are summed and solved once."""
        return is_additive(learner) and not self.one_by_one


def _sources(votes: Votes) -> list[FilePart | list[Any]]:
    """The parts of files in their order, or Python rows as one part."""
    if isinstance(votes, str | os.PathLike):
        votes = [votes]
    if isinstance(votes, Mapping) or not isinstance(votes, Iterable):
        raise TypeError(f"votes must be a file, files, or (first, second, winner) rows, got {votes!r:.80}")
    _refuse_frame("votes", votes)
    listed: list[Any] = list(votes)
    if not listed:
        raise ValueError("there are no votes")
    if all(isinstance(one, str | os.PathLike) for one in listed):
        return [part for path in listed for part in cut(sniff(path), PART_BYTES)]
    return [listed]


def _refuse_frame(name: str, value: Any) -> None:
    """Iterating over a frame gives its columns, whose names would be taken for files or rows."""
    if hasattr(value, "iloc") or hasattr(value, "to_dicts"):
        rows = 'to_dict("records")' if hasattr(value, "iloc") else "to_dicts()"
        raise TypeError(f"{name} must be a file or rows; pass the rows of a frame: frame.{rows}")


def _peek(sources: Sequence[FilePart | list[Any]], options: Mapping[str, Any], tally: VoteTally) -> tuple[Content, int]:
    """(the content of the items, the length of vectors), by the first votes; `tally` gets notes of what was guessed.

    A file may start with skips.
    """
    nothing = []
    for source in sources:
        if isinstance(source, FilePart):
            if source.start:
                continue  # the file was peeked into at its beginning
            source = source._replace(stop=None)
        reading = VoteReading(source, **options)
        block = next(reading.blocks(), None)
        if block is not None and reading.content is not None:
            tally.notes += reading.tally.notes
            return reading.content, len(block.first[0]) if reading.content == "vectors" else 0
        nothing.append(f"{name_of(source.source) if isinstance(source, FilePart) else 'votes'}: {reading.tally}")
    raise DataError(f"no votes to learn from: {'; '.join(nothing)!s:.300}")


def _items(items: Items) -> Mapping[Any, Any]:
    """{id: item}, all of one kind."""
    if isinstance(items, str | os.PathLike):
        return read_items(items)
    _refuse_frame("items", items)
    if isinstance(items, list | tuple):
        return items_from_rows(items)
    if not isinstance(items, Mapping):
        raise TypeError(f"items must be a file, {{id: item}} or rows with an id, got {items!r:.80}")
    kind, _ = kind_and_items(list(items.values()))
    # An item with parts is a dict, whatever is learnt of it.
    content: Content = "dicts" if kind == "parts" or isinstance(next(iter(items.values())), Mapping) else kind
    ids, reader = ItemReader("ids", numbers=True), ItemReader(content)
    found: dict[ItemId, Any] = {}
    for name, item in items.items():
        try:
            identity = ids.read(name)
            if identity in found:
                raise ValueError(f"the id {identity!r} occurs twice")
            found[identity] = item if content == "texts" else reader.read(item)
        except ValueError as error:
            raise ValueError(f"items, {name!r:.60}: {error}") from None
    return found


def _maker(
    content: Content,
    items: Mapping[ItemId, Any] | None,
    *,
    dim: int | None,
    width: int,
    featurizer: Featurizer | None,
    context: bool,
) -> RowMaker | None:
    """How items become rows; None where they are ids and nothing else."""
    kind: ItemKind | Literal["ids"] = content
    if items is not None:
        kind, values = kind_and_items(list(items.values()), None if featurizer is None else featurizer.learn)
        width = len(values[0]) if kind == "vectors" else 0
        if kind != "parts":
            items = dict(zip(items, values, strict=True))
    elif content == "ids":
        if featurizer is not None or context:
            raise ValueError("ids have no features: pass items=, or content='texts' where they are texts")
        return None
    if featurizer is None and kind == "vectors" and not context:
        if dim not in (None, width):
            raise ValueError(f"vectors have {width} numbers, so dim must be {width}, got {dim}")
        return RowMaker(width, None, items)
    if featurizer is None:
        featurizer = Featurizer(dim=DEFAULT_DIM if dim is None else dim, length=True)
    elif dim not in (None, featurizer.dim):
        raise ValueError(f"the featurizer makes {featurizer.dim} features, dim is {dim}")
    return RowMaker(featurizer.dim, featurizer, items, context)


def _sum(tasks: list[PartTask], report: Progress, jobs: int, cluster: str | None) -> PartSum:
    """The sum over all parts, each of which is summed on its own."""
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    here = cluster is None and (jobs == 1 or len(tasks) == 1)
    report("reading votes", len(tasks), 0)
    done, before = 0, 0

    def report_votes(votes: int) -> None:
        report(f"reading votes ({before + votes:,})", len(tasks), done)

    def results() -> Iterator[PartSum]:
        nonlocal done, before
        run = (lambda task: sum_part(task, report_votes)) if here else sum_part
        for result in spread(run, tasks, jobs=jobs, cluster=cluster):
            done, before = done + 1, before + result.tally.votes
            report_votes(0)
            yield result

    return merge(tasks, results())


def _from_pairs(
    recipe: _Recipe,
    tasks: list[PartTask],
    total: PartSum,
    maker: RowMaker | None,
    dim: int | None,
    report: Progress,
    style: tuple[str, ...] = (),
) -> Session:
    """A session that knows its items by id, from counts of pairs."""
    sums = total.sums
    assert isinstance(sums, PairCounts)
    if maker is None:
        names = list(sums.names)
        if dim is not None and (dim < len(names) or style):
            raise ValueError(f"dim must be at least the number of ids, {len(names)}, and none with style, got {dim}")
        size = (dim or len(names)) + len(style)
        rows = SparseRows(np.arange(len(names) + 1), np.arange(len(names)), np.ones(len(names)), size)
    else:
        assert maker.items is not None
        names = list(maker.items)
        numbered = PairCounts(names={name: place for place, name in enumerate(names)}, gains=np.zeros(len(names)))
        numbered.add(sums)
        sums, rows = numbered, maker.rows(names)
    learner = recipe.learner(rows.dim, ids=maker is None)
    catalog = Catalog(names, rows, ids_only=maker is None)
    source = VoteSource(tasks, maker, names, rows.dim)
    if style:
        if recipe.chooses_lam or not recipe.from_sums(learner) or type(learner.model) is not Full:
            raise ValueError("style needs a full model, votes that are summed, and a lam that is a number")
        solve_styled(learner, sums, rows, source.table)
    elif recipe.chooses_lam:
        learner = _best_predictor(recipe, sums, rows, source.table, report)
    elif recipe.from_sums(learner):
        report("solving", 1, 0)
        solve_pairs(learner, sums, rows)
    else:
        known = sums.names

        def blocks() -> Iterator[tuple[Where, VoteBlock]]:
            return _blocks(tasks, [], {}, VoteTally(), report, total.tally.votes)

        def learn(learner: Learner, some: Iterable[tuple[Where, VoteBlock]]) -> None:
            learn_ids(learner, some, rows, known)

        learner = taught(
            lambda taste: recipe.learner(rows.dim, ids=maker is None, taste=taste),
            blocks,
            learn,
            lambda vote: rows.take([known[vote.first], known[vote.second]]),
            chooses_taste="taste" not in recipe.parameters,
        )
    session = _session(recipe, learner, maker, catalog, source)
    if style:
        session.style = style_weights(learner.model, style)
    if recipe.chooses_lam:
        session.board_settings = replace(session.board_settings, delta=session.board_settings.delta / len(LAMS))
    return session


def _best_predictor(recipe: _Recipe, sums: PairCounts, rows: SparseRows, table: VoteTable, report: Progress) -> Learner:
    """The learner with the lam that predicts each vote best from all others."""
    best: Learner | None = None
    least = np.inf
    for k, lam in enumerate(LAMS):
        report("choosing lam", len(LAMS), k)
        learner: Any = replace(recipe, parameters={**recipe.parameters, "lam": lam}).learner(rows.dim, ids=True)
        solve_pairs(learner, sums, rows)
        with one_thread():
            error = left_out_error(table, learner.model.inverse, learner.model.w)
        if error < least:
            best, least = learner, error
    assert best is not None
    return best


def attach(session: Session, votes: Votes, *, style: Sequence[str] | None = None, **options: Any) -> None:
    """Give a loaded session of ids the votes that it was fitted on, for its boards' `fragile`, `why` and `reliability`.

    Parameters
    ----------
    session: of `conquer.fit` between ids.
    votes, style: as `conquer.fit` got them.
    options: those of `read_votes`, such as `columns` and `both_bad`, as `conquer.fit` got them.

    >>> import tempfile
    >>> from conquer import load, save
    >>> votes = [("tea", "mug", "tea"), ("mug", "tea", "tea"), ("tea", "mug", "mug")]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(fit(votes), f"{folder}/model")
    ...     session = load(f"{folder}/model")
    >>> attach(session, votes)
    >>> session.board().fragile().votes
    2
    """
    catalog = session.catalog
    if catalog is None or not catalog.ids_only:
        raise ValueError("votes are given to a session that was fitted on votes between ids")
    given: dict[str, Any] = {"content": "ids", "kept": frozenset(catalog.names), **options}
    if style is not None:
        given["style"] = checked_style(style)
    tasks = [PartTask(source, given, contradictions=True) for source in _sources(votes)]
    session.votes = VoteSource(tasks, None, catalog.names, session.learner.dim)


def _has_texts(content: Content | None, maker: RowMaker) -> bool:
    """Whether texts are learnt."""
    if maker.items is None or maker.featurizer is None:
        return content == "texts" and maker.featurizer is not None
    first = next(iter(maker.items.values()))
    return isinstance(first, str) or (has_parts(first) and "text" in first)


def _in_order(recipe: _Recipe, tasks: list[PartTask], maker: RowMaker, tally: VoteTally, report: Progress) -> Session:
    """Votes between texts, dicts or vectors, learnt one by one as they are read."""
    seen: dict[str, Any] = {}
    records: list[list[Records]] = []
    first = True

    def blocks() -> Iterator[tuple[Where, VoteBlock]]:
        nonlocal first
        again, first = not first, False
        return _blocks(tasks, [], {}, VoteTally(), report) if again else _blocks(tasks, records, seen, tally, report)

    learner = taught(
        lambda taste: recipe.learner(maker.dim, taste=taste),
        blocks,
        lambda learner, some: learn_items(learner, some, maker),
        lambda vote: maker.rows([vote.first, vote.second], vote.context if maker.contexts else None),
        chooses_taste="taste" not in recipe.parameters,
    )
    check_contradictions(tasks, records)
    return _session(recipe, learner, maker, _listed(seen, maker), VoteSource(tasks, maker, (), maker.dim))


def _blocks(
    tasks: list[PartTask],
    records: list[list[Records]],
    seen: dict[str, Any],
    tally: VoteTally,
    report: Progress,
    total: int = 0,
) -> Iterator[tuple[Where, VoteBlock]]:
    """The blocks of all parts in their order, with what names their lines; fills `records`, `seen` and `tally`."""
    done = 0
    for task in tasks:
        reading = task.reading()
        records.append([])
        for block in reading.blocks():
            if task.maker is not None:
                list_items(seen, block)
                if not task.contradictions:
                    records[-1].append(records_of(block))
            yield reading.at, block
            done += int(block.numbers.sum())
            report("learning votes", max(total, done), done)
        tally.add(reading.tally)


def _listed(seen: dict[str, Any], maker: RowMaker) -> Catalog | None:
    """The items of the votes, where they are few enough to be listed."""
    if not seen or len(seen) > MOST_LISTED or maker.contexts:
        return None
    return Catalog(list(seen), replace(maker, items=None).rows(list(seen.values())))


def _session(
    recipe: _Recipe, learner: Learner, maker: RowMaker | None, catalog: Catalog | None, source: VoteSource
) -> Session:
    session = Session(learner, featurizer=None if maker is None else maker.featurizer, seed=recipe.seed)
    session.catalog, session.board_settings = catalog, recipe.board
    session.votes = source
    return session
