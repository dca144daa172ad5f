"""Rows of the rivals for fixed arms without features."""

from conquer.learners.algorithm import Parameter, Published, grid
from conquer.rivals.options import HORIZON, rival

_ARMS = Parameter(
    "arms", "position", "'position' (item i of each round is arm i) or 'features' (equal rows, equal arm)"
)
_ALPHA = Parameter("alpha", 0.51, "a number above 0: the width is sqrt(alpha ln t/n)")
_ALPHA_GRID = grid(alpha=(0.05, 0.1, 0.2, 0.3, 0.51, 0.7, 1.0, 2.0))
ARMS = (
    rival(
        "interleaved-filter",
        "Interleaved Filter, fixed arms: a champion meets the rest in turn, the beaten go",
        "arms.interleaved_filter",
        (HORIZON, Parameter("prune", "yes", "'yes' (variant 2) or 'no'"), _ARMS),
        grid(horizon=(10, 100, 2000, 20_000), prune=("yes", "no")),
        ("diagonal",),
        published=Published({"prune": "yes"}, "variant 2, delta = 1/(T K^2)", ("horizon",)),
    ),
    rival(
        "beat-the-mean",
        "Beat the Mean, fixed arms: the least met plays any other, the worst goes",
        "arms.beat_the_mean",
        (HORIZON, Parameter("gamma", 1.0, "a number above 0, 1 for strong transitivity: widens the interval"), _ARMS),
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
        "Relative UCB, fixed arms: who may beat everyone against who may beat it",
        "arms.rucb",
        (_ALPHA, _ARMS),
        _ALPHA_GRID,
        ("diagonal",),
        published=Published({"alpha": 0.51}, "alpha = 0.51; that silent time is slept through is ours"),
    ),
    rival(
        "rmed1",
        "RMED1, fixed arms: arms not too far from being the winner take turns",
        "arms.rmed1",
        (Parameter("margin", 0.3, "a number of at least 0: f(K) = margin K^1.01"), _ARMS),
        grid(margin=(0.0, 0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0)),
        ("diagonal",),
        published=Published({"margin": 0.3}, "f(K) = 0.3 K^1.01; that silent time is slept through is ours"),
    ),
    rival(
        "double-thompson",
        "Double Thompson sampling, fixed arms: a sampled champion and its sampled challenger",
        "arms.double_thompson",
        (_ALPHA, _ARMS),
        _ALPHA_GRID,
        ("diagonal",),
        published=Published({"alpha": 0.51}, "alpha = 0.51; that time counts answers is ours"),
    ),
)
