"""A rule over CONQUER's own models: the best item, and the one whose lead over it is known least."""

from typing import Any

from conquer.extending import GREEDY, Floats, Model, Policy, rule


def widest(model: Model, X: Any, first: int | None, eta: float, ticket: int) -> Floats:
    """(K,) values; the largest is shown second."""
    assert first is not None
    return model.contrasts(X, first)


WIDEST = rule("widest", "Greedy and Widest: the best score and the least known rival", Policy(GREEDY, widest))
