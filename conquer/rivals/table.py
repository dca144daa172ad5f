"""The table of rivals: one row each, for the registry to add to its own."""

import math
from collections.abc import Callable
from functools import partial

from conquer.checks import number, one_of, whole
from conquer.learners.algorithm import Parameter, Values, grid
from conquer.rivals.arms.filters import BeatTheMean, InterleavedFilter
from conquer.rivals.arms.method import Arms, Rule
from conquer.rivals.arms.rmed1 import RMED1
from conquer.rivals.arms.tournaments import RUCB, DoubleThompson
from conquer.rivals.contextual.dbgd import DBGD, PreferencePerceptron
from conquer.rivals.contextual.estimators import Estimator
from conquer.rivals.contextual.fgts import FGTS
from conquer.rivals.contextual.method import VACDB
from conquer.rivals.contextual.selectors import NDB, CoLSTIM, MaxInP, MaxMinLCB, PairUCB, TopTwo, TwoTS
from conquer.rivals.learner import Method
from conquer.rivals.options import (
    ALL,
    ESTIMATION,
    HORIZON,
    LAM,
    LARGEST_FULL,
    PLAY,
    MethodBuilder,
    contextual,
    estimator_of,
    eta_of,
    eta_option,
    practice,
    rival,
)
from conquer.rivals.several.table import SEVERAL
from conquer.rivals.single.table import SINGLE

_OPTIONS = (*ESTIMATION, HORIZON, *PLAY)
_GRID = grid(eta=(0.1, 0.3, 1.0, 3.0), lam=(0.3, 3.0))


def _colstim(dim: int, values: Values) -> CoLSTIM:
    clip, scale, eta = values["clip"], values["coupling"], eta_of(dim, values)
    horizon = whole("horizon", values["horizon"], 2)
    return CoLSTIM(
        eta,
        practice(dim, values) if clip is None else number("clip", clip, 0.0),
        dim * math.log(dim * horizon) if scale is None else number("coupling", scale, 0.0),
    )


def _layer(dim: int, model: str, values: Values, lam: float) -> Estimator:
    """The estimator of a layer whose prior is `lam` times the first one's."""
    return estimator_of(dim, model, values, lam * values["lam"])


def _vacdb(dim: int, model: str, values: Values) -> Method:
    number("lam", values["lam"], 0.0, above=True)
    return VACDB(
        partial(_layer, dim, model, values),
        alpha=number("alpha", values["alpha"], 1e-6, 0.99),
        beta=number("beta", values["beta"], 0.0),
    )


def _fgts(dim: int, model: str, values: Values) -> Method:
    if dim > LARGEST_FULL:
        raise ValueError(f"fgts keeps whole rounds and takes at most {LARGEST_FULL} features, got {dim}")
    return FGTS(
        dim,
        eta=number("eta", values["eta"], 0.0),
        mu=number("mu", values["mu"], 0.0),
        lam=number("lam", values["lam"], 0.0, above=True),
        pace=number("pace", values["pace"], 0.0, above=True),
        steps=whole("steps", values["steps"], 1, 1000),
        batch=whole("batch", values["batch"], 1, 1000),
        history=whole("history", values["history"], 1),
    )


