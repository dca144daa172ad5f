"""Turns become ratios, unstable ratios are refused, and the table says what was not measured."""

import json

import numpy as np
import pytest

from conquer.bench import everyday, report
from conquer.bench.timing import Race, Ratio, race


def test_contenders_take_turns():
    order = []

    def contender(name):
        return lambda: order.append(name) or 1.0

    race({name: contender(name) for name in "abc"}, 9)
    turns = ["".join(order[i : i + 3]) for i in range(0, 30, 3)]
    assert {*map(frozenset, turns)} == {frozenset("abc")}
    assert len({*turns}) > 3


def test_a_ratio_is_the_median_over_the_turns():
    one = Race({"a": np.array([2.0, 4.0, 6.0]), "b": np.array([1.0, 2.0, 3.0])})
    assert one.ratio("a", "b") == Ratio(2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("median", "larger", "verdict"),
    [
        (9.0, True, "stretch"),
        (6.0, True, "must"),
        (4.0, True, "missed"),
        (4.0, False, "stretch"),
        (9.0, False, "missed"),
    ],
)
def test_verdicts(median, larger, verdict):
    must, stretch = (5.0, 8.0) if larger else (8.0, 5.0)
    assert report.Goal("x", Ratio(median, median, median), must, stretch, larger).verdict == verdict


@pytest.mark.parametrize(
    ("low", "median", "high", "verdict"),
    [
        (4.9, 5.1, 5.3, "must, barely"),
        (4.7, 4.9, 5.1, "missed, barely"),
        (5.0, 5.1, 5.3, "must"),
        (4, 4.5, 4.9, "missed"),
    ],
)
def test_a_verdict_that_a_quarter_of_the_turns_contradicts_says_so(low, median, high, verdict):
    assert report.Goal("x", Ratio(median, low, high), 5.0, None, True).verdict == verdict
    ratio = Ratio(10 - median, 10 - high, 10 - low)
    assert report.Goal("x", ratio, 5.0, None, False).verdict == verdict
    assert report.Goal("x", Ratio(8.1, 7.0, 9.0), 5.0, 8.0, True).verdict == "stretch, barely"


def test_an_unstable_ratio_has_no_verdict_and_no_median():
    (row,) = report.goal_rows([report.Goal("x", Ratio(4.0, 1.0, 9.0), 2, 3, True)])
    assert row["verdict"] == "unstable"
    assert row["ratio"]["median"] is None


def results():
    names = ("ttg", "gnr", "gnw", "gnu", "gnc", "gnt", "confidit", "stream", "ttg calls", "gnc calls", "gnt calls")
    rng = np.random.default_rng(0)
    sparse = Race({name: 10 + rng.random(5) for name in names})
    full = Race(
        {name: 10 + rng.random(5) for name in ("ttg", "gnr", "gnw", "gnu", "gnc", "dsymv + dsyr", "dsymm + dsyr")}
    )
    paths = Race({name: 10 + rng.random(5) for path in everyday.PATHS for name in (path, everyday.ready(path))})
    growth = {"rounds t": {"x": [1.0, 10.0, 100.0], "microseconds": [5.0, 5.0, 5.0]}}
    return {
        "load": (0.0, 0.0, 0.0),
        "cores": 2,
        "one_core": True,
        "goals": report.goal_rows(report.decision_goals(sparse) + report.matrix_goals(full, None)),
        "parts": report.part_rows(sparse),
        "races": {"decisions": report.race_rows(sparse)},
        "everyday": report.everyday_rows(paths),
        "growth": report.growth_rows(growth),
        "files": {"bytes_a_feature": 16.0},
        "texts": {"documents_a_second": {"conquer": 10.0}, "shown": "8.70 (8.50 to 8.90)"},
        "largest": {"river": 100},
        "cannot": {"river": "a dense matrix"},
        "missing": ["mabwiser"],
    }


def test_the_table_names_what_is_missing_and_what_cannot():
    found = results()
    json.dumps(found)
    text = report.table(found)
    assert "mabwiser is not installed" in text
    assert "river cannot take this work" in text
    assert "river is measured up to D = 100" in text
    assert found["growth"]["rounds t"]["power"] == pytest.approx(0.0, abs=1e-12)


def test_everyday_paths_are_microseconds_with_their_aims():
    turns = {name: np.array([20.0, 30.0, 40.0]) for name in everyday.PATHS}
    paths = Race(turns | {everyday.ready(name): np.array([10.0, 10.0, 10.0]) for name in everyday.PATHS})
    rows, (small, named) = report.everyday_rows(paths), report.everyday_goals(paths)
    assert [row["us"]["median"] for row in rows.values()] == [30.0] * len(everyday.PATHS)
    assert {row["shown"] for row in rows.values()} == {"3.00 (2.50 to 3.50)"}
    assert (small.verdict, named.verdict) == ("stretch", "stretch")


def test_parts_are_differences_turn_by_turn():
    turns = {"random": [1.0, 2.0, 3.0], "ttg without learning": [5.0, 5.0, 9.0], "ttg": [6.0, 8.0, 10.0]}
    parts = report.part_rows(Race({name: np.array(values) for name, values in turns.items()}))
    assert {part: row["median"] for part, row in parts.items()} == {
        "rounds, tickets, judge, log, fetching ahead": 2.0,
        "ten scores and the two picks": 4.0,
        "learning two items": 1.0,
    }


def test_growth_is_drawn(tmp_path):
    from conquer.study.plots.bench import draw_growth

    draw_growth(results()["growth"], tmp_path / "growth.png")
    assert (tmp_path / "growth.png").read_bytes()[:4] == b"\x89PNG"
