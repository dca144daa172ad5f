"""The nouns everyone shares: a round's choice, an offer, and the protocols between the layers."""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Memo = Mapping[str, Any]
"""What must be remembered from a choice until its answer. JSON-able; ledgers, files and logs hold these names.

key            what it is                                        who puts it there, who reads it
=============  ================================================  ======================================================
chance         how likely this very choice was; None: not known  every learner; read by `Offer`, the service's reply,
                                                                 `Trace` and `offpolicy`; Newtron and SOBA learn by it
greedy         the position of the best score, shown or not      Banditron; read by `Conquer.check` for `learn`
explored       whether the items were drawn uniformly            `Explorer`; read by  `offpolicy`
outside        True: "none of these" teaches something           UCB-MNL, CPPL, partial feedback, a parser (`neither`);
                                                                 read by `Session.tell`, `PickLearner`, `LawJudge`
ties           False: a tie counts as "neither"; absent: True    `EdgeLearner`; read by `Session.tell`
word           the word asked about                              `EdgeLearner`; read by `Event.about`, page and export
heads          the two candidate heads of that word              `EdgeLearner`; for callers who show the question
sentence       the id of the item that is the sentence           `ParseLearner`; read by `Event.about` and the export
layer, weight  the layer that chose, and the answer's weight     VACDB; read by its own `learn`
notes          what the rule noted of the round                  rules over fixed arms; read by their own `learn`
p              the shown item's chance without exploration       Newtron; read by its own `learn`
explore        whether this round explores                       Epoch-Greedy; read by its own `learn`
"""


class Query(enum.IntEnum):
    """What is asked of the person: nothing, which of two, or whether the one shown is the best."""

    NONE = 0
    DUEL = 1
    BEST = 2


@dataclass(frozen=True, slots=True)
class Choice:
    """One round's decision: `shown` are positions in the round, first choice first.

    `ticket` is the only source of chance of the round, so the choice can be made again from it.

    >>> Choice((2, 0), Query.DUEL, ticket=7).query.name
    'DUEL'
    """

    shown: tuple[int, ...]
    query: Query
    ticket: int
    memo: Memo = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Source:
    """Whom an answer comes from: a voter's name (None: nobody in particular) and whether a person or a judge.

    `side`: +1 where the first shown was on the left, -1 where the second was, 0 unknown. `weight`: the reliability in
    [0, 1] that a log holds for this answer; None: the learner's own estimate. Only learners made with `believe` heed
    it.

    >>> Source("ann", side=+1).kind
    'person'
    """

    voter: str | None = None
    side: int = 0
    kind: str = "person"
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """A choice with names: what a session hands out. `left` is the item id to put on the left-hand side.

    `done`: of a session that may stop, whether its answers so far already say enough about this round's items.
    """

    id: str
    choice: Choice
    shown: tuple[str, ...]
    left: str
    chance: float | None
    done: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """The items of one round with their rewards; `ratings` is (K, R) with NaN padding, where people rated them."""

    items: Any
    rewards: Floats
    ratings: Floats | None = None


class Model(Protocol):
    """What a rule written in Python sees of a model: second-order state over D features.

    `X` is anything `rows.as_rows` takes, K items.
    """

    @property
    def dim(self) -> int: ...
    def scores(self, X: Any) -> Floats: ...
    def variances(self, X: Any) -> Floats: ...
    def contrasts(self, X: Any, pivot: int) -> Floats: ...
    def update(self, X: Any, weights: Mapping[int, float] | Sequence[float], target: float) -> None: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...


class Learner(Protocol):
    """Ask/tell: `choose` is pure, `learn` is the only mutation. What `make` returns; not thread-safe.

    `name` and `parameters` say how the registry made it; `model` is what it keeps, `answers` how many it has learnt.
    `duels`: it needs at least two items. `shows`: how many it shows at most. `fixed_arms`: items are known by their
    place in the round. `compiled`: the compiled loop can run it. `fresh`: it has learnt nothing yet.
    """

    @property
    def name(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...
    @property
    def model(self) -> Any: ...
    @property
    def answers(self) -> int: ...
    @property
    def fresh(self) -> bool: ...
    @property
    def duels(self) -> bool: ...
    @property
    def shows(self) -> int: ...
    @property
    def fixed_arms(self) -> bool: ...
    @property
    def compiled(self) -> bool: ...
    def choose(self, X: Any, rng: np.random.Generator | int) -> Choice: ...
    def check(self, choice: Choice, count: int) -> tuple[int, ...]: ...
    def learn(self, X: Any, choice: Choice, answer: float, source: Source | None = None) -> None: ...
    def scores(self, X: Any) -> Floats: ...
    def board(self, X: Any, *arguments: Any, **options: Any) -> Any: ...
    def arrays(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None: ...


class Judge(Protocol):
    """Who answers: `rewards` are the K rewards of the round (raters: the (K, R) ratings).

    None is no answer: nothing was asked, or nothing is to be learnt.
    """

    def __call__(self, choice: Choice, rewards: Floats, rng: np.random.Generator | int) -> float | None: ...


class Ledger(Protocol):
    """An append-only list of what happened, in order; each row is a dict with a `kind`."""

    def append(self, row: Mapping[str, Any]) -> None: ...
    def rows(self) -> Iterable[Mapping[str, Any]]: ...
