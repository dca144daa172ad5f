"""Figures of the study of staleness: regret against delay, pairs counted on show, and regions that merge."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from conquer.study.plots.canvas import Cast, Figure, legend, panels

Points = Mapping[str, Sequence[tuple[float, float, float]]]
"""{rule: (x, mean, half of its interval), ...}"""


def _lines(worlds: Mapping[str, Points], cast: Cast, x: str, y: str, more: Callable[[Any, str], None]) -> Figure:
    figure, axes = panels(len(worlds), 2, 2.6)
    for axis, (world, points) in zip(axes, worlds.items(), strict=True):
        for name, line in points.items():
            at, means, halves = zip(*line, strict=True)
            colour, _, marker = cast.styles[name]
            axis.errorbar(
                at, means, yerr=halves, color=colour, marker=marker, ms=3.5, lw=1.1, elinewidth=0.7, label=name
            )
        axis.set_xscale("log")
        more(axis, world)
        axis.set_title(world, fontsize=8)
    figure.supxlabel(x, fontsize=8)
    figure.supylabel(y, fontsize=8)
    legend(figure, axes[0], cast)
    return figure


def delays(
    worlds: Mapping[str, Points], unlearnt: Mapping[str, float], sizes: Sequence[int], rounds: int, cast: Cast
) -> Figure:
    """Regret against delay, both logarithmic; "at once" stands left of the smallest delay.

    Lines: the regret of as many rounds of knowing nothing as the delay has, and that of knowing nothing to the end.
    """
    floor, ceiling = cast.references

    def more(axis: Any, world: str) -> None:
        at = [sizes[0] / 3, *sizes]
        for name, line in ((ceiling, [unlearnt[world] * d for d in at]), (floor, [unlearnt[world] * rounds] * len(at))):
            colour, style = cast.references[name]
            axis.plot(at, line, color=colour, linestyle=style, linewidth=1.0, label=name)
        axis.set_yscale("log")
        axis.set_xticks(at, ["at once", *map(str, sizes)])
        axis.minorticks_off()

    return _lines(worlds, cast, "delay in rounds", "regret, 95 % intervals", more)


def on_show(worlds: Mapping[str, Points], sizes: Sequence[int], cast: Cast) -> Figure:
    """By how many percent the regret changes where pairs count on show."""

    def more(axis: Any, world: str) -> None:
        axis.axhline(0.0, color="0.35", linewidth=0.8)
        axis.set_xticks(sizes, list(map(str, sizes)))
        axis.minorticks_off()

    return _lines(worlds, cast, "delay in rounds", "change of regret when pairs count on show, %", more)


def regions(worlds: Mapping[str, Points], labels: Sequence[str], cast: Cast) -> Figure:
    """What regions cost beside one learner that sees everything, in percent: bars for each way to merge."""
    figure, axes = panels(len(worlds), 2, 2.4)
    for axis, (world, points) in zip(axes, worlds.items(), strict=True):
        for place, (name, line) in enumerate(points.items()):
            colour, hatch, _ = cast.styles[name]
            width = 0.8 / len(points)
            at = [i + (place - (len(points) - 1) / 2) * width for i in range(len(line))]
            means, halves = [mean for _, mean, _ in line], [half for _, _, half in line]
            axis.bar(at, means, width, yerr=halves, color=colour, hatch=hatch, edgecolor="white", capsize=2, label=name)
        axis.axhline(0.0, color="0.35", linewidth=0.8)
        axis.set_xticks(range(len(labels)), labels)
        axis.set_title(world, fontsize=8)
    figure.supylabel("extra regret beside one learner, %", fontsize=8)
    legend(figure, axes[0], cast)
    return figure
