"""Figures of test errors: over all domains, under several readings, and in each domain."""

import itertools
from typing import TYPE_CHECKING

from conquer.metrics import half_width
from conquer.study.plots.canvas import Frames, Palette, domains_of, legend, name_ends, new, panels, sizes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BESIDE = 0.04
"""The distance of two algorithms at the same K, as a share of the smallest step from one K to the next."""
_BARS = 140
"""The number of bars that are distinguishable side by side on the width of a page."""


def errors_by_items(frames: Frames, palette: Palette) -> "Figure":
    """Average test error over all domains: for each K the algorithms from best to worst, 95 % intervals.

    Lines: full information and choosing at random.
    """
    means = {row["algorithm"]: row for row in frames["mean_error"].iter_rows(named=True)}
    sizes = sizes_of(frames["results"])
    figure, axes = panels(len(sizes), 2, 0.14 * len(palette.names) + 0.5, sharex=True)
    for axis, items in zip(axes, sizes, strict=True):
        order = sorted(palette.names, key=lambda name: means[name][f"K={items}"])
        for place, name in enumerate(order):
            mean, half = means[name][f"K={items}"], means[name][f"±{items}"]
            colour, hatch, _ = palette.styles[name]
            axis.barh(place, mean, 0.86, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4)
            axis.errorbar(mean, place, xerr=half or 0.0, color="black", linewidth=0.8, capsize=1.5)
        for name, (colour, line) in palette.references.items():
            if name in means:
                mean = means[name][f"K={items}"]
                axis.axvline(mean, color=colour, linestyle=line, lw=1.2)
                axis.annotate(
                    name, (mean, 1.0), xycoords=axis.get_xaxis_transform(), xytext=(0, 1), textcoords="offset points",
                    ha="center", va="bottom", fontsize=6, color=colour,
                )  # fmt: skip
        axis.set_yticks(range(len(order)), order)
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(len(order) - 0.4, -0.6)
        axis.set_title(f"K = {items}", fontsize=8, pad=12)
    every = [(row[f"K={items}"], row[f"±{items}"] or 0.0) for row in means.values() for items in sizes]
    axes[0].set_xlim(0, 1.04 * max(mean + half for mean, half in every) or 1.0)
    figure.supxlabel("mean test error", fontsize=8)
    return figure


def errors_by_reading(means: Frames, palette: Palette) -> "Figure":
    """Mean test error by K under each reading of the paper, with 95 % intervals: the same rounds and the same scale.

    Algorithms are drawn slightly apart at each K, so that their intervals are distinguishable.
    """
    across = min(len(means), 3 if len(means) % 2 else 2)
    down = -(-len(means) // across)
    figure, grid = new(down, across, (3.2 if down < 3 else 2.6) * down, sharey=True)
    axes = list(grid.ravel()[: len(means)])
    for axis in grid.ravel()[len(means) :]:
        axis.set_visible(False)
    for axis, (reading, table) in zip(axes, means.items(), strict=True):
        sizes = [int(name.removeprefix("K=")) for name in table.columns if name.startswith("K=")]
        step = _BESIDE * min((b - a for a, b in itertools.pairwise(sizes)), default=1)
        lines = {row["algorithm"]: row for row in table.iter_rows(named=True)}
        rows = {name: [row[f"K={items}"] for items in sizes] for name, row in lines.items()}
        for i, name in enumerate(palette.names):
            colour, _, marker = palette.styles[name]
            places = [items + step * (i - (len(palette.names) - 1) / 2) for items in sizes]
            axis.plot(places, rows[name], color=colour, marker=marker, markersize=4, linewidth=1.2, label=name)
            halves = [lines[name][f"±{items}"] or 0.0 for items in sizes]
            axis.errorbar(places, rows[name], halves, fmt="none", ecolor=colour, elinewidth=0.8, alpha=0.4)
        for name, (colour, line) in palette.references.items():
            if name in rows:
                axis.plot(sizes, rows[name], color=colour, linestyle=line, linewidth=1.2, label=name)
        axis.set_title(reading, fontsize=8)
        axis.set_xticks(sizes)
        axis.set_xlabel("items in a round (K)", fontsize=8)
    for axis in axes[::across]:
        axis.set_ylabel("mean test error", fontsize=8)
    axes[0].set_ylim(bottom=0)
    for axis in axes:
        drawn = [line for line in axis.get_lines() if not line.get_label().startswith("_")]
        last = max(float(line.get_xdata()[-1]) for line in drawn)
        ends = [(line.get_label(), last, float(line.get_ydata()[-1]), line.get_color()) for line in drawn]
        name_ends(axis, ends)
    return figure


def errors_by_domain(frames: Frames, palette: Palette) -> "Figure":
    """Test error in each domain: a block for each K, a bar for each algorithm, 95 % intervals over repetitions.

    A triangle at the top marks an interval that exceeds the scale; intervals are cut off at 0.
    """
    import polars as pl

    results, names = frames["results"], palette.names
    sizes, domains = sizes_of(results), domains_of(results)
    wide = len(names) + 1.5
    lefts = [block * wide for block in range(len(sizes))]
    figure, axes = panels(len(domains), max(1, min(3, int(_BARS / (wide * len(sizes))))), 1.25, sharey=True)
    top = 0.0
    ends: list[tuple[Axes, float, float]] = []
    for axis, domain in zip(axes, domains, strict=True):
        part = results.filter(pl.col("domain") == domain)
        trials = {key: group["error"].to_numpy() for key, group in part.group_by("algorithm", "items")}
        for i, name in enumerate(names):
            runs = [trials[name, items] for items in sizes]
            halves = [float(half_width(errors)) if len(errors) > 1 else 0.0 for errors in runs]
            means = [float(errors.mean()) for errors in runs]
            # No hatches: bars are too narrow for them. Their order is that of the legend.
            axis.bar(
                [left + i for left in lefts], means, 1.0, yerr=halves, label=name, color=palette.styles[name][0],
                error_kw={"lw": 0.6, "ecolor": "0.25"},
            )  # fmt: skip
            top = max(top, *means)
            ends += [(axis, left + i, mean + half) for left, mean, half in zip(lefts, means, halves, strict=True)]
        for name, (colour, line) in palette.references.items():
            if (name, sizes[0]) in trials:
                means = [float(trials[name, items].mean()) for items in sizes]
                across = [left - 0.6 for left in lefts], [left + len(names) - 0.4 for left in lefts]
                top = max(top, *means)
                axis.hlines(means, *across, color=colour, linestyle=line, lw=1.0, label=name)
        axis.set_title(domain, fontsize=8, pad=3)
        axis.set_xticks([left + (len(names) - 1) / 2 for left in lefts], [f"K = {items}" for items in sizes])
        axis.tick_params(axis="x", length=0, pad=1)
    limit = 1.15 * top or 1.0  # the ends of a few wide intervals would make all bars small
    axes[0].set_ylim(0, limit)
    for axis, x, end in ends:
        if end > limit:
            axis.plot(x, limit, "^", color="0.25", ms=3, mew=0, clip_on=False)
    figure.supylabel("test error", fontsize=8)
    legend(figure, axes[0], palette)
    return figure
