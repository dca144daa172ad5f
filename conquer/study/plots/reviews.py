"""Every figure of a study of reviews, legible in print and to colour-blind readers."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from conquer.metrics import half_width
from conquer.study.plots.canvas import MARKERS, Frames, Palette, ink, new, sizes_of
from conquer.study.plots.curves import regret_by_domain, regret_curves, sample_efficiency
from conquer.study.plots.errors import competition, errors_by_domain, errors_by_items

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The marker shows a single K, which has no line.
_REFERENCE: dict[str, Any] = {"color": "0.35", "linestyle": "--", "linewidth": 1.1, "marker": "_", "markersize": 9}


def tuned_parameters(frames: Frames, palette: Palette) -> "Figure":
    """How often each grid point was chosen, over all domains and K."""
    points = {name: frames["tuned"].filter(algorithm=name).to_dicts() for name in palette.names}
    names = [name for name, rows in points.items() if len(rows) > 1]
    figure, axes = new(1, 1, 0.42 * len(names) + 0.9)
    axis = axes[0, 0]
    counts = np.zeros((max(1, len(names)), max((len(points[name]) for name in names), default=1)))
    for i, name in enumerate(names):
        total = max(1, sum(row["all"] for row in points[name]))
        counts[i, : len(points[name])] = [row["all"] / total for row in points[name]]
    picture = axis.imshow(counts, cmap="Blues", vmin=0, vmax=0.7, aspect="auto")
    for i, name in enumerate(names):
        for j, row in enumerate(points[name]):
            label = row["parameters"].replace("lam", "λ").replace("eta", "η").replace("gamma", "γ").replace(", ", "\n")
            text, colour = f"{label}\n{100 * counts[i, j]:.0f} %", ink(picture, counts[i, j])
            axis.text(j, i, text, ha="center", va="center", fontsize=5.5, color=colour)
    axis.set_yticks(range(len(names)), names)
    axis.set_xticks([])
    axis.set_title("share of (domain, K) that chose each grid point", fontsize=8)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    return figure


def questions(frames: Frames, palette: Palette) -> "Figure":
    """Left: rounds without a question by K (or by pass), and rounds with a single best item, its upper limit.

    Right: questions between equally good items by K. Bars at the left are 95 % intervals over domains.
    """
    figure, axes = new(1, 2, 2.6)
    left, right = axes[0]
    passes = int(frames["results"]["passes"][0])
    if passes > 1:
        _silence_by_pass(left, frames, palette, passes)
    else:
        _silence_by_size(left, frames, palette)
    left.set_ylabel("rounds without a question, %", fontsize=8)
    left.set_ylim(bottom=0)
    if left.get_legend_handles_labels()[0]:
        left.legend(fontsize=6.5, frameon=False)
    _equal_pairs(right, frames, palette)
    return figure


def _silence_by_pass(axis: "Axes", frames: Frames, palette: Palette, passes: int) -> None:
    sizes = sizes_of(frames["results"])
    for row in frames["by_pass"].iter_rows(named=True):
        values = [row[f"pass {i + 1}"] for i in range(passes)]
        colour, _, _ = palette.styles[row["algorithm"]]
        axis.plot(range(1, passes + 1), values, marker=MARKERS[sizes.index(row["items"])], color=colour,
                  ms=4, linewidth=1.1, label=f"{row['algorithm']}, K = {row['items']}")  # fmt: skip
    axis.set_xticks(range(1, passes + 1))
    axis.set_xlabel("pass", fontsize=8)


def _silence_by_size(axis: "Axes", frames: Frames, palette: Palette) -> None:
    import polars as pl

    results = frames["results"]
    silent = results.filter(pl.col("algorithm").is_in(palette.names)).group_by("algorithm", "items")
    rate = (100 * (1 - pl.col("query_rate").mean())).alias("silent")
    table, each = silent.agg(rate), results.group_by("algorithm", "items", "domain").agg(rate)
    for name in palette.names:
        part = table.filter(pl.col("algorithm") == name).sort("items")
        if any(part["silent"].to_list()):
            colour, _, marker = palette.styles[name]
            own = [each.filter(algorithm=name, items=k).sort("domain")["silent"].to_numpy() for k in part["items"]]
            halves = [float(half_width(rates)) if rates.size > 1 else 0.0 for rates in own]
            axis.errorbar(
                part["items"], part["silent"], halves, color=colour, marker=marker, ms=4, lw=1.1, elinewidth=0.7,
                capsize=1.5, label=name,
            )  # fmt: skip
    single = results.group_by("items").agg(pl.col("unique_in_sets").mean() * 100).sort("items")
    axis.plot(single["items"], single["unique_in_sets"], label="rounds with a single best item", **_REFERENCE)
    axis.set_xticks(sizes_of(results))
    axis.set_xlabel("K", fontsize=8)


def _equal_pairs(axis: "Axes", frames: Frames, palette: Palette) -> None:
    sizes = sizes_of(frames["results"])
    for row in frames["equal_pairs"].iter_rows(named=True):
        values = [row[f"K={items}"] for items in sizes]
        if row["algorithm"] in palette.styles:
            colour, _, marker = palette.styles[row["algorithm"]]
            axis.plot(sizes, values, color=colour, marker=marker, ms=4, linewidth=1.1, label=row["algorithm"])
        elif row["algorithm"] == "in sets":
            axis.plot(sizes, values, label="any pair", **_REFERENCE)
    axis.set_xticks(sizes)
    axis.set_xlabel("K", fontsize=8)
    axis.set_ylabel("questions between equal items, %", fontsize=8)
    axis.set_ylim(bottom=0)
    axis.set_ylim(top=1.45 * axis.get_ylim()[1])  # room for the legend above the lines
    axis.legend(fontsize=6.5, frameon=False, ncols=3, loc="upper center")


FIGURES: "dict[str, Callable[[Frames, Palette], Figure]]" = {
    "errors": errors_by_items,
    "competition": competition,
    "domains": errors_by_domain,
    "regret_by_domain": regret_by_domain,
    "regret": regret_curves,
    "efficiency": sample_efficiency,
    "tuned": tuned_parameters,
    "questions": questions,
}
"""{file name: function that draws it}; its docstring is the caption. To add a figure, add a line."""
