"""Rows of the rivals with features that show two items."""

from conquer.learners.algorithm import MODELS, Parameter, grid
from conquer.rivals.options import ESTIMATION, HORIZON, LAM, LARGEST_FULL, rival

_PLAY = (
    Parameter("warmup", 0, "how many random rounds come first, or 'practice': D K"),
    Parameter("gate", None, "None, 'aurora', 'gnc' or 'selective': whether to ask at all"),
    Parameter("gate_eta", 1.0, "a number of at least 0: the gate's width is sqrt(gate_eta) |z|"),
)
_OPTIONS = (*ESTIMATION, HORIZON, *_PLAY)
_ETA = Parameter("eta", 1.0, "a number of at least 0, or 'practice': sqrt(D ln T)")
_GRID = grid(eta=(0.1, 0.3, 1.0, 3.0), lam=(0.3, 3.0))

CONTEXTUAL = (
    rival(
        "maxinp",
        "MaxInP: of the plausibly best items the pair least known",
        "contextual.maxinp",
        (_ETA, *_OPTIONS),
        _GRID,
        MODELS,
    ),
    rival(
        "colstim",
        "CoLSTIM: a perturbed leader and its strongest rival",
        "contextual.colstim",
        (
            _ETA,
            Parameter("clip", None, "None (sqrt(D ln T)), or the largest size of the noise"),
            Parameter("coupling", None, "None (D ln(D T)), or c in the chance c/sqrt(t) of noise for each item"),
            *_OPTIONS,
        ),
        grid(eta=(0.1, 0.3, 1.0, 3.0), coupling=(1.0, None)),
        MODELS,
    ),
    rival(
        "pairucb",
        "Joint pair UCB: the pair with the largest sum of means and width of its difference",
        "contextual.pairucb",
        (_ETA, *_OPTIONS),
        _GRID,
        MODELS,
    ),
    rival(
        "vacdb",
        "VACDB: layers of precision, each learning only what it does not know",
        "contextual.vacdb",
        (
            Parameter("alpha", 0.05, "a number in (0, 1): the precision at which learning ends"),
            Parameter("beta", 1.0, "a number of at least 0: items 2^-l beta behind are dropped in layer l"),
            *ESTIMATION,
        ),
        grid(beta=(0.3, 1.0, 3.0, 10.0), lam=(1.0, 10.0)),
        MODELS,
    ),
    rival(
        "twots",
        "Two-draw Thompson: the best items of two posterior draws",
        "contextual.twots",
        (_ETA, *_OPTIONS),
        _GRID,
        MODELS,
    ),
    rival(
        "fgts",
        "Feel-good Thompson sampling: two Langevin chains rewarded for optimism",
        "contextual.fgts",
        (
            Parameter("eta", 0.25, "a number of at least 0: the temper of the likelihood"),
            Parameter("mu", 0.01, "a number of at least 0: the weight of feeling good"),
            LAM,
            Parameter("pace", 0.5, "a number above 0: Langevin steps are pace/(lam + eta answers)"),
            Parameter("steps", 10, "Langevin steps per answer, a whole number in [1, 1000]"),
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
        "contextual.maxminlcb",
        (_ETA, *_OPTIONS),
        _GRID,
        ("kernel", "full", "diagonal"),
    ),
    rival(
        "ndb",
        "Neural dueling bandits' rule on any features: the best mean and its likeliest better",
        "contextual.ndb",
        (_ETA, *_OPTIONS),
        _GRID,
        MODELS,
    ),
    rival(
        "toptwo",
        "Top two of any estimator: for trying links, forgetting and gates by themselves",
        "contextual.toptwo",
        _OPTIONS,
        grid(lam=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)),
        MODELS,
    ),
    rival(
        "dbgd",
        "Dueling bandit gradient descent: w against a random step from it",
        "contextual.dbgd",
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
        "contextual.preference_perceptron",
        (),
        ({},),
        ("diagonal",),
    ),
)
