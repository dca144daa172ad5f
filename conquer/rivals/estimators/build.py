"""The estimator, or the regression on items, that a rival's options ask for."""

from conquer.checks import number, one_of, positive
from conquer.learners.algorithm import Values
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.kernel import Kernel
from conquer.models.model import CompiledModel
from conquer.rivals.estimators.estimator import Estimator, Linear, Robust
from conquer.rivals.estimators.likelihood import KernelLikelihood, Likelihood
from conquer.rivals.estimators.online import Forgetting, Logistic, Probit
from conquer.rivals.table import LARGEST_FULL

_NAMES = ("linear", "logistic", "probit", "mle", "mle-curved")
_MODELS = {"diagonal": _NAMES[:3], "full": _NAMES, "kernel": ("linear", "mle")}


def estimator_of(dim: int, model: str, values: Values, lam: float | None = None) -> Estimator:
    """The estimator of these options (`table.ESTIMATION`); `lam` replaces theirs if given."""
    plain, robust = _plain_estimator(dim, model, values, lam), values["robust"]
    return plain if robust is None else Robust(plain, positive("robust", robust))


def _plain_estimator(dim: int, model: str, values: Values, lam: float | None) -> Estimator:
    name = values["estimator"] or ("linear" if model == "kernel" else "logistic")
    lam = positive("lam", values["lam"] if lam is None else lam)
    one_of("estimator", name, dict.fromkeys(_NAMES, 0))
    if name not in _MODELS[model]:
        raise ValueError(f"model={model!r} takes estimator={' or '.join(map(repr, _MODELS[model]))}, got {name!r}")
    forget = number("forget", values.get("forget", 1.0), 0.0, 1.0, above=True)
    if forget != 1.0:
        if name != "linear":
            raise ValueError(f"forget={forget} needs estimator='linear', got {name!r}")
        return Forgetting(dim, lam=lam, model=model, forget=forget)
    if name == "linear":
        return Linear(linear_model(dim, model, values, lam))
    if model == "kernel":
        return _kernel_likelihood(dim, values, lam)
    if name in ("mle", "mle-curved"):
        return Likelihood(dim, lam=lam, curved=name == "mle-curved")
    return (Logistic if name == "logistic" else Probit)(dim, lam=lam, model=model)


def _kernel_likelihood(dim: int, values: Values, lam: float) -> KernelLikelihood:
    if dim > LARGEST_FULL or values["budget"] is not None:
        raise ValueError(
            f"estimator='mle' with a kernel takes at most {LARGEST_FULL} features and no budget, got {dim} features "
            f"and budget={values['budget']!r}"
        )
    own = {name: values[name] for name in ("kernel", "scale", "degree")}
    Kernel(dim, lam=lam, **own)  # checks these values
    return KernelLikelihood(dim, lam=lam, **own)


def linear_model(dim: int, model: str, values: Values, lam: float) -> CompiledModel:
    """CONQUER's own model of this name, with `lam` in the scale of z."""
    if model == "kernel":
        own = {name: values[name] for name in ("kernel", "scale", "degree", "budget")}
        return Kernel(dim, lam=lam / 4.0, **own)
    return Full(dim, lam=lam / 4.0) if model == "full" else Diagonal(dim, lam=lam / 4.0)


def item_model(dim: int, model: str, values: Values) -> CompiledModel:
    """The same for rivals that learn about items instead of differences: `lam` in the scale of items."""
    return linear_model(dim, model, values, 4.0 * positive("lam", values["lam"]))
