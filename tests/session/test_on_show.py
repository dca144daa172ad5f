"""Sessions whose widths count pairs on show: what the learner refuses to count has never been asked."""

import numpy as np
import pytest

from conquer.registry import make
from conquer.session import Session, replay

X = np.eye(3)


@pytest.mark.parametrize("model", ["diagonal", "full"])
def test_a_refused_pair_leaves_no_trace(model):
    session = Session(make("gnr", dim=3, model=model), covariance="on-show", seed=3)
    first = session.ask(X)
    before, data = len(list(session.ledger.rows())), session.dumps()
    with pytest.raises(ArithmeticError):
        session.ask(X * 1e200)
    assert session.ordinal == 1
    assert session.pending == (first.id,)
    assert len(list(session.ledger.rows())) == before
    assert session.dumps() == data
    later, twin = session.ask(X), Session(make("gnr", dim=3, model=model), covariance="on-show", seed=3)
    twin.ask(X)
    assert twin.ask(X) == later  # the refused one took no ticket
    session.tell(first.id, "first")
    session.tell(later.id, "second")
    learnt = replay(session.ledger)
    np.testing.assert_array_equal(learnt.model.variances(X), session.learner.model.variances(X))
    np.testing.assert_array_equal(learnt.model.weights(), session.learner.model.weights())


def test_an_interruption_while_a_pair_is_counted_stops_the_session(monkeypatch):
    session = Session(make("gnr", dim=3), covariance="on-show")

    def interrupted(X, choice):
        raise KeyboardInterrupt

    monkeypatch.setattr(session.learner, "expose", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.ask(X)
    with pytest.raises(RuntimeError, match="rebuild it with replay"):
        session.ask(X)
