"""The figure that puts readings side by side shows means and intervals of its tables."""

import polars as pl
import pytest

from conquer.study.plots.canvas import cast
from conquer.study.plots.errors import errors_by_reading


def test_readings_have_intervals_that_do_not_cover_each_other() -> None:
    table = pl.DataFrame(
        {"algorithm": ["ttg", "gnc", "all"], "K=5": [0.2, 0.2, 0.1], "±5": [0.01, 0.02, None],
         "K=10": [0.3, 0.3, 0.1], "±10": [0.03, None, 0.01]}
    )  # fmt: skip
    figure = errors_by_reading({"paper": table, "ours": table}, cast(["ttg", "gnc"], ["ttg", "gnc"], "random", "all"))
    assert [axis.get_title() for axis in figure.axes] == ["reading: paper", "reading: ours"]
    for axis in figure.axes:
        places = []
        for bars, halves, means in zip(axis.containers, ([0.01, 0.03], [0.02, 0.0]), ([0.2, 0.3],) * 2, strict=True):
            (lines,) = bars.lines[2]
            ends = [((x, low), high) for (x, low), (_, high) in lines.get_segments()]
            assert [(high - low) / 2 for (_, low), high in ends] == pytest.approx(halves)
            assert [(high + low) / 2 for (_, low), high in ends] == pytest.approx(means)
            places.append([x for (x, _), _ in ends])
        assert places[0][0] < 5 < places[1][0] < places[0][1] < 10 < places[1][1]
