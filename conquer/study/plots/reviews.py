"""Every figure of a study, readable in print and by the colour-blind, as PNG and PDF."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from conquer.registry import find
from conquer.study.plots.canvas import MARKERS, REFERENCES, Figure, Frame, legend, new, sizes_of, styles
from conquer.study.plots.curves import regret_curves, sample_efficiency
from conquer.study.reviews import tables


def errors_by_items(results: Frame, curves: Frame) -> Figure:
    """Average test error over all domains: a block for each K, a bar for each algorithm, 95 % intervals."""
    names, sizes = tables.contenders(results), sizes_of(results)
    style = styles(names)
    figure, axes = new(1, 1, 3.0)
    axis = axes[0, 0]
    wide = len(names) + 1.5
    for block, items in enumerate(sizes):
        left = block * wide
        for i, name in enumerate(names):
            mean, half = tables.interval(results, name, items)
            colour, hatch, _ = style[name]
            axis.bar(
                left + i, mean, 0.92, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4,
                label=name if block == 0 else None,
            )  # fmt: skip
            axis.errorbar(left + i, mean, half or 0.0, color="black", linewidth=0.8, capsize=1.5)
        for name, (colour, line) in REFERENCES.items():
            if name in results["algorithm"].unique().to_list():
                mean = tables.interval(results, name, items)[0]
                label = name if block == 0 else None
                axis.hlines(
                    mean, left - 0.6, left + len(names) - 0.4, color=colour, linestyle=line, lw=1.2, label=label
                )
    axis.set_xticks([b * wide + (len(names) - 1) / 2 for b in range(len(sizes))], [f"K = {items}" for items in sizes])
    axis.tick_params(axis="x", length=0, labelsize=9)
    axis.set_ylabel("mean test error", fontsize=8)
    axis.set_ylim(bottom=0)
    legend(figure, axis)
    return figure


def competition(results: Frame, curves: Frame) -> Figure:
    """One versus one: in what share of the trials the row's error was below the column's; bold where significant.

    Behind the line: the references, choosing at random and full information.
    """
    duels = tables.one_versus_one(results)
    names = tables.ordered(results["algorithm"].to_list())
    found = {(row["row"], row["column"]): row for row in duels.iter_rows(named=True)}
    share = np.full((len(names), len(names)), np.nan)
    for i, one in enumerate(names):
        for j, two in enumerate(names):
            if i != j:
                row = found[one, two]
                share[i, j] = row["wins"] / max(1, row["wins"] + row["losses"] + row["ties"])
    figure, axes = new(1, 1, 0.42 * len(names) + 1.1)
    figure.set_figwidth(min(figure.get_figwidth(), 0.42 * len(names) + 3.0))
    axis = axes[0, 0]
    picture = axis.imshow(share, cmap="PuOr_r", vmin=0, vmax=1)
    for i, one in enumerate(names):
        for j, two in enumerate(names):
            if i != j:
                row = found[one, two]
                dark = abs(share[i, j] - 0.5) > 0.32
                weight = "bold" if row["p"] < 0.05 else "normal"
                colour = "white" if dark else "black"
                axis.text(j, i, row["wins"], ha="center", va="center", fontsize=7, color=colour, fontweight=weight)
    edge = len(tables.contenders(results)) - 0.5
    for line in (axis.axhline, axis.axvline):
        line(edge, color="black", linewidth=0.9)
    axis.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(names)), names)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    trials = max((row["wins"] + row["losses"] + row["ties"] for row in found.values()), default=0)
    figure.suptitle(f"trials (of {trials}) won by the row; bold: p < 0.05 in a sign test", fontsize=8)
    bar = figure.colorbar(picture, ax=axis, shrink=0.7)
    bar.set_label("share of trials", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return figure


def by_domain(results: Frame, curves: Frame) -> Figure:
    """Mean test error in each domain over all K, a bar for each algorithm, reference lines across."""
    import polars as pl

    names = tables.contenders(results)
    style = styles(names)
    domains = sorted(results["domain"].unique().to_list())
    columns = min(6, len(domains))
    rows = -(-len(domains) // columns)
    means = {
        (row["domain"], row["algorithm"]): row["error"]
        for row in results.group_by("domain", "algorithm").agg(pl.col("error").mean()).iter_rows(named=True)
    }
    figure, axes = new(rows, columns, 1.05 * rows + 0.8, sharey=True)
    for axis, domain in zip(axes.ravel(), domains, strict=False):
        for i, name in enumerate(names):
            colour, hatch, _ = style[name]
            axis.bar(
                i, means[domain, name], 0.95, color=colour, hatch=hatch, edgecolor="white", linewidth=0.3,
                label=name if domain == domains[0] else None,
            )  # fmt: skip
        for name, (colour, line) in REFERENCES.items():
            if (domain, name) in means:
                label = name if domain == domains[0] else None
                axis.axhline(means[domain, name], color=colour, linestyle=line, linewidth=0.9, label=label)
        axis.set_title(domain.replace("_", " "), fontsize=7, pad=2)
        axis.set_xticks([])
    for axis in axes.ravel()[len(domains) :]:
        axis.set_visible(False)
    figure.supylabel("mean test error", fontsize=8)
    legend(figure, axes[0, 0])
    return figure


def tuned_parameters(results: Frame, curves: Frame) -> Figure:
    """How often each grid point was chosen, over all domains and K."""
    names = [name for name in tables.contenders(results) if len(find(name).grid) > 1]
    table = tables.tuned(results)
    figure, axes = new(1, 1, 0.42 * len(names) + 0.9)
    axis = axes[0, 0]
    counts = np.zeros((max(1, len(names)), max((len(find(name).grid) for name in names), default=1)))
    for i, name in enumerate(names):
        rows = [row for row in table.iter_rows(named=True) if row["algorithm"] == name]
        total = max(1, sum(row["all"] for row in rows))
        for j, row in enumerate(rows):
            counts[i, j] = row["all"] / total
            label = row["parameters"].replace("lam", "λ").replace("eta", "η").replace("gamma", "γ").replace(", ", "\n")
            colour = "white" if counts[i, j] > 0.45 else "black"
            axis.text(
                j, i, f"{label}\n{100 * counts[i, j]:.0f} %", ha="center", va="center", fontsize=5.5, color=colour
            )
    axis.imshow(counts, cmap="Blues", vmin=0, vmax=0.7, aspect="auto")
    axis.set_yticks(range(len(names)), names)
    axis.set_xticks([])
    axis.set_title("share of (domain, K) that chose each grid point", fontsize=8)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    return figure


def questions(results: Frame, curves: Frame) -> Figure:
    """Left: rounds without a question by K (or by pass). Right: questions between equally good items by K."""
    import polars as pl

    names, sizes = tables.contenders(results), sizes_of(results)
    style = styles(names)
    figure, axes = new(1, 2, 2.6)
    left, right = axes[0]
    passes = int(results["passes"].max())
    if passes > 1:
        table = tables.by_pass(results)
        for row in table.iter_rows(named=True):
            values = [row[f"pass {i + 1}"] for i in range(passes)]
            colour, _, _ = style[row["algorithm"]]
            left.plot(range(1, passes + 1), values, marker=MARKERS[sizes.index(row["items"])], color=colour,
                      ms=4, linewidth=1.1, label=f"{row['algorithm']}, K = {row['items']}")  # fmt: skip
        left.set_xticks(range(1, passes + 1))
        left.set_xlabel("pass", fontsize=8)
    else:
        silent = results.filter(pl.col("algorithm").is_in(names)).group_by("algorithm", "items")
        table = silent.agg((100 * (1 - pl.col("query_rate").mean())).alias("silent"))
        for name in names:
            part = table.filter(pl.col("algorithm") == name).sort("items")
            if (part["silent"].max() or 0) > 0:
                colour, _, marker = style[name]
                left.plot(part["items"], part["silent"], color=colour, marker=marker, ms=4, linewidth=1.1, label=name)
        left.set_xticks(sizes)
        left.set_xlabel("K", fontsize=8)
    left.set_ylabel("rounds without a question, %", fontsize=8)
    left.set_ylim(bottom=0)
    if left.get_legend_handles_labels()[0]:
        left.legend(fontsize=6.5, frameon=False)
    equal = tables.equal_pairs(results)
    for row in equal.iter_rows(named=True):
        if row["algorithm"] in style:
            colour, _, marker = style[row["algorithm"]]
            values = [row[f"K={items}"] for items in sizes]
            right.plot(sizes, values, color=colour, marker=marker, ms=4, linewidth=1.1, label=row["algorithm"])
        elif row["algorithm"] == "in sets":
            right.plot(sizes, [row[f"K={i}"] for i in sizes], "--", color="0.35", linewidth=1.1, label="any pair")
    right.set_xticks(sizes)
    right.set_xlabel("K", fontsize=8)
    right.set_ylabel("questions between equal items, %", fontsize=8)
    right.set_ylim(bottom=0)
    right.set_ylim(top=1.45 * right.get_ylim()[1])  # room for the legend above the lines
    right.legend(fontsize=6.5, frameon=False, ncols=3, loc="upper center")
    return figure


FIGURES: dict[str, Callable[[Frame, Frame], Figure]] = {
    "errors": errors_by_items,
    "competition": competition,
    "domains": by_domain,
    "regret": regret_curves,
    "efficiency": sample_efficiency,
    "tuned": tuned_parameters,
    "questions": questions,
}


def write(name: str, results: Frame, curves: Frame, folder: Path) -> Path:
    """Draw the figure of this name as PNG and PDF; returns the path of the PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    figure = FIGURES[name](results, curves)
    figure.savefig(folder / f"{name}.png", dpi=200, metadata={"Software": None})
    figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
    return folder / f"{name}.png"
