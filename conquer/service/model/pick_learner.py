"""A learner of the registry behind the service's interface, with the reader of its items."""

import json
import random
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import combinations
from math import isfinite
from typing import Any

import msgspec
import numpy as np

from conquer import registry, saving
from conquer.boards import Evidence
from conquer.boards.evidence import Race
from conquer.features.featurizer import Featurizer
from conquer.kernels.models.dual import PAIRS
from conquer.kernels.rounds import settings as st
from conquer.learners.batch import BatchLearner, batch_learner
from conquer.learners.believer import Believer, believer
from conquer.learners.conquer import Conquer
from conquer.learners.voters import Voter
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.kernel import Kernel
from conquer.models.tables import own_bytes
from conquer.rows import SparseRows
from conquer.service.errors import RefusalError, conflict, invalid
from conquer.service.model.learner_protocol import Chosen, May, Text
from conquer.service.model.reading import Reader, ReadItems, ReadPair, joined
from conquer.service.model.records import Event
from conquer.service.model.schemas import Group, Item, ModelSettings
from conquer.service.settings import Limits
from conquer.types import Choice, Floats, Learner, Query, Source

_FEATURIZER, _EVIDENCE = "featurizer.", "evidence"
STOP_ITEMS, STOP_BYTES = 32, 2 << 20
"""The largest round and model whose rounds report whether to stop: 256 features with its voters."""
_RECORDS = 20_000
"""Answers that are read within a round, for other items than those of the last one: about a millisecond."""
MOST_VOTERS = 10_000
"""Names that a model weighs, the first to answer."""
_WEIGHED = 8
"""A model's bytes are counted again when its answers have grown by one in this many."""
_TRIES = 8
"""Draws of items before all pairs are looked through."""
_SPREAD = 2048
"""Features of a full model whose rows are summed in a turn."""
_WIDTHS = {st.UCB, st.RELATIVE_UCB, st.THOMPSON, st.CHALLENGER, st.SEPARATION}
"""Rules that compute the width of every item."""


