"""One table of algorithms: name -> how to build it, what it takes, and the grid on which it is tuned."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

import numpy as np

from conquer import policies
from conquer.checks import checked_dim, number
from conquer.learners.conquer import Conquer
from conquer.learners.exploring import Exploring
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.kernel import Kernel
from conquer.models.model import CompiledModel
from conquer.models.perceptron import Perceptron
from conquer.policies import Policy
from conquer.rivals.learner import Rival
from conquer.rivals.options import Row
from conquer.rivals.table import ROWS as RIVALS

Made = Conquer | Rival | Exploring
MODELS: dict[str, Callable[..., CompiledModel]] = {"diagonal": Diagonal, "full": Full, "kernel": Kernel}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One hyperparameter: its default and what values it takes, in words."""

    name: str
    default: Any
    values: str
    models: tuple[str, ...] = ("diagonal", "full", "kernel")


LAM = Parameter("lam", 1.0, "a number above 0: how strongly w is pulled to 0 at the start")
UPDATE = Parameter("update", "implicit", "'implicit', 'margin' or 'coordinate'", ("diagonal",))
STORAGE = Parameter("storage", "float64", "'float64', or 'float32' for half the memory and seven digits", ("diagonal",))
PROJECTION = Parameter("projection", None, "None, 'sequential' or 'exact'")
KERNEL = (
    Parameter("kernel", "rbf", "'linear', 'rbf' or 'poly'", ("kernel",)),
    Parameter("scale", 1.0, "a number above 0: rbf's 1/width^2, poly's factor", ("kernel",)),
    Parameter("degree", 2, "a whole number in [1, 20], for poly", ("kernel",)),
    Parameter("budget", None, "None, or the largest number of stored pairs", ("kernel",)),
)
SECOND_ORDER = (LAM, UPDATE, STORAGE, PROJECTION, *KERNEL)
BOUND = (
    Parameter("U", 1.0, "a number of at least 0, the length of the true weights (eta='theory' or 'tight')"),
    Parameter("Q", 0.0, "a number of at least 0, the total misfit (eta='theory' or 'tight')"),
    Parameter("delta", 0.05, "a number in (0, 1), the chance of failure (eta='theory' or 'tight')"),
)


def _eta(default: float) -> Parameter:
    return Parameter("eta", default, "a number of at least 0, 'theory' or 'tight'")


LAM_GRID: tuple[Mapping[str, Any], ...] = tuple({"lam": lam} for lam in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0))


def _grid(etas: tuple[float, ...], lams: tuple[float, ...]) -> tuple[Mapping[str, Any], ...]:
    return tuple({"eta": eta, "lam": lam} for eta, lam in product(etas, lams))


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A row of the registry. `grid` has eight points; `models` are the values that model= may take, default first.

    `policy` for the family of CONQUER, `rival` for the other systems.
    """

    name: str
    description: str
    policy: Policy | None
    parameters: tuple[Parameter, ...]
    grid: tuple[Mapping[str, Any], ...]
    models: tuple[str, ...] = ("diagonal", "full", "kernel")
    perceptron: bool = False
    rival: Row | None = None

    @property
    def largest(self) -> int | None:
        """The most features it takes, None for no bound of its own."""
        return self.rival.largest if self.rival is not None else None

    def build(self, dim: int, model: str | None = None, explore: float = 0.0, **given: Any) -> Made:
        """A fresh learner; unknown parameters and values out of range are refused by name."""
        built = self._build(dim, model, given)
        return built if explore == 0 else Exploring(built, explore)

    def _build(self, dim: int, model: str | None, given: Mapping[str, Any]) -> Conquer | Rival:
        model = self.models[0] if model is None else model
        if model not in self.models:
            raise ValueError(f"model must be one of {', '.join(map(repr, self.models))} for {self.name}, got {model!r}")
        allowed = {p.name: p for p in self.parameters if model in p.models}
        if unknown := sorted(set(given) - set(allowed)):
            raise TypeError(f"{self.name} with model={model!r} takes {', '.join(allowed) or 'nothing'}; got {unknown}")
        values = {name: _plain(given.get(name, p.default)) for name, p in allowed.items()}
        described = {"model": model, **values}
        if self.rival is not None:
            return Rival(self.rival.build(dim, model, values), dim=dim, name=self.name, parameters=described)
        assert self.policy is not None
        if isinstance(values.get("eta"), str) and ("delta" not in allowed or values.get("budget") is not None):
            raise ValueError(f"eta={values['eta']!r} is a bound for duels with all pairs kept; give a number")
        if "alpha" in values and values["lam"] is None:
            values["lam"] = max((1.0 + number("alpha", values["alpha"], -1, 1)) ** 2, 1e-3)
        of_model = {p.name for p in SECOND_ORDER}
        settings = {name: value for name, value in values.items() if name in of_model}
        built = Perceptron(dim) if self.perceptron else MODELS[model](dim, **settings)
        rest = {name: value for name, value in values.items() if name not in of_model}
        return Conquer(built, self.policy, name=self.name, parameters={"model": model, **values}, **rest)


def _plain(value: Any) -> Any:
    """A numpy scalar as the Python number that JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value


