"""A row of the table of algorithms: its name, its parameters, the grid it is tuned on, and how it is built."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Literal, get_args

import numpy as np

from conquer.checks import checked_dim
from conquer.policies import Policy
from conquer.types import Learner

Values = Mapping[str, Any]
ModelName = Literal["diagonal", "full", "kernel"]
MODELS: tuple[ModelName, ...] = get_args(ModelName)
Builder = Callable[[str, int, str, Values], Learner]
"""(name, dim, model, values of all parameters) -> a fresh learner."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One hyperparameter: name, default, its values in words, and the models that take it."""

    name: str
    default: Any
    values: str
    models: tuple[str, ...] = MODELS


@dataclass(frozen=True, slots=True)
class Published:
    """An algorithm as its paper runs it: `values` it fixes, parameters it `needs`, and the `grid` it is tuned on.

    `text` says what is the paper's and what is ours; (r) means from memory of the paper.
    """

    values: Values
    text: str
    needs: tuple[str, ...] = ()
    grid: tuple[Values, ...] = ({},)


KERNEL = (
    Parameter("kernel", "rbf", "'linear', 'rbf' or 'poly'", ("kernel",)),
    Parameter("scale", 1.0, "a number above 0: rbf's 1/width^2, poly's factor", ("kernel",)),
    Parameter("degree", 2, "a whole number in [1, 20], for poly", ("kernel",)),
    Parameter("budget", None, "None, or the largest number of stored pairs", ("kernel",)),
)
"""The parameters of model="kernel", which every algorithm takes."""


@dataclass(frozen=True, slots=True, repr=False)
class Algorithm:
    """An algorithm that `make`, `simulate`, studies and the service know by name.

    Attributes
    ----------
    name, description : str
    builder : callable
        Makes a fresh learner from (name, dim, model, values of all parameters).
    parameters : tuple of Parameter
    grid : tuple of mappings
        The points a study tunes it on; one empty point if there is nothing to tune.
    models : tuple of str
        The values that model= may take, default first.
    largest : int or None
        The most features it takes; None: any number.
    policy : Policy or None
        The rules of CONQUER's family; None for the other systems.
    published : Published or None
        Its settings in its own paper.

    Examples
    --------
    >>> from conquer.registry import find
    >>> find("gnc").build(3, eta=2.0)
    <gnc: dim 3, model diagonal, answers 0>
    """

    name: str
    description: str
    builder: Builder
    parameters: tuple[Parameter, ...]
    grid: tuple[Values, ...]
    models: tuple[str, ...] = MODELS
    largest: int | None = None
    policy: Policy | None = None
    published: Published | None = None

    @property
    def takes(self) -> tuple[str, ...]:
        """The names of its parameters."""
        return tuple(parameter.name for parameter in self.parameters)

    def build(
        self,
        dim: int,
        model: str | None = None,
        explore: float = 0.0,
        published: bool = False,
        believe: str | None = None,
        **given: Any,
    ) -> Learner:
        """A fresh learner; the parameters are those of `conquer.make`.

        Raises
        ------
        TypeError
            The algorithm does not take a parameter of this name.
        ValueError
            A value is out of range, or does not go with the others.
        """
        dim = checked_dim(dim)
        belief: dict[str, Any] = {}
        if believe is not None:
            from conquer.learners.believer import NAMES

            belief = {name: given.pop(name) for name in NAMES if name in given}
        if published:
            fixed = self._published(model, given)
            model, given = fixed.pop("model", model), {**fixed, **given}
        model = self.models[0] if model is None else model
        if model not in self.models:
            raise ValueError(f"model must be one of {', '.join(map(repr, self.models))} for {self.name}, got {model!r}")
        allowed = {p.name: p for p in self.parameters if model in p.models}
        if unknown := sorted(set(given) - set(allowed)):
            others = {p.name: p.models for p in self.parameters if p.name in unknown}
            hint = "".join(f"; {name} is for model={' or '.join(map(repr, of))}" for name, of in others.items())
            raise TypeError(
                f"{self.name} with model={model!r} takes {', '.join(allowed) or 'nothing'}; got {unknown}{hint}"
            )
        values = {name: _plain(given.get(name, p.default)) for name, p in allowed.items()}
        if believe is None:
            learner = self.builder(self.name, dim, model, values)
        else:
            learner = self._believing(dim, model, values, {"believe": believe, **belief})
        if explore != 0:
            from conquer.learners.exploration import Explorer

            return Explorer(learner, explore)
        return learner

    def __repr__(self) -> str:
        takes = ", ".join(f"{each.name}={each.default!r}" for each in self.parameters)
        return f"<{self.name}: {self.description}; {takes or 'no parameters'}>"

    def _believing(self, dim: int, model: str, values: Values, belief: Values) -> Learner:
        """The learner over rows with columns for sides, voters and judges."""
        from conquer.learners.believer import Believer, columns, completed

        belief = completed(self, model, values, belief)
        width = checked_dim(columns(dim, belief))
        inner: Any = self.builder(self.name, width, model, values)
        fresh = partial(_fresh_model, self.builder, self.name, width, model, values)
        return Believer(inner, dim=dim, fresh=fresh, **belief)

    def _published(self, model: str | None, given: Values) -> dict[str, Any]:
        """The values of the paper, or a ValueError if these parameters contradict them."""
        paper = self.published
        if paper is None:
            raise ValueError(f"published=True needs an algorithm with published settings, got {self.name}")
        set_anyway = {*given, *(() if model in (None, paper.values.get("model")) else ("model",))}
        if twice := sorted(set_anyway & set(paper.values)):
            raise ValueError(f"published=True sets {', '.join(paper.values)} of {self.name}; got {twice}")
        if missing := [name for name in paper.needs if name not in given]:
            raise ValueError(f"published=True of {self.name} needs {', '.join(missing)}: its constants depend on it")
        return dict(paper.values)


def _fresh_model(builder: Builder, *arguments: Any) -> Any:
    """The model of a fresh learner; not a closure, so that learners can be pickled."""
    return builder(*arguments).model


def _plain(value: Any) -> Any:
    """A numpy scalar as the Python number that JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value


def grid(**points: tuple[Any, ...]) -> tuple[Values, ...]:
    """Every combination of the values.

    >>> grid(eta=(1, 2), lam=(3,))
    ({'eta': 1, 'lam': 3}, {'eta': 2, 'lam': 3})
    """
    return tuple(dict(zip(points, values, strict=True)) for values in product(*points.values()))


def summary(learner: Learner) -> str:
    """A learner in one line, its `repr`.

    >>> from conquer.registry import make
    >>> make("gnc", dim=3, model="full")
    <gnc: dim 3, model full, answers 0>
    """
    model = learner.parameters.get("model") or type(learner.model).__name__.lower()
    return f"<{learner.name}: dim {learner.dim}, model {model}, answers {learner.answers:,}>"
