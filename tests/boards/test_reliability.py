"""The agreement with a fresh panel: coin tosses have about 0 even where pairs are chosen by the answers."""

import numpy as np
import pytest

import conquer

K, JUDGES = 24, 10


def panel(seed, spread, rounds=12, offset=0):
    """Votes of ten judges on adaptive pairs: each round, neighbours in the order of the wins so far."""
    rng = np.random.default_rng([seed, offset])
    worth = np.random.default_rng(seed).normal(size=K) * spread
    wins, votes = np.zeros(K), []
    for turn in range(rounds):
        order = np.lexsort([rng.random(K), -wins])
        for one, two in order.reshape(-1, 2).tolist():
            first = rng.random() < 1 / (1 + np.exp(worth[two] - worth[one]))
            wins[one if first else two] += 1
            votes.append({"first": f"i{one}", "second": f"i{two}", "winner": "first" if first else "second",
                          "voter": f"j{rng.integers(JUDGES)}", "question_id": turn})  # fmt: skip
    return votes


def usual_figure(board):
    """The share of the variance of the scores that their squared standard errors leave: what is usually published."""
    spread = board.scores.var()
    errors = ((board.high - board.low) / 2 / 1.96) ** 2
    return 1 - errors.mean() / spread


def test_coin_tosses_have_about_none_where_the_usual_figure_has_much():
    found, usual = [], []
    for seed in range(12):
        board = conquer.fit(panel(seed, 0.0), lam=0.1).board(interval="fixed")
        found.append(board.reliability())
        usual.append(usual_figure(board))
    assert np.median([one.value for one in found]) < 0.05
    assert sum(one.low < 0.05 for one in found) >= 10
    assert np.mean(usual) > 0.6


@pytest.mark.parametrize(("spread", "rounds"), [(1.0, 12), (2.0, 12), (2.0, 24)])
def test_it_is_what_a_fresh_panel_agrees(spread, rounds):
    """Beside the correlation of the board with that of another panel of the same worths."""
    found, real = [], []
    for seed in range(16):
        boards = [
            conquer.fit(panel(seed, spread, rounds, offset), lam=0.1).board(interval="fixed") for offset in (1, 2)
        ]
        found.append(boards[0].reliability())
        scores = [dict(zip(board.names, board.scores.tolist(), strict=True)) for board in boards]
        real.append(np.corrcoef([[one[f"i{k}"] for k in range(K)] for one in scores])[0, 1])
    assert np.median([one.value for one in found]) == pytest.approx(np.median(real), abs=0.08)
    assert sum(one.low <= r <= one.high for one, r in zip(found, real, strict=True)) >= 11


def test_a_weighty_sure_panel_has_much_and_an_interval():
    board = conquer.fit(panel(0, 2.0, 24)).board(interval="fixed")
    found = board.reliability()
    assert 0.7 < found.low < found.value < found.high < 1.0
    other = conquer.fit(panel(0, 2.0, 24), lam=10.0).board(interval="fixed").reliability()
    assert other.value == pytest.approx(found.value, abs=1e-6)  # the penalty of the fit does not matter
    with pytest.raises(ValueError, match="at least three"):
        conquer.fit([("tea", "mug", "tea")]).board().reliability()
