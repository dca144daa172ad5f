"""Rows of the rivals with features that show two items."""

from conquer.learners.algorithm import MODELS, Parameter, Published, Values, grid
from conquer.rivals.options import ESTIMATION, HORIZON, LAM, LARGEST_FULL, rival

_PLAY = (
    Parameter("warmup", 0, "how many random rounds come first, or 'practice': D K"),
    Parameter("gate", None, "None, 'aurora', 'gnc' or 'selective': whether to ask at all"),
    Parameter("gate_eta", 1.0, "a number of at least 0: the gate's width is sqrt(gate_eta) |z|"),
)
_OPTIONS = (*ESTIMATION, HORIZON, *_PLAY)
_ETA = Parameter("eta", 1.0, "a number of at least 0, or 'practice': sqrt(D ln T)")
_GRID = grid(eta=(0.1, 0.3, 1.0, 3.0), lam=(0.3, 3.0))

_MLE: Values = {"model": "full", "estimator": "mle", "lam": 1e-3}
_PRACTICE: Values = {**_MLE, "eta": "practice", "warmup": "practice"}

CONTEXTUAL = (
    rival(
        "maxinp",
        "MaxInP: of the plausibly best items the pair least known",
        "contextual.maxinp",
        (_ETA, *_OPTIONS),
        _GRID,
        MODELS,
        published=Published(
            _PRACTICE,
            "maximum likelihood after D K random rounds, eta = sqrt(D ln T), as its experiments and those of CoLSTIM "
            "run it (r); lam = 0.001 stands for its lack of a penalty",
            ("horizon",),
        ),
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
        published=Published(
            {**_PRACTICE, "clip": None, "coupling": None},
            "maximum likelihood after D K random rounds, c1 = C = sqrt(D ln T), p_t = min(1, D ln(D T)/sqrt(t)), "
            "Gumbel noise (r); which value of the coin shares the noise is recalled, not read; lam = 0.001 stands for "
            "its lack of a penalty",
            ("horizon",),
        ),
    ),
    rival(
        "pairucb",
        "Joint pair UCB: the pair with the largest sum of means and width of its difference",
        "contextual.pairucb",
        (_ETA, *_OPTIONS),
        _GRID,
        MODELS,
        published=Published(
            {"model": "full", "estimator": "mle-curved"},
            "GINOP's linear form: maximum likelihood, widths from its Hessian (r); its constants are not known to "
            "us, so eta and lam are tuned",
            grid=_GRID,
        ),
    ),
    rival(
        "vacdb",
        "VACDB: layers of precision, each learning only what it does not know",
        "contextual.vacdb",
        (
            Parameter("alpha", 0.05, "a number in (0, 1), or 'theory': T^-1.5; the precision at which learning ends"),
            Parameter("beta", 1.0, "a number of at least 0, or 'variance': items 2^-l beta behind go in layer l"),
            Parameter("radius", 1.0, "a number of at least 0: the factor of beta='variance', 1 in the theorem"),
            Parameter("kappa", 0.105, "a number in (0, 0.25]: the link's least slope, for beta='variance'"),
            Parameter("delta", 0.05, "a number in (0, 1): the chance of failure, for beta='variance'"),
            HORIZON,
            *ESTIMATION,
        ),
        grid(beta=(0.3, 1.0, 3.0, 10.0), lam=(1.0, 10.0)),
        MODELS,
        published=Published(
            {"model": "full", "estimator": "mle", "lam": 1.0, "beta": "variance", "alpha": "theory", "kappa": 0.105},
            "layers from 2^-2l I, weighted maximum likelihood with penalty kappa 2^-2l, beta from the layer's "
            "variance, alpha = T^-1.5 (r); its experiments tune the radius' factor, and so does the arena; of the "
            "pairs too little known it takes any, we the least known",
            ("horizon",),
            grid(radius=(1.0, 0.01, 0.001, 0.0001)),
        ),
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
        Published(
            {"eta": 0.25, "history": 2**20},
            "two Langevin chains on losses tempered by eta = 0.25 (r), all rounds kept; the weight of optimism, "
            "steps, pace and minibatches are ours",
        ),
    ),
    rival(
        "maxminlcb",
        "MaxMinLCB: a Stackelberg game on lower bounds, with a kernel",
        "contextual.maxminlcb",
        (_ETA, *_OPTIONS),
        _GRID,
        ("kernel", "full", "diagonal"),
        published=Published(
            {"estimator": "mle", "eta": 1.0},
            "penalised maximum likelihood over a kernel, or over features with model='full', beta = 1 as in its "
            "experiments (r); the kernel's scale and lam are for the user",
        ),
    ),
    rival(
        "ndb",
        "Neural dueling bandits' rule on any features: the best mean and its likeliest better",
        "contextual.ndb",
        (_ETA, *_OPTIONS),
        _GRID,
        MODELS,
        published=Published(
            {"model": "full", "estimator": "mle"},
            "its rule and penalised maximum likelihood (r) on features as given: its network is not here, and eta "
            "and lam are tuned",
            grid=_GRID,
        ),
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
        published=Published(
            {"delta": 1.0, "gamma": 0.01},
            "delta = 1 and gamma = 0.01, the steps of its web search experiments (r); w is not projected on a ball, "
            "since only its direction matters here",
        ),
    ),
    rival(
        "preference-perceptron",
        "Preference perceptron: when the second best wins, move towards it",
        "contextual.preference_perceptron",
        (),
        ({},),
        ("diagonal",),
        published=Published({}, "as published: no parameters; that the better item is the winner of a duel is ours"),
    ),
)
