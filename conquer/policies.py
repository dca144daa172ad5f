"""Policies: a first rule, a second rule, a gate, and how an answer is learnt; CONQUER's family as a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conquer.kernels.rounds import settings as st
from conquer.types import Floats, Model

GREEDY, UCB, RELATIVE_UCB, THOMPSON = st.GREEDY, st.UCB, st.RELATIVE_UCB, st.THOMPSON
UNIFORM, WORST, ALONE, EXPLORE = st.UNIFORM, st.WORST, st.ALONE, st.EXPLORE
CHALLENGER, SEPARATION = st.CHALLENGER, st.SEPARATION
ALWAYS, CONFIDENT = st.ALWAYS, st.CONFIDENT
FIRST = (GREEDY, UCB, UNIFORM, WORST)
"""Rules that need no first item."""
_NAMES = (
    "GREEDY", "UCB", "RELATIVE_UCB", "THOMPSON", "UNIFORM", "WORST", "ALONE", "EXPLORE", "CHALLENGER", "SEPARATION",
)  # fmt: skip

PlainRule = Callable[[Model, Any, int | None, float, int], Floats]
"""A rule in Python: (model, X, first item or None, eta, ticket) -> (K,) values; the largest is shown."""

PlainGate = Callable[[Model, Any, int, int, float], bool]
"""A gate in Python: (model, X, first, second, eta) -> whether to ask."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Which two items to show and whether to ask.

    Parameters
    ----------
    first, second : int or callable
        The rule whose largest value is shown: one of `GREEDY`, `UCB`, `WORST` and `UNIFORM`; for the second also
        `RELATIVE_UCB`, `THOMPSON`, `CHALLENGER`, `ALONE` (there is none) and `EXPLORE` (Banditron); `SEPARATION` for
        both; or a Python function (model, X, first item or None, eta, ticket) -> (K,) values.
    gate : int or callable
        `ALWAYS`, `CONFIDENT` (ask nothing if the first leads by more than the width), or a Python function (model, X,
        first, second, eta) -> bool.
    eta : float or None
        The default factor of the widths; None if no width is used.
    reply : int
        How an answer is learnt; the default learns duels.

    Raises
    ------
    ValueError
        The first rule needs a first item, or the rules and the gate cannot be combined.

    Examples
    --------
    >>> Policy(first=GREEDY, second=WORST).compiled
    True
    >>> def least_known(model, X, first, eta, ticket):
    ...     return model.contrasts(X, first)
    >>> Policy(first=GREEDY, second=least_known).compiled
    False
    """

    first: int | PlainRule
    second: int | PlainRule
    gate: int | PlainGate = ALWAYS
    eta: float | None = None
    reply: int = st.REPLY_DUEL

    def __post_init__(self) -> None:
        if (self.first == SEPARATION) != (self.second == SEPARATION):
            raise ValueError("SEPARATION chooses a pair: it must be the first and the second rule")
        if not callable(self.first) and self.first not in (*FIRST, SEPARATION):
            raise ValueError(
                f"{rule_name(self.first)} can only be the second rule: without a first item it has no values"
            )
        if self.second == CHALLENGER and self.gate == CONFIDENT:
            raise ValueError("CHALLENGER has a width without eta: it cannot be combined with the gate CONFIDENT")

    @property
    def compiled(self) -> bool:
        """Whether every part is built in, so that the compiled driver can run it."""
        return not (callable(self.first) or callable(self.second) or callable(self.gate))


def rule_name(rule: object) -> str:
    """The name of a built-in rule."""
    return _NAMES[rule] if isinstance(rule, int) and 0 <= rule < len(_NAMES) else repr(rule)


TTG = Policy(first=GREEDY, second=GREEDY)
GNR = Policy(first=GREEDY, second=UNIFORM)
GNU = Policy(first=GREEDY, second=UCB, eta=0.1)
GNC = Policy(first=GREEDY, second=RELATIVE_UCB, gate=CONFIDENT, eta=3.0)
TTU = Policy(first=UCB, second=UCB, eta=0.1)
UNR = Policy(first=UCB, second=UNIFORM, eta=0.1)
GNT = Policy(first=GREEDY, second=THOMPSON, eta=0.3)
GNW = Policy(first=GREEDY, second=WORST)
TOB = Policy(first=GREEDY, second=CHALLENGER)
SEP = Policy(first=SEPARATION, second=SEPARATION)
CONFIDIT = Policy(first=UCB, second=ALONE, eta=0.1, reply=st.REPLY_BEST)
BANDITRON = Policy(first=GREEDY, second=EXPLORE, reply=st.REPLY_BANDITRON)
RANDOM = Policy(first=UNIFORM, second=UNIFORM, reply=st.REPLY_IGNORE)
