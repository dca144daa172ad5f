"""Bars of test errors over all domains, for each K."""

from conquer.study.plots.canvas import Cast, Figure, Frames, legend, new, sizes_of


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
