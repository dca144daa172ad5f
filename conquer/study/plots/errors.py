"""Test errors over all domains: bars for each K, best first, and lines under several readings."""

import itertools

from conquer.study.plots.canvas import Cast, Figure, Frames, name_ends, new, panels, sizes_of

_BESIDE = 0.04
"""How far two algorithms are apart at the same K, as a share of the least step from one K to the next."""


def errors_by_items(frames: Frames, cast: Cast) -> Figure:
    """Average test error over all domains: for each K the algorithms from best to worst, 95 % intervals.

    Lines: full information and choosing at random.
    """
    means = {row["algorithm"]: row for row in frames["mean_error"].iter_rows(named=True)}
    sizes = sizes_of(frames["results"])
    figure, axes = panels(len(sizes), 2, 0.14 * len(cast.names) + 0.5, sharex=True)
    for axis, items in zip(axes, sizes, strict=True):
        order = sorted(cast.names, key=lambda name: means[name][f"K={items}"])
        for place, name in enumerate(order):
            mean, half = means[name][f"K={items}"], means[name][f"±{items}"]
            colour, hatch, _ = cast.styles[name]
            axis.barh(place, mean, 0.86, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4)
            axis.errorbar(mean, place, xerr=half or 0.0, color="black", linewidth=0.8, capsize=1.5)
        for name, (colour, line) in cast.references.items():
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


def errors_by_reading(means: Frames, cast: Cast) -> Figure:
    """Mean test error by K under each reading of the paper, with 95 % intervals: the same rounds and the same scale.

    Algorithms stand a little beside each other at each K, so that their intervals can be told apart.
    """
    figure, axes = new(1, len(means), 3.2, sharey=True)
    for axis, (reading, table) in zip(axes[0], means.items(), strict=True):
        sizes = [int(name.removeprefix("K=")) for name in table.columns if name.startswith("K=")]
        step = _BESIDE * min((b - a for a, b in itertools.pairwise(sizes)), default=1)
        lines = {row["algorithm"]: row for row in table.iter_rows(named=True)}
        rows = {name: [row[f"K={items}"] for items in sizes] for name, row in lines.items()}
        for i, name in enumerate(cast.names):
            colour, _, marker = cast.styles[name]
            places = [items + step * (i - (len(cast.names) - 1) / 2) for items in sizes]
            axis.plot(places, rows[name], color=colour, marker=marker, markersize=4, linewidth=1.2, label=name)
            halves = [lines[name][f"±{items}"] or 0.0 for items in sizes]
            axis.errorbar(places, rows[name], halves, fmt="none", ecolor=colour, elinewidth=0.8, alpha=0.4)
        for name, (colour, line) in cast.references.items():
            if name in rows:
                axis.plot(sizes, rows[name], color=colour, linestyle=line, linewidth=1.2, label=name)
        axis.set_title(f"reading: {reading}", fontsize=9)
        axis.set_xticks(sizes)
        axis.set_xlabel("items in a round (K)", fontsize=8)
    axes[0, 0].set_ylabel("mean test error", fontsize=8)
    axes[0, 0].set_ylim(bottom=0)
    for axis in axes[0]:
        drawn = [line for line in axis.get_lines() if not line.get_label().startswith("_")]
        last = max(float(line.get_xdata()[-1]) for line in drawn)
        ends = [(line.get_label(), last, float(line.get_ydata()[-1]), line.get_color()) for line in drawn]
        name_ends(axis, ends)
    return figure
