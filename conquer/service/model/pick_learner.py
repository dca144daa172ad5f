"""What learns from picks: a learner of the registry with the reader of its items."""

import json
import random
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from math import isfinite
from typing import Any

import msgspec
import numpy as np

from conquer import registry, saving
from conquer.features.featurizer import Featurizer
from conquer.learners.believer import Believer, believer
from conquer.learners.conquer import Conquer
from conquer.learners.voters import Voter
from conquer.service.errors import conflict, invalid
from conquer.service.model.bulk import VectorBulk, bulk_of
from conquer.service.model.drawing import draw_items
from conquer.service.model.event import Event
from conquer.service.model.learner_protocol import Draw, May
from conquer.service.model.memory import Memory
from conquer.service.model.reading import Reader, ReadItems
from conquer.service.model.schemas import Group, Item, ModelSettings
from conquer.service.model.spread import weight_spread
from conquer.service.settings import Limits
from conquer.types import Choice, Floats, Learner, Query, Source

_FEATURIZER = "featurizer."
STOP_ITEMS, STOP_BYTES = 32, 2 << 20
"""A round of so many items is told whether one may stop, by a model of so many bytes: 256 features with its voters."""
MOST_VOTERS = 10_000
"""Names that a model weighs, the first to answer."""


class PickLearner:
    """A registry learner behind the service's interface: items are texts, dicts or vectors, any may be shown."""

    ties = True
    draws = 25
    pairwise = True
    exhausted = "nothing is left to ask: the model is sure"

    def __init__(self, settings: ModelSettings, learner: Learner, featurizer: Featurizer | None = None) -> None:
        self.learner, self.settings = learner, settings
        self.reader = Reader(settings.features, Limits(), featurizer)
        self._memory = Memory(learner)
        self._believer = believer(learner)
        self._bulk = bulk_of(settings, learner, self._memory)

    @property
    def size(self) -> int:
        """Bytes of its state, roughly."""
        models = 1 if self._believer is None else 1 + len(self._believer.cross.models)
        words = sum(int(array.nbytes) for array in self.reader.featurizer.arrays().values())
        return models * self._memory.bytes + words

    @property
    def model_size(self) -> int:
        """Bytes of the model that scores."""
        return self._memory.bytes

    @property
    def unfitted(self) -> bool:
        return self.reader.unfitted

    @property
    def bulk(self) -> VectorBulk | None:
        """What does many rounds at once; None where they are done one by one."""
        return self._bulk

    def fit(self, items: Sequence[Item]) -> None:
        self.reader.fit(items)

    def read(self, items: bytes, context: bytes, room: int | None = None) -> ReadItems:
        read = self.reader.read(items, context, room)
        self._memory.reach(read.rows)
        return read

    def choose(self, read: ReadItems, ticket: int) -> tuple[Choice, list[float]]:
        learner, rows = self.learner, read.rows
        try:
            if isinstance(learner, Conquer | Believer):
                choice, scores = learner.choose_and_score(rows, ticket)
            else:
                choice = learner.choose(rows, ticket)
                scores = learner.scores(rows)
        except (ValueError, ArithmeticError) as error:
            raise invalid(str(error)) from None
        return choice, self._finite(scores)

    def scored(self, read: ReadItems) -> list[float]:
        """Every item's score, or a RefusalError."""
        try:
            return self._finite(self.learner.scores(read.rows))
        except (ValueError, ArithmeticError) as error:
            raise invalid(str(error)) from None

    def _finite(self, scores: Floats) -> list[float]:
        listed: list[float] = scores.tolist()
        # A sum is finite only if all of it is; JSON has no other numbers, so the row could not be read again.
        if not isfinite(sum(listed)) and not all(map(isfinite, listed)):
            raise invalid(f"{self.settings.algorithm} cannot score these items: a score is not finite; scale them")
        return listed

    def enough(self, read: ReadItems) -> bool | None:
        """Whether the answers so far say enough about these items, by the model's `stop`; never without one.

        None where a board of them takes too long for a turn: one asks for the model's board instead.
        """
        stop = self.settings.stop
        if stop is None or len(read.ids) < 2:
            return False
        if len(read.ids) > STOP_ITEMS or self.model_size > STOP_BYTES:
            return None
        try:
            return bool(self.learner.board(read.rows, delta=self.settings.delta).stop(stop).done)
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

    def learn(self, read: ReadItems, choice: Choice, value: float, source: Source | None = None) -> None:
        self.learner.learn(read.rows, choice, value, None if source is None else self._among_known(source))

    def weigh(self, read: ReadItems, choice: Choice, source: Source) -> float | None:
        if self._believer is None:
            return None
        try:
            return self._believer.weigh(read.rows, choice, self._among_known(source))
        except ValueError as error:
            raise invalid(str(error)) from None

    def _among_known(self, source: Source) -> Source:
        """The source; a name beyond the first MOST_VOTERS is nobody's: weight 1, and the side that all share."""
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
    ) -> Draw | None:
        """Some items of one group, as many as the settings say take part in a question."""
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

    @property
    def known_voters(self) -> list[str]:
        """The names of the voters it weighs."""
        return [] if self._believer is None else [name for _, name in self._believer.table.names]

    def voters(self) -> Callable[[], tuple[Voter, ...]]:
        """What tells of every named voter as of now, beside the writer; a RefusalError where they are not weighed."""
        if self._believer is None:
            raise conflict("no_voters", "this model believes everyone alike: make one with believe=voters")
        return partial(self._believer.table.copied().reports, *self._believer.sides())

    def worth(self) -> float | None:
        """Of how many people's answers the judges' ones were; None where the model cannot say."""
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
        return saving.dumps(self.learner, {"service": service}, arrays)


def build(settings: ModelSettings, data: bytes | None) -> tuple[PickLearner, str | None]:
    """What learns, fresh or from a snapshot, and the tally stored beside it."""
    if data is None:
        return PickLearner(settings, fresh_learner(settings)), None
    learner, extra, arrays = saving.loads(data)
    return PickLearner(settings, learner, stored_featurizer(extra, arrays)), extra.get("service", {}).get("tally")


def fresh_learner(settings: ModelSettings) -> Learner:
    """A fresh learner, or a RefusalError that says which setting is wrong."""
    parameters: dict[str, Any] = settings.parameters
    believe: dict[str, Any] = {} if settings.believe is None else {"believe": settings.believe}
    try:
        return registry.find(settings.algorithm).build(settings.features.dim, settings.model, **parameters, **believe)
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
