"""The table of rivals: one row each, with its options, its grid and how its paper runs it.

Nothing here imports a rival: a row names the module of its algorithm, which is imported when a learner is made.
"""

from functools import partial
from importlib import import_module

from conquer.learners.algorithm import KERNEL, MODELS, Algorithm, Parameter, Published, Values, grid
from conquer.types import Learner

LARGEST_FULL = 2048
"""The most features of a full matrix: the rivals keep theirs in numpy, for small problems."""
_MATRIX = ("diagonal", "full")


def rival(
    name: str,
    description: str,
    where: str,
    parameters: tuple[Parameter, ...],
    points: tuple[Values, ...],
    models: tuple[str, ...] = _MATRIX,
    largest: int | None = None,
    published: Published | None = None,
) -> Algorithm:
    """A row of the table. `where` is the module and function of `conquer.rivals` that makes the method.

    >>> row = rival("rucb", "Relative UCB", "arms:rucb", (Parameter("alpha", 0.51, ""),), ({},))
    >>> row.models, row.takes
    (('diagonal', 'full'), ('alpha',))
    """
    build = partial(_build, where, largest)
    return Algorithm(name, description, build, parameters, points, models, largest, published=published)


def _build(where: str, largest: int | None, name: str, dim: int, model: str, values: Values) -> Learner:
    """A learner of the method made by `where`; no closure, so that rows and learners can be pickled."""
    from conquer.rivals.learner import Rival

    most = LARGEST_FULL if model == "full" else largest
    if most is not None and dim > most:
        raise ValueError(f"{name} with model={model!r} takes at most {most} features, got {dim}")
    module, _, function = where.partition(":")
    method = getattr(import_module(f"conquer.rivals.{module}"), function)(dim, model, values)
    return Rival(method, dim=dim, name=name, parameters={"model": model, **values})


HORIZON = Parameter("horizon", 2000, "a whole number of at least 2: the number of rounds T that the constants assume")
LAM = Parameter("lam", 1.0, "a number above 0: V starts at lam I, in the scale of z = x_i - x_j")
ESTIMATION = (
    Parameter(
        "estimator",
        None,
        "None (logistic; linear with a kernel), 'linear', 'logistic' (online Newton), 'probit', with full or kernel "
        "'mle' (refitted, widths from sum z z'), with full 'mle-curved' (widths from the Hessian)",
    ),
    LAM,
    Parameter("robust", None, "None, or alpha above 0: weights min(1, alpha/|z|) against corrupted answers"),
    Parameter(
        "forget", 1.0, "a number in (0, 1], linear estimator only: the share of the past kept per answer", _MATRIX
    ),
    *KERNEL,
)
"""The options of every rival over an estimator."""
_OPTIONS = (
    *ESTIMATION,
    HORIZON,
    Parameter("warmup", 0, "the number of random rounds at the start, or 'practice': D K"),
    Parameter("gate", None, "None, 'aurora', 'gnc' or 'selective': when to ask nothing"),
    Parameter("gate_eta", 1.0, "a number of at least 0: the gate's width is sqrt(gate_eta) |z|"),
)
_ETA = Parameter("eta", 1.0, "a number of at least 0, or 'practice': sqrt(D ln T); the factor of the widths")
_GRID = grid(eta=(0.1, 0.3, 1.0, 3.0), lam=(0.3, 3.0))
_PRACTICE: Values = {"model": "full", "estimator": "mle", "lam": 1e-3, "eta": "practice", "warmup": "practice"}

