"""A board against its definition: known answers for two and three items, brute force, permutations, refusals."""

import itertools
import math

import numpy as np
import pytest

from conquer.boards import board_of
from conquer.boards.board import closed
from conquer.boards.scale import tiers_of
from conquer.boards.widths import Width

LAM, U = 1.0, 1.5


def made(s, V, B, interval="anytime", answers=12, delta=0.05, lam=LAM, **options):
    """The board with a norm of the weights bounded by U."""
    width = Width(interval, delta, 0.25, lam, ((lam, 2.0, 1.0),), answers)
    return board_of(s, V, B, U * np.sqrt(B), width, **options)


def distances(points):
    gaps = points[:, None] - points
    return (gaps**2).sum(axis=2)


def drawn_at_random(seed, count):
    """(scores, V, B) of `count` items whose spread makes some pairs certain and others not."""
    rng = np.random.default_rng(seed)
    return (
        rng.normal(size=count) * 3,
        distances(rng.normal(size=(count, 4)) * 0.2),
        distances(rng.normal(size=(count, 4)) * 0.1),
    )


def half(V, B, tests, delta=0.05, tau2=0.25):
    log = 2 * math.log(tests / delta) + math.log((V + tau2) / V)
    return LAM * U * math.sqrt(B) + math.sqrt(V * (V + tau2) / tau2 * log)


def test_two_items_by_hand():
    V, B = np.array([[0.0, 0.04], [0.04, 0.0]]), np.array([[0.0, 0.01], [0.01, 0.0]])
    wide = half(0.04, 0.01, 1)
    sure, unsure = made([0.0, wide + 0.01], V, B), made([0.0, wide - 0.01], V, B)
    assert sure.better.tolist() == [[False, False], [True, False]]
    assert sure.best.tolist() == [1]
    assert sure.more.tolist() == [0.0]
    assert not unsure.better.any()
    assert unsure.best.tolist() == [0, 1]
    assert 0 < unsure.more[0] < 10
    assert sure.upper == pytest.approx([-0.01, 0.0])
    # Each item is half of the difference away from the mean, its interval that of half the difference, two statements.
    middle = half(0.01, 0.0025, 2)
    assert sure.high - sure.low == pytest.approx([2 * middle] * 2)
    assert (sure.high + sure.low) / 2 == pytest.approx([-(wide + 0.01) / 2, (wide + 0.01) / 2])


def test_three_items_by_hand():
    V = np.array([[0.0, 0.01, 4.0], [0.01, 0.0, 4.0], [4.0, 4.0, 0.0]])
    board = made([1.0, 0.0, 0.9], V, 0 * V)
    assert half(0.01, 0.0, 3) < 1.0 < half(4.0, 0.0, 3)
    assert board.better.tolist() == [[False, True, False], [False] * 3, [False] * 3]
    assert board.best.tolist() == [0, 2]
    assert board.order.tolist() == [0, 2, 1]
    assert board.more[0] > 1000
    assert board.low == pytest.approx(board.scores - board.scores.mean() - [half(v, 0.0, 3) for v in to_mean(V)])


def to_mean(V):
    return V.mean(axis=1) - V.mean() / 2


@pytest.mark.parametrize("seed", range(20))
def test_better_and_best_are_their_definitions(seed):
    count = 2 + seed % 7
    s, V, B = drawn_at_random(seed, count)
    board = made(s, V, B)
    pairs = count * (count - 1) // 2
    for i, j in itertools.permutations(range(count), 2):
        assert board.better[i, j] == (s[i] - s[j] > half(V[i, j], B[i, j], pairs))
    beaten = {j for i, j in itertools.permutations(range(count), 2) if s[i] - s[j] > half(V[i, j], B[i, j], count - 1)}
    assert board.best.tolist() == sorted(set(range(count)) - beaten)
    leader = int(s.argmax())
    for j in range(count):
        expected = 0.0 if j == leader else s[j] - s[leader] + half(V[j, leader], B[j, leader], count - 1)
        assert board.upper[j] == pytest.approx(expected)
    assert not board.better.diagonal().any()
    assert not (board.better & board.better.T).any()


@pytest.mark.parametrize("interval", ["anytime", "proved", "fixed"])
def test_permuted_items_make_the_permuted_board(interval):
    s, V, B = drawn_at_random(3, 8)
    one, order = made(s, V, B, interval), np.random.default_rng(0).permutation(8)
    two = made(s[order], V[np.ix_(order, order)], B[np.ix_(order, order)], interval)
    assert order[two.order].tolist() == one.order.tolist()
    assert (two.better == one.better[np.ix_(order, order)]).all()
    assert sorted(order[two.best]) == one.best.tolist()
    for name in ("low", "high", "upper"):
        assert getattr(two, name) == pytest.approx(getattr(one, name)[order])
    assert two.more == pytest.approx(one.more)


def test_nothing_is_known_before_the_first_answer():
    _, V, B = drawn_at_random(0, 4)
    board = made(np.zeros(4), V, B, answers=0)
    assert np.isneginf(board.low).all()
    assert np.isposinf(board.high).all()
    assert not board.better.any()
    assert board.best.tolist() == [0, 1, 2, 3]
    assert np.isinf(board.more).all()
    stop = board.stop(0.5)
    assert not stop.done
    assert "by any amount" in stop.text
    assert 100 < stop.more < math.inf


def test_the_same_item_twice_is_never_better_than_itself():
    V = np.zeros((2, 2))
    board = made([1.0, 1.0 + 1e-15], V, V)
    assert not board.better.any()
    assert board.best.tolist() == [0, 1]


