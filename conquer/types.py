"""Types shared by all layers: a round's choice, an offer, and the protocols between the layers."""

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ItemId = str | int
"""An item's id: a string or a whole number."""
Memo = Mapping[str, Any]
"""What must be remembered from a choice until its answer. JSON-able; ledgers, files and logs hold these names.

key            what it is                                        who puts it there, who reads it
=============  ================================================  ======================================================
chance         probability of this choice; None: not known       every learner; read by `Offer`, the service's reply,
                                                                 `Trace` and `offpolicy`; Newtron and SOBA learn by it
forecast       (gap, deviation): the first's score less the      `Session`, for learners with boards; read by `Session`
               second's, as the model was, and its deviation     and `Evidence`, which bet on the answer by it
greedy         the position of the best score, shown or not      Banditron; read by `Conquer.check` for `learn`
explored       whether the items were drawn uniformly            `Explorer`; read by `offpolicy`
outside        True: "none of these" teaches something           UCB-MNL, CPPL, partial feedback, a parser (`neither`);
                                                                 read by `Session.tell`, `PickLearner`, `LawJudge`
ties           False: a tie counts as "neither"; absent: True    `EdgeLearner`; read by `Session.tell`
word           the word asked about                              `EdgeLearner`; read by `Event.about`, page and export
heads          the two candidate heads of that word              `EdgeLearner`; for callers who show the question
sentence       the id of the item that is the sentence           `ParseLearner`; read by `Event.about` and the export
layer, weight  the layer that chose, and the answer's weight     VACDB; read by its own `learn`
notes          what the rule noted of the round                  rules over fixed arms; read by their own `learn`
p              the shown item's probability, not exploring       Newtron; read by its own `learn`
explore        whether this round explores                       Epoch-Greedy; read by its own `learn`
"""


class Query(enum.IntEnum):
    """What a choice asks.

    NONE
        Nothing: one item is shown, and no answer is learnt.
    DUEL
        Which of the shown items is better.
    BEST
        Whether the one shown item is the best of the round.

    Examples
    --------
    >>> Query.DUEL.name, bool(Query.NONE)
    ('DUEL', False)
    """

    NONE = 0
    DUEL = 1
    BEST = 2


@dataclass(frozen=True, slots=True)
class Choice:
    """One round's decision, returned by `learner.choose` and passed to `learner.learn` with the answer.

    Parameters
    ----------
    shown : tuple of int
        Positions of the shown items in the round, first choice first.
    query : Query
        What is asked about them.
    ticket : int
        The only randomness of the round, in [0, 2**64): the same ticket makes the same choice again.
    memo : mapping
        What the learner must remember until the answer; see `Memo`.

    Examples
    --------
    >>> Choice((2, 0), Query.DUEL, ticket=7).query.name
    'DUEL'
    """

    shown: tuple[int, ...]
    query: Query
    ticket: int
    memo: Memo = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Source:
    """Where an answer comes from. Learners made with `believe` weigh answers by it.

    Parameters
    ----------
    voter : str or None
        The voter's name; None for an anonymous answer.
    side : {+1, 0, -1}
        +1 if the first shown item was on the left, -1 if the second was, 0 if unknown.
    kind : {"person", "judge"}
        Whether the voter is a person or an automatic judge; a judge needs a name.
    weight : float or None
        The reliability in [0, 1] recorded for this answer; None lets the learner estimate it.

    Examples
    --------
    >>> Source("ann", side=+1).kind
    'person'
    """

    voter: str | None = None
    side: int = 0
    kind: str = "person"
    weight: float | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """What `session.ask` returns: the items to show, by id, and what to ask about them.

    Parameters
    ----------
    id : str
        The offer's id, for `session.tell`.
    choice : Choice
        The learner's choice; its positions index the items given to `ask`.
    shown : tuple
        Ids of the shown items, first choice first, as the caller gave them: strings or whole numbers.
    left : str or int
        Id of the item to show on the left; drawn at random for every offer.
    chance : float or None
        The probability of this choice, in (0, 1]; None if the algorithm does not know it.
    done : bool
        In a session with `stop`: the answers so far already decide between this round's items.

    Examples
    --------
    >>> offer = Offer("0", Choice((1, 0), Query.DUEL, 7), ("tea", "mug"), left="mug", chance=0.5)
    >>> offer.asks
    True
    """

    id: str
    choice: Choice
    # Any: ids are strings or whole numbers, whichever the caller's items have.
    shown: tuple[Any, ...]
    left: Any
    chance: float | None
    done: bool = False

    @property
    def asks(self) -> bool:
        """Whether an answer is wanted: False if the algorithm is certain and only shows its best item."""
        return self.choice.query != Query.NONE


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
    """What `make` returns: `choose` is pure, `learn` is the only mutation. Not thread-safe.

    `name` and `parameters` say how the registry made it; `model` is what it keeps, `answers` how many it has learnt.
    `duels`: it needs at least two items. `shows`: how many it shows at most. `fixed_arms`: items are identified by
    position. `compiled`: the compiled loop can run it. `fresh`: it has learnt nothing yet.

    The answer to `learn`: of two shown, a number in [-1, 1], +1 for the first; of more, the position picked or -1 for
    none of them (`conquer.answers.NONE_OF_THESE`); to BEST, +1 yes or -1 no.
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
    """Answers a choice: `rewards` are the K rewards of the round (raters: the (K, R) ratings).

    None is no answer and is not learnt.
    """

    def __call__(self, choice: Choice, rewards: Floats, rng: np.random.Generator | int) -> float | None: ...


class Ledger(Protocol):
    """An append-only list of what happened, in order; each row is a dict with a `kind`."""

    def append(self, row: Mapping[str, Any]) -> None: ...
    def rows(self) -> Iterable[Mapping[str, Any]]: ...
