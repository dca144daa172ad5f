"""The table of algorithms by name: CONQUER's family, then `rivals`, then installed packages.

Rivals and packages are imported when a name is not one of the family.
"""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from typing import Any, Literal

from conquer import policies
from conquer.checks import number
from conquer.kernels.rounds import settings as st
from conquer.learners.algorithm import KERNEL, MODELS, Algorithm, ModelName, Parameter, Published, Values, grid
from conquer.learners.conquer import Conquer
from conquer.policies import Policy
from conquer.types import Learner

DEFAULT = "gnr"
"""The default algorithm: it always asks, and its propensities are known."""
LAM = Parameter("lam", 1.0, "a number above 0: the L2 penalty (prior precision)")
UPDATE = Parameter("update", "implicit", "'implicit', 'margin' or 'coordinate'", ("diagonal",))
PROJECTION = Parameter("projection", None, "None, 'sequential' or 'exact'")
FORGET = Parameter(
    "forget", 1.0, "a number in (0, 1]: the share of the past kept per answer in its direction", ("diagonal", "full")
)
SECOND_ORDER = (LAM, UPDATE, PROJECTION, FORGET, *KERNEL)
BOUND = (
    Parameter("U", None, "a bound of at least 0 on the length of the true weights; None: 1, and sqrt(K) on boards"),
    Parameter("Q", 0.0, "a number of at least 0, the total misfit (eta='theory' or 'tight')"),
    Parameter("delta", 0.05, "a number in (0, 1), the probability of failure (eta='theory' or 'tight')"),
)
BEST = (
    Parameter("eta", 0.1, "a number of at least 0"),
    Parameter("alpha", 1.0, "a number in [-1, 1]"),
    Parameter("lam", None, "a number above 0; None: (1 + alpha)^2"),
    *SECOND_ORDER[1:],
)
SHARE = (Parameter("gamma", 0.1, "a number in (0, 1], the share of exploration"),)
_OF_MODEL = {parameter.name for parameter in SECOND_ORDER}
_CLASSES = {
    "diagonal": ("diagonal", "Diagonal"),
    "full": ("full", "Full"),
    "kernel": ("kernel", "Kernel"),
    "perceptron": ("diagonal", "Perceptron"),
}

LAM_GRID = grid(lam=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0))
_ABSOLUTE = grid(eta=(0.01, 0.1, 1.0, 10.0), lam=(0.3, 3.0))
_GAMMAS = grid(gamma=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5))
_RELATIVE = grid(eta=(0.3, 1.0, 3.0, 10.0), lam=(0.3, 3.0))


def build_model(kind: str, dim: int, **settings: Any) -> Any:
    """A fresh model by name; only its own code is imported."""
    home, name = _CLASSES[kind]
    return getattr(import_module(f"conquer.models.{home}"), name)(dim, **settings)


def family(
    name: str,
    description: str,
    policy: Policy,
    parameters: tuple[Parameter, ...] = SECOND_ORDER,
    points: tuple[Values, ...] = LAM_GRID,
    published: Published | None = None,
) -> Algorithm:
    """A row of CONQUER's family; without the parameter `lam` its model is a perceptron."""
    build = partial(_build, policy)
    return Algorithm(name, description, build, parameters, points, policy=policy, published=published)


def _build(policy: Policy, name: str, dim: int, model: str, values: Values) -> Learner:
    """A learner of a row; not a closure, so that rows and learners can be pickled."""
    has_bound = {"delta", "eta"} <= set(values) and values.get("budget") is None
    if isinstance(values.get("eta"), str) and not has_bound:
        raise ValueError(f"eta={values['eta']!r} is a bound for duels with all pairs kept; give a number")
    if "alpha" in values and values["lam"] is None:
        values = {**values, "lam": max((1.0 + number("alpha", values["alpha"], -1, 1)) ** 2, 1e-3)}
    settings = {key: value for key, value in values.items() if key in _OF_MODEL}
    rest = {key: value for key, value in values.items() if key not in _OF_MODEL}
    built = build_model(model if "lam" in values else "perceptron", dim, **settings)
    return Conquer(built, policy, name=name, parameters={"model": model, **values}, **rest)


def bounded(name: str, description: str, policy: Policy, points: tuple[Values, ...] = _ABSOLUTE) -> Algorithm:
    """A row whose widths have a factor eta: the policy's, a number, or a bound."""
    eta = Parameter("eta", policy.eta, "a number of at least 0, 'theory' or 'tight'")
    return family(name, description, policy, (eta, *SECOND_ORDER, *BOUND), points)


