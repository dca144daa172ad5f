"""How far a weight would be off by chance: what tells a word that was learnt from one that came by twice."""

from typing import Any

import numpy as np

from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.types import Floats

_LARGEST = 2048
"""Features of a full model whose rows are summed in a turn."""


def weight_spread(model: Any) -> Floats | None:
    """(D,): the standard deviation of each weight if every answer were a fair coin's; None where that is not known.

    A weight is A^-1 times a sum over answers, whose covariance is A - lam I where answers vary by 1, the most they can.
    A diagonal model knows A's diagonal alone, and takes the features for independent.

    >>> model = Diagonal(2)
    >>> model.update([[1.0, 0.0], [0.0, 0.0]], {0: 1.0, 1: -1.0}, +1)
    >>> [round(float(one), 3) for one in weight_spread(model)], model.weights().tolist()
    ([0.5, 0.0], [0.5, 0.0])
    """
    if isinstance(model, Diagonal):
        precision = model.precision()
        spread: Floats = np.sqrt(np.maximum(precision - model.lam, 0.0)) / precision
        return spread
    if isinstance(model, Full) and model.dim <= _LARGEST:
        inverse = model.inverse
        squares = inverse.diagonal() - model.lam * np.einsum("ij,ij->i", inverse, inverse)
        found: Floats = np.sqrt(np.maximum(squares, 0.0))
        return found
    return None