def test_stopping_is_about_the_upper_bounds():
    s, V, B = drawn_at_random(5, 6)
    board = made(s / 10, V, B, names=list("abcdef"))
    least = board.upper.max()
    done, not_yet = board.stop(least + 1e-9), board.stop(least - 1e-3)
    assert done.done
    assert done.more == 0.0
    assert done.text.startswith(f"you may stop: nothing is better than {board.name(board.leader)} by more than")
    assert not not_yet.done
    assert 0 < not_yet.more < math.inf
    assert not_yet.text.startswith("not yet: ")
    assert done.leader == board.order[0]
    assert done.chance == min(1.0, (1 + done.tolerance / 2) / 2)


def test_one_item_is_a_board():
    board = made([0.3], np.zeros((1, 1)), np.zeros((1, 1)))
    assert board.order.tolist() == board.best.tolist() == [0]
    assert board.more.size == 0
    assert board.stop(0.1).done


def test_what_a_board_says_in_words_is_one_plain_line():
    V = 0.01 * (1 - np.eye(2))
    board = made([1.0, 0.9], V, 0 * V, names=["green\ntea", "\x1b[31mmug"])
    for tolerance in (0.0, 50.0):
        assert board.stop(tolerance).text.isprintable()
    assert "green tea" in board.stop(50.0).text
    assert all(line.isprintable() for line in repr(board).splitlines())


def test_a_thousand_items_fit():
    s, V, B = drawn_at_random(0, 1000)
    board = made(s, V, B)
    assert board.better.shape == (1000, 1000)
    assert board.more.shape == (999,)


def test_a_board_is_a_frame_and_a_text():
    s, V, B = drawn_at_random(1, 3)
    board = made(s, V, B, names=["<b>x</b>", "a name too long for its column in the text", "c\nd"])
    frame = board.to_frame()
    assert frame.columns == [
        "rank", "item", "score", "low", "high", "beats", "may_be_best", "rank_low", "rank_high", "tier", "win", "elo",
        "more",
    ]  # fmt: skip
    assert frame["item"].to_list() == [board.names[k] for k in board.order]
    assert frame["more"].to_list()[-1] is None
    lines = repr(board).splitlines()
    assert len(lines) == 5
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scores": []}, "a board has 1 to 5,000 items"),
        ({"scores": [[1.0, 2.0]]}, "a board has 1 to 5,000 items"),
        ({"V": np.zeros((3, 3))}, "V, B and pull must be 2 x 2"),
        ({"names": ["a"]}, "one name per item, got 1 names for 2 items"),
        ({"names": ["a", "a"]}, "names must be unique, got 'a' twice"),
        ({"delta": 2.0}, "delta must be"),
    ],
)
def test_bad_boards_are_refused(changes, message):
    good = {"s": [0.0, 1.0], "V": np.zeros((2, 2)), "B": np.zeros((2, 2))}
    with pytest.raises(ValueError, match=message):
        made(**good | {{"scores": "s"}.get(name, name): value for name, value in changes.items()})
    with pytest.raises(TypeError, match="must be strings"):
        made(**good, names=[1, 2])
    with pytest.raises(ValueError, match="tolerance must be"):
        made(**good).stop(-1.0)


def test_a_gap_of_rounding_errors_needs_no_number_of_answers():
    V = 0.01 * (1 - np.eye(2))
    board = made([1.0 + 4e-16, 1.0], V, 0 * V)
    assert board.more.tolist() == [math.inf]
    assert "more than a billion answers needed" in board.stop(0.0).text


def test_the_leader_is_never_better_than_itself_even_before_the_first_answer():
    V = 1 - np.eye(3)
    board = made([0.0, 2.0, 1.0], V, 0 * V, answers=0)
    assert board.upper.tolist() == [math.inf, 0.0, math.inf]
    assert made([1.0], np.zeros((1, 1)), np.zeros((1, 1)), answers=0).stop(0.0).done


def test_ranks_and_tiers_follow_from_what_beats_what():
    rng = np.random.default_rng(3)
    for _ in range(30):
        count = int(rng.integers(2, 9))
        s = rng.normal(size=count)
        better = closed((s[:, None] - s > 0.7) & (rng.random((count, count)) < 0.8))
        order = np.argsort(-s, kind="stable")
        tiers = tiers_of(order, better)
        cuts = [n for n in range(1, count) if all(better[i, j] for i in order[:n] for j in order[n:])]
        expected = [1 + sum(n <= place for n in cuts) for place in range(count)]
        assert tiers[order].tolist() == expected


def test_better_is_transitive_and_a_cycle_decides_nothing():
    cycle = np.zeros((4, 4), bool)
    cycle[0, 1] = cycle[1, 2] = cycle[2, 0] = cycle[0, 3] = True
    assert closed(cycle).astype(int).tolist() == [[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]


def test_points_and_chances_are_on_the_scale_people_know():
    s, V, B = drawn_at_random(4, 5)
    board = made(s, V, B)
    odds = board.wins[0, 1] / board.wins[1, 0]
    assert math.log10(odds) * 400 == pytest.approx(board.elo[0] - board.elo[1])
    assert board.wins + board.wins.T == pytest.approx(np.ones((5, 5)))
    assert board.elo.mean() == pytest.approx(1500.0)
    assert board.win == pytest.approx(1 / (1 + np.exp(-(s - s.mean()))))
