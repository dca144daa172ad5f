"""The paper's parser on a linear treebank stays under its bound and learns."""

from conquer.study.parsing_regret import linear_regret
from conquer.theory import theorem2


def test_regret_is_below_the_bound_and_grows_slower_than_time():
    run = linear_regret(3000, 2, 2, seed=1, marks=4)
    for rounds, regret in zip(run.rounds, run.regret, strict=True):
        assert 0.0 <= regret <= min(theorem2(rounds, 2, 2), 2.0 * rounds)
    early, late = run.regret[0] / run.rounds[0], (run.regret[-1] - run.regret[-2]) / (run.rounds[-1] - run.rounds[-2])
    assert late < 0.5 * early


def test_where_the_bound_says_something():
    assert theorem2(1_000_000, 1, 2) < 0.5 * 2 * 1_000_000
    assert theorem2(20_000, 20, 10) > 2 * 20_000
