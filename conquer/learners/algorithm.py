"""A row of the table of algorithms: what it is called, what it takes, on which grid it is tuned, how it is built."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from conquer.checks import checked_dim
from conquer.policies import Policy
from conquer.types import Learner

Values = Mapping[str, Any]
MODELS = ("diagonal", "full", "kernel")
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
    """An algorithm as its paper runs it: `values` it fixes, parameters it `needs` to be told, a `grid` where it tunes.

    `text` says what is the paper's and what is ours; (r) marks what was recalled, not read.
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
"""What every algorithm takes with model="kernel"."""


@dataclass(frozen=True, slots=True)
class Algorithm:
    """`models` are the values that model= may take, default first; `largest` the most features it takes, None: any.

    `policy`: the rules of CONQUER's family; None for the other systems. `published`: as its paper runs it, None where
    it has no paper of its own.
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
        """A fresh learner; unknown parameters and values out of range are refused by name.

        `published`: as its paper runs it. What the paper fixes cannot be given; what it needs must be. `believe` brings
        parameters of its own: voters, trust, nuisance and judges.
        """
        belief: dict[str, Any] = {}
        if believe is not None:
            from conquer.learners.belief import NAMES

            belief = {name: given.pop(name) for name in NAMES if name in given}
        if published:
            fixed = self._published(model, given)
            model, given = fixed.pop("model", model), {**fixed, **given}
        model = self.models[0] if model is None else model
        if model not in self.models:
            raise ValueError(f"model must be one of {', '.join(map(repr, self.models))} for {self.name}, got {model!r}")
        allowed = {p.name: p for p in self.parameters if model in p.models}
        if unknown := sorted(set(given) - set(allowed)):
            raise TypeError(f"{self.name} with model={model!r} takes {', '.join(allowed) or 'nothing'}; got {unknown}")
        values = {name: _plain(given.get(name, p.default)) for name, p in allowed.items()}
        learner: Any
        if believe is None:
            learner = self.builder(self.name, dim, model, values)
        else:
            learner = self._believing(dim, model, values, {"believe": believe, **belief})
        if explore != 0:
            from conquer.learners.exploring import Exploring

            learner = Exploring(learner, explore)
        learner.made_by = self
        mark_given(learner, given)
        made: Learner = learner
        return made

    def __repr__(self) -> str:
        takes = ", ".join(f"{each.name}={each.default!r}" for each in self.parameters)
        return f"<{self.name}: {self.description}; {takes or 'no parameters'}>"

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(each.name)}</td><td>{escape(repr(each.default))}</td><td>{escape(each.values)}</td></tr>"
            for each in self.parameters
        )
        head = "<tr><th>parameter</th><th>default</th><th>values</th></tr>" if rows else ""
        return f"<p><b>{escape(self.name)}</b>: {escape(self.description)}</p><table>{head}{rows}</table>"

    def _believing(self, dim: int, model: str, values: Values, belief: Values) -> Learner:
        """The learner over wider rows, told whom to believe."""
        from conquer.learners.belief import columns, completed
        from conquer.learners.believing import Believing

        belief = completed(self, model, values, belief)
        width = checked_dim(columns(dim, belief))
        inner: Any = self.builder(self.name, width, model, values)
        fresh = partial(_fresh_model, self.builder, self.name, width, model, values)
        return Believing(inner, dim=dim, fresh=fresh, **belief)

    def _published(self, model: str | None, given: Values) -> dict[str, Any]:
        """The values of the paper, or why these parameters do not go with them."""
        paper = self.published
        if paper is None:
            raise ValueError(f"published=True is for systems with a paper of their own, got {self.name}")
        set_anyway = {*given, *(() if model in (None, paper.values.get("model")) else ("model",))}
        if twice := sorted(set_anyway & set(paper.values)):
            raise ValueError(f"published=True sets {', '.join(paper.values)} of {self.name}; got {twice}")
        if missing := [name for name in paper.needs if name not in given]:
            raise ValueError(f"published=True of {self.name} needs {', '.join(missing)}: its constants depend on it")
        return dict(paper.values)


def _fresh_model(builder: Builder, *made_of: Any) -> Any:
    """The model of a fresh learner; no closure, so that learners can be sent to other processes."""
    return builder(*made_of).model


def _plain(value: Any) -> Any:
    """A numpy scalar as the Python number that JSON can hold."""
    return value.item() if isinstance(value, np.generic) else value


def grid(**points: tuple[Any, ...]) -> tuple[Values, ...]:
    """Every combination of the values.

    >>> grid(eta=(1, 2), lam=(3,))
    ({'eta': 1, 'lam': 3}, {'eta': 2, 'lam': 3})
    """
    return tuple(dict(zip(points, values, strict=True)) for values in product(*points.values()))


def mark_given(learner: Any, names: Iterable[str]) -> None:
    """Remember which parameters somebody has given, in the learner and in those that it is made of."""
    given = frozenset(names)
    while learner is not None:
        learner.given = given
        learner = getattr(learner, "learner", None)


class Presentable:
    """A learner that people can look at, and that scikit-learn can clone and change.

    >>> from conquer.registry import make
    >>> learner = make("gnc", dim=3, eta=2.0)
    >>> learner
    <gnc: dim 3, model diagonal, eta 2.0, answers 0>
    >>> learner.set_params(lam=0.3).get_params()["lam"]
    0.3
    """

    made_by: Any = None
    """The registry's row that made it; None for a policy of one's own."""
    given: frozenset[str] = frozenset()
    """The parameters that somebody has given it: a default that was given is meant."""

    def __getstate__(self) -> dict[str, Any]:
        """What a copy in another process has: all but a row that cannot be sent there."""
        row = self.made_by
        stays = row is not None and "<locals>" in getattr(row.builder, "__qualname__", "")
        return {name: value for name, value in self.__dict__.items() if not (stays and name == "made_by")}

    def __repr__(self) -> str:
        return str(_room().line(_room().title_of(self), _room().facts_of(self)))

    def _repr_html_(self) -> str:
        return str(_room().table(_room().title_of(self), _room().facts_of(self)))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Its parameters by name, as scikit-learn asks for them."""
        return dict(_room().parameters_of(self))

    def set_params(self, **parameters: Any) -> Any:
        """Other parameters, in place, as long as nothing has been learnt; returns the learner."""
        _room().change(self, **parameters)
        return self

    def __sklearn_clone__(self) -> Any:
        """A fresh learner with the same parameters: what `sklearn.base.clone` returns."""
        return _room().remade(self)


def _room() -> Any:
    """The code for people who look, imported when somebody does."""
    from conquer.learners import notebook

    return notebook
