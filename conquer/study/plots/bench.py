"""The growth plots of the benchmark, in the colours of the study's figures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conquer.study.plots.canvas import MARKERS, panels, write_figure

_COLOUR = "#0072B2"


def draw_growth(growth: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """One panel for each thing that grows: cost per round over it, both logarithmic, with the fitted power."""
    columns = 3
    figure, axes = panels(len(growth), columns, 2.3)
    for i, (axis, (name, points)) in enumerate(zip(axes, growth.items(), strict=True)):
        axis.loglog(points["x"], points["microseconds"], color=_COLOUR, marker=MARKERS[i], markersize=3, lw=1.2)
        axis.set_ylim(bottom=min(points["microseconds"]) / 3, top=max(points["microseconds"]) * 3)
        axis.tick_params(which="minor", labelbottom=False, labelleft=False)
        axis.set_title(f"{name}: power {points['power']:.2f}", fontsize=8)
        axis.set_xlabel(name, fontsize=7)
        if i % columns == 0:
            axis.set_ylabel("microseconds per round", fontsize=7)
    write_figure(figure, path, dpi=150)
