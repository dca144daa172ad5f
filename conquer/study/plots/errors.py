"""Test errors over all domains: bars for each K, and lines under several readings."""

import itertools

from conquer.study.plots.canvas import Cast, Figure, Frames, legend, new, sizes_of

_BESIDE = 0.04
"""How far two algorithms are apart at the same K, as a share of the least step from one K to the next."""


def errors_by_items(frames: Frames, cast: Cast) -> Figure:
    """Average test error over all domains: a block for each K, a bar for each algorithm, 95 % intervals."""
    means = {row["algorithm"]: row for row in frames["mean_error"].iter_rows(named=True)}
    names, style, sizes = cast.names, cast.styles, sizes_of(frames["results"])
    figure, axes = new(1, 1, 3.0)
    axis = axes[0, 0]
    wide = len(names) + 1.5
    for block, items in enumerate(sizes):
        left = block * wide
        for i, name in enumerate(names):
            mean, half = means[name][f"K={items}"], means[name][f"±{items}"]
            colour, hatch, _ = style[name]
            axis.bar(
                left + i, mean, 0.92, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4,
                label=name if block == 0 else None,
            )  # fmt: skip
            axis.errorbar(left + i, mean, half or 0.0, color="black", linewidth=0.8, capsize=1.5)
        for name, (colour, line) in cast.references.items():
            if name in means:
                mean = means[name][f"K={items}"]
                label = name if block == 0 else None
                axis.hlines(
                    mean, left - 0.6, left + len(names) - 0.4, color=colour, linestyle=line, lw=1.2, label=label
                )
    axis.set_xticks([b * wide + (len(names) - 1) / 2 for b in range(len(sizes))], [f"K = {items}" for items in sizes])
    axis.tick_params(axis="x", length=0, labelsize=9)
    axis.set_ylabel("mean test error", fontsize=8)
    axis.set_ylim(bottom=0)
    legend(figure, axis, cast)
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
    legend(figure, axes[0, 0], cast)
    return figure
