"""The interface of a model's learner, the same for every task."""

import random
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Any, Protocol

from conquer.features.featurizer import Featurizer
from conquer.service.errors import RefusalError
from conquer.service.model.records import Event
from conquer.service.model.schemas import Group, Item
from conquer.types import Choice, Floats, Source

May = Callable[[str, str], bool]
"""Whether two items may be asked about together."""
Text = tuple[bytes, bytes]
"""A round's items and its context, as JSON."""
Chosen = tuple[Choice, list[float]]
"""What to show and ask, and every item's score."""


class ServedLearner(Protocol):
    """Built from a model's settings; only `learn_many` and `fit` change it.

    A round's items are read once, into whatever this learner takes (with an `nbytes`), and given to every other call.
    What is done to many rounds is done to each as if it were alone. The bodies here are the usual ones.
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

    @property
    def quick(self) -> bool:
        """Whether the bytes of a request without a context bound the time it takes."""
        return False

    @property
    def unfitted(self) -> bool:
        """Whether its features must be fitted to items before the first round."""
        return False

    def fit(self, items: Sequence[Item]) -> None:
        """Fit the features to a first upload, where they are not fixed."""
        return None

    def read(self, items: bytes, context: bytes, room: int | None = None) -> Any:
        """A round's items as this learner takes them, at most `room` cells. Raises RefusalError."""

    def read_many(self, rounds: Sequence[Text], room: int | None = None) -> Sequence[Any]:
        """`read` for many rounds; a RefusalError in place of each that is refused."""

    def cost(self, read: Any) -> float:
        """Multiply-adds of one choose, roughly."""

    def choose_many(self, reads: Sequence[Any], tickets: Sequence[int]) -> Sequence[Chosen | RefusalError]:
        """The choice of each round; a RefusalError where there is no choice to make."""

    def kept(self, reads: Sequence[Any], choices: Sequence[Choice]) -> Sequence[Any]:
        """What of each round must be kept in memory to learn its answer."""
        return reads

    def learn_many(
        self,
        reads: Sequence[Any],
        choices: Sequence[Choice],
        values: Sequence[float],
        sources: Sequence[Source | None],
    ) -> list[Exception | None]:
        """Learn answers in order; an exception for each that cannot be learnt. Sources: where voters are weighed."""

    def record(self, names: Sequence[str], choice: Choice, value: float) -> None:
        """Record a learnt answer to a round for boards; `names` are the ids of what was shown."""
        return None

    def enough(self, read: Any) -> bool | None:
        """Whether the answers so far decide between these items, by `stop`; None where it takes too long."""
        return False

    def names(self, read: Any, choice: Choice) -> tuple[str, ...]:
        """The ids of what is shown, first choice first."""

    def check(self, read: Any, choice: Choice) -> tuple[str, ...]:
        """The names of a choice from outside. Raises ValueError if this learner could not learn from it."""

    def outside(self, choice: Choice) -> bool:
        """Whether "none of these" is an answer to this choice that teaches something."""

    def weigh(self, read: Any, choice: Choice, source: Source) -> float | None:
        """The weight that an answer of this source would have now; None where voters are not weighed."""
        return None

    def draw(
        self,
        rng: random.Random,
        pool: Sequence[Group],
        taken: Set[str],
        asked: Mapping[str, Collection[int]],
        may: May | None = None,
    ) -> Group | None:
        """The next round from uploaded items, none of them `taken`; None when there is none to ask about.

        `may`: at least two of the items may be asked about together, for a learner whose questions are pairwise.
        """

    def view(self, read: Any, event: Event) -> Any:
        """What a page draws of a question besides its items, if anything."""
        return None

    def forget(self, voter: str) -> bool:
        """Remove this voter's name and keep what they taught; returns whether the name was there."""
        return False

    def insight(self) -> tuple[Featurizer, Floats, Floats | None] | None:
        """The featurizer that names columns, their weights and the spread of these; None without names."""
        return None

    def dumps(self, extra: str) -> bytes:
        """Everything learnt as one file's bytes, with a text beside it."""
