"""Damped Newton steps to the minimum of a convex loss: how the refitted estimators find their root."""

from collections.abc import Callable

import numpy as np

from conquer.types import Floats

STEPS, TOLERANCE = 200, 1e-10


def minimise(start: Floats, loss: Callable[[Floats], float], step: Callable[[Floats], Floats], name: str) -> Floats:
    """The minimum of `loss` from `start` on. `step(x)` is the Hessian's inverse times the slope at x.

    A step that would raise the loss is halved. An ArithmeticError if the steps do not end or cannot be taken; `name`
    says of what.

    >>> minimise(np.zeros(1), lambda x: float((x - 3.0) @ (x - 3.0)), lambda x: x - 3.0, "square").tolist()
    [3.0]
    """
    x, value = start, loss(start)
    for _ in range(STEPS):
        try:
            move = step(x)
        except np.linalg.LinAlgError as error:
            raise FloatingPointError(f"the {name} estimate's Hessian has lost its inverse to rounding") from error
        if float(np.abs(move).max()) <= TOLERANCE * max(1.0, float(np.abs(x).max())):
            return np.asarray(x - move)
        pace = 1.0
        while (found := loss(x - pace * move)) > value + 1e-12 * abs(value) and pace > 1e-18:
            pace *= 0.5
        x, value = x - pace * move, found
    raise ArithmeticError(f"the {name} estimate did not converge within {STEPS} Newton steps")