_CONTEXTUAL = (
    rival(
        "maxinp",
        "MaxInP: the least certain pair among the items that may be best",
        "contextual.selectors:maxinp",
        (_ETA, *_OPTIONS),
        _GRID,
        MODELS,
        published=Published(
            _PRACTICE,
            "maximum likelihood after D K random rounds, eta = sqrt(D ln T), as in its experiments and those of "
            "CoLSTIM (r); lam = 0.001 because the paper has no penalty",
            ("horizon",),
        ),
    ),
    rival(
        "colstim",
        "CoLSTIM: the best item under random noise, and its strongest challenger",
        "contextual.selectors:colstim",
        (
            _ETA,
            Parameter("clip", None, "None (sqrt(D ln T)), or the largest size of the noise"),
            Parameter("coupling", None, "None (D ln(D T)), or c: each item has its own noise with chance c/sqrt(t)"),
            *_OPTIONS,
        ),
        grid(eta=(0.1, 0.3, 1.0, 3.0), coupling=(1.0, None)),
        MODELS,
        published=Published(
            {**_PRACTICE, "clip": None, "coupling": None},
            "maximum likelihood after D K random rounds, c1 = C = sqrt(D ln T), p_t = min(1, D ln(D T)/sqrt(t)), "
            "Gumbel noise (r); which value of the coin shares the noise (r); lam = 0.001 because "
            "the paper has no penalty",
            ("horizon",),
        ),
    ),
    rival(
        "pairucb",
        "Joint pair UCB: the pair with the largest sum of both means and the width of its difference",
        "contextual.selectors:pairucb",
        (_ETA, *_OPTIONS),
        _GRID,
        MODELS,
        published=Published(
            {"model": "full", "estimator": "mle-curved"},
            "GINOP's linear form: maximum likelihood, widths from its Hessian (r); its constants are unknown to us, "
            "so eta and lam are tuned",
            grid=_GRID,
        ),
    ),
    rival(
        "vacdb",
        "VACDB: layers of increasing precision, each with its own estimate",
        "contextual.vacdb:build",
        (
            Parameter("alpha", 0.05, "a number in (0, 1), or 'theory': T^-1.5; the precision at which learning ends"),
            Parameter("beta", 1.0, "a number of at least 0, or 'variance': layer l drops items 2^-l beta behind"),
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
            "variance, alpha = T^-1.5 (r); the factor of the radius is tuned, as in its experiments; of the uncertain "
            "pairs the paper takes any, we the least certain",
            ("horizon",),
            grid(radius=(1.0, 0.01, 0.001, 0.0001)),
        ),
    ),
    rival(
        "twots",
        "Two-draw Thompson sampling: the best items of two posterior draws",
        "contextual.selectors:twots",
        (_ETA, *_OPTIONS),
        _GRID,
        MODELS,
    ),
    rival(
        "fgts",
        "Feel-good Thompson sampling: the best items of two Langevin chains that reward optimism",
        "contextual.fgts:build",
        (
            Parameter("eta", 0.25, "a number of at least 0: the temperature of the likelihood"),
            Parameter("mu", 0.01, "a number of at least 0: the weight of optimism"),
            LAM,
            Parameter("pace", 0.5, "a number above 0: Langevin steps are pace/(lam + eta answers)"),
            Parameter("steps", 10, "Langevin steps per answer, a whole number in [1, 1000]"),
            Parameter("batch", 32, "rounds in a minibatch, a whole number in [1, 1000]"),
            Parameter("history", 1000, "the number of rounds kept, a whole number of at least 1"),
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
        "MaxMinLCB: a Stackelberg game on lower confidence bounds, over a kernel by default",
        "contextual.selectors:maxminlcb",
        (_ETA, *_OPTIONS),
        _GRID,
        ("kernel", "full", "diagonal"),
        published=Published(
            {"estimator": "mle", "eta": 1.0},
            "penalised maximum likelihood over a kernel, or over features with model='full', beta = 1 as in its "
            "experiments (r); the user chooses lam and the kernel's scale",
        ),
    ),
    rival(
        "ndb",
        "The rule of neural dueling bandits on given features: the best mean and its most likely challenger",
        "contextual.selectors:ndb",
        (_ETA, *_OPTIONS),
        _GRID,
        MODELS,
        published=Published(
            {"model": "full", "estimator": "mle"},
            "its rule and penalised maximum likelihood (r) on features as given, without its network; eta and lam "
            "are tuned",
            grid=_GRID,
        ),
    ),
    rival(
        "toptwo",
        "Top two: the two best means of any estimator, to try estimators and gates alone",
        "contextual.selectors:toptwo",
        _OPTIONS,
        grid(lam=(0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)),
        MODELS,
    ),
    rival(
        "dbgd",
        "Dueling bandit gradient descent: w against a random step from it",
        "contextual.gradient:dbgd",
        (
            Parameter("delta", 1.0, "a number above 0: the length of the proposed step"),
            Parameter("gamma", 0.1, "a number above 0: the length of the step taken after a win"),
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
        "Preference perceptron: the two best items; moves towards the second if it wins",
        "contextual.gradient:preference_perceptron",
        (),
        ({},),
        ("diagonal",),
        published=Published({}, "as published: no parameters; that the better item is the winner of a duel is ours"),
    ),
)

_ITEM_LAM = Parameter("lam", 1.0, "a number above 0: A starts at lam I, in the scale of items")
_GAMMA = Parameter("gamma", 0.1, "a number in (0, 1]: the share of exploration")
_SINGLE = (
    rival(
        "newtron",
        "Newtron: one item from a softmax of an online Newton step; is it the best?",
        "single:newtron",
        (
            Parameter("alpha", 10.0, "a number above 0: the sharpness of the softmax"),
            Parameter("beta", 0.01, "a number above 0: the curvature of the losses"),
            _GAMMA,
            Parameter("radius", 1.0, "a number above 0: the largest norm of w"),
        ),
        grid(alpha=(3.0, 10.0), beta=(0.01, 0.1), gamma=(0.03, 0.1)),
        published=Published(
            {"model": "diagonal", "alpha": 10.0, "beta": 0.01, "radius": 1.0},
            "the diagonal form with alpha = 10, beta = 0.01 and a unit ball, gamma tuned (r); items instead of classes",
            grid=grid(gamma=(0.01, 0.03, 0.1, 0.3)),
        ),
    ),
    rival(
        "soba",
        "SOBA: one item, explored at rate gamma, for a second-order perceptron; is it the best?",
        "single:soba",
        (_GAMMA, _ITEM_LAM),
        grid(gamma=(0.02, 0.05, 0.1, 0.2), lam=(1.0, 10.0)),
        published=Published(
            {"lam": 1.0},
            "A starts at I, gamma tuned (r); items instead of classes",
            grid=grid(gamma=(0.02, 0.05, 0.1, 0.2)),
        ),
    ),
    rival(
        "epoch-greedy",
        "Epoch-greedy: a random item, then greedy ones in growing number; is it the best?",
        "single:epoch_greedy",
        (
            Parameter("pace", 3.0, "a number above 0: greedy rounds per explored one are pace sqrt(n/K)"),
            _ITEM_LAM,
            *KERNEL,
        ),
        grid(pace=(0.3, 1.0, 3.0, 10.0), lam=(1.0, 10.0)),
        MODELS,
        published=Published(
            {},
            "the schedule is derived for a finite class; the paper leaves the learner open, ours is ridge (r)",
            grid=grid(pace=(0.3, 1.0, 3.0, 10.0)),
        ),
    ),
    rival(
        "kwik",
        "KWIK: asks about the least certain item until all are certain, then shows the best and asks nothing",
        "single:kwik",
        (
            Parameter("threshold", 0.3, "a number above 0: the width below which an item is certain"),
            _ITEM_LAM,
            *KERNEL,
        ),
        grid(threshold=(0.05, 0.1, 0.2, 0.4), lam=(1.0, 10.0)),
        MODELS,
        published=Published(
            {"lam": 1.0},
            "predicts only where the width is below the threshold, which the paper leaves to the user (r); ridge, ours",
            grid=grid(threshold=(0.05, 0.1, 0.2, 0.4)),
        ),
    ),
    rival(
        "partial-feedback",
        "Multilabel partial feedback: the set of items with the least estimated ranking loss; which is right?",
        "single:partial_feedback",
        (
            Parameter("eta", 0.1, "a number of at least 0: widths are sqrt(eta v)"),
            Parameter("a", 0.5, "a number in [0, 1): the cost of a right item that is not shown"),
            _ITEM_LAM,
            Parameter("loss", "square", "'square' or 'logistic'"),
            Parameter("curve", 1.0, "a number above 0: the loss's least curvature, 1 for square, 0.1966 for logistic"),
            Parameter("show", 1, "a whole number of at least 1: the size of the largest set"),
        ),
        grid(eta=(0.01, 0.1, 1.0, 10.0), lam=(1.0, 10.0)),
        published=Published(
            {"model": "full", "lam": 1.0, "loss": "square", "curve": 1.0},
            "square loss, A starts at I (r); the factor of its widths is tuned; items instead of classes",
            grid=grid(eta=(0.01, 0.1, 1.0, 10.0)),
        ),
    ),
)

_ALPHA = Parameter("alpha", 0.51, "a number above 0: widths are sqrt(alpha ln t/n)")
_ALPHA_GRID = grid(alpha=(0.05, 0.1, 0.2, 0.3, 0.51, 0.7, 1.0, 2.0))
_FIXED_ARMS = (
    rival(
        "interleaved-filter",
        "Interleaved Filter, fixed arms: a champion meets the others in turn and eliminates those it beats",
        "arms:interleaved_filter",
        (HORIZON, Parameter("prune", "yes", "'yes' (variant 2) or 'no'")),
        grid(horizon=(10, 100, 2000, 20_000), prune=("yes", "no")),
        ("diagonal",),
        published=Published({"prune": "yes"}, "variant 2, delta = 1/(T K^2)", ("horizon",)),
    ),
    rival(
        "beat-the-mean",
        "Beat the Mean, fixed arms: the least played arm meets a random one; the worst is eliminated",
        "arms:beat_the_mean",
        (HORIZON, Parameter("gamma", 1.0, "a number above 0: scales the widths, 1 for strong transitivity")),
        grid(gamma=(0.2, 0.4, 0.7, 1.0), horizon=(100, 2000)),
        ("diagonal",),
        published=Published(
            {"gamma": 1.0},
            "gamma = 1, delta = 1/(2 T K); that an arm does not meet itself is ours",
            ("horizon",),
        ),
    ),
    rival(
        "rucb",
        "Relative UCB, fixed arms: an arm that may beat all others, against the one most likely to beat it",
        "arms:rucb",
        (_ALPHA,),
        _ALPHA_GRID,
        ("diagonal",),
        published=Published({"alpha": 0.51}, "alpha = 0.51; that silent time is skipped is ours"),
    ),
    rival(
        "rmed1",
        "RMED1, fixed arms: the arms that may be the winner take turns",
        "arms:rmed1",
        (Parameter("margin", 0.3, "a number of at least 0: f(K) = margin K^1.01"),),
        grid(margin=(0.0, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)),
        ("diagonal",),
        published=Published({"margin": 0.3}, "f(K) = 0.3 K^1.01; that silent time is skipped is ours"),
    ),
    rival(
        "double-thompson",
        "Double Thompson sampling, fixed arms: a sampled champion and its sampled challenger",
        "arms:double_thompson",
        (_ALPHA,),
        _ALPHA_GRID,
        ("diagonal",),
        published=Published({"alpha": 0.51}, "alpha = 0.51; that time counts answers is ours"),
    ),
)

_SHOW = Parameter("show", 2, "a whole number of at least 2: the number of items shown, or all if there are fewer")
_WIDTH = Parameter("eta", 1.0, "a number of at least 0: the factor of the widths")
_SEVERAL = (
    rival(
        "rank-breaking",
        "Rank breaking: the best mean and the next upper bounds; the picked one of k beats each other shown",
        "several:rank_breaking",
        (_SHOW, _WIDTH, *ESTIMATION),
        _GRID,
        MODELS,
    ),
    rival(
        "ucb-mnl",
        'UCB for the multinomial logit: the k best upper bounds; "none of these" is an answer',
        "several:ucb_mnl",
        (
            _SHOW,
            _WIDTH,
            LAM,
            Parameter(
                "estimator", "newton", "'newton' (one step per answer), or with full 'mle' (refitted, the paper's)"
            ),
            Parameter("curve", 0.25, "a number above 0: the Newton step is V^-1 slope/curve"),
        ),
        _GRID,
        published=Published(
            {"model": "full", "estimator": "mle"},
            "maximum likelihood refitted after every answer; a penalty replaces its random rounds, and the factor "
            "of its widths is tuned (r)",
            grid=_GRID,
        ),
    ),
    rival(
        "cppl",
        "Plackett-Luce bandit: the k best by worth and width, averaged gradient steps",
        "several:cppl",
        (
            _SHOW,
            Parameter("omega", 0.1, "a number of at least 0: the factor of the widths"),
            Parameter("pace", 1.0, "a number above 0: the first gradient step"),
            LAM,
        ),
        grid(omega=(0.01, 0.03, 0.1, 0.3), pace=(0.3, 3.0)),
        ("full",),
        LARGEST_FULL,
        Published(
            {},
            "averaged gradient steps of t^-1/2, width derived (r); omega and the first step are tuned, as in the paper",
            grid=grid(omega=(0.01, 0.03, 0.1, 0.3), pace=(0.3, 3.0)),
        ),
    ),
)

FIXED_ARMS = tuple(row.name for row in _FIXED_ARMS)
"""The rivals that know items by their position: every round must hold the same ones."""
ROWS = (*_CONTEXTUAL, *_SINGLE, *_FIXED_ARMS, *_SEVERAL)
