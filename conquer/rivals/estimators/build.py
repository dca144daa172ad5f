"""Which estimator the options of a rival ask for."""

from conquer.checks import number, one_of, positive, whole
from conquer.learners.algorithm import Values
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.kernel import Kernel
from conquer.models.model import CompiledModel
from conquer.rivals.estimators.estimator import Estimator
from conquer.rivals.estimators.forgetting import Forgetting
from conquer.rivals.estimators.kernel_likelihood import KernelLikelihood
from conquer.rivals.estimators.likelihood import Likelihood
from conquer.rivals.estimators.linear import Linear
from conquer.rivals.estimators.robust import Robust
from conquer.rivals.estimators.stepwise import Logistic, Probit
from conquer.rivals.options import LARGEST_FULL, check_full

_LINEAR, _LOGISTIC, _PROBIT, _MLE, _CURVED = range(5)
_CODES = {"linear": _LINEAR, "logistic": _LOGISTIC, "probit": _PROBIT, "mle": _MLE, "mle-curved": _CURVED}
_GO_WITH = {
    "diagonal": (_LINEAR, _LOGISTIC, _PROBIT),
    "full": (_LINEAR, _LOGISTIC, _PROBIT, _MLE, _CURVED),
    "kernel": (_LINEAR, _MLE),
}


def estimator_of(dim: int, model: str, values: Values, lam: float | None = None) -> Estimator:
    """The estimator of these options (`options.ESTIMATION`); `lam` instead of theirs where given."""
    plain, robust = _plain_estimator(dim, model, values, lam), values["robust"]
    return plain if robust is None else Robust(plain, positive("robust", robust))


def _plain_estimator(dim: int, model: str, values: Values, lam: float | None) -> Estimator:
    name = values["estimator"] or ("linear" if model == "kernel" else "logistic")
    lam = positive("lam", values["lam"] if lam is None else lam)
    code = one_of("estimator", name, _CODES)
    check_full(dim, model)
    if code not in _GO_WITH[model]:
        raise ValueError(f"estimator={name!r} does not go with model={model!r}")
    if values.get("forget", 1.0) != 1.0 or values.get("window") is not None:
        if code != _LINEAR:
            raise ValueError(f"only estimator='linear' forgets, got {name!r}")
        return _forgetting(dim, model, values, lam)
    if code == _LINEAR:
        return Linear(linear_model(dim, model, values, lam))
    if model == "kernel":
        return _kernel_likelihood(dim, values, lam)
    if code in (_MLE, _CURVED):
        return Likelihood(dim, lam=lam, curved=code == _CURVED)
    return (Logistic if code == _LOGISTIC else Probit)(dim, lam=lam, model=model)


def _forgetting(dim: int, model: str, values: Values, lam: float) -> Forgetting:
    forget, window = values["forget"], values["window"]
    if forget != 1.0 and window is not None:
        raise ValueError(f"choose forget or window, got {forget!r} and {window!r}")
    number("forget", forget, 0.0, 1.0, above=True)
    window = None if window is None else whole("window", window, 1)
    return Forgetting(dim, lam=lam, model=model, forget=forget, window=window)


def _kernel_likelihood(dim: int, values: Values, lam: float) -> KernelLikelihood:
    if dim > LARGEST_FULL or values["budget"] is not None:
        raise ValueError(f"estimator='mle' keeps all of at most {LARGEST_FULL} features and takes no budget, got {dim}")
    own = {name: values[name] for name in ("kernel", "scale", "degree")}
    Kernel(dim, lam=lam, **own)  # its checks of these values
    return KernelLikelihood(dim, lam=lam, **own)


def linear_model(dim: int, model: str, values: Values, lam: float) -> CompiledModel:
    """CONQUER's own model of this name, with `lam` in the scale of z."""
    if model == "kernel":
        own = {name: values[name] for name in ("kernel", "scale", "degree", "budget")}
        return Kernel(dim, lam=lam / 4.0, **own)
    return Full(dim, lam=lam / 4.0) if model == "full" else Diagonal(dim, lam=lam / 4.0)


def item_model(dim: int, model: str, values: Values) -> CompiledModel:
    """The same for rivals that learn about items, not differences: `lam` in the scale of items."""
    return linear_model(dim, model, values, 4.0 * positive("lam", values["lam"]))
