"""The settings of models and rules as kernels take them, and the codes and statuses that kernels and Python share.

Python passes the settings as an array each, since a kernel takes a microsecond to unpack ten numbers of a tuple;
`model_constants` and `rule_constants` give them their names within.
"""

from typing import NamedTuple

from conquer.kernels.core.kernel import part

GREEDY, UCB, RELATIVE_UCB, THOMPSON, UNIFORM, WORST, ALONE, EXPLORE, CHALLENGER, SEPARATION = range(10)
ALWAYS, CONFIDENT = range(2)
REPLY_DUEL, REPLY_BEST, REPLY_BANDITRON, REPLY_IGNORE = range(4)
CONSTANT, THEORY, TIGHT = range(3)
NO_PROJECTION, SEQUENTIAL, EXACT = range(3)
COORDINATE, MARGIN, IMPLICIT, PERCEPTRON = range(4)
LINEAR, RBF, POLY = range(3)
NONE, DUEL, BEST = range(3)

OK, NOT_CONVERGED, DIVERGED, FULL, TOO_LARGE, IMPRECISE = range(6)


class ModelConstants(NamedTuple):
    """What a model is made with. `update` matters to the diagonal model; `kernel` to `budget` to the kernel model.

    `budget` is the largest number of stored pairs, 0 for no limit; `sweeps` bounds a projection; `forget` is the share
    of the past that the diagonal and the full model keep per answer, along the answer's direction.
    """

    lam: float
    projection: int = NO_PROJECTION
    update: int = IMPLICIT
    kernel: int = LINEAR
    scale: float = 1.0
    degree: float = 2.0
    budget: int = 0
    sweeps: int = 100_000
    forget: float = 1.0


@part
def model_constants(values):
    """The record of an array of its fields."""
    return ModelConstants(
        values[0],
        int(values[1]),
        int(values[2]),
        int(values[3]),
        values[4],
        values[5],
        int(values[6]),
        int(values[7]),
        values[8],
    )


class RuleConstants(NamedTuple):
    """What a learner chooses and learns by: the codes of its policy, and the parameters of its widths and replies.

    `radius` is U and `drift` Q of the bounds; `gamma` is Banditron's share of exploration, `alpha` Confidit's.
    """

    first: int
    second: int
    gate: int = ALWAYS
    reply: int = REPLY_DUEL
    eta_mode: int = CONSTANT
    eta: float = 0.0
    radius: float = 1.0
    drift: float = 0.0
    delta: float = 0.05
    gamma: float = 0.1
    alpha: float = 1.0


@part
def rule_constants(values):
    """The record of an array of its fields."""
    first, second, gate, reply, mode = values[0], values[1], values[2], values[3], values[4]
    return RuleConstants(
        int(first),
        int(second),
        int(gate),
        int(reply),
        int(mode),
        values[5],
        values[6],
        values[7],
        values[8],
        values[9],
        values[10],
    )


# Positions in `stats`, the running sums that the widths need.
LEARNT, SUM_H, SUM_LOSS_H = range(3)
STATS_SIZE = 3

# Rows of `work`, the scratch of a round: then K more rows for the Gram matrix.
SCORES, WIDTHS, VALUES, MULTIPLIERS, SPARE, GRAM = range(6)

# Entries of a step above this would overflow in its squares or quotients.
LARGEST = 1e90

# A model whose variances are above this forgets no further: they would overflow.
WIDEST = 1e150

# How far beyond [-1, 1] a projected score may be.
TOLERANCE = 1e-12

# A difference below this share of its terms is rounding error: 16 units in the last place.
RESOLVED = 2.0**-48

# The level 2 ln(1/delta) of the width by which `tob` picks: larger ones need more answers until boards may stop.
CHALLENGE = 2.0

# Where the width that holds at every look is narrowest, as a variance: tau2 of a board's `anytime` intervals.
MIXING = 0.25
