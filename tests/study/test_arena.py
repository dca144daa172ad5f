"""The arena end to end, little; its worlds and its page."""

import json
from dataclasses import replace

import numpy as np
import pytest
from study.studies import Listening

from conquer.registry import algorithms, find, groups, make
from conquer.simulation import simulate
from conquer.study.arena.contenders import VARIANTS, contender, names_of, published
from conquer.study.arena.report import PARTS, ranking, ratio_interval, verdicts, write
from conquer.study.arena.run import matches_of, measure, run_game, tune
from conquer.study.arena.spec import ArenaSpec
from conquer.study.arena.worlds import SETTINGS, synthetic_preferences
from conquer.study.backends import processes, serial
from conquer.study.progress import QUIET, RUNNING
from conquer.study.runner import run_cells
from conquer.types import Choice, Query

SMALL = ArenaSpec(worlds=("linear", "copeland"), algorithms=("ttg", "gnt", "colstim", "rucb"), rounds=60, repetitions=3)


def play(learner, world):
    return simulate(learner, world.rounds, judge=world.judges, delay=world.delay)


def study_arena(spec, out, backend=serial, progress=QUIET):
    return write(spec, run_cells(measure, matches_of(spec), out, backend, progress), out)


def test_a_small_arena_end_to_end_and_again_from_its_cells(tmp_path):
    fresh, again = Listening(), Listening()
    page = study_arena(SMALL, tmp_path, progress=fresh)
    cells = sorted(tmp_path.glob("cells/*/*.json"))
    assert len(cells) == 3 + 4  # rucb only where arms are fixed
    assert fresh.done == pytest.approx(fresh.begun)
    first = json.loads((tmp_path / "results.json").read_text())
    text = page.read_text()
    assert "conquer arena --worlds copeland --algorithms colstim,gnt,rucb,ttg --repetitions 3 --seed 0" in text
    assert "--rounds 60</code>" in text  # not the world's own number
    assert text.count("data:image/png") == 2  # a chart for each world
    cells[3].write_bytes(cells[3].read_bytes()[:-40])
    kept = {path: path.stat().st_mtime_ns for path in cells}
    study_arena(SMALL, tmp_path, progress=again)
    assert [path for path in cells if path.stat().st_mtime_ns != kept[path]] == [cells[3]]  # the one cut short
    assert 0 < again.begun[RUNNING] < fresh.begun[RUNNING]
    second = json.loads((tmp_path / "results.json").read_text())
    assert untimed(second) == untimed(first)
    rows = ranking(first["cells"], "linear")
    assert rows[0]["ratio"] == 1.0
    assert rows[0]["behind"] == 0.0
    table = verdicts(first["cells"])
    assert table.count("\n") == 3
    assert "colstim" in table
    assert table in (tmp_path / "verdicts.md").read_text()


def test_rivals_as_published_come_first_and_with_the_worlds_rounds(tmp_path):
    names = ("rucb", "rucb (published)", "interleaved-filter (published)", "gnt")
    spec = replace(SMALL, worlds=("copeland",), algorithms=names, repetitions=2)
    text = study_arena(spec, tmp_path).read_text()
    first, second = (text.index(f"<h3>{title}</h3>") for title in PARTS)
    assert first < text.index("rucb (published)", first) < second
    assert "(published)" not in text[second:]
    cells = {cell["algorithm"]: cell for cell in json.loads((tmp_path / "results.json").read_text())["cells"]}
    assert cells["interleaved-filter (published)"]["parameters"] == {
        "model": "diagonal", "published": True, "horizon": 60,
    }  # fmt: skip
    assert {name for name, cell in cells.items() if cell["published"]} == set(names[1:3])
    tables = (tmp_path / "verdicts.md").read_text().split("\n\n")
    assert [line for line in tables if line.startswith("Beside")] == [
        f"{part}. {regret}:" for part in PARTS for regret in ("Regret of the better shown", "Regret of both shown")
    ]
    assert "--algorithms &#39;gnt,interleaved-filter (published),rucb,rucb (published)&#39; " in text


def test_every_published_rival_is_a_contender():
    assert [entry.algorithm for entry in published().values()] == [row.name for row in algorithms() if row.published]
    assert set(published()) == set(names_of(("published",))) <= set(names_of(("rivals",)))
    assert names_of(("published", "ttg", "maxinp (published)"))[-1] == "ttg"
    assert not set(published()) & set(names_of(("paper",)))
    for setting in SETTINGS.values():
        for entry in published().values():
            for point in entry.grid:
                told = {**entry.options(setting), **point}
                assert told.get("horizon", setting.rounds) == setting.rounds
                make(entry.algorithm, dim=setting.dim, **told)


def untimed(result):
    return [{name: value for name, value in cell.items() if name != "microseconds"} for cell in result["cells"]]


