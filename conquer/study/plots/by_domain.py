"""The paper's figures of every single domain: test errors by K as bars, and regret as rounds go by."""

import numpy as np

from conquer.metrics import half_width
from conquer.study.plots.canvas import Cast, Figure, Frames, domains_of, legend, panels, sizes_of

_BARS = 140
"""So many bars can be told apart side by side on the width of a page."""


def bars(frames: Frames, cast: Cast) -> Figure:
    """Test error in each domain: a block for each K, a bar for each algorithm, 95 % intervals over repetitions.

    A triangle at the top marks an interval that goes on above the scale; below, all are cut at 0.
    """
    import polars as pl

    results, names = frames["results"], cast.names
    sizes, domains = sizes_of(results), domains_of(results)
    wide = len(names) + 1.5
    lefts = [block * wide for block in range(len(sizes))]
    figure, axes = panels(len(domains), max(1, min(3, int(_BARS / (wide * len(sizes))))), 1.25, sharey=True)
    top, ends = 0.0, []
    for axis, domain in zip(axes, domains, strict=True):
        part = results.filter(pl.col("domain") == domain)
        trials = {key: group["error"].to_numpy() for key, group in part.group_by("algorithm", "items")}
        for i, name in enumerate(names):
            runs = [trials[name, items] for items in sizes]
            halves = [float(half_width(errors)) if len(errors) > 1 else 0.0 for errors in runs]
            means = [errors.mean() for errors in runs]
            # No hatches: on bars this narrow they are blots. The order is the legend's.
            axis.bar(
                [left + i for left in lefts], means, 1.0, yerr=halves, label=name, color=cast.styles[name][0],
                error_kw={"lw": 0.6, "ecolor": "0.25"},
            )  # fmt: skip
            top = max(top, *means)
            ends += [(axis, left + i, mean + half) for left, mean, half in zip(lefts, means, halves, strict=True)]
        for name, (colour, line) in cast.references.items():
            if (name, sizes[0]) in trials:
                means = [trials[name, items].mean() for items in sizes]
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
    legend(figure, axes[0], cast)
    return figure


def cumulative_regret(frames: Frames, cast: Cast) -> Figure:
    """Regret so far in each domain, round by round, at the middle K; bands are 95 % intervals over repetitions."""
    import polars as pl
    from matplotlib.ticker import MaxNLocator

    results = frames["results"]
    sizes, domains = sizes_of(results), domains_of(results)
    items, floor = sizes[(len(sizes) - 1) // 2], next(iter(cast.references))
    curves = frames["curves"].filter(pl.col("items") == items)
    means = curves.group_by("domain", "algorithm", "round").agg(pl.col("regret").mean(), runs=pl.col("regret"))
    means = means.sort("round")
    lines = dict(means.group_by("domain", "algorithm", maintain_order=True))
    looks = {name: (cast.styles[name][0], "-", cast.styles[name][2]) for name in cast.names}
    looks[floor] = *cast.references[floor], ""
    figure, axes = panels(len(domains), 3, 1.45)
    for axis, domain in zip(axes, domains, strict=True):
        for i, (name, (colour, line, marker)) in enumerate(looks.items()):
            part = lines.get((domain, name))
            if part is not None:
                axis.plot(
                    part["round"], part["regret"], line, color=colour, lw=1.0, marker=marker, ms=3, label=name,
                    markevery=(3 + i % 10, 12),
                )  # fmt: skip
                if part["runs"].list.len().min() > 2:  # the interval of two says nothing
                    mean = part["regret"].to_numpy()
                    half = np.array([float(half_width(np.array(runs))) for runs in part["runs"]])
                    axis.fill_between(part["round"], mean - half, mean + half, color=colour, alpha=0.12, linewidth=0)
        axis.set_title(domain, fontsize=8, pad=3)
        axis.set_xlim(left=0)
        axis.set_ylim(bottom=0)
        for each in (axis.xaxis, axis.yaxis):
            each.set_major_locator(MaxNLocator(4))
            each.set_major_formatter("{x:,.0f}")
    figure.supxlabel(f"rounds (K = {items})", fontsize=8)
    figure.supylabel("cumulative regret", fontsize=8)
    legend(figure, axes[0], cast)
    return figure
