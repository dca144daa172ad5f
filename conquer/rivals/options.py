"""What a row of the table may take, in words, and how the options of contextual rivals become parts."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from conquer.checks import number, one_of, whole
from conquer.learners.algorithm import MODELS, Algorithm, Parameter, Values
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.kernel import Kernel
from conquer.models.model import CompiledModel
from conquer.rivals.contextual.estimators import Estimator, Linear, Logistic, Probit
from conquer.rivals.contextual.forgetting import Forgetting
from conquer.rivals.contextual.gates import GATES
from conquer.rivals.contextual.kernel_likelihood import KernelLikelihood
from conquer.rivals.contextual.likelihood import Likelihood
from conquer.rivals.contextual.method import Contextual, Warmup
from conquer.rivals.contextual.robust import Robust
from conquer.rivals.contextual.selectors import Selector
from conquer.rivals.learner import Method, Rival
from conquer.types import Learner

LARGEST_FULL = 2048
"""Features of a whole matrix: these are numpy matrices, for small worlds."""

ALL = MODELS
MethodBuilder = Callable[[int, str, Values], Method]


def rival(
    name: str,
    description: str,
    method: MethodBuilder,
    parameters: tuple[Parameter, ...],
    points: tuple[Values, ...],
    models: tuple[str, ...] = ("diagonal", "full"),
    largest: int | None = None,
) -> Algorithm:
    """A row of the table: `method(dim, model, values)` makes what the learner `Rival` is put around."""

    def build(name: str, dim: int, model: str, values: Values) -> Learner:
        return Rival(method(dim, model, values), dim=dim, name=name, parameters={"model": model, **values})

    return Algorithm(name, description, build, parameters, points, models, largest)


LAM = Parameter("lam", 1.0, "a number above 0: V starts at lam I, in the scale of z = x_i - x_j")
HORIZON = Parameter("horizon", 2000, "a whole number of at least 2: the T of eta='practice'")
_MATRIX = ("diagonal", "full")
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
    Parameter("kernel", "rbf", "'linear', 'rbf' or 'poly'", ("kernel",)),
    Parameter("scale", 1.0, "a number above 0: rbf's 1/width^2, poly's factor", ("kernel",)),
    Parameter("degree", 2, "a whole number in [1, 20], for poly", ("kernel",)),
    Parameter("budget", None, "None, or the largest number of stored pairs", ("kernel",)),
)
KERNEL = ESTIMATION[-4:]
PLAY = (
    Parameter("warmup", 0, "how many random rounds come first, or 'practice': D K"),
    Parameter("gate", None, "None, 'aurora', 'gnc' or 'selective': whether to ask at all"),
    Parameter("gate_eta", 1.0, "a number of at least 0: the gate's width is sqrt(gate_eta) |z|"),
)


_LINKS = {"diagonal": (0, 1, 2), "full": (0, 1, 2, 3, 4), "kernel": (0, 3)}
"""Which estimators, by code, go with which model."""


def eta_option(default: float) -> Parameter:
    """The factor of a width, or the square-root rule papers use in practice."""
    return Parameter("eta", default, "a number of at least 0, or 'practice': sqrt(D ln T)")


def practice(dim: int, values: Values) -> float:
    """sqrt(D ln T): the width factor of MaxInP's and CoLSTIM's experiments."""
    return math.sqrt(dim * math.log(whole("horizon", values["horizon"], 2)))


def eta_of(dim: int, values: Values) -> float:
    eta = values["eta"]
    return practice(dim, values) if eta == "practice" else number("eta", eta, 0.0)


def estimator_of(dim: int, model: str, values: Values, lam: float | None = None) -> Estimator:
    """The estimator of these options; `lam` instead of theirs where given."""
    plain, robust = _plain_estimator(dim, model, values, lam), values["robust"]
    return plain if robust is None else Robust(plain, number("robust", robust, 0.0, above=True))


def _plain_estimator(dim: int, model: str, values: Values, lam: float | None) -> Estimator:
    name = values["estimator"] or ("linear" if model == "kernel" else "logistic")
    lam = number("lam", values["lam"] if lam is None else lam, 0.0, above=True)
    forget, window = values.get("forget", 1.0), values.get("window")
    known = {"linear": 0, "logistic": 1, "probit": 2, "mle": 3, "mle-curved": 4}
    code = one_of("estimator", name, known)
    if model == "full" and dim > LARGEST_FULL:
        raise ValueError(f"model='full' takes at most {LARGEST_FULL} features here, got {dim}")
    if code not in _LINKS[model]:
        raise ValueError(f"estimator={name!r} does not go with model={model!r}")
    if forget != 1.0 or window is not None:
        if code != 0:
            raise ValueError(f"only estimator='linear' forgets, got {name!r}")
        if forget != 1.0 and window is not None:
            raise ValueError(f"choose forget or window, got {forget!r} and {window!r}")
        number("forget", forget, 0.0, 1.0, above=True)
        window = None if window is None else whole("window", window, 1)
        return Forgetting(dim, lam=lam, model=model, forget=forget, window=window)
    if code == 0:
        return Linear(linear_model(dim, model, values, lam))
    if model == "kernel":
        return _kernel_likelihood(dim, values, lam)
    if code >= 3:
        return Likelihood(dim, lam=lam, curved=code == 4)
    return (Logistic if code == 1 else Probit)(dim, lam=lam, model=model)


def _kernel_likelihood(dim: int, values: Values, lam: float) -> KernelLikelihood:
    if dim > LARGEST_FULL or values["budget"] is not None:
        raise ValueError(f"estimator='mle' keeps all of at most {LARGEST_FULL} features and takes no budget, got {dim}")
    own = {name: values[name] for name in ("kernel", "scale", "degree")}
    Kernel(dim, lam=lam, **own)  # its checks of these values
    return KernelLikelihood(dim, lam=lam, **own)


def linear_model(dim: int, model: str, values: Values, lam: float) -> CompiledModel:
    """CONQUER's own model of this name, with lam in the scale of z."""
    if model == "kernel":
        own = {name: values[name] for name in ("kernel", "scale", "degree", "budget")}
        return Kernel(dim, lam=lam / 4.0, **own)
    return Full(dim, lam=lam / 4.0) if model == "full" else Diagonal(dim, lam=lam / 4.0)


def contextual(select: Callable[[int, Values], Selector]) -> MethodBuilder:
    """The builder of a rival that is a selector over any estimator."""

    def build(dim: int, model: str, values: Values) -> Method:
        one_of("gate", values["gate"], dict.fromkeys(GATES, 0))
        return Contextual(
            estimator_of(dim, model, values),
            select(dim, values),
            warmup=_warmup(dim, values["warmup"]),
            gate=values["gate"],
            gate_eta=number("gate_eta", values["gate_eta"], 0.0),
        )

    return build


def _warmup(dim: int, value: Any) -> Warmup:
    if value == "practice":
        return dim.__mul__
    return partial(_always, whole("warmup", value, 0))


def _always(rounds: int, count: int) -> int:
    return rounds