class PickLearner:
    """A registry learner behind the service's interface: items are texts, dicts or vectors, any may be shown."""

    ties = True
    draws = 25
    pairwise = True
    exhausted = "nothing is left to ask: the model is certain"

    def __init__(
        self,
        settings: ModelSettings,
        learner: Learner,
        featurizer: Featurizer | None = None,
        evidence: Evidence | None = None,
    ) -> None:
        self.learner, self.settings = learner, settings
        self.reader = Reader(settings.features, Limits(), featurizer)
        self._believer = believer(learner)
        self._narrows = bool(getattr(learner, "narrows", False))
        self._batch = None if settings.features.learn is not None or self._narrows else batch_learner(learner)
        self.evidence: Evidence | None = None
        """A record of every answer to a round, for boards, as a `Session` keeps it."""
        wanted = settings.stop is not None or self._narrows
        if getattr(learner, "records", False) and (wanted or not learner.model.grows):
            self.evidence = evidence or Evidence()
        self._weighed, self._bytes = -1, 0

    @property
    def size(self) -> int:
        """Bytes of its state, roughly."""
        models = 1 if self._believer is None else 1 + len(self._believer.cross.models)
        words = sum(int(array.nbytes) for array in self.reader.featurizer.arrays().values())
        records = 0 if self.evidence is None else self.evidence.nbytes
        return models * self.model_size + words + records

    @property
    def model_size(self) -> int:
        """Bytes of the model that scores, counted again when its answers have grown by an eighth: that takes 0.1 ms."""
        answers = self.learner.answers
        if self._weighed < 0 or abs(answers - self._weighed) > self._weighed // _WEIGHED:
            self._weighed, self._bytes = answers, _bytes(self.learner)
        return self._bytes

    @property
    def quick(self) -> bool:
        model = self.learner.model
        return isinstance(self.learner, Conquer | Believer) and not model.exact and model.projection is None

    @property
    def unfitted(self) -> bool:
        return self.reader.unfitted

    def fit(self, items: Sequence[Item]) -> None:
        self.reader.fit(items)

    def read(self, items: bytes, context: bytes, room: int | None = None) -> ReadItems:
        return self.reader.read(items, context, room)

    def read_many(self, rounds: Sequence[Text], room: int | None = None) -> list[ReadItems | RefusalError]:
        return self.reader.read_many(rounds, room)

    def cost(self, read: ReadItems) -> float:
        model, count, rule = self.learner.model, len(read.ids), getattr(self.learner, "policy", None)
        # Rules of other systems compare all pairs of items.
        cells = read.cells if rule is not None else read.cells * count
        widths = rule is None or bool({rule.first, rule.second} & _WIDTHS)
        if isinstance(model, Kernel):
            stored = int(model.counts[PAIRS])
            return float(cells * stored + count * stored * stored)
        return float(cells * self.learner.dim if widths and _is_square(self.learner) else cells)

    def choose(self, read: ReadItems, ticket: int) -> Chosen:
        """What to show and ask, and every item's score. Raises RefusalError."""
        learner, rows = self.learner, read.rows
        try:
            if self._narrows and (race := self._race(read)) is not None:
                scores = learner.scores(rows)
                among = race.candidates(scores, self.settings.delta)
                choose: Any = learner.choose
                choice = choose(rows, ticket) if among is None else choose(rows, ticket, among)
            elif isinstance(learner, Conquer | Believer):
                choice, scores = learner.choose_and_score(rows, ticket)
            else:
                choice = learner.choose(rows, ticket)
                scores = learner.scores(rows)
        except (ValueError, ArithmeticError) as error:
            raise invalid(str(error)) from None
        return self._foreseen(rows, choice), self._finite(scores.tolist())

    def _race(self, read: ReadItems) -> Race | None:
        """The tests of these items; None without records, and where too many would be read."""
        evidence, stop = self.evidence, self.settings.stop
        if evidence is None or len(read.ids) < 2 or evidence.unread(read.ids, stop) > _RECORDS:
            return None
        return evidence.race(read.ids, stop)

    def _foreseen(self, rows: SparseRows, choice: Choice) -> Choice:
        """The choice with the forecast that its answer is bet on by, if answers are recorded."""
        if self.evidence is None or choice.query is not Query.DUEL:
            return choice
        learner: Any = self.learner
        return replace(choice, memo={**choice.memo, "forecast": list(learner.forecast(rows, choice))})

    def record(self, names: Sequence[str], choice: Choice, value: float) -> None:
        """Record a learnt answer to a round for boards."""
        forecast = choice.memo.get("forecast")
        if self.evidence is not None and forecast is not None:
            first, second = names
            # A ledger from elsewhere may say that what happened had no chance.
            self.evidence.add(first, second, forecast, value, chance=choice.memo.get("chance") or None)

    def choose_many(self, reads: Sequence[ReadItems], tickets: Sequence[int]) -> list[Chosen | RefusalError]:
        found: list[Chosen | RefusalError] = []
        while (first := len(found)) < len(reads):
            last = _end_of_batch(reads, first) if self._batch is not None else first + 1
            if self._batch is None or last == first + 1:
                found.append(self._choose_one(reads[first], tickets[first]))
                continue
            starts = [reads[first].start, *(read.stop for read in reads[first:last])]
            choices, scores = self._batch.choose_all(reads[first].batch, starts, tickets[first:last])
            listed = scores.tolist()
            for place, choice in enumerate(choices, first):
                own = listed[reads[place].start : reads[place].stop]
                # Chosen for alone, it gives the reason for having no choice.
                if choice is not None and isfinite(sum(own)):
                    found.append((self._foreseen(reads[place].rows, choice), own))
                else:
                    found.append(self._choose_one(reads[place], tickets[place]))
        return found

    def _choose_one(self, read: ReadItems, ticket: int) -> Chosen | RefusalError:
        try:
            return self.choose(read, ticket)
        except RefusalError as refusal:
            return refusal

    def kept(self, reads: Sequence[ReadItems], choices: Sequence[Choice]) -> list[ReadItems | ReadPair]:
        """The two shown rows of a duel, as a copy that keeps no other round in memory; else all items."""
        return [self._kept(read, choice) for read, choice in zip(reads, choices, strict=True)]

    def _kept(self, read: ReadItems, choice: Choice) -> ReadItems | ReadPair:
        if self._batch is not None and choice.query is Query.DUEL and len(choice.shown) == 2:
            return read.pair(*choice.shown)
        whole = read.stop - read.start == len(read.batch)
        return read if whole else ReadItems(read.ids, read.rows.packed(), read.cells, 0, read.stop - read.start)

    def learn_many(
        self,
        reads: Sequence[ReadItems | ReadPair],
        choices: Sequence[Choice],
        values: Sequence[float],
        sources: Sequence[Source | None],
    ) -> list[Exception | None]:
        """Duels of voters who are not weighed are learnt in one call, which ends before one that cannot be learnt."""
        errors: list[Exception | None] = []
        lessons = list(zip(reads, choices, values, sources, strict=True))
        plain = [self._batch is not None and _is_plain(choice, source) for _, choice, _, source in lessons]
        while (first := len(errors)) < len(lessons):
            last = next((k for k in range(first, len(lessons)) if not plain[k]), len(lessons))
            if self._batch is not None and last > first + 1:
                errors += [None] * _learn_duels(self._batch, lessons[first:last])
            if len(errors) < max(last, first + 1):
                errors.append(self._learn_one(*lessons[len(errors)]))
        return errors

    def _learn_one(
        self, read: ReadItems | ReadPair, choice: Choice, value: float, source: Source | None
    ) -> Exception | None:
        try:
            self.learn(read, choice, value, source)
        except (MemoryError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 - a learner may come from a plugin
            return error
        return None

    def learn(self, read: ReadItems | ReadPair, choice: Choice, value: float, source: Source | None = None) -> None:
        """Learn one answer."""
        if isinstance(read, ReadPair):
            choice = replace(choice, shown=(0, 1))
        self.learner.learn(read.rows, choice, value, None if source is None else self._among_known(source))

    def scored(self, read: ReadItems) -> list[float]:
        """Every item's score, or a RefusalError."""
        try:
            return self._finite(self.learner.scores(read.rows).tolist())
        except (ValueError, ArithmeticError) as error:
            raise invalid(str(error)) from None

    def _finite(self, scores: list[float]) -> list[float]:
        # A sum is finite only if all of it is. JSON has no other numbers, so the row could not be read again.
        if not isfinite(sum(scores)) and not all(map(isfinite, scores)):
            raise invalid(f"{self.settings.algorithm} cannot score these items: a score is not finite; scale them")
        return scores

    def enough(self, read: ReadItems) -> bool | None:
        """Whether the answers so far decide between these items, by the model's `stop`; False without one.

        None where a board of them takes too long here; see the model's board.
        """
        stop = self.settings.stop
        if stop is None or len(read.ids) < 2:
            return False
        if len(read.ids) > STOP_ITEMS or self.model_size > STOP_BYTES:
            return None
        try:
            if self.evidence is not None and len(self.evidence) >= self.learner.answers:
                race = self._race(read)
                if race is None:
                    return None
                leader, left = race.left(self.learner.scores(read.rows), self.settings.delta)
                return leader is not None and not left.size
            records: dict[str, Any] = {"evidence": self.evidence, "ids": read.ids}
            return bool(self.learner.board(read.rows, delta=self.settings.delta, **records).stop(stop).done)
        except (ValueError, ArithmeticError) as error:
            raise invalid(str(error)) from None

    def names(self, read: ReadItems, choice: Choice) -> tuple[str, ...]:
        return tuple([read.ids[k] for k in choice.shown])

    def check(self, read: ReadItems, choice: Choice) -> tuple[str, ...]:
        if choice.query is not Query.NONE:
            self.learner.check(choice, len(read.ids))
        elif not all(0 <= k < len(read.ids) for k in choice.shown):
            raise ValueError(f"shown items must be in [0, {len(read.ids)}), got {choice.shown}")
        return self.names(read, choice)

    def outside(self, choice: Choice) -> bool:
        return bool(choice.memo.get("outside"))

    def weigh(self, read: ReadItems | ReadPair, choice: Choice, source: Source) -> float | None:
        if self._believer is None:
            return None
        try:
            return self._believer.weigh(read.rows, choice, self._among_known(source))
        except ValueError as error:
            raise invalid(str(error)) from None

    def _among_known(self, source: Source) -> Source:
        """The source; a name beyond the first MOST_VOTERS counts as anonymous: weight 1, and the shared side."""
        names = () if self._believer is None else self._believer.table.names
        if len(names) < MOST_VOTERS or source.voter is None or (source.kind, source.voter) in names:
            return source
        return replace(source, voter=None, kind="person")

    def draw(
        self,
        rng: random.Random,
        pool: Sequence[Group],
        taken: Set[str],
        asked: Mapping[str, Collection[int]],
        may: May | None = None,
    ) -> Group | None:
        """Some items of one group, `per_round` of the settings at most."""
        return draw_items(rng, pool, taken, self.settings.per_round, may)

    def view(self, read: ReadItems, event: Event) -> None:
        """A pick shows its items and nothing else."""
        return None

    def forget(self, voter: str) -> bool:
        if self._believer is None or not any(name == voter for _, name in self._believer.table.names):
            return False
        table = self._believer.table
        taken = {name for _, name in table.names}
        new = next(name for k in range(len(taken) + 1) if (name := f"forgotten-{k}") not in taken)
        table.names = {(kind, new if name == voter else name): k for (kind, name), k in table.names.items()}
        return True

    def voters(self) -> Callable[[], tuple[Voter, ...]]:
        """A function that reports every named voter as of now, for another thread. Raises RefusalError."""
        if self._believer is None:
            raise conflict("no_voters", 'this model does not weigh voters; create it with believe="voters"')
        return partial(self._believer.table.copied().reports, *self._believer.sides())

    def worth(self) -> float | None:
        """How many people's answers the judges' answers were worth; None where that is not known."""
        if self._believer is None or not self._believer.model.exact:
            return None
        return self._believer.worth()

    def insight(self) -> tuple[Featurizer, Floats, Floats | None] | None:
        model = self.learner.model
        try:
            weights = model.weights() if hasattr(model, "weights") else np.zeros(self.learner.dim)
        except ValueError:
            return None  # a kernel that is not linear has no weight per feature
        return self.reader.featurizer, weights, weight_spread(model)

    def dumps(self, extra: str) -> bytes:
        featurizer = self.reader.featurizer
        service = {"settings": msgspec.to_builtins(self.settings), "tally": extra, "featurizer": featurizer.settings()}
        arrays = {f"{_FEATURIZER}{name}": array for name, array in featurizer.arrays().items()}
        if self.evidence is not None:
            arrays[_EVIDENCE] = self.evidence.array()
            arrays[f"{_EVIDENCE}.settings"] = np.frombuffer(json.dumps(self.evidence.settings()).encode(), np.uint8)
        return saving.dumps(self.learner, {"service": service}, arrays)


_Duel = tuple[ReadItems | ReadPair, Choice, float, Source | None]
"""An answered duel: what was read, the choice, the answer and whose it is."""


def _is_plain(choice: Choice, source: Source | None) -> bool:
    """Whether an answer is to a duel, of a voter who is not weighed."""
    plain = source is None or (source.voter is None and source.weight in (None, 1.0))
    return plain and choice.query is Query.DUEL and len(choice.shown) == 2


def _learn_duels(learner: BatchLearner, duels: Sequence[_Duel]) -> int:
    """Learn duels in one call, up to the first that cannot be learnt; returns how many."""
    rows = joined([read if isinstance(read, ReadPair) else read.pair(*choice.shown) for read, choice, _, _ in duels])
    sides = [0 if source is None else source.side for *_, source in duels]
    values, tickets = [value for _, _, value, _ in duels], [choice.ticket for _, choice, _, _ in duels]
    return learner.learn_all(rows, np.arange(2 * len(duels)).reshape(-1, 2), values, sides, tickets)


def _end_of_batch(reads: Sequence[ReadItems], first: int) -> int:
    """Up to which of these rounds are next to each other in one batch."""
    last = first + 1
    while last < len(reads) and reads[last].batch is reads[first].batch and reads[last].start == reads[last - 1].stop:
        last += 1
    return last


def _is_square(learner: Learner) -> bool:
    """Whether the learner's memory grows with the square of its features."""
    return isinstance(learner.model, Full) or learner.parameters.get("model") == "full"


def _bytes(learner: Learner) -> int:
    """Bytes of a learner's arrays; of a table that shares pages with others, those it has written."""
    state = [array for array in getattr(learner.model, "state", ()) if isinstance(array, np.ndarray)]
    if state:
        return sum(map(own_bytes, state))
    return sum(int(array.nbytes) for array in learner.arrays().values()) or 8 * learner.dim


def build(settings: ModelSettings, data: bytes | None) -> tuple[PickLearner, str | None]:
    """What learns, fresh or from a snapshot, and the tally stored beside it."""
    if data is None:
        return PickLearner(settings, fresh_learner(settings)), None
    learner, extra, arrays = saving.loads(data)
    featurizer, tally = stored_featurizer(extra, arrays), extra.get("service", {}).get("tally")
    return PickLearner(settings, learner, featurizer, stored_evidence(extra, arrays)), tally


def fresh_learner(settings: ModelSettings) -> Learner:
    """A fresh learner. Raises RefusalError with the wrong setting."""
    parameters: dict[str, Any] = settings.parameters
    try:
        row = registry.find(settings.algorithm)
        return row.build(settings.features.dim, settings.model, believe=settings.believe, **parameters)
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise invalid(f"{settings.algorithm} with {settings.parameters!r:.200}: {error}") from None


def stored_featurizer(extra: dict[str, Any], arrays: dict[str, Any]) -> Featurizer | None:
    """The featurizer in a model file, the service's or a Session's; None: the one of the settings."""
    if extra.get("kind") == "session":
        session = json.loads(arrays["session"].tobytes())
        if own := session.get("own_featurizer"):
            raise ValueError(f"the session has a featurizer of its own, {own}, which a server cannot load")
        settings = session["featurizer"]
    else:
        settings = extra.get("service", {}).get("featurizer")
    if settings is None:
        return None
    own = {name.removeprefix(_FEATURIZER): a for name, a in arrays.items() if name.startswith(_FEATURIZER)}
    return Featurizer.from_settings(settings, own)


def stored_evidence(extra: dict[str, Any], arrays: dict[str, Any]) -> Evidence | None:
    """The records in a model file, the service's or a Session's."""
    if _EVIDENCE not in arrays:
        return None
    if extra.get("kind") == "session":
        settings = json.loads(arrays["session"].tobytes())["evidence"]
    else:
        settings = json.loads(arrays[f"{_EVIDENCE}.settings"].tobytes())
    return Evidence.from_settings(settings, arrays[_EVIDENCE])


def draw_items(
    rng: random.Random, pool: Sequence[Group], taken: Set[str], count: int, may: May | None = None
) -> Group | None:
    """Up to `count` items of one group, none of them `taken`, two of which `may` be asked about, or None.

    >>> pool = [Group([Item("a", text="x"), Item("b", text="y")])]
    >>> [item.id for item in draw_items(random.Random(0), pool, set(), 5).items]
    ['b', 'a']
    >>> draw_items(random.Random(0), pool, set(), 5, lambda one, other: False) is None
    True
    """
    for _ in range(1 if may is None else _TRIES):
        group = pool[rng.randrange(len(pool))]
        free = _free(group, taken)
        if len(free) < 2:
            open_groups = [one for one in pool if sum(item.id not in taken for item in one.items) >= 2]
            if not open_groups:
                return None
            group = open_groups[rng.randrange(len(open_groups))]
            free = _free(group, taken)
        drawn = rng.sample(free, min(count, len(free)))
        if may is None or open_pair(drawn, may) is not None:
            return Group(drawn, group.context)
    # Few pairs are left: as soon as one is found, it is the round.
    first = rng.randrange(len(pool))
    for group in (*pool[first:], *pool[:first]):
        pair = open_pair(_free(group, taken), may)
        if pair is not None:
            return Group(pair, group.context)
    return None


def _free(group: Group, taken: Set[str]) -> list[Item]:
    return [item for item in group.items if item.id not in taken]


def open_pair(items: Sequence[Item], may: May | None) -> list[Item] | None:
    """The first two items that may be asked about together."""
    pairs = combinations(items, 2)
    return next(([one, other] for one, other in pairs if may is None or may(one.id, other.id)), None)


def weight_spread(model: Any) -> Floats | None:
    """(D,): the standard deviation of each weight if every answer were a fair coin's; None where that is not known.

    A weight is A^-1 times a sum over answers, whose covariance is A - lam I where answers vary by 1, the most they can.
    A diagonal model knows A's diagonal alone, and takes the features for independent.

    >>> model = Diagonal(2)
    >>> model.update([[1.0, 0.0], [0.0, 0.0]], {0: 1.0, 1: -1.0}, +1)
    >>> [round(float(one), 3) for one in weight_spread(model)], model.weights().tolist()
    ([0.5, 0.0], [0.5, 0.0])
    """
    if isinstance(model, Diagonal):
        precision = model.precision()
        spread: Floats = np.sqrt(np.maximum(precision - model.lam, 0.0)) / precision
        return spread
    if isinstance(model, Full) and model.dim <= _SPREAD:
        inverse = model.inverse
        squares = inverse.diagonal() - model.lam * np.einsum("ij,ij->i", inverse, inverse)
        found: Floats = np.sqrt(np.maximum(squares, 0.0))
        return found
    return None
