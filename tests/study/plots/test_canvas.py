"""What figures share: legible text, panels, names at the ends of lines, fonts; and the stars of the tables."""

import itertools
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from conquer.study.plots.canvas import domains_of, name_ends, new, palette_of, panels, save, spread
from conquer.study.plots.curves import mean_regret
from conquer.study.plots.errors import errors_by_items
from conquer.study.reviews.comparison import holm, one_versus_one
from conquer.study.reviews.tables import matrix


@pytest.mark.parametrize(("count", "rows", "columns"), [(1, 1, 1), (2, 1, 2), (4, 2, 2), (10, 4, 3), (33, 11, 3)])
def test_panels_stand_in_rows(count: int, rows: int, columns: int) -> None:
    figure, axes = panels(count, 3, 1.0)
    assert len(axes) == count == sum(axis.get_visible() for axis in figure.axes)
    grid = axes[0].get_gridspec()
    assert (grid.nrows, grid.ncols) == (rows, columns)


def test_domains_are_in_order_whatever_their_case() -> None:
    assert domains_of(pl.DataFrame({"domain": ["music", "MP3", "arts", "music"]})) == ["arts", "MP3", "music"]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 0.1))
def test_names_are_apart_in_order_and_stay_about_where_they_were(places: list[float], gap: float) -> None:
    rising = sorted(places)
    moved = spread(rising, gap)
    assert all(after - before >= gap - 1e-9 for before, after in itertools.pairwise(moved))
    assert np.mean(moved) == pytest.approx(np.mean(rising))
    if all(after - before >= gap for before, after in itertools.pairwise(rising)):
        assert moved == pytest.approx(rising)


def test_a_name_stands_beside_its_line_in_its_colour() -> None:
    _, axes = new(1, 1, 2.0)
    axis = axes[0, 0]
    for height, colour in ((0.2, "red"), (0.9, "blue")):
        axis.plot([0, 1], [0, height], color=colour)
    name_ends(axis, [("low", 1.0, 0.2, "red"), ("high", 1.0, 0.9, "blue")])
    assert [(text.get_text(), text.get_color(), text.xy) for text in axis.texts] == [
        ("low", "red", (1.0, 0.2)), ("high", "blue", (1.0, 0.9)),
    ]  # fmt: skip


def test_bars_go_from_best_to_worst_with_their_intervals() -> None:
    table = pl.DataFrame(
        {"algorithm": ["ttg", "gnc", "all"], "K=5": [0.2, 0.3, 0.1], "±5": [0.01, 0.02, None],
         "K=10": [0.4, 0.3, 0.1], "±10": [0.03, 0.04, None]}
    )  # fmt: skip
    frames = {"mean_error": table, "results": pl.DataFrame({"items": [5, 10]})}
    figure = errors_by_items(frames, palette_of(["ttg", "gnc"], ["ttg", "gnc"], "random", "all"))
    shown = [[label.get_text() for label in axis.get_yticklabels()] for axis in figure.axes]
    assert shown == [["ttg", "gnc"], ["gnc", "ttg"]]
    for axis, means, halves in zip(figure.axes, ([0.2, 0.3], [0.3, 0.4]), ([0.01, 0.02], [0.04, 0.03]), strict=True):
        assert [bar.get_width() for bar in axis.patches] == means
        drawn = [one.lines[2][0].get_segments()[0] for one in axis.containers[1::2]]
        assert [(high - low) / 2 for (low, _), (high, _) in drawn] == pytest.approx(halves)
        assert axis.get_xlim()[1] >= 0.43
        assert [text.get_text() for text in axis.texts] == ["all"]


def test_fonts_of_a_pdf_are_true_type(tmp_path: Path) -> None:
    figure, axes = new(1, 1, 2.0)
    axes[0, 0].set_title("regret")
    assert save(figure, tmp_path / "deep" / "x.y") == tmp_path / "deep" / "x.y.png"
    content = (tmp_path / "deep" / "x.y.pdf").read_bytes()
    assert b"/CIDFontType2" in content
    assert b"/Type3" not in content


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holms_correction_lies_between_none_and_bonferronis(values: list[float]) -> None:
    found = holm(values)
    assert all(p <= q <= min(1.0, len(values) * p) + 1e-12 for p, q in zip(values, found, strict=True))
    order = np.argsort(values, kind="stable")
    assert all(
        before <= after for before, after in zip(np.array(found)[order], np.array(found)[order][1:], strict=False)
    )


