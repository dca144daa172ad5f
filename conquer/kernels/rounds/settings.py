"""What a policy and its parameters come to in compiled code: positions, codes and statuses, each named once."""

# Positions in `plan` (whole numbers) and `knobs` (reals): what a policy and its parameters come to.
RULE_FIRST, RULE_SECOND, GATE, REPLY, ETA_MODE, PROJECTION, UPDATE, KERNEL, BUDGET = range(9)
PLAN_SIZE = 9
ETA, LAM, RADIUS, DRIFT, DELTA, GAMMA, ALPHA, TOLERANCE, SWEEPS, SCALE, DEGREE, LARGEST, MOST = range(13)
KNOBS_SIZE = 13

# Positions in `stats`, the running sums that the widths need.
LEARNT, SUM_H, SUM_LOSS_H = range(3)
STATS_SIZE = 3

GREEDY, UCB, RELATIVE_UCB, THOMPSON, UNIFORM, WORST, ALONE, EXPLORE, CHALLENGER, SEPARATION = range(10)
ALWAYS, CONFIDENT = range(2)
REPLY_DUEL, REPLY_BEST, REPLY_BANDITRON, REPLY_IGNORE = range(4)
CONSTANT, THEORY, TIGHT = range(3)
NO_PROJECTION, SEQUENTIAL, EXACT = range(3)
COORDINATE, MARGIN, IMPLICIT, PERCEPTRON = range(4)
LINEAR, RBF, POLY = range(3)
NONE, DUEL, BEST = range(3)

OK, NOT_CONVERGED, DIVERGED, FULL, WILD, CROWDED, UNHELD = range(7)

# What is smaller than this share of the terms it is the rest of is lost in their rounding: 16 units in the last place.
RESOLVED = 2.0**-48

# Where the width that holds at every look is narrowest, as a variance: tau2 of a board's `anytime` intervals.
MIXING = 0.25

# Rows of `work`, the scratch of a round: then K more rows for the Gram matrix.
SCORES, WIDTHS, VALUES, MULTIPLIERS, SPARE, GRAM = range(6)
