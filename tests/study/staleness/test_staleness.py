"""The study of staleness, little: worlds, regions that merge, costs with intervals, tables and figures, resume."""

from dataclasses import replace

import numpy as np
import pytest
from study.studies import Listening

from conquer.metrics import half_width
from conquer.registry import make
from conquer.simulation import simulate
from conquer.study.progress import RUNNING
from conquer.study.staleness import report
from conquer.study.staleness.costs import courses
from conquer.study.staleness.regions import learn_apart
from conquer.study.staleness.run import run_staleness, study_staleness
from conquer.study.staleness.spec import WORLDS, StalenessSpec
from conquer.study.staleness.tables import all_tables
from conquer.study.staleness.work import ALONE, LATE, ON_SHOW, REGIONS, cells_of
from conquer.study.staleness.worlds import STALE_WORLDS, rounds_of
from conquer.tickets import stream

LITTLE = StalenessSpec(
    algorithms=("ttg", "gnc"), merging=("gnc",), delays=(5, 40), batches=(10,), regions=(2,), every=(30,), rounds=60,
    repetitions=2,
)  # fmt: skip


def course(regrets, unlearnt=(0.5, 0.5, 0.5)):
    """A course of three repetitions with these regrets by way."""
    rows = [
        {"world": "w", "algorithm": "gnc", "unlearnt": unlearnt[k], "runs": [
            {"way": way, "size": size, "regret": values[k], "asked": 1.0} for (way, size), values in regrets.items()
        ]}
        for k in range(3)
    ]  # fmt: skip
    (found,) = courses(rows)
    return found


@pytest.mark.parametrize("world", WORLDS)
def test_a_world_is_its_seed_and_repetition(world):
    one, again, other = (STALE_WORLDS[world].build(60, stream("s", seed)) for seed in (0, 0, 1))
    assert len(one) == 60
    assert set(one.sizes) == {10}
    assert np.array_equal(one.sets, again.sets)
    assert np.array_equal(one.rewards, again.rewards)
    assert not np.array_equal(one.X.data, other.X.data)


@pytest.mark.parametrize("world", ["fresh", "reviews"])
def test_regions_that_merge_after_every_round_are_one_learner(world):
    """With a merge after each round nobody is ever behind: the regret is that of one learner with the same tickets."""
    rounds = rounds_of(world, 40, 0, 0)

    def fresh():
        return make("gnr", dim=rounds.X.dim, **STALE_WORLDS[world].merged)

    merged = learn_apart(fresh, rounds, 3, 2, 1)
    chance = [np.random.default_rng(stream("region", 3, region)) for region in range(2)]
    learner = fresh()
    alone = [
        simulate(learner, type(rounds)(rounds.X, rounds.sets[[t]], rounds.rewards), seed=chance[t % 2]).regret[0]
        for t in range(40)
    ]
    assert merged.tolist() == alone


def test_regions_that_never_merge_learn_from_their_own_answers_alone():
    rounds = rounds_of("fresh", 60, 0, 0)
    regret = learn_apart(lambda: make("gnr", dim=20, model="full"), rounds, 3, 2, 60)
    own = type(rounds)(rounds.X, rounds.sets[1::2], rounds.rewards)
    alone = simulate("gnr", own, seed=np.random.default_rng(stream("region", 3, 1)), model="full").regret
    assert regret[1::2].tolist() == alone.tolist()


def test_costs_are_paired_and_their_intervals_students():
    at_once, late = [10.0, 20.0, 30.0], [12.0, 23.0, 34.0]
    found = course({(ALONE, 0): at_once, (LATE, 4): late, (LATE, 8): [14.0, 24.0, 34.0]})
    cost = found.cost((LATE, 4))
    assert cost.mean == pytest.approx(3.0 / 20.0)
    assert cost.half == pytest.approx(float(half_width(np.array([2.0, 3.0, 4.0]))) / 20.0)
    assert str(cost) == "+15 ± 12 %"
    # Slopes (4 e_4 + 8 e_8) / 80 of the repetitions are 0.5, 0.55 and 0.6, in rounds of 0.5 each.
    price, half = found.price()
    assert price == pytest.approx(1.1)
    assert half == pytest.approx(float(half_width(np.array([1.0, 1.1, 1.2]))))
    assert found.delay_for(0.1, price) == pytest.approx(0.1 * 20.0 / 0.5 / 1.1)