def test_workers_meet_the_same_worlds(tmp_path):
    """Worlds of fixed arms too, whose builders cannot be sent to a process."""
    spec = replace(SMALL, algorithms=("ttg", "rucb"), repetitions=1)
    found = []
    for name, backend in (("one", serial), ("two", processes(2))):
        study_arena(spec, tmp_path / name, backend)
        found.append(untimed(json.loads((tmp_path / name / "results.json").read_text())))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"preset": "big", "worlds": None}, "unknown preset 'big'; presets are small"),
        ({"worlds": ("mars",)}, "unknown world mars; worlds are linear"),
        ({"algorithms": ("nobody",)}, "unknown algorithm nobody"),
        ({"repetitions": 0}, "repetitions must be at least 1, got 0"),
        ({"rounds": 0}, "rounds must be at least 1, got 0"),
    ],
)
def test_what_is_refused(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        study_arena(replace(SMALL, **changes), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_ratio_intervals_cover_the_ratio_of_paired_costs():
    """Costs whose ratio is 1.3, noisy in common and apart: 95 % intervals hold it in at least 88 of 100 trials."""
    held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        world = rng.gamma(20.0, size=25)
        low, high = ratio_interval(1.3 * world * rng.gamma(50.0, 0.02, 25), world * rng.gamma(50.0, 0.02, 25))
        held += low <= 1.3 <= high
    assert held >= 88  # 95 less three deviations of sqrt(100 x 0.05 x 0.95)


def test_options_of_ours_enter_only_where_they_matter():
    fits = {name: {w for w, setting in SETTINGS.items() if row.fits(setting)} for name, row in VARIANTS.items()}
    assert fits["ttg+forget"] == fits["gnc+forget"] == {"drifting"}
    assert fits["gnc+robust"] == {"corrupted"}
    assert fits["pairucb+aurora"] == set(SETTINGS)
    for row in VARIANTS.values():
        assert len(row.grid) == 8
        for point in row.grid:
            make(row.algorithm, dim=3, **{**row.options(SETTINGS["linear"]), **point})
    assert set(names_of(("paper",))) >= {"ttg", "ttg+forget"}
    assert "pairucb+forget" not in names_of(("paper",))


@pytest.mark.parametrize("name", SETTINGS)
def test_worlds_are_the_same_for_everyone_and_pay_for_knowledge(name):
    """An oracle's taste gets no regret, random choice plenty."""
    setting = replace(SETTINGS[name], rounds=80)
    one, two = (setting.make(0, "run", 3) for _ in range(2))
    np.testing.assert_array_equal(one.rounds.X.data, two.rounds.X.data)
    np.testing.assert_array_equal(one.rounds.rewards, two.rounds.rewards)
    assert not np.array_equal(one.rounds.rewards, setting.make(0, "run", 4).rounds.rewards) or setting.fixed
    random = play(make("random", dim=setting.dim), one)
    assert random.regret.sum() > 5
    assert (random.strong_regret >= 2 * random.regret - 1e-12).all()


def test_delay_and_corruption_reach_the_learner():
    heard = []

    class Listener:
        name, dim, duels, shows = "listener", 10, True, 2

        def choose(self, X, ticket):
            return Choice((0, 1), Query.DUEL, ticket, {"chance": None})

        def learn(self, X, choice, answer):
            heard.append(answer)

    plain, corrupted, delayed = (SETTINGS[name].make(0, "run", 0) for name in ("linear", "corrupted", "delayed"))
    play(Listener(), plain)
    straight = list(heard)
    heard.clear()
    play(Listener(), corrupted)
    assert len(heard) == len(straight) == 1000
    heard.clear()
    play(Listener(), delayed)
    assert len(heard) == 1000  # answers still out at the end are learnt too
    world = SETTINGS["corrupted"].make(0, "run", 1)
    rewards = world.rounds[0].rewards
    sure = Choice((int(rewards.argmax()), int(rewards.argmin())), Query.BEST, 0)
    assert world.judges[0](sure, rewards, 5) == -1.0
    assert world.judges[999](sure, rewards, 5) == 1.0


def test_tuning_takes_the_better_point():
    point = tune(replace(SETTINGS["linear"], tuning=1, share=0.2), contender("ttg"), seed=0)
    assert point["lam"] in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


def test_groups_cover_the_registry():
    assert set(groups()["paper"]) | set(groups()["rivals"]) == set(groups()["all"])
    assert not set(groups()["paper"]) & set(groups()["rivals"])
    wanted = (
        "maxinp colstim pairucb vacdb twots fgts maxminlcb newtron soba epoch-greedy kwik partial-feedback dbgd "
        "interleaved-filter beat-the-mean rucb rmed1 double-thompson ucb-mnl cppl preference-perceptron"
    )
    assert set(wanted.split()) <= set(groups()["rivals"])
    assert set(groups()["contextual"]) < set(groups()["rivals"])
    for name in groups()["contextual"]:
        make(name, dim=100_000)
    for name in ("fgts", "cppl"):
        assert find(name).largest == 2048
        with pytest.raises(ValueError, match="at most 2048 features"):
            make(name, dim=2049)
    with pytest.raises(ValueError, match="unknown algorithm nobody"):
        names_of(("ttg", "nobody"))


@pytest.mark.parametrize(("world", "name"), [("drifting", "gnt"), ("delayed", "gnc"), ("logistic", "ttu")])
def test_the_compiled_loop_gives_the_arenas_own_regrets(world, name):
    made, entry = replace(SETTINGS[world], rounds=200).make(0, "run", 0), contender(name)
    one, two = (run_game(entry, {"model": "full"}, made, 3, timed=timed) for timed in (True, False))
    np.testing.assert_array_equal(one.weak, two.weak)
    np.testing.assert_array_equal(one.strong, two.strong)
    assert one.questions == two.questions


@pytest.mark.parametrize("kind", ["bradley-terry", "condorcet", "copeland", "cyclic"])
def test_made_up_matrices_are_of_their_kind(kind):
    P = synthetic_preferences(kind, 7, np.random.default_rng(0))
    np.testing.assert_allclose(P + P.T, 1.0)
    beats = (P > 0.5).sum(axis=1)
    assert (beats.max() == 6) == (kind in ("bradley-terry", "condorcet"))
    assert kind != "cyclic" or {*beats.tolist()} == {3}
    assert kind != "copeland" or beats.max() == 5
