"""Rows of the rivals that show one item, or a set, and hear whether it is the best."""

from conquer.checks import number, one_of, whole
from conquer.learners.algorithm import Parameter, Values, grid
from conquer.models.model import CompiledModel
from conquer.rivals.learner import Method
from conquer.rivals.options import ALL, KERNEL, LARGEST_FULL, linear_model, rival
from conquer.rivals.single.newton import SOBA, Newtron
from conquer.rivals.single.single import EpochGreedy, Kwik, PartialFeedback

_LAM = Parameter("lam", 1.0, "a number above 0: A starts at lam I, in the scale of items")
_GAMMA = Parameter("gamma", 0.1, "a number in (0, 1], the share of exploration")
_RATES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)


def _ridge(dim: int, model: str, values: Values) -> CompiledModel:
    # linear_model counts lam in the scale of z, four times that of u; here u is the item itself.
    return linear_model(dim, model, values, 4.0 * number("lam", values["lam"], 0.0, above=True))


def _small(dim: int, model: str) -> None:
    if model == "full" and dim > LARGEST_FULL:
        raise ValueError(f"model='full' takes at most {LARGEST_FULL} features here, got {dim}")


def _newtron(dim: int, model: str, values: Values) -> Method:
    _small(dim, model)
    return Newtron(
        dim,
        model=model,
        alpha=number("alpha", values["alpha"], 0.0, above=True),
        beta=number("beta", values["beta"], 0.0, above=True),
        gamma=number("gamma", values["gamma"], 0.0, 1.0, above=True),
        radius=number("radius", values["radius"], 0.0, above=True),
    )


def _soba(dim: int, model: str, values: Values) -> Method:
    _small(dim, model)
    gamma = number("gamma", values["gamma"], 0.0, 1.0, above=True)
    return SOBA(dim, model=model, gamma=gamma, lam=number("lam", values["lam"], 0.0, above=True))


def _partial(dim: int, model: str, values: Values) -> Method:
    _small(dim, model)
    one_of("loss", values["loss"], {"square": 0, "logistic": 1})
    return PartialFeedback(
        dim,
        model=model,
        eta=number("eta", values["eta"], 0.0),
        a=number("a", values["a"], 0.0, 0.999),
        lam=number("lam", values["lam"], 0.0, above=True),
        loss=values["loss"],
        curve=number("curve", values["curve"], 0.0, above=True),
        show=whole("show", values["show"], 1, 1000),
    )


SINGLE = (
    rival(
        "newtron",
        "Newtron: one item from a softmax, for the approximate leader of log losses; is it the best?",
        _newtron,
        (
            Parameter("alpha", 10.0, "a number above 0: how sharp the softmax is"),
            Parameter("beta", 0.01, "a number above 0: how curved the losses count"),
            _GAMMA,
            Parameter("radius", 1.0, "a number above 0: the largest length of w"),
        ),
        grid(alpha=(3.0, 10.0), beta=(0.01, 0.1), gamma=(0.03, 0.1)),
    ),
    rival(
        "soba",
        "SOBA: one item, explored at rate gamma, for a second-order perceptron; is it the best?",
        _soba,
        (_GAMMA, _LAM),
        grid(gamma=(0.02, 0.05, 0.1, 0.2), lam=(1.0, 10.0)),
    ),
    rival(
        "epoch-greedy",
        "Epoch-greedy: a random item, then greedy ones as long as the fit is worth; is it the best?",
        lambda dim, model, values: EpochGreedy(
            _ridge(dim, model, values), pace=number("pace", values["pace"], 0.0, above=True)
        ),
        (Parameter("pace", 3.0, "a number above 0: greedy rounds per explored one are pace sqrt(n/K)"), _LAM, *KERNEL),
        grid(pace=(0.3, 1.0, 3.0, 10.0), lam=(1.0, 10.0)),
        ALL,
    ),
    rival(
        "kwik",
        "KWIK: asks about the item known least while any is too little known, then only shows the best",
        lambda dim, model, values: Kwik(
            _ridge(dim, model, values), threshold=number("threshold", values["threshold"], 0.0, above=True)
        ),
        (Parameter("threshold", 0.3, "a number above 0: the width at which an item counts as known"), _LAM, *KERNEL),
        grid(threshold=(0.05, 0.1, 0.2, 0.4), lam=(1.0, 10.0)),
        ALL,
    ),
    rival(
        "partial-feedback",
        "Multilabel partial feedback: the set of items with the smallest estimated ranking loss; which is right?",
        _partial,
        (
            Parameter("eta", 0.1, "a number of at least 0: widths are sqrt(eta v)"),
            Parameter("a", 0.5, "a number in [0, 1): the price of a right item not shown"),
            _LAM,
            Parameter("loss", "square", "'square' or 'logistic'"),
            Parameter("curve", 1.0, "a number above 0: the loss's least curvature, 1 for square, 0.1966 for logistic"),
            Parameter("show", 1, "a whole number of at least 1: the largest set"),
        ),
        grid(eta=(0.01, 0.1, 1.0, 10.0), lam=(1.0, 10.0)),
    ),
)