def test_a_delay_is_free_as_long_as_no_interval_lies_above_zero():
    flat, dear = [11.0, 19.0, 30.0], [20.0, 30.5, 41.0]
    found = course({(ALONE, 0): [10.0, 20.0, 30.0], (LATE, 4): flat, (LATE, 8): dear, (LATE, 9): flat})
    assert found.free() == 4
    lower = course({(ALONE, 0): [10.0, 20.0, 30.0], (LATE, 8): [9.0, 18.9, 29.1]})
    assert lower.price()[0] < 0
    (line,) = all_tables([lower])["prices"].rows(named=True)
    assert line["no cost seen up to"] == 8
    assert line["10 % at"] == "no such delay"


def test_end_to_end_and_again_from_its_cells(tmp_path):
    fresh, again = Listening(), Listening()
    rows = study_staleness(LITTLE, tmp_path, progress=fresh)
    assert [(row["world"], row["algorithm"]) for row in rows[::4]] == [(world, "ttg") for world in WORLDS]
    assert len(list(tmp_path.glob("cells/*/*.json"))) == len(cells_of(LITTLE)) == 4 * 2 * 2
    assert study_staleness(LITTLE, tmp_path, progress=again) == rows
    assert again.begun[RUNNING] == 0
    found = courses(rows)
    report.write(LITTLE, found, tmp_path)
    names = ["batches", "delays", "on_show", "prices", "regions"]
    assert sorted(path.stem for path in tmp_path.glob("tables/*.md")) == names
    assert sorted(path.stem for path in tmp_path.glob("figures/*.png")) == ["delays", "on_show", "regions"]
    ttg, gnc = found[:2]
    assert ttg.sizes(ON_SHOW) == ttg.sizes(REGIONS) == []
    assert gnc.sizes(ON_SHOW) == [5, 40]
    assert "| fresh | gnc |" in (tmp_path / "tables" / "regions.md").read_text()


def test_a_delay_as_long_as_the_run_is_a_run_that_knows_nothing(tmp_path):
    spec = replace(LITTLE, worlds=("fresh",), algorithms=("gnr",), merging=(), delays=(60,), batches=(60,))
    for row in study_staleness(spec, tmp_path):
        late, batched = (run["regret"] for run in row["runs"] if run["way"] != ALONE)
        assert late == batched  # both learn at the end alone


def test_the_command_writes_and_publishes(tmp_path, capsys):
    spec = replace(LITTLE, worlds=("catalogue",), algorithms=("ttg",), merging=())
    run_staleness(spec, out=tmp_path / "out", publish=tmp_path / "docs")
    assert sorted(path.name for path in (tmp_path / "docs").iterdir()) == [
        "batches.md", "delays.md", "delays.png", "prices.md",
    ]  # fmt: skip
    assert "4 tables and figures in" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"worlds": ("mars",)}, "no world mars; there are fresh, catalogue, drifting, reviews"),
        ({"algorithms": ("vacdb",)}, "no rule vacdb; there are ttg, gnr"),
        ({"delays": ()}, "must name at least one each, got nothing"),
        ({"merging": ("vacdb",)}, "no rule vacdb; there are ttg, gnr"),
        ({"delays": (9, 3)}, "delays must be rising numbers of at least 1, got (9, 3)"),
        ({"every": (0,)}, "every must be rising numbers of at least 1, got (0,)"),
        ({"repetitions": 1}, "an interval needs at least 2 repetitions, got 1"),
        ({"rounds": 35}, "rounds must be a multiple of 5 and no fewer than the delays, got 35"),
    ],
)
def test_refusals(change, message):
    with pytest.raises(ValueError) as refused:
        replace(LITTLE, **change)
    assert message in str(refused.value)


def test_cells_without_regions_do_not_depend_on_them():
    names = [{cell.name for cell in cells_of(replace(LITTLE, merging=(), every=(every,)))} for every in (30, 31)]
    assert names[0] == names[1]
