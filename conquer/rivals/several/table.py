"""Rows of the rivals that can show more than two items."""

from conquer.learners.algorithm import MODELS, Parameter, Published, grid
from conquer.rivals.options import ESTIMATION, LAM, LARGEST_FULL, rival

_SHOW = Parameter("show", 2, "a whole number of at least 2: how many items are shown, or all if fewer")
_ETA = Parameter("eta", 1.0, "a number of at least 0: the factor of the widths")

SEVERAL = (
    rival(
        "rank-breaking",
        "Greedy and the next upper bounds: the picked one of k beats each other shown",
        "several.rank_breaking",
        (_SHOW, _ETA, *ESTIMATION),
        grid(eta=(0.1, 0.3, 1.0, 3.0), lam=(0.3, 3.0)),
        MODELS,
    ),
    rival(
        "ucb-mnl",
        "UCB for the multinomial logit: the k best upper bounds, with an answer for none of these",
        "several.ucb_mnl",
        (
            _SHOW,
            _ETA,
            LAM,
            Parameter(
                "estimator", "newton", "'newton' (one step per answer), or with full 'mle' (refitted, the paper's)"
            ),
            Parameter("curve", 0.25, "a number above 0: the Newton step is V^-1 slope/curve"),
        ),
        grid(eta=(0.1, 0.3, 1.0, 3.0), lam=(0.3, 3.0)),
        published=Published(
            {"model": "full", "estimator": "mle"},
            "maximum likelihood refitted after every answer; a penalty stands for its random rounds, and the factor "
            "of its widths is tuned (r)",
            grid=grid(eta=(0.1, 0.3, 1.0, 3.0), lam=(0.3, 3.0)),
        ),
    ),
    rival(
        "cppl",
        "Plackett-Luce bandit: the k best by worth and width, averaged gradient steps",
        "several.cppl",
        (
            _SHOW,
            Parameter("omega", 0.1, "a number of at least 0: the factor of the widths"),
            Parameter("pace", 1.0, "a number above 0: the first gradient step"),
            LAM,
            Parameter("outside", "no", "'yes': none of these is an answer; 'no': one is always picked"),
        ),
        grid(omega=(0.01, 0.03, 0.1, 0.3), pace=(0.3, 3.0)),
        ("full",),
        LARGEST_FULL,
        Published(
            {"outside": "no"},
            "averaged gradient steps of t^-1/2, width derived (r); omega and the first step are tuned, as in the paper",
            grid=grid(omega=(0.01, 0.03, 0.1, 0.3), pace=(0.3, 3.0)),
        ),
    ),
)
