"""The study of boards: replays beside the learner's own board, designs, worlds, tables and the command."""

import gzip
from dataclasses import replace

import numpy as np
import pytest
import typer
from scipy.stats import binom
from typer.testing import CliRunner

import benchmarks.boards.__main__ as boards_command
from benchmarks.boards.report import Rate, all_tables, false_rates, share_needed
from benchmarks.boards.run import cells_of, endings, false_claims, looks_of, measure, taus
from benchmarks.boards.spec import BoardsSpec
from benchmarks.boards.worlds import compared, designed, duels_of, read_votes, world_of
from conquer.registry import make
from conquer.study.runner import run_cells
from conquer.types import Choice, Query

K = 5


def boards(pairs, answers, interval, lam):
    """The library's own boards, look by look."""
    learner = make("gnr", dim=K, model="full", lam=lam)
    for (i, j), answer in zip(pairs.tolist(), answers.tolist(), strict=True):
        learner.learn(np.eye(K), Choice((i, j), Query.DUEL, 0, {}), answer)
        yield learner.board(np.eye(K), interval=interval)


@pytest.mark.parametrize(("world", "chooser"), [("linear", "random"), ("equal", "sep"), ("bradley-terry", "tob")])
def test_what_is_replayed_is_what_boards_say(world, chooser):
    found, lam = world_of(world, K, 0, 3), 0.5
    pairs, answers = duels_of(chooser, found, 150, lam, 5)
    looks = list(looks_of(pairs, answers, K, lam))
    scores = np.concatenate([part.scores for part in looks])
    wrong = found.truth[:, None] <= found.truth
    every = {name: list(boards(pairs, answers, name, lam)) for name in ("anytime", "proved", "fixed")}
    assert false_claims(looks, found.truth, 0.05, lam) == {
        name: any((board.better & wrong).any() for board in seen) for name, seen in every.items()
    }
    np.testing.assert_allclose(scores, [board.scores for board in every["fixed"]], atol=1e-10)
    ended = endings(looks, found.truth, 0.05, lam, 1.0)
    stops = [t + 1 for t, board in enumerate(every["anytime"]) if board.stop(1.0).done]
    assert ended["done"] == (stops[0] if stops else None)
    leaders = [board.leader for board in every["anytime"]]
    np.testing.assert_array_equal(ended["behind"], found.truth.max() - found.truth[leaders])


def test_tau_is_kendalls():
    from scipy.stats import kendalltau

    world = world_of("linear", 8, 1, 0)
    pairs, answers = duels_of("balanced", world, 40, 1.0, 2)
    looks = list(looks_of(pairs, answers, 8, 1.0))
    for t in (20, 39):  # by then no two scores are equal
        assert taus(looks, world.truth)[t] == pytest.approx(kendalltau(looks[0].scores[t], world.truth).statistic)


def test_designs_are_what_they_say():
    balanced = designed("balanced", 10, 50, 0)
    assert np.bincount(balanced.ravel()).tolist() == [10] * 10
    assert (balanced[:, 0] != balanced[:, 1]).all()
    random = designed("random", 4, 6000, 0)
    counts = np.zeros((4, 4))
    np.add.at(counts, tuple(random.T), 1)
    assert np.abs(counts[~np.eye(4, dtype=bool)] - 500).max() <= 5 * np.sqrt(6000 / 12 * 11 / 12)
    assert np.diag(counts).sum() == 0


@pytest.mark.parametrize("chooser", ["random", "tob", "sep"])
def test_boards_hold_at_every_look_where_all_are_equal(chooser):
    """200 runs of 150 looks: no more false claims than 5 % of runs give but once in 1,000 times; `fixed` has many."""
    found = [0, 0, 0]
    for run in range(200):
        world = world_of("equal", K, 11, run)
        looks = looks_of(*duels_of(chooser, world, 150, 1.0, run), K, 1.0)
        found = [a + b for a, b in zip(found, false_claims(looks, world.truth, 0.05, 1.0).values(), strict=True)]
    assert max(found[:2]) <= binom.ppf(0.999, 200, 0.05)
    assert found[2] > binom.ppf(0.999, 200, 0.05)