_ROWS = (
    family("ttg", "Top Two Greedy: the two best scores", policies.TTG),
    family("gnr", "Greedy and Random: the best score and any other", policies.GNR),
    bounded("gnu", "Greedy and UCB: the best score and the best upper bound", policies.GNU),
    bounded(
        "gnc",
        "Greedy and Confusion: the best item and its most likely challenger; asks nothing when certain",
        policies.GNC,
        _RELATIVE,
    ),
    bounded("ttu", "Top Two UCB: the two best upper bounds", policies.TTU),
    bounded("unr", "UCB and Random: the best upper bound and any other", policies.UNR),
    bounded("gnt", "Greedy and Thompson: the best score and the best of one posterior draw", policies.GNT),
    family("gnw", "Greedy and Worst: the best and the worst score", policies.GNW),
    family(
        "tob",
        "Top of the Board: the best item that may be the best, and the one most likely to be better",
        policies.TOB,
    ),
    family("sep", "Separation: the pair whose order gains most by one answer", policies.SEP),
    family(
        "confidit",
        "Confidit: one item by upper bound; is it the best?",
        policies.CONFIDIT,
        BEST,
        grid(eta=(0.01, 0.1, 1.0, 10.0), lam=(1.0, 4.0)),
        Published(
            {"model": "full", "alpha": 1.0, "lam": 4.0},
            "a full matrix from A_0 = (1 + alpha)^2 I with alpha = 1, eta tuned (r); items instead of classes",
            grid=grid(eta=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)),
        ),
    ),
    family(
        "banditron",
        "Banditron: one item, explored at rate gamma, for a perceptron; is it the best?",
        policies.BANDITRON,
        SHARE,
        _GAMMAS,
        Published({}, "gamma tuned; items instead of classes, so one weight vector for all", grid=_GAMMAS),
    ),
    family("random", "Random: any two items; learns nothing", policies.RANDOM, (), ({},)),
)
_FAMILY = {row.name: row for row in _ROWS}


@cache
def table() -> Mapping[str, Algorithm]:
    """Every built-in algorithm by name: CONQUER's family first, then the rivals."""
    from conquer.rivals.table import ROWS

    return {**_FAMILY, **{row.name: row for row in ROWS}}


@cache
def groups() -> Mapping[str, tuple[str, ...]]:
    """Names by group: paper (with our additions), rivals, contextual and all.

    Contextual rivals take new items in every round and any number of features.
    """
    from conquer.rivals.table import FIXED_ARMS

    rivals = tuple(name for name in table() if name not in _FAMILY)
    anywhere = (name for name in rivals if table()[name].largest is None and name not in FIXED_ARMS)
    return {"paper": tuple(_FAMILY), "rivals": rivals, "contextual": tuple(anywhere), "all": tuple(table())}


def algorithms() -> list[Algorithm]:
    """List every algorithm that `make` knows by name, those of installed packages last.

    Returns
    -------
    list of Algorithm
        Each with `name`, `description`, `parameters` and `grid`.

    Warns
    -----
    RuntimeWarning
        An installed package cannot be imported; its algorithms are left out.

    Examples
    --------
    >>> [a.name for a in algorithms()][:4]
    ['ttg', 'gnr', 'gnu', 'gnc']
    >>> algorithms()[3].takes[:2]
    ('eta', 'lam')
    """
    from conquer.plugins import PluginError

    rows = [*table().values()]
    for name in offered():
        try:
            rows.append(find(name))
        except PluginError as error:
            warnings.warn(str(error), RuntimeWarning, stacklevel=2)
    return rows


def offered() -> tuple[str, ...]:
    """Names of algorithms in installed packages, sorted; the packages are not imported."""
    # Imported here and below: built-in names do not need it.
    from conquer.plugins import names

    return tuple(name for name in names("algorithms") if name not in table())


def unknown(names: Iterable[str]) -> list[str]:
    """The names that no algorithm has.

    >>> unknown(["gnc", "rucb", "no-such"])
    ['no-such']
    """
    return [name for name in names if name not in table() and name not in offered()]


def find(name: str) -> Algorithm:
    """The algorithm of this name, or a ValueError that lists them.

    >>> find("gnc").grid[0]
    {'eta': 0.3, 'lam': 0.3}
    """
    row = _FAMILY.get(name) or table().get(name) or _plugged(name)
    if row is None:
        raise ValueError(f"unknown algorithm {name!r}: it must be one of {', '.join((*table(), *offered()))}")
    return row