def test_a_star_needs_to_survive_the_correction() -> None:
    """Ten domains of which half are lost a little: the test alone finds it, among six pairs it is nothing sure."""
    errors = {f"d{d}": (0.2 - 0.01 * (d < 5), 0.2 + 0.0005 * (-1) ** d) for d in range(10)}
    rows = [
        {"domain": domain, "items": 5, "repetition": 0, "algorithm": name, "error": error}
        for domain, (one, two) in errors.items()
        for name, error in (
            ("ttg", one),
            ("gnr", two),
            ("gnc", two + 0.0004 * (-1) ** (int(domain[1]) // 2)),
            ("gnu", one),
        )
    ]
    duels = one_versus_one(pl.DataFrame(rows))
    won = duels.filter(row="ttg", column="gnr").row(0, named=True)
    difference = np.array([one - two for one, two in errors.values()])
    assert won["p"] == pytest.approx(ttest_1samp(difference, 0.0).pvalue)
    assert won["p"] < 0.05 < won["holm"]
    assert not any("*" in cell for row in matrix(duels).iter_rows() for cell in row)
    assert duels.filter(row="ttg", column="gnu").row(0, named=True)["p"] == 1.0


def test_a_trial_that_one_of_them_lacks_counts_for_neither() -> None:
    rows = [
        {"domain": f"d{d}", "items": 5, "repetition": 0, "algorithm": name, "error": error + 0.001 * d}
        for d in range(6)
        for name, error in (("ttg", 0.1), ("gnr", 0.2 + 0.01 * d), ("gnc", 0.3 - 0.01 * d))
        if (d, name) != (5, "gnc")
    ]
    duels = one_versus_one(pl.DataFrame(rows))
    won = duels.filter(row="ttg", column="gnc").row(0, named=True)
    assert (won["wins"], won["losses"], won["ties"], won["units"]) == (5, 0, 0, 5)
    assert 0.0 < won["p"] < 0.01
    assert duels.filter(row="ttg", column="gnr").row(0, named=True)["units"] == 6


def test_ten_domains_can_be_enough_for_a_star_among_sixty_six_pairs() -> None:
    """What is won everywhere by far is sure. A sign test could not say so: its smallest p is 2/1024."""
    rng = np.random.default_rng(0)
    rows = [
        {"domain": f"d{d}", "items": 5, "repetition": 0, "algorithm": name, "error": 0.1 * k + 0.01 * rng.normal()}
        for d in range(10)
        for k, name in enumerate(("ttg", "gnr", "gnu", "gnc", "ttu", "unr", "gnt", "gnw", "confidit", "banditron"))
    ]
    duels = one_versus_one(pl.DataFrame(rows))
    assert duels["units"].unique().to_list() == [10]
    assert matrix(duels).filter(pl.col("beat") == "ttg").row(0)[2:] == ("10*",) * 9


def test_the_arena_draws_bands_and_random_leaves_the_picture() -> None:
    at = [1, 50, 100]
    rows = [
        {"algorithm": name, "single": False, "curve": {"round": at, "regret": [0.0, end / 2, end], "half": [0, 1, 2]}}
        for name, end in (("gnc", 10.0), ("ttg", 10.1), ("random", 90.0))
    ]
    (axis,) = mean_regret(rows[:2], rows[2:], palette_of(["gnc", "ttg"], ["gnc", "ttg"], "random", "")).axes
    assert [text.get_text() for text in axis.texts] == ["gnc", "ttg", "random"]
    assert len(axis.collections) == 3
    assert [line.get_ydata()[-1] < axis.get_ylim()[1] for line in axis.get_lines()] == [True, True, False]
    assert len({line.get_color() for line in axis.get_lines()}) == 3
