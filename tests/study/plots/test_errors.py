"""Figures of errors and regret show the numbers of their frames, for four domains and for the paper's 33."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from conquer.data.paper import DOMAINS
from conquer.metrics import half_width
from conquer.study.plots.canvas import Palette, palette_of
from conquer.study.plots.curves import regret_by_domain, regret_by_domain_one, regret_curves, regret_curves_one
from conquer.study.plots.errors import errors_by_domain, errors_by_reading
from conquer.study.reviews.report import FIGURES


def test_readings_have_intervals_that_do_not_cover_each_other() -> None:
    table = pl.DataFrame(
        {"algorithm": ["ttg", "gnc", "all"], "K=5": [0.2, 0.2, 0.1], "±5": [0.01, 0.02, None],
         "K=10": [0.3, 0.3, 0.1], "±10": [0.03, None, 0.01]}
    )  # fmt: skip
    figure = errors_by_reading(
        {"paper": table, "ours": table}, palette_of(["ttg", "gnc"], ["ttg", "gnc"], "random", "all")
    )
    assert [axis.get_title() for axis in figure.axes] == ["paper", "ours"]
    for axis in figure.axes:
        places = []
        for bars, halves, means in zip(axis.containers, ([0.01, 0.03], [0.02, 0.0]), ([0.2, 0.3],) * 2, strict=True):
            (lines,) = bars.lines[2]
            ends = [((x, low), high) for (x, low), (_, high) in lines.get_segments()]
            assert [(high - low) / 2 for (_, low), high in ends] == pytest.approx(halves)
            assert [(high + low) / 2 for (_, low), high in ends] == pytest.approx(means)
            places.append([x for (x, _), _ in ends])
        assert places[0][0] < 5 < places[1][0] < places[0][1] < 10 < places[1][1]


NAMES, SIZES, REPETITIONS = ["ttg", "gnc"], (5, 10, 20), 3
ONE = [*NAMES, "confidit"]


def frames(domains: tuple[str, ...], names: list[str] = NAMES) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    cells, points = [], []
    for place, domain in enumerate(domains):
        for items in SIZES:
            for algorithm in (*names, "random", "all"):
                for repetition in range(REPETITIONS):
                    head = {"domain": domain, "items": items, "algorithm": algorithm, "repetition": repetition}
                    cells.append(head | {"error": rng.uniform(0.1, 0.4), "shows": 1 if algorithm == "confidit" else 2})
                    if algorithm != "all":
                        rounds = np.linspace(1, 100 * (place + 1), 40).astype(int)
                        regret = rng.uniform(0.1, 1.0) * rounds
                        points += [head | {"round": int(t), "regret": r} for t, r in zip(rounds, regret, strict=True)]
    return {"results": pl.DataFrame(cells), "curves": pl.DataFrame(points)}


@pytest.fixture(scope="module")
def looks() -> Palette:
    return palette_of(NAMES, NAMES, "random", "all")


def titled(figure: Any) -> dict[str, Any]:
    return {axis.get_title(): axis for axis in figure.axes if axis.get_visible()}


def test_a_bar_for_each_algorithm_and_k_in_each_domain(looks: Palette) -> None:
    made = frames(("movies & TV", "MP3", "android", "garden & pets"))
    shown = titled(errors_by_domain(made, looks))
    assert list(shown) == ["android", "garden & pets", "movies & TV", "MP3"]
    for domain, axis in shown.items():
        for name, group in zip(NAMES, axis.containers[1::2], strict=True):
            part = [made["results"].filter(domain=domain, algorithm=name, items=k)["error"].to_numpy() for k in SIZES]
            assert [bar.get_height() for bar in group] == pytest.approx([errors.mean() for errors in part])
            (lines,) = group.errorbar.lines[2]
            halves = [(high - low) / 2 for (_, low), (_, high) in lines.get_segments()]
            assert halves == pytest.approx([float(half_width(errors)) for errors in part])
        assert [text.get_text() for text in axis.get_xticklabels()] == [f"K = {items}" for items in SIZES]
        assert axis.get_ylim()[0] == 0
    lefts = sorted(bar.get_x() for group in shown["MP3"].containers[1::2] for bar in group)
    assert np.diff(lefts).min() >= 1 - 1e-9


def test_an_interval_that_leaves_the_scale_is_marked(looks: Palette) -> None:
    made = frames(("android", "MP3"))
    wide = (pl.col("domain") == "MP3") & (pl.col("items") == 10) & (pl.col("algorithm") == "gnc")
    errors = pl.when(wide).then(0.9 * (pl.col("repetition") == 2).cast(pl.Float64)).otherwise(0.2)
    made["results"] = made["results"].with_columns(error=errors)
    shown = titled(errors_by_domain(made, looks))
    assert shown["android"].get_lines() == []
    (mark,) = [line for line in shown["MP3"].get_lines() if line.get_marker() == "^"]
    bar = shown["MP3"].containers[3][1]
    assert mark.get_xdata()[0] == pytest.approx(bar.get_x() + bar.get_width() / 2)
    assert (
        mark.get_ydata()[0] == shown["MP3"].get_ylim()[1] < bar.get_height() + float(half_width(np.array([0, 0, 0.9])))
    )
    assert "A triangle" in str(errors_by_domain.__doc__)


def grid(figure: Any) -> dict[tuple[str, int], Any]:
    """{(domain, K): panel} of a figure with a row for each domain and a column for each K."""
    axes = figure.axes
    names = [axis.get_ylabel() for axis in axes[:: len(SIZES)]]
    return {(name, k): axes[i * len(SIZES) + j] for i, name in enumerate(names) for j, k in enumerate(SIZES)}


def test_regret_is_drawn_over_the_rounds_at_every_k(looks: Palette) -> None:
    made = frames(("MP3", "android"))
    figure = regret_by_domain(made, looks)
    shown = grid(figure)
    assert list(shown) == [(domain, items) for domain in ("android", "MP3") for items in SIZES]
    for (domain, items), axis in shown.items():
        lines = {line.get_label(): line for line in axis.get_lines()}
        assert list(lines) == [*NAMES, "random"]
        for name, line in lines.items():
            part = made["curves"].filter(domain=domain, algorithm=name, items=items)
            mean = part.group_by("round").agg(pl.col("regret").mean()).sort("round")
            assert line.get_xdata().tolist() == mean["round"].to_list()
            assert line.get_ydata().tolist() == pytest.approx(mean["regret"].to_list())
    assert [axis.get_title() for axis in figure.axes[: len(SIZES)]] == [f"K = {items}" for items in SIZES]
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("rounds", "cumulative regret")


def test_regrets_of_one_item_and_of_two_are_not_in_one_panel() -> None:
    looks, made = palette_of(ONE, ONE, "random", "all"), frames(("android",), ONE)
    for two, one in ((regret_by_domain, regret_by_domain_one), (regret_curves, regret_curves_one)):
        for axis in two(made, looks).axes[: len(SIZES)]:
            assert {line.get_label() for line in axis.get_lines()} == {"ttg", "gnc", "random"}
        for axis in one(made, looks).axes[: len(SIZES)]:
            assert {line.get_label() for line in axis.get_lines()} == {"confidit"}
        assert one(frames(("android",)), palette_of(NAMES, NAMES, "random", "all")) is None


def test_a_learner_that_diverged_has_no_line(looks: Palette) -> None:
    made = frames(("android",))
    made["curves"] = made["curves"].filter(pl.col("algorithm") != "gnc")
    for axis in regret_by_domain(made, looks).axes:
        assert [line.get_label() for line in axis.get_lines()] == ["ttg", "random"]


@pytest.mark.parametrize("draw", [errors_by_domain, regret_by_domain])
def test_thirty_three_domains_do_not_overlap(looks: Palette, draw: Any) -> None:
    """Every panel has a title and a place of its own, below the legend."""
    figure = draw(frames(DOMAINS), looks)
    figure.draw_without_rendering()
    shown = titled(figure) if draw is errors_by_domain else grid(figure)
    assert tuple(dict.fromkeys(name if isinstance(name, str) else name[0] for name in shown)) == DOMAINS
    boxes = [axis.get_tightbbox() for axis in shown.values()]
    for i, one in enumerate(boxes):
        assert one.width > 1.2 * figure.dpi
        assert not any(one.overlaps(other) for other in boxes[i + 1 :])
    (above,) = figure.legends
    assert above.get_window_extent().y0 >= max(box.y1 for box in boxes)


def test_both_are_figures_of_a_study() -> None:
    assert (FIGURES["domains"], FIGURES["regret_by_domain"]) == (errors_by_domain, regret_by_domain)


def test_domains_without_a_single_mistake_can_be_drawn(looks: Palette) -> None:
    made = frames(("android",))
    made["results"] = made["results"].with_columns(error=pl.lit(0.0))
    (axis,) = errors_by_domain(made, looks).axes
    assert axis.get_ylim() == (0.0, 1.0)
