"""True is no answer, neither Python's nor numpy's: it would be learnt as +1, and False as a tie.

That no learner takes one is a promise of `conquer.conformance`.
"""

from typing import Any

import numpy as np
import pytest

from conquer.answers import AnswerError, read_answer
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.kernel import Kernel
from conquer.registry import make
from conquer.rows import Rounds
from conquer.session import Session
from conquer.simulation import simulate
from conquer.types import Query

BOOLEANS = [True, False, np.True_, np.False_, np.array(True)]


@pytest.mark.parametrize("boolean", BOOLEANS, ids=repr)
def test_nor_does_anyone_who_hears_people(boolean: Any) -> None:
    for query, shown in ((Query.DUEL, ("a", "b")), (Query.BEST, ("a",)), (Query.DUEL, ("a", "b", "c"))):
        with pytest.raises(AnswerError):
            read_answer(boolean, query, shown)
    with pytest.raises(AnswerError, match="strength must be a number"):
        read_answer("a", Query.DUEL, ("a", "b"), strength=boolean)
    session = Session(make("gnr", dim=2))
    offer = session.ask(np.eye(2))
    with pytest.raises(AnswerError):
        session.tell(offer.id, boolean)
    assert session.pending == (offer.id,)


@pytest.mark.parametrize("boolean", BOOLEANS, ids=repr)
@pytest.mark.parametrize("kind", [Diagonal, Full, Kernel])
def test_nor_a_model_as_its_target(kind: Any, boolean: Any) -> None:
    model = kind(2)
    with pytest.raises(ValueError, match="finite numbers"):
        model.update(np.eye(2), {0: 0.5, 1: -0.5}, boolean)
    assert not model.stats.any()


@pytest.mark.parametrize("boolean", [np.True_, False])
def test_nor_a_simulation_from_a_judge_of_ones_own(boolean: Any) -> None:
    rounds = Rounds(np.eye(3), [[0, 1, 2]] * 3, [1.0, 0.0, -1.0])
    with pytest.raises(ValueError, match="an answer must be"):
        simulate("gnr", rounds, judge=lambda choice, rewards, rng: boolean)