@cache
def _plugged(name: str) -> Algorithm | None:
    """The row of an installed package, checked; its errors name the package."""
    from conquer import plugins

    plugin = plugins.find("algorithms", name)
    if plugin is None:
        return None
    row = plugin.value
    if not isinstance(row, Algorithm):
        raise plugin.error(f"must be a conquer.extending.Algorithm, got {row!r:.80}")
    if row.name != name:
        raise plugin.error(f"its Algorithm has the name {row.name!r}, expected the entry point's name {name!r}")
    # ("full") is a string: without these checks its letters would be models.
    if not isinstance(row.models, tuple) or not row.models:
        raise plugin.error(f"models must be a tuple of one name or more, got {row.models!r:.80}")
    if not isinstance(row.parameters, tuple) or not all(isinstance(each, Parameter) for each in row.parameters):
        raise plugin.error(f"parameters must be a tuple of conquer.extending.Parameter, got {row.parameters!r:.80}")
    # Not a closure, so that learners can be pickled.
    return replace(row, builder=partial(_build_plugged, name))


def _build_plugged(offered: str, name: str, dim: int, model: str, values: Values) -> Learner:
    from conquer import plugins

    plugin = plugins.find("algorithms", offered)
    if plugin is None:
        raise ValueError(f"no installed package offers the algorithm {offered!r} here")
    try:
        learner: Learner = plugin.value.builder(name, dim, model, values)
        fits = learner.name == name and dict(learner.parameters) == {"model": model, **values}
        _ = learner.duels, learner.shows, learner.answers
    except (ValueError, TypeError, ArithmeticError):
        raise  # a refusal by the package
    except Exception as error:
        raise plugin.error(f"cannot be built: {type(error).__name__}: {error}") from error
    if not fits:
        raise plugin.error("its learner must have the name and the parameters it was built with, `model` among them")
    return learner


def make(
    algorithm: str | Policy | Algorithm = DEFAULT,
    *,
    dim: int,
    model: ModelName | None = None,
    update: Literal["implicit", "margin", "coordinate"] | None = None,
    projection: Literal["sequential", "exact"] | None = None,
    **parameters: Any,
) -> Learner:
    """Make a fresh learner.

    Parameters
    ----------
    algorithm : str, Policy or Algorithm
        A name that `algorithms()` lists, a `Policy` of your own, or a row of `conquer.extending.rule` or `rival`.
    dim : int
        The number of features, in [1, 2**31).
    model : {"diagonal", "full", "kernel"}, optional
        The form of the matrix A; the default is the algorithm's first.
    update : {"implicit", "margin", "coordinate"}, optional
        The reading of the update on a diagonal model; "implicit" by default.
    projection : {"sequential", "exact"}, optional
        Bound the scores of each round's items by 1; off by default.
    **parameters
        The algorithm's own, such as `lam` and `eta`: see its `parameters`. Every learner that shows two items, and
        Confidit, takes `explore`, the share of rounds with items drawn at random, so that the log can evaluate other
        policies. CONQUER's rules take `forget`, f in (0, 1], for tastes that change: the model forgets in the
        directions it learns. With a full model an answer about u adds f - (1 - f)/r times u u' to A, r = u' A^-1 u, so
        that r settles at (1 - f)/f instead of 0; with a diagonal one A_r of every feature of u first becomes
        max(lam, f A_r). Other directions stay, and without answers nothing is forgotten: gnc, once certain, does not
        notice a change. 1, the default, forgets nothing. They also take `believe`: "voters" learns each voter's side
        bias and reliability, "people" weighs judges by people's answers. Rivals take `published=True`: their paper's
        own settings.

    Returns
    -------
    Learner
        With `choose`, `learn`, `scores` and `board`. Not thread-safe.

    Raises
    ------
    ValueError
        No algorithm has this name, or a value is out of range.
    TypeError
        The algorithm does not take a parameter of this name.

    Examples
    --------
    >>> make("gnc", dim=10, eta=3.0).parameters["lam"]
    1.0
    >>> make(Policy(first=policies.UCB, second=policies.WORST, eta=0.5), dim=10, model="full")
    <custom: dim 10, model full, answers 0>
    >>> make("maxinp", dim=10, published=True, horizon=2000).parameters["estimator"]
    'mle'
    """
    if isinstance(algorithm, Policy):
        row = own_policy(algorithm)
    else:
        row = algorithm if isinstance(algorithm, Algorithm) else find(algorithm)
    given: Values = {"update": update, "projection": projection}
    set_ = {name: value for name, value in given.items() if value is not None}
    return row.build(dim, model, **set_, **parameters)


def own_policy(policy: Policy) -> Algorithm:
    """The row of a policy without a name."""
    if policy.reply not in (st.REPLY_DUEL, st.REPLY_IGNORE):
        raise ValueError("a custom policy shows two items; write a rival for questions about a single item")
    return bounded("custom", "a custom policy", policy)


__all__ = [
    "DEFAULT",
    "MODELS",
    "algorithms",
    "build_model",
    "family",
    "find",
    "groups",
    "make",
    "offered",
    "own_policy",
    "table",
    "unknown",
]
