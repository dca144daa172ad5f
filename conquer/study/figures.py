"""Every figure, readable in print and by the colour-blind: Okabe and Ito's colours, hatches and markers beside them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from conquer.registry import ALGORITHMS
from conquer.study import tables
from conquer.study.spec import CEILING

# Okabe and Ito's eight, then two that differ from all of them in lightness as well.
_COLOURS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#56B4E9",
    "#CC79A7",
    "#C4AD00",
    "#999999",
    "#7F3C8D",
    "#1B1B1B",
)
_HATCHES = ("", "//", "", "\\\\", "", "..", "", "xx", "", "")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
_WIDTH = 7.2
_REFERENCES = {"random": ("0.35", "--"), CEILING: ("black", ":")}

Figure = Any
Frame = Any


def _style(names: list[str]) -> dict[str, tuple[str, str, str]]:
    """{algorithm: (colour, hatch, marker)}, the same in every figure of a study."""
    known = [name for name in tables.ordered([*ALGORITHMS]) if name not in _REFERENCES]
    order = known + [name for name in names if name not in known]
    return {
        name: (_COLOURS[i % len(_COLOURS)], _HATCHES[i % len(_HATCHES)], _MARKERS[i % len(_MARKERS)])
        for i, name in enumerate(order)
    }


def _new(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for axis in axes.ravel():
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=7)
    return figure, axes


def errors_by_items(results: Frame, curves: Frame) -> Figure:
    """Average test error over all domains: a block for each K, a bar for each algorithm, 95 % intervals."""
    names, sizes = tables.contenders(results), _sizes(results)
    style = _style(names)
    figure, axes = _new(1, 1, 3.0)
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
            axis.errorbar(left + i, mean, 0 if np.isnan(half) else half, color="black", linewidth=0.8, capsize=1.5)
        for name, (colour, line) in _REFERENCES.items():
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
    _legend(figure, axis)
    return figure


def _legend(figure: Figure, axis: Any) -> None:
    """One legend above everything: algorithms first, reference lines last."""
    handles, labels = axis.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i] in _REFERENCES)
    chosen = [handles[i] for i in order], [labels[i] for i in order]
    figure.legend(*chosen, loc="outside upper center", ncols=6, fontsize=7, frameon=False)


def competition(results: Frame, curves: Frame) -> Figure:
    """One versus one: in what share of the trials the row's error was below the column's; bold where significant."""
    duels = tables.one_versus_one(results)
    names = tables.ordered(duels["row"].to_list())
    found = {(row["row"], row["column"]): row for row in duels.iter_rows(named=True)}
    share = np.full((len(names), len(names)), np.nan)
    for i, one in enumerate(names):
        for j, two in enumerate(names):
            if i != j:
                row = found[one, two]
                share[i, j] = row["wins"] / max(1, row["wins"] + row["losses"] + row["ties"])
    figure, axes = _new(1, 1, 0.42 * len(names) + 1.1)
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
    axis.set_xticks(range(len(names)), names, rotation=40, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(names)), names)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    trials = max(row["wins"] + row["losses"] + row["ties"] for row in found.values())
    axis.set_title(f"trials (of {trials}) in which the row beat the column; bold: sign test p < 0.05", fontsize=8)
    bar = figure.colorbar(picture, ax=axis, shrink=0.7)
    bar.set_label("share of trials", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return figure


def by_domain(results: Frame, curves: Frame) -> Figure:
    """Mean test error in each domain over all K, a bar for each algorithm, reference lines across."""
    import polars as pl

    names = tables.contenders(results)
    style = _style(names)
    domains = sorted(results["domain"].unique().to_list())
    columns = min(6, len(domains))
    rows = -(-len(domains) // columns)
    means = {
        (row["domain"], row["algorithm"]): row["error"]
        for row in results.group_by("domain", "algorithm").agg(pl.col("error").mean()).iter_rows(named=True)
    }
    figure, axes = _new(rows, columns, 1.05 * rows + 0.8, sharey=True)
    for axis, domain in zip(axes.ravel(), domains, strict=False):
        for i, name in enumerate(names):
            colour, hatch, _ = style[name]
            axis.bar(
                i, means[domain, name], 0.95, color=colour, hatch=hatch, edgecolor="white", linewidth=0.3,
                label=name if domain == domains[0] else None,
            )  # fmt: skip
        for name, (colour, line) in _REFERENCES.items():
            if (domain, name) in means:
                label = name if domain == domains[0] else None
                axis.axhline(means[domain, name], color=colour, linestyle=line, linewidth=0.9, label=label)
        axis.set_title(domain.replace("_", " "), fontsize=7, pad=2)
        axis.set_xticks([])
    for axis in axes.ravel()[len(domains) :]:
        axis.set_visible(False)
    figure.supylabel("mean test error", fontsize=8)
    _legend(figure, axes[0, 0])
    return figure


def regret_curves(results: Frame, curves: Frame) -> Figure:
    """Cumulative regret per round so far against the share of rounds seen; bands are 95 % intervals over domains."""
    grid = np.linspace(0.02, 1.0, 50)
    return _panels(
        results, curves, "share of the training rounds", "cumulative regret / all rounds", grid, _regret_line
    )


def sample_efficiency(results: Frame, curves: Frame) -> Figure:
    """Test error against the number of answers heard, both averaged over all domains and repetitions."""
    figure = _panels(results, curves, "answers heard (mean over domains)", "test error", None, _efficiency_line)
    for axis in figure.axes:
        axis.set_xscale("log")
    return figure


def _panels(results: Frame, curves: Frame, x: str, y: str, grid: Any, draw: Callable[..., None]) -> Figure:
    import polars as pl

    sizes = _sizes(results)
    names = [*tables.contenders(results), *(["random"] if "random" in results["algorithm"].unique() else [])]
    style = _style(names) | {"random": (_REFERENCES["random"][0], "", "")}
    columns = min(2, len(sizes))
    rows = -(-len(sizes) // columns)
    figure, axes = _new(rows, columns, 2.5 * rows + 0.7, sharex=True, sharey=True)
    for axis, items in zip(axes.ravel(), sizes, strict=False):
        for name in names:
            part = curves.filter((pl.col("items") == items) & (pl.col("algorithm") == name))
            draw(axis, part, name, style[name], grid)
        axis.set_title(f"K = {items}", fontsize=8)
        if draw is _efficiency_line:
            ceiling = results.filter((pl.col("items") == items) & (pl.col("algorithm") == CEILING))["error"].mean()
            axis.axhline(ceiling, color="black", linestyle=":", linewidth=1.2, label=CEILING)
    for axis in axes.ravel()[len(sizes) :]:
        axis.set_visible(False)
    figure.supxlabel(x, fontsize=8)
    figure.supylabel(y, fontsize=8)
    _legend(figure, axes[0, 0])
    return figure


def _regret_line(axis: Any, part: Frame, name: str, style: tuple[str, str, str], grid: Any) -> None:
    lines = []
    for _, domain in part.group_by("domain", maintain_order=True):
        runs = []
        for _, run in domain.group_by("repetition", maintain_order=True):
            rounds = run["round"].to_numpy()
            runs.append(np.interp(grid * rounds[-1], rounds, run["regret"].to_numpy() / rounds[-1]))
        lines.append(np.mean(runs, axis=0))
    if not lines:
        return
    values = np.array(lines)
    mean = values.mean(axis=0)
    line = "--" if name == "random" else "-"
    axis.plot(grid, mean, line, color=style[0], linewidth=1.1, marker=style[2], markevery=(4, 10), ms=3.5, label=name)
    if len(values) > 1:
        half = 1.96 * values.std(axis=0, ddof=1) / np.sqrt(len(values))
        axis.fill_between(grid, mean - half, mean + half, color=style[0], alpha=0.12, linewidth=0)


def _efficiency_line(axis: Any, part: Frame, name: str, style: tuple[str, str, str], grid: Any) -> None:
    import polars as pl

    points = part.filter(pl.col("error").is_not_null()).sort("domain", "repetition", "round")
    if points.is_empty() or name == "random":
        return
    ranked = points.with_columns(pl.col("round").rank("ordinal").over("domain", "repetition").alias("step"))
    means = ranked.group_by("step").agg(pl.col("answers").mean(), pl.col("error").mean()).sort("step")
    axis.plot(
        means["answers"].to_numpy(), means["error"].to_numpy(), color=style[0], linewidth=1.1, marker=style[2],
        ms=3.5, label=name,
    )  # fmt: skip


def tuned_parameters(results: Frame, curves: Frame) -> Figure:
    """How often each grid point was chosen, over all domains and K."""
    names = [name for name in tables.contenders(results) if len(ALGORITHMS[name].grid) > 1]
    table = tables.tuned(results)
    figure, axes = _new(1, 1, 0.42 * len(names) + 0.9)
    axis = axes[0, 0]
    counts = np.zeros((len(names), max((len(ALGORITHMS[name].grid) for name in names), default=1)))
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

    names, sizes = tables.contenders(results), _sizes(results)
    style = _style(names)
    figure, axes = _new(1, 2, 2.6)
    left, right = axes[0]
    passes = int(results["passes"].max())
    if passes > 1:
        table = tables.by_pass(results)
        for row in table.iter_rows(named=True):
            values = [row[f"pass {i + 1}"] for i in range(passes)]
            colour, _, _ = style[row["algorithm"]]
            left.plot(range(1, passes + 1), values, marker=_MARKERS[sizes.index(row["items"])], color=colour,
                      ms=4, linewidth=1.1, label=f"{row['algorithm']}, K = {row['items']}")  # fmt: skip
        left.set_xticks(range(1, passes + 1))
        left.set_xlabel("pass", fontsize=8)
    else:
        silent = results.filter(pl.col("algorithm").is_in(names)).group_by("algorithm", "items")
        table = silent.agg((100 * (1 - pl.col("query_rate").mean())).alias("silent"))
        for name in names:
            part = table.filter(pl.col("algorithm") == name).sort("items")
            if part["silent"].max() > 0:
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
    right.legend(fontsize=6.5, frameon=False, ncols=3)
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


def write(results: Frame, curves: Frame, folder: Path) -> dict[str, Path]:
    """Draw every figure as PNG and PDF; returns {name: path of the PNG}."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, draw in FIGURES.items():
        figure = draw(results, curves)
        figure.savefig(folder / f"{name}.png", dpi=200, metadata={"Software": None})
        figure.savefig(folder / f"{name}.pdf", metadata={"CreationDate": None, "Producer": None, "Creator": None})
        written[name] = folder / f"{name}.png"
    return written


def _sizes(results: Frame) -> list[int]:
    return sorted(results["items"].unique().to_list())


def captions() -> dict[str, str]:
    """{figure: what it shows}, from the functions that draw them."""
    return {name: (draw.__doc__ or "").strip() for name, draw in FIGURES.items()}
