"""Figures of the study of boards: how soon an order is right, and how often a board claims something false."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from conquer.study.plots.canvas import Palette, legend, new, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Curve = Sequence[tuple[float, float]]
"""((answers per item, tau), ...)"""
_COLOURS = ("#0072B2", "#009E73", "#D55E00")


def orders(worlds: Mapping[str, Mapping[str, Curve]], ten: float, palette: Palette) -> "Figure":
    """Mean tau against answers per item, a panel per world; the line marks `ten` answers per item."""
    figure, axes = panels(len(worlds), 3, 2.1)
    for axis, (world, curves) in zip(axes, worlds.items(), strict=True):
        for name, curve in curves.items():
            at, tau = zip(*curve, strict=True)
            if name in palette.references:
                colour, line = palette.references[name]
                axis.plot(at, tau, color=colour, linestyle=line, linewidth=1.0, label=name)
            else:
                colour, _, marker = palette.styles[name]
                every = max(1, len(at) // 6)
                axis.plot(at, tau, color=colour, marker=marker, ms=3, markevery=every, linewidth=1.1, label=name)
        axis.axvline(ten, color="0.7", linewidth=0.8, zorder=0)
        axis.set_title(world, fontsize=8)
    figure.supxlabel("answers per item (each answer is about two items)", fontsize=8)
    figure.supylabel("Kendall's tau with the true order, mean", fontsize=8)
    legend(figure, axes[0], palette)
    return figure


def claims(worlds: Mapping[str, Mapping[str, tuple[float, float, float]]], delta: float) -> "Figure":
    """Shares of runs with a false claim after any answer, with exact intervals; the line is the share allowed."""
    figure, axes = new(1, 1, 3.2)
    axis = axes[0, 0]
    names = list(next(iter(worlds.values())))
    for place, name in enumerate(names):
        found = [rates[name] for rates in worlds.values()]
        at = [i + (place - (len(names) - 1) / 2) * 0.22 for i in range(len(found))]
        share = [100 * middle for middle, _, _ in found]
        below = [100 * max(0.0, middle - low) for middle, low, _ in found]
        above = [100 * max(0.0, high - middle) for middle, _, high in found]
        colour = _COLOURS[place % len(_COLOURS)]
        axis.errorbar(
            at, share, yerr=[below, above], color=colour, marker="osD"[place % 3], ms=4, ls="", capsize=2, label=name
        )
    axis.axhline(100 * delta, color="0.35", linewidth=0.8, linestyle="--")
    axis.set_yscale("symlog", linthresh=5.0)
    axis.set_yticks([0, 1, 2, 5, 10, 25, 50, 100], ["0", "1", "2", "5", "10", "25", "50", "100"])
    axis.set_ylim(-0.25, 110)
    axis.set_xticks(range(len(worlds)), list(worlds), rotation=30, ha="right")
    axis.set_ylabel("runs with a false claim at any look, %", fontsize=8)
    figure.legend(loc="outside upper center", ncols=len(names), fontsize=7, frameon=False)
    return figure
