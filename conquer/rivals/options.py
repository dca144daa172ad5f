"""A row of the table of rivals, and the options that several of them share, in words.

Nothing here imports a rival: a row names the module of its algorithm, which is imported when a learner is made.
"""

from functools import partial
from importlib import import_module

from conquer.learners.algorithm import KERNEL, Algorithm, Parameter, Published, Values
from conquer.types import Learner

LARGEST_FULL = 2048
"""Features of a whole matrix: these are numpy matrices, for small worlds."""

_MATRIX = ("diagonal", "full")
LAM = Parameter("lam", 1.0, "a number above 0: V starts at lam I, in the scale of z = x_i - x_j")
HORIZON = Parameter("horizon", 2000, "a whole number of at least 2: the T of constants that depend on it")
ESTIMATION = (
    Parameter(
        "estimator",
        None,
        "None (logistic, for kernels linear), 'linear', 'logistic' (online Newton), 'probit', with full or kernel "
        "'mle' (refitted, widths from sum z z'), with full 'mle-curved' (widths from the Hessian)",
    ),
    LAM,
    Parameter("robust", None, "None, or the alpha above 0 of weights min(1, alpha/|z|) against corrupted answers"),
    Parameter(
        "forget", 1.0, "a number in (0, 1], of the linear estimator: how much of the past an answer keeps", _MATRIX
    ),
    Parameter("window", None, "None, or how many answers the linear estimator looks back on", _MATRIX),
    *KERNEL,
)


def rival(
    name: str,
    description: str,
    where: str,
    parameters: tuple[Parameter, ...],
    points: tuple[Values, ...],
    models: tuple[str, ...] = _MATRIX,
    largest: int | None = None,
    published: Published | None = None,
) -> Algorithm:
    """A row of the table. `where`: the module of `conquer.rivals` whose `build(dim, model, values)` makes the method.

    `published`: how its paper runs it; None where it has no paper of its own.

    >>> row = rival("rucb", "Relative UCB", "arms.rucb", (Parameter("arms", "position", ""),), ({},))
    >>> row.models, row.takes
    (('diagonal', 'full'), ('arms',))
    """
    build = partial(_build, where)
    return Algorithm(name, description, build, parameters, points, models, largest, published=published)


def _build(where: str, name: str, dim: int, model: str, values: Values) -> Learner:
    """A learner of the method in that module; no closure, so that rows and learners can be sent to other processes."""
    from conquer.rivals.learner import Rival

    method = import_module(f"conquer.rivals.{where}").build(dim, model, values)
    return Rival(method, dim=dim, name=name, parameters={"model": model, **values})


def check_full(dim: int, model: str) -> None:
    """A ValueError where a whole matrix of so many features would be too large."""
    if model == "full" and dim > LARGEST_FULL:
        raise ValueError(f"model='full' takes at most {LARGEST_FULL} features here, got {dim}")
