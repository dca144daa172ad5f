"""The table of algorithms: a policy is a first rule, a second rule, a gate, and what an answer does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from conquer.kernels.rounds import settings as st
from conquer.types import Floats, Model

GREEDY, UCB, RELATIVE_UCB, THOMPSON = st.GREEDY, st.UCB, st.RELATIVE_UCB, st.THOMPSON
UNIFORM, WORST, ALONE, EXPLORE = st.UNIFORM, st.WORST, st.ALONE, st.EXPLORE
CHALLENGER, SEPARATION = st.CHALLENGER, st.SEPARATION
ALWAYS, CONFIDENT = st.ALWAYS, st.CONFIDENT

PlainRule = Callable[[Model, Any, int | None, float, int], Floats]
"""A rule in plain Python: (model, X, first item or None, eta, ticket) -> (K,) values; the largest is shown."""

PlainGate = Callable[[Model, Any, int, int, float], bool]
"""A gate in plain Python: (model, X, first, second, eta) -> whether to ask."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Which two to show and whether to ask; `eta` is the default width factor, None where no width is used.

    Rules are codes that the kernels know, or plain functions for trying an idea without numba.

    >>> Policy(first=GREEDY, second=WORST).compiled
    True
    """

    first: int | PlainRule
    second: int | PlainRule
    gate: int | PlainGate = ALWAYS
    eta: float | None = None
    reply: int = st.REPLY_DUEL

    def __post_init__(self) -> None:
        if (self.first == SEPARATION) != (self.second == SEPARATION):
            raise ValueError("SEPARATION chooses a pair: it must be the first and the second rule")

    @property
    def compiled(self) -> bool:
        """Whether every part is a code, so that the compiled driver can run it."""
        return not (callable(self.first) or callable(self.second) or callable(self.gate))


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