def test_sep_needs_fewer_answers_than_random_pairs():
    """400 paired worlds of utilities with standard deviation 3: after 70 % of the answers sep's tau is the higher."""
    more = []
    for run in range(400):
        world = world_of("bradley-terry", 8, 12, run)
        at_random = taus(looks_of(*duels_of("random", world, 40, 0.3, run), 8, 0.3), world.truth)[-1]
        sep = taus(looks_of(*duels_of("sep", world, 28, 0.3, run), 8, 0.3), world.truth)[-1]
        more.append(sep - at_random)
    assert np.mean(more) > 3 * np.std(more) / np.sqrt(len(more))


def test_votes_are_drawn_from_those_of_the_pair(tmp_path):
    path = tmp_path / "votes.csv.gz"
    rows = [("a", "b", "left"), ("b", "a", "right"), ("c", "a", "right"), ("b", "c", "tie"), ("a", "d", "left")]
    path.write_bytes(gzip.compress("\n".join(["left,right,winner", *map(",".join, rows)]).encode()))
    assert compared(read_votes(str(path)), 3) == ["a", "b", "c"]
    world = world_of("votes", 3, 0, 0, str(path))
    assert world.truth.argmax() == 0
    assert world.judge(Choice((2, 0), Query.DUEL, 0, {}), world.rewards, 5) == -1.0
    assert world.judge(Choice((1, 2), Query.DUEL, 0, {}), world.rewards, 5) == 0.0
    with pytest.raises(ValueError, match="no 4 items were all compared with each other; 3 were"):
        compared(read_votes(str(path)), 4)
    path.write_bytes(gzip.compress(b"left,right,winner\n01,1,left\n1,01,c\n"))
    with pytest.raises(ValueError, match="line 3: the winner must be one of the two items"):
        read_votes(str(path))
    path.write_bytes(gzip.compress(b"left,right,winner,votes\n01,1,left,2\n1,01,tie,1\n"))
    assert read_votes(str(path)) == {("01", "1"): [1.0, 1.0], ("1", "01"): [0.0]}


def test_the_share_needed_is_that_of_the_last_crossing():
    assert share_needed(np.array([0.6, 0.2, 0.4, 0.6]), 0.5, 1) == pytest.approx(3.5 / 5)
    assert share_needed(np.array([0.1, 0.2]), 0.5, 1) == np.inf
    assert Rate(5, 100).ends == pytest.approx((0.0164, 0.1128), abs=1e-4)  # Clopper and Pearson's


def test_blocks_add_up_and_nothing_is_computed_twice(tmp_path):
    spec = BoardsSpec(worlds=("equal",), items=(4,), runs=(25,), looks=(30,), races=(2,), watched=("sep",), stops=0)
    rows = run_cells(measure, cells_of(spec), tmp_path)
    assert len(rows) == len(cells_of(spec)) == 1
    assert [cell.stop for cell in cells_of(replace(spec, items=(30,)))] == [11, 22, 25]
    assert false_rates(rows)["equal", 4, "sep"]["fixed"].runs == 25

    def never(function, tasks):
        raise AssertionError("everything is there")

    assert run_cells(measure, cells_of(spec), tmp_path, never) == rows
    assert set(all_tables(rows)) == {"claims"}


def test_the_command_writes_tables_and_figures(tmp_path):
    options = [
        "--worlds",
        "linear,equal",
        "--items",
        "4",
        "--runs",
        "4",
        "--looks",
        "20",
        "--races",
        "4",
        "--stops",
        "2",
    ]
    options += ["--algorithms", "sep,gnc", "--watched", "random", "--jobs", "1", "--tolerance", "3"]
    places = ["--out", str(tmp_path / "out"), "--publish", str(tmp_path / "docs")]
    command = typer.Typer()
    command.command()(boards_command.main)
    found = CliRunner().invoke(command, [*options, *places])
    assert found.exit_code == 0, found.output
    names = {"claims.md", "answers.md", "stopping.md", "claims.png", "orders.png"}
    assert {path.name for path in (tmp_path / "docs").iterdir()} == names
    assert "5 tables and figures" in found.output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"worlds": ("flat",)}, "unknown world flat"),
        ({"algorithms": ("ttg",)}, "unknown rule ttg"),
        ({"items": (10,)}, "runs needs a number of at least 1 per size"),
        ({"items": (1, 2, 3)}, "at least 2"),
        ({"worlds": ("votes",)}, "needs --data"),
        ({"delta": 1.0}, "delta in"),
    ],
)
def test_what_makes_no_sense_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        BoardsSpec(**change)
