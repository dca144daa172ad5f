"""Questions that were not asked, and questions between equals."""

from typing import Any

from conquer.metrics import half_width
from conquer.study.plots.canvas import MARKERS, Cast, Figure, Frames, new, sizes_of

# The marker shows a single K, of which there is no line.
_REFERENCE: dict[str, Any] = {"color": "0.35", "linestyle": "--", "linewidth": 1.1, "marker": "_", "markersize": 9}


def asked(frames: Frames, cast: Cast) -> Figure:
    """Left: rounds without a question by K (or by pass), and those with a single best item, the most it can rightly be.

    Right: questions between equally good items by K. Bars at the left are 95 % intervals over domains.
    """
    figure, axes = new(1, 2, 2.6)
    left, right = axes[0]
    passes = int(frames["results"]["passes"].max())
    if passes > 1:
        _silence_by_pass(left, frames, cast, passes)
    else:
        _silence_by_size(left, frames, cast)
    left.set_ylabel("rounds without a question, %", fontsize=8)
    left.set_ylim(bottom=0)
    if left.get_legend_handles_labels()[0]:
        left.legend(fontsize=6.5, frameon=False)
    _equal_pairs(right, frames, cast)
    return figure


def _silence_by_pass(axis: Any, frames: Frames, cast: Cast, passes: int) -> None:
    sizes = sizes_of(frames["results"])
    for row in frames["by_pass"].iter_rows(named=True):
        values = [row[f"pass {i + 1}"] for i in range(passes)]
        colour, _, _ = cast.styles[row["algorithm"]]
        axis.plot(range(1, passes + 1), values, marker=MARKERS[sizes.index(row["items"])], color=colour,
                  ms=4, linewidth=1.1, label=f"{row['algorithm']}, K = {row['items']}")  # fmt: skip
    axis.set_xticks(range(1, passes + 1))
    axis.set_xlabel("pass", fontsize=8)


def _silence_by_size(axis: Any, frames: Frames, cast: Cast) -> None:
    import polars as pl

    results = frames["results"]
    silent = results.filter(pl.col("algorithm").is_in(cast.names)).group_by("algorithm", "items")
    rate = (100 * (1 - pl.col("query_rate").mean())).alias("silent")
    table, each = silent.agg(rate), results.group_by("algorithm", "items", "domain").agg(rate)
    for name in cast.names:
        part = table.filter(pl.col("algorithm") == name).sort("items")
        if (part["silent"].max() or 0) > 0:
            colour, _, marker = cast.styles[name]
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


def _equal_pairs(axis: Any, frames: Frames, cast: Cast) -> None:
    sizes = sizes_of(frames["results"])
    for row in frames["equal_pairs"].iter_rows(named=True):
        values = [row[f"K={items}"] for items in sizes]
        if row["algorithm"] in cast.styles:
            colour, _, marker = cast.styles[row["algorithm"]]
            axis.plot(sizes, values, color=colour, marker=marker, ms=4, linewidth=1.1, label=row["algorithm"])
        elif row["algorithm"] == "in sets":
            axis.plot(sizes, values, label="any pair", **_REFERENCE)
    axis.set_xticks(sizes)
    axis.set_xlabel("K", fontsize=8)
    axis.set_ylabel("questions between equal items, %", fontsize=8)
    axis.set_ylim(bottom=0)
    axis.set_ylim(top=1.45 * axis.get_ylim()[1])  # room for the legend above the lines
    axis.legend(fontsize=6.5, frameon=False, ncols=3, loc="upper center")
