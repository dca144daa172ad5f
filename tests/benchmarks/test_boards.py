"""The benchmark of boards: its copy of the model and the rules beside the library, and a seeded part of its tables."""

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks import boards
from benchmarks.boards import RULES, Played, Share, misfit, play, warned, world, wrong
from conquer.boards import Evidence
from conquer.registry import make
from conquer.types import Choice, Query

K = 6
CHOSEN = ("sep", "tob", "gnr", "gnc")
"""Rules with at least a first item that is no draw."""


def replayed(found: Played, rule: str, tolerance: float | None):
    """(learner, evidence, looks): the library after every answer of a run."""
    learner, evidence, names = make(rule, dim=K, model="full"), Evidence(), list(range(K))
    X = np.eye(K)
    for t in range(found.first.size):
        pair = int(found.first[t]), int(found.second[t])
        yield learner, evidence, t, pair
        choice = Choice(pair, Query.DUEL, 0, {})
        evidence.add(*pair, learner.forecast(X, choice), found.answer[t])
        learner.learn(X, choice, found.answer[t])
    yield learner, evidence, found.first.size, None
    assert names


@pytest.mark.parametrize("rule", CHOSEN)
@pytest.mark.parametrize("tolerance", [None, 0.5])
def test_what_is_played_is_what_the_library_asks_and_says(rule, tolerance):
    truth, means = world("linear", K, 2)
    found = play(5, means, truth, rule, horizon=400, tolerance=tolerance, every=50)
    done, checked, claims = -1, 0, np.full(4, -1)
    for learner, evidence, t, pair in replayed(found, rule, tolerance):
        scores = learner.scores(np.eye(K))
        race = evidence.race(range(K), tolerance)
        leader, left = race.left(scores, 0.05)
        if tolerance is not None and leader is not None and not left.size and done < 0:
            done = t
        if pair is None:
            break
        choice = Choice(pair, Query.DUEL, 0, {})
        assert learner.forecast(np.eye(K), choice) == pytest.approx((found.gap[t], found.deviation[t]), abs=1e-9)
        # Where two items are level the draw decides.
        if np.diff(np.sort(scores)).min() > 1e-9 and t > 30:
            among = race.candidates(scores, 0.05) if learner.narrows else None
            ours = learner.choose(np.eye(K), 0) if among is None else learner.choose(np.eye(K), 0, among)
            assert ours.shown[0] == pair[0]
            if rule not in ("gnr", "gnc"):
                assert set(ours.shown) == set(pair)
                checked += 1
        if t and t % 50 == 0:
            false = truth[:, None] <= truth
            for place, options in (
                (0, {}),
                (2, {"interval": "anytime", "design": "fixed"}),
                (3, {"interval": "fixed"}),
            ):
                if claims[place] < 0 and (learner.board(np.eye(K), **options).better & false).any():
                    claims[place] = t
    assert done == (found.done if tolerance is not None else -1)
    assert checked > 200 or rule in ("gnr", "gnc")
    assert (claims[3] >= 0) == (0 <= found.false[3] < found.first.size)


def test_alive_and_done_are_the_librarys():
    truth, means = world("linear", K, 3)
    found = play(1, means, truth, "gnr", horizon=3000)
    evidence = Evidence()
    evidence.extend(range(K), found.answers())
    race = evidence.race(range(K), 0.5)
    assert race.alive(0.05).sum() == 1 or found.one < 0
    top = int(truth.argmax())
    assert race.alive(0.05)[top] == (found.excluded < 0)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ["equal", "near", "linear"])
def test_boards_are_not_wrong_in_long_runs(rule, name):
    """20,000 answers, looked at all along; more than chance allows if the lower 95 % limit of a share is above 5 %."""
    for kind in ("better", "best", "stop"):
        share = wrong(rule, name, 10, 20)[kind]
        assert share.least <= boards.DELTA, (kind, share)


def test_items_that_are_worth_more_by_another_law_stay_in():
    for sd in (1, 3):
        share = wrong("tob", f"bradley-terry {sd}", 10, 20)["best"]
        assert share.least <= boards.DELTA


def test_a_share_is_in_bold_where_it_is_too_large():
    assert str(Share(10, 100)) == "10.0 %"
    assert str(Share(12, 100)) == "**12.0 %**"
    assert Share(12, 100).least == pytest.approx(binomtest(12, 100).proportion_ci(0.95, method="exact").low)


@pytest.mark.parametrize("name", ["intransitive", "tastes"])
def test_answers_that_do_not_fit_are_noticed(name):
    (share,) = warned(name, "gnr", 0.1, (10_000,), 10)
    assert share.hits >= 8


@pytest.mark.parametrize("rule", ["random", "sep", "gnr"])
def test_sound_worlds_give_no_warning(rule):
    for name in ("sound", "sound features"):
        (share,) = warned(name, rule, 0.1 * (rule != "random"), (2_000,), 20)
        assert share.least <= boards.DELTA


def test_a_world_without_the_law_has_means_of_chances():
    for name in boards.MISFITS:
        _, means, schedule, _ = misfit(name, 5, 0, 400)
        assert (np.abs(means) <= 1).all()
        assert np.allclose(means, -means.transpose(0, 2, 1))
        assert schedule.max() < len(means)


def test_sessions_stop_early():
    """Mean answers until done at 0.5 with tob, 60 runs, items evenly spaced; the standard errors are 3 %."""
    for count, most in ((5, 210), (10, 450), (20, 1000)):
        fixed = boards.evenly(count)
        text = boards.endings("tob", 60, lambda run, fixed=fixed: fixed, ends="done")
        assert float(text.split()[0].replace(",", "")) <= most
        assert "wrong" not in text
        assert "not done" not in text


def test_a_file_of_votes_is_a_world(tmp_path):
    lines = ["left,right,winner", *["a,b,left", "b,a,right", "a,b,tie", "a,c,right", "c,b,left", "d,a,left"]]
    (tmp_path / "votes.csv").write_text("\n".join(lines))
    worth, means = boards.real(tmp_path / "votes.csv", 3)
    assert means.tolist() == [[0.0, 2 / 3, -1.0], [-2 / 3, 0.0, -1.0], [1.0, 1.0, 0.0]]
    assert worth == pytest.approx([-1 / 3, -5 / 3, 2.0])
    with pytest.raises(ValueError, match="no 4 items were all compared with each other; 3 were"):
        boards.real(tmp_path / "votes.csv", 4)


def test_tables_are_made(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["boards", "--quick", "--only", "stop", "--out", str(tmp_path)])
    boards.main()
    assert (tmp_path / "stop.md").read_text().startswith("## Mean answers until done")
    assert "uniform 20 tob" in capsys.readouterr().out
