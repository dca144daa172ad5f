"""What learns behind a model's name, as the rest of the service sees it, whatever the model's task is."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Any, NamedTuple, Protocol

from conquer.features.featurizer import Featurizer
from conquer.service.model.event import Event, Pair
from conquer.service.model.schemas import Group, Item
from conquer.types import Choice, Floats, Source


class Read(Protocol):
    """A round's items as a learner takes them."""

    @property
    def cells(self) -> int:
        """What it takes to look at them all, counted before anything is chosen."""
        ...

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        ...


May = Callable[[str, str], bool]
"""Whether two items may be asked about together."""


class Draw(NamedTuple):
    """Items drawn from a pool for one round, and what they answer to."""

    items: Sequence[Item]
    context: Any


class Bulk(Protocol):
    """Many rounds of one kind at once, each as the learner reads, chooses and learns it alone."""

    def read(self, texts: Sequence[bytes]) -> Any:
        """The rounds of new or logged items without a context, read together."""
        ...

    def understood(self, rounds: Any) -> list[int]:
        """The cells of each round; -1 where it has to be read alone."""
        ...

    def choose(
        self, rounds: Any, first: int, last: int, tickets: Sequence[int]
    ) -> Sequence[tuple[Choice, tuple[str, ...], list[float]] | None]:
        """Of the understood rounds first to last: what to show, its names, all scores. None: alone it says why not."""
        ...

    def pairs(self, rounds: Any, first: int, choices: Sequence[Choice]) -> list[Pair | None]:
        """Of the rounds from `first` on: the two items that each choice shows. None: it was not understood, or no duel.

        Each in bytes of its own, so that it can be kept without the rest.
        """
        ...

    def learn(
        self, pairs: Sequence[Pair], values: Sequence[float], sides: Sequence[int], tickets: Sequence[int]
    ) -> int:
        """Learn answers to duels, of nobody in particular, at full weight and in order; how many were learnt.

        Fewer than all where the next one cannot be, and says why alone.
        """
        ...


class ServedLearner(Protocol):
    """Built from a model's settings, fed by the fold. `choose` is pure; `learn` and `fit` are not.

    A round's items are read once (`read`), into whatever this learner takes, and handed back with every call.
    """

    ties: bool
    """Whether "tie" is an answer of its own; without it a tie is "both_bad"."""
    draws: int
    """How many rounds are drawn in search of one that has a question."""
    pairwise: bool
    """Whether a question is about two of the items themselves, so that a person meets each pair once."""
    exhausted: str
    """What a person reads when nothing is left to ask."""

    @property
    def size(self) -> int:
        """Bytes of its state, roughly."""
        ...

    @property
    def bulk(self) -> Bulk | None:
        """What does many rounds at once; None where they are done one by one."""
        ...

    @property
    def unfitted(self) -> bool:
        """Whether its features must be fitted to items before the first round."""
        ...

    def fit(self, items: Sequence[Item]) -> None:
        """Fit the features to a first upload."""
        ...

    def read(self, items: bytes, context: bytes, room: int | None = None) -> Any:
        """A round's items as this learner takes them (`Read`), or a RefusalError that says what is wrong with them.

        `room`: they are new, and may have so many cells. None: the log holds them already.
        """
        ...

    def choose(self, read: Any, ticket: int) -> tuple[Choice, list[float]]:
        """What to show and ask, and every item's score; a RefusalError where there is no choice to make."""
        ...

    def enough(self, read: Any) -> bool | None:
        """Whether the answers so far say enough about these items, by `stop`; None where it takes too long."""
        ...

    def names(self, read: Any, choice: Choice) -> tuple[str, ...]:
        """The ids of what is shown, first choice first."""
        ...

    def check(self, read: Any, choice: Choice) -> tuple[str, ...]:
        """The names of a choice from outside, or a ValueError if this learner could not learn from it."""
        ...

    def outside(self, choice: Choice) -> bool:
        """Whether "none of these" is an answer to this choice that teaches something."""
        ...

    def learn(self, read: Any, choice: Choice, value: float, source: Source | None = None) -> None:
        """Learn an answer. `source`: whom it comes from, where the model weighs voters."""
        ...

    def weigh(self, read: Any, choice: Choice, source: Source) -> float | None:
        """The weight with which an answer of this source would enter now; None where voters are not weighed."""
        ...

    def draw(
        self,
        rng: random.Random,
        pool: Sequence[Group],
        taken: Set[str],
        asked: Mapping[str, Collection[int]],
        may: May | None = None,
    ) -> Draw | None:
        """The next round from uploaded items, none of them `taken`; None when there is none to ask about.

        `may`: at least two of the items may be asked about together, for a learner whose questions are pairwise.
        """
        ...

    def view(self, read: Any, event: Event) -> Any:
        """What a page draws of a question besides its items, if anything."""
        ...

    def forget(self, voter: str) -> bool:
        """Nothing here names this voter any more, and what they taught stays; whether anything did."""
        ...

    def insight(self) -> tuple[Featurizer, Floats, Floats | None] | None:
        """The featurizer that names columns, the columns' weights and how far chance moves each, if that is known.

        None where columns have no names.
        """
        ...

    def dumps(self, extra: str) -> bytes:
        """Everything learnt as one file's bytes, with a text beside it."""
        ...