_WIDE = (_grid((0.01, 0.1, 1.0, 10.0), (0.3, 3.0)), _grid((0.3, 1.0, 3.0, 10.0), (0.3, 3.0)))
_ROWS = (
    Algorithm("ttg", "Top Two Greedy: the two best scores", policies.TTG, SECOND_ORDER, LAM_GRID),
    Algorithm("gnr", "Greedy and Random: the best score and any other", policies.GNR, SECOND_ORDER, LAM_GRID),
    Algorithm(
        "gnu",
        "Greedy and UCB: the best score and the best upper bound",
        policies.GNU,
        (_eta(0.1), *SECOND_ORDER, *BOUND),
        _WIDE[0],
    ),
    Algorithm(
        "gnc",
        "Greedy and Confusion: the best score and its likeliest better; silent when sure",
        policies.GNC,
        (_eta(3.0), *SECOND_ORDER, *BOUND),
        _WIDE[1],
    ),
    Algorithm(
        "ttu", "Top Two UCB: the two best upper bounds", policies.TTU, (_eta(0.1), *SECOND_ORDER, *BOUND), _WIDE[0]
    ),
    Algorithm(
        "unr",
        "UCB and Random: the best upper bound and any other",
        policies.UNR,
        (_eta(0.1), *SECOND_ORDER, *BOUND),
        _WIDE[0],
    ),
    Algorithm(
        "gnt",
        "Greedy and Thompson: the best score and the best of one posterior draw",
        policies.GNT,
        (_eta(0.3), *SECOND_ORDER, *BOUND),
        _WIDE[0],
    ),
    Algorithm("gnw", "Greedy and Worst: the best and the worst score", policies.GNW, SECOND_ORDER, LAM_GRID),
    Algorithm(
        "confidit",
        "Confidit: one item by upper bound; is it the best?",
        policies.CONFIDIT,
        (
            Parameter("eta", 0.1, "a number of at least 0"),
            Parameter("alpha", 1.0, "a number in [-1, 1]"),
            Parameter("lam", None, "a number above 0; None: (1 + alpha)^2"),
            *SECOND_ORDER[1:],
        ),
        _grid((0.01, 0.1, 1.0, 10.0), (1.0, 4.0)),
    ),
    Algorithm(
        "banditron",
        "Banditron: one item, explored at rate gamma, for a perceptron; is it the best?",
        policies.BANDITRON,
        (Parameter("gamma", 0.1, "a number in (0, 1], the share of exploration"),),
        tuple({"gamma": g} for g in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)),
        perceptron=True,
    ),
    Algorithm("random", "Random: any two items; learns nothing", policies.RANDOM, (), ({},), perceptron=True),
)


def _of_rival(row: Row) -> Algorithm:
    parameters = tuple(Parameter(o.name, o.default, o.values, o.models) for o in row.options)
    return Algorithm(row.name, row.description, None, parameters, row.grid, row.models, rival=row)


ALGORITHMS = {row.name: row for row in (*_ROWS, *map(_of_rival, RIVALS))}
GROUPS: Mapping[str, tuple[str, ...]] = {
    "paper": tuple(row.name for row in _ROWS),
    "rivals": tuple(row.name for row in RIVALS),
    "contextual": tuple(row.name for row in RIVALS if row.largest is None and "arms" not in row.takes),
    "all": tuple(ALGORITHMS),
}
"""The algorithms of the paper's study with our additions; the other systems; those of them for any number of features
and fresh items every round; everything."""


def algorithms() -> list[Algorithm]:
    """Every algorithm: name, description, parameters, grid.

    >>> [a.name for a in algorithms()][:4]
    ['ttg', 'gnr', 'gnu', 'gnc']
    """
    return list(ALGORITHMS.values())


def make(name: str, *, dim: int, model: str | None = None, **parameters: Any) -> Conquer:
    """A fresh learner by name; `model` None is the algorithm's default. Rivals have the same face as Conquer.

    Any learner that duels takes `explore`, the share of rounds with two items drawn at random and their chances
    recorded, so that its log can be used to judge other policies.

    >>> make("gnc", dim=10, eta=3.0).parameters["lam"]
    1.0
    """
    if name not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {name!r}")
    return cast(Conquer, ALGORITHMS[name].build(checked_dim(dim), model, **parameters))


def describe(learner: Made) -> dict[str, Any]:
    """How to make this learner anew, JSON-able."""
    row = ALGORITHMS.get(learner.name)
    if row is None or getattr(learner, "policy", None) != row.policy:
        raise ValueError("only learners made by name can be written: a policy of your own has no file form")
    return {"algorithm": learner.name, "dim": learner.dim, "parameters": dict(learner.parameters)}


def rebuild(description: Mapping[str, Any]) -> Conquer:
    """A fresh learner from `describe`'s result."""
    return make(description["algorithm"], dim=description["dim"], **description["parameters"])
