"""Figures of the parsing study: accuracy against questions and annotators' mistakes."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from conquer.study.plots.canvas import name_ends, new, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from polars import DataFrame

_STYLE = {
    "gnc": ("#0072B2", "o"),
    "margin": ("#E69F00", "s"),
    "confusion": ("#D55E00", "D"),
    "random": ("#009E73", "^"),
}


def _band(axis: "Axes", part: "DataFrame", x: str, name: str) -> None:
    """The mean of the seeds as a line, their range as a band."""
    import polars as pl

    colour, marker = _STYLE.get(name, ("#7F3C8D", "v"))
    points = part.group_by(x).agg(
        pl.col("uas_nopunct").mean().alias("mean"),
        pl.col("uas_nopunct").min().alias("low"),
        pl.col("uas_nopunct").max().alias("high"),
    )
    points = points.sort(x)
    axis.plot(points[x], points["mean"], color=colour, marker=marker, markersize=4, linewidth=1.4, label=name)
    axis.fill_between(points[x], points["low"], points["high"], color=colour, alpha=0.2, linewidth=0)


def _ceiling_line(axis: "Axes", frame: "DataFrame", ceiling: str) -> float:
    import polars as pl

    level = float(frame.filter(pl.col("ask") == ceiling)["uas_nopunct"].to_numpy().mean())
    axis.axhline(level, color="black", linestyle=":", linewidth=1.2, label=f"full supervision ({level:.3f})")
    return level


def curves(frame: "DataFrame", ceiling: str, error: float, refusal: float) -> "Figure":
    """UAS without punctuation against the number of questions, one line per rule, bands over seeds."""
    import polars as pl

    figure, axes = new(1, 1, 4.0)
    axis = axes[0, 0]
    part = frame.filter((pl.col("ask") != ceiling) & (pl.col("error") == error) & (pl.col("refusal") == refusal))
    # Seeds ask nearly the same number of questions by the same visit; the mean number makes one band of them.
    part = part.with_columns(pl.col("questions").mean().over("ask", "visits").alias("mean questions"))
    order = part.group_by("ask").agg(pl.col("uas_nopunct").max()).sort("uas_nopunct", descending=True)["ask"].to_list()
    for name in order:
        _band(axis, part.filter(pl.col("ask") == name), "mean questions", name)
    # Leave room above the ceiling, or its line coincides with the frame.
    axis.set_ylim(top=_ceiling_line(axis, frame, ceiling) + 0.02)
    axis.set_xscale("log")
    axis.set_xlabel("questions", fontsize=9)
    axis.set_ylabel("UAS on test, without punctuation", fontsize=9)
    edges = float((part["questions"] / part["share"]).to_numpy().max())
    shares = (lambda q: np.asarray(q) / edges * 100, lambda s: np.asarray(s) * edges / 100)
    upper = axis.secondary_xaxis("top", functions=shares)
    upper.set_xlabel("% of the training edges asked", fontsize=8)
    upper.xaxis.set_major_formatter("{x:g}")
    upper.tick_params(labelsize=7)
    _name_lines(axis, order)
    return figure


def _name_lines(axis: "Axes", names: Sequence[str]) -> None:
    """Write each rule's name where its line ends; the ceiling has a legend."""
    lines = {str(line.get_label()): line for line in axis.get_lines()}
    ends = []
    for name in names:
        x, y = lines[name].get_data()
        ends.append((name, float(x[-1]), float(y[-1]), str(lines[name].get_color())))  # type: ignore[index,arg-type]
    name_ends(axis, ends, gap=0.04)
    ceiling = [line for name, line in lines.items() if name not in names]
    axis.legend(handles=ceiling, fontsize=8, frameon=False, loc="lower right")


def by_rate(frame: "DataFrame", ceiling: str, rate: str, label: str, **fixed: float) -> "Figure":
    """UAS without punctuation at the end of training against one rate of the annotator, the other one fixed."""
    import polars as pl

    figure, axes = new(1, 1, 4.0)
    axis = axes[0, 0]
    part = frame.filter((pl.col("ask") != ceiling) & (pl.col("visits") == pl.col("visits").max().over("ask")))
    part = part.filter(**fixed)
    names = part["ask"].unique(maintain_order=True).to_list()
    for name in names:
        _band(axis, part.filter(pl.col("ask") == name), rate, name)
    _ceiling_line(axis, frame, ceiling)
    axis.set_xlabel(label, fontsize=9)
    axis.set_ylabel("UAS on test, without punctuation", fontsize=9)
    _name_lines(axis, names)
    return figure


def write(
    frame: "DataFrame", ceiling: str, folder: Path, errors: Sequence[float], refusals: Sequence[float]
) -> dict[str, Path]:
    """Draw all figures as PNG and PDF; returns {caption: PNG}. `ceiling` is the name of full supervision."""
    error, refusal = errors[0], refusals[0]
    caption = "UAS against the number of questions; bands are the range over seeds"
    drawn = {caption: ("curves", curves(frame, ceiling, error, refusal))}
    if len(errors) > 1:
        figure = by_rate(frame, ceiling, "error", "share of wrong answers", refusal=refusal)
        drawn["UAS after all questions against the annotator's error rate"] = ("mistakes", figure)
    if len(refusals) > 1:
        figure = by_rate(frame, ceiling, "refusal", "share of questions left unanswered", error=error)
        drawn["UAS after all questions against the annotator's refusal rate"] = ("refusals", figure)
    return {caption: save(figure, folder / name) for caption, (name, figure) in drawn.items()}
