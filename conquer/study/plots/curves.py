"""What happens along the way: regret and test error against rounds and answers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from conquer.metrics import half_width
from conquer.study.plots.canvas import Cast, Figure, Frame, Frames, name_ends, panels, sizes_of


def regret_curves(frames: Frames, cast: Cast) -> Figure:
    """Regret so far, divided by all rounds, against the share of rounds seen; bands are 95 % intervals over domains."""
    grid = np.linspace(0.02, 1.0, 50)
    figure = _panels(frames, cast, "share of the training rounds", "cumulative regret / all rounds", grid, _regret_line)
    return _named(figure, cast)


def sample_efficiency(frames: Frames, cast: Cast) -> Figure:
    """Test error against the number of answers heard, both averaged over all domains and repetitions.

    Bands are 95 % intervals over domains.
    """
    figure = _panels(frames, cast, "answers heard (mean over domains)", "test error", None, _efficiency_line)
    from matplotlib.ticker import LogLocator, NullLocator

    for axis in figure.axes:
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter("{x:g}")
    return _named(figure, cast)


def _named(figure: Figure, cast: Cast) -> Figure:
    """The figure with each line's name at its end; scales must be final."""
    _, ceiling = cast.references
    for axis in figure.axes:
        ends: list[tuple[str, float, float, str]] = []
        for line in axis.get_lines():
            x, y = line.get_data()
            # The ceiling is a line across everything, as long as the longest.
            last = max(end[1] for end in ends) if line.get_label() == ceiling and ends else float(x[-1])
            ends.append((line.get_label(), last, float(y[-1]), line.get_color()))
        name_ends(axis, [end for end in ends if not end[0].startswith("_")])
    return figure


def _panels(frames: Frames, cast: Cast, x: str, y: str, grid: Any, draw: Callable[..., None]) -> Figure:
    import polars as pl

    results, curves = frames["results"], frames["curves"]
    sizes = sizes_of(results)
    floor, ceiling = cast.references
    names = [*cast.names, *([floor] if floor in results["algorithm"].unique() else [])]
    style = cast.styles | {floor: (cast.references[floor][0], "", "")}
    figure, axes = panels(len(sizes), 2, 2.5, sharex=True, sharey=True)
    for axis, items in zip(axes, sizes, strict=True):
        for name in names:
            part = curves.filter((pl.col("items") == items) & (pl.col("algorithm") == name))
            draw(axis, part, name, style[name], grid, "--" if name == floor else "-")
        axis.set_title(f"K = {items}", fontsize=8)
        if draw is _efficiency_line:
            level = results.filter((pl.col("items") == items) & (pl.col("algorithm") == ceiling))["error"].mean()
            axis.axhline(level, color="black", linestyle=":", linewidth=1.2, label=ceiling)
    figure.supxlabel(x, fontsize=8)
    figure.supylabel(y, fontsize=8)
    return figure


def _regret_line(axis: Any, part: Frame, name: str, style: tuple[str, str, str], grid: Any, line: str) -> None:
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
    axis.plot(grid, mean, line, color=style[0], linewidth=1.1, marker=style[2], markevery=(4, 10), ms=3.5, label=name)
    if len(values) > 1:
        half = half_width(values)
        axis.fill_between(grid, mean - half, mean + half, color=style[0], alpha=0.12, linewidth=0)


def _efficiency_line(axis: Any, part: Frame, name: str, style: tuple[str, str, str], grid: Any, line: str) -> None:
    import polars as pl

    points = part.filter(pl.col("error").is_not_null()).sort("domain", "repetition", "round")
    if points.is_empty():
        return
    ranked = points.with_columns(pl.col("round").rank("ordinal").over("domain", "repetition").alias("step"))
    means = ranked.group_by("step").agg(pl.col("answers").mean(), pl.col("error").mean()).sort("step")
    at, mean = means["answers"].to_numpy(), means["error"].to_numpy()
    axis.plot(at, mean, color=style[0], linewidth=1.1, marker=style[2], linestyle=line, ms=3.5, label=name)
    domains = ranked.group_by("step", "domain").agg(pl.col("error").mean()).sort("step", "domain")
    values = [part["error"].to_numpy() for _, part in domains.group_by("step", maintain_order=True)]
    if min(map(len, values)) > 1:
        half = np.array([float(half_width(each)) for each in values])
        axis.fill_between(at, mean - half, mean + half, color=style[0], alpha=0.12, linewidth=0)
