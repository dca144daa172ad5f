"""Rows of the rivals that show one item, or a set, and hear whether it is the best."""

from conquer.learners.algorithm import KERNEL, MODELS, Parameter, Published, grid
from conquer.rivals.options import rival

_LAM = Parameter("lam", 1.0, "a number above 0: A starts at lam I, in the scale of items")
_GAMMA = Parameter("gamma", 0.1, "a number in (0, 1], the share of exploration")

SINGLE = (
    rival(
        "newtron",
        "Newtron: one item from a softmax, for the approximate leader of log losses; is it the best?",
        "single.newtron",
        (
            Parameter("alpha", 10.0, "a number above 0: how sharp the softmax is"),
            Parameter("beta", 0.01, "a number above 0: how curved the losses count"),
            _GAMMA,
            Parameter("radius", 1.0, "a number above 0: the largest length of w"),
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
        "single.soba",
        (_GAMMA, _LAM),
        grid(gamma=(0.02, 0.05, 0.1, 0.2), lam=(1.0, 10.0)),
        published=Published(
            {"lam": 1.0},
            "A starts at I, gamma tuned (r); items instead of classes",
            grid=grid(gamma=(0.02, 0.05, 0.1, 0.2)),
        ),
    ),
    rival(
        "epoch-greedy",
        "Epoch-greedy: a random item, then greedy ones as long as the fit is worth; is it the best?",
        "single.epoch_greedy",
        (Parameter("pace", 3.0, "a number above 0: greedy rounds per explored one are pace sqrt(n/K)"), _LAM, *KERNEL),
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
        "KWIK: asks about the item known least while any is too little known, then only shows the best",
        "single.kwik",
        (Parameter("threshold", 0.3, "a number above 0: the width at which an item counts as known"), _LAM, *KERNEL),
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
        "Multilabel partial feedback: the set of items with the smallest estimated ranking loss; which is right?",
        "single.partial_feedback",
        (
            Parameter("eta", 0.1, "a number of at least 0: widths are sqrt(eta v)"),
            Parameter("a", 0.5, "a number in [0, 1): the price of a right item not shown"),
            _LAM,
            Parameter("loss", "square", "'square' or 'logistic'"),
            Parameter("curve", 1.0, "a number above 0: the loss's least curvature, 1 for square, 0.1966 for logistic"),
            Parameter("show", 1, "a whole number of at least 1: the largest set"),
        ),
        grid(eta=(0.01, 0.1, 1.0, 10.0), lam=(1.0, 10.0)),
        published=Published(
            {"model": "full", "lam": 1.0, "loss": "square", "curve": 1.0},
            "square loss, A starts at I (r); the factor of its widths is tuned; items instead of classes",
            grid=grid(eta=(0.01, 0.1, 1.0, 10.0)),
        ),
    ),
)