CONTEXTUAL = (
    rival(
        "maxinp",
        "MaxInP: of the plausibly best items the pair least known",
        contextual(lambda dim, values: MaxInP(eta_of(dim, values))),
        (eta_option(1.0), *_OPTIONS),
        _GRID,
        ALL,
    ),
    rival(
        "colstim",
        "CoLSTIM: a perturbed leader and its strongest rival",
        contextual(_colstim),
        (
            eta_option(1.0),
            Parameter("clip", None, "None (sqrt(D ln T)), or the largest size of the noise"),
            Parameter("coupling", None, "None (D ln(D T)), or c in the chance c/sqrt(t) of noise for each item"),
            *_OPTIONS,
        ),
        grid(eta=(0.1, 0.3, 1.0, 3.0), coupling=(1.0, None)),
        ALL,
    ),
    rival(
        "pairucb",
        "Joint pair UCB: the pair with the largest sum of means and width of its difference",
        contextual(lambda dim, values: PairUCB(eta_of(dim, values))),
        (eta_option(1.0), *_OPTIONS),
        _GRID,
        ALL,
    ),
    rival(
        "vacdb",
        "VACDB: layers of precision, each learning only what it does not know",
        _vacdb,
        (
            Parameter("alpha", 0.05, "a number in (0, 1): the precision at which learning ends"),
            Parameter("beta", 1.0, "a number of at least 0: items 2^-l beta behind are dropped in layer l"),
            *ESTIMATION,
        ),
        grid(beta=(0.3, 1.0, 3.0, 10.0), lam=(1.0, 10.0)),
        ALL,
    ),
    rival(
        "twots",
        "Two-draw Thompson: the best items of two posterior draws",
        contextual(lambda dim, values: TwoTS(eta_of(dim, values))),
        (eta_option(1.0), *_OPTIONS),
        _GRID,
        ALL,
    ),
    rival(
        "fgts",
        "Feel-good Thompson sampling: two Langevin chains rewarded for optimism",
        _fgts,
        (
            Parameter("eta", 0.25, "a number of at least 0: the temper of the likelihood"),
            Parameter("mu", 0.01, "a number of at least 0: the weight of feeling good"),
            LAM,
            Parameter("pace", 0.5, "a number above 0: Langevin steps are pace/(lam + eta answers)"),
            Parameter("steps", 10, "Langevin steps an answer, a whole number in [1, 1000]"),
            Parameter("batch", 32, "rounds in a minibatch, a whole number in [1, 1000]"),
            Parameter("history", 1000, "how many rounds are kept"),
        ),
        grid(eta=(0.25, 1.0, 3.0, 10.0), mu=(0.0, 0.01)),
        ("diagonal",),
        LARGEST_FULL,
    ),
    rival(
        "maxminlcb",
        "MaxMinLCB: a Stackelberg game on lower bounds, with a kernel",
        contextual(lambda dim, values: MaxMinLCB(eta_of(dim, values))),
        (eta_option(1.0), *_OPTIONS),
        _GRID,
        ("kernel", "full", "diagonal"),
    ),
    rival(
        "ndb",
        "Neural dueling bandits' rule on any features: the best mean and its likeliest better",
        contextual(lambda dim, values: NDB(eta_of(dim, values))),
        (eta_option(1.0), *_OPTIONS),
        _GRID,
        ALL,
    ),
    rival(
        "toptwo",
        "Top two of any estimator: for trying links, forgetting and gates by themselves",
        contextual(lambda dim, values: TopTwo()),
        _OPTIONS,
        grid(lam=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)),
        ALL,
    ),
    rival(
        "dbgd",
        "Dueling bandit gradient descent: w against a random step from it",
        lambda dim, model, values: DBGD(
            dim,
            delta=number("delta", values["delta"], 0.0, above=True),
            gamma=number("gamma", values["gamma"], 0.0, above=True),
        ),
        (
            Parameter("delta", 1.0, "a number above 0: how far it looks"),
            Parameter("gamma", 0.1, "a number above 0: how far it steps"),
        ),
        grid(delta=(0.3, 1.0), gamma=(0.01, 0.03, 0.1, 0.3)),
        ("diagonal",),
    ),
    rival(
        "preference-perceptron",
        "Preference perceptron: when the second best wins, move towards it",
        lambda dim, model, values: PreferencePerceptron(dim),
        (),
        ({},),
        ("diagonal",),
    ),
)


def _alone(build: Callable[[Values], Rule]) -> MethodBuilder:
    def made(dim: int, model: str, values: Values) -> Method:
        one_of("arms", values["arms"], {"position": 0, "features": 1})
        return Arms(build(values), identity=values["arms"])

    return made


_ARMS = Parameter(
    "arms", "position", "'position' (item i of each round is arm i) or 'features' (equal rows, equal arm)"
)
_ALPHA = Parameter("alpha", 0.51, "a number above 0: the width is sqrt(alpha ln t/n)")
_ALPHA_GRID = grid(alpha=(0.05, 0.1, 0.2, 0.3, 0.51, 0.7, 1.0, 2.0))
_SWITCH = {"no": 0, "yes": 1}
FIXED = (
    rival(
        "interleaved-filter",
        "Interleaved Filter, fixed arms: a champion meets the rest in turn, the beaten go",
        _alone(
            lambda v: InterleavedFilter(
                horizon=whole("horizon", v["horizon"], 1), prune=bool(one_of("prune", v["prune"], _SWITCH))
            )
        ),
        (HORIZON, Parameter("prune", "yes", "'yes' (variant 2) or 'no'"), _ARMS),
        grid(horizon=(10, 100, 2000, 20_000), prune=("yes", "no")),
        ("diagonal",),
    ),
    rival(
        "beat-the-mean",
        "Beat the Mean, fixed arms: the least met plays any other, the worst goes",
        _alone(
            lambda v: BeatTheMean(
                horizon=whole("horizon", v["horizon"], 1), gamma=number("gamma", v["gamma"], 0.0, above=True)
            )
        ),
        (HORIZON, Parameter("gamma", 1.0, "a number above 0, 1 for strong transitivity: widens the interval"), _ARMS),
        grid(gamma=(0.2, 0.4, 0.7, 1.0), horizon=(100, 2000)),
        ("diagonal",),
    ),
    rival(
        "rucb",
        "Relative UCB, fixed arms: who may beat everyone against who may beat it",
        _alone(lambda v: RUCB(alpha=number("alpha", v["alpha"], 0.0, above=True))),
        (_ALPHA, _ARMS),
        _ALPHA_GRID,
        ("diagonal",),
    ),
    rival(
        "rmed1",
        "RMED1, fixed arms: arms not too far from being the winner take turns",
        _alone(lambda v: RMED1(margin=number("margin", v["margin"], 0.0))),
        (Parameter("margin", 0.3, "a number of at least 0: f(K) = margin K^1.01"), _ARMS),
        grid(margin=(0.0, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)),
        ("diagonal",),
    ),
    rival(
        "double-thompson",
        "Double Thompson sampling, fixed arms: a sampled champion and its sampled challenger",
        _alone(lambda v: DoubleThompson(alpha=number("alpha", v["alpha"], 0.0, above=True))),
        (_ALPHA, _ARMS),
        _ALPHA_GRID,
        ("diagonal",),
    ),
)
ROWS = (*CONTEXTUAL, *SINGLE, *FIXED, *SEVERAL)
