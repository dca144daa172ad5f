"""The paper's parser on a linear treebank stays under its bound and learns."""

from conquer.study.parsing.regret import DIM, ROUNDS, SIZE, linear_regret, run_regret
from conquer.theory import theorem2


def test_regret_is_below_the_bound_and_grows_slower_than_time():
    run = linear_regret(3000, 2, 2, seed=1, marks=4)
    for rounds, regret in zip(run.rounds, run.regret, strict=True):
        assert 0.0 <= regret <= min(theorem2(rounds, 2, 2), 2.0 * rounds)
    early, late = run.regret[0] / run.rounds[0], (run.regret[-1] - run.regret[-2]) / (run.rounds[-1] - run.rounds[-2])
    assert late < 0.5 * early


def test_where_the_bound_says_something():
    assert theorem2(ROUNDS, DIM, SIZE) < 0.66 * 2 * ROUNDS
    assert theorem2(20_000, 20, 10) > 2 * 20_000


def test_the_command(tmp_path, capsys):
    run_regret(tmp_path, rounds=200, seeds=2)
    assert {path.name for path in tmp_path.iterdir()} == {"regret.csv", "regret.png", "regret.pdf"}
    lines = (tmp_path / "regret.csv").read_text().splitlines()
    assert lines[0] == "rounds,mean,least,most,bound,worst"
    assert lines[-1].startswith("200,")
    assert "2 of 2 seeds" in capsys.readouterr().out
