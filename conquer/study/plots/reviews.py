"""Every figure of a review study, readable in print and by the colour-blind, as PNG and PDF."""

from collections.abc import Callable
from pathlib import Path

from conquer.study.plots.by_domain import bars, cumulative_regret
from conquer.study.plots.canvas import Cast, Figure, Frames, write_figure
from conquer.study.plots.curves import regret_curves, sample_efficiency
from conquer.study.plots.errors import errors_by_items
from conquer.study.plots.one_versus_one import competition
from conquer.study.plots.questions import asked
from conquer.study.plots.tuned import tuned_parameters

FIGURES: dict[str, Callable[[Frames, Cast], Figure]] = {
    "errors": errors_by_items,
    "competition": competition,
    "domains": bars,
    "regret_by_domain": cumulative_regret,
    "regret": regret_curves,
    "efficiency": sample_efficiency,
    "tuned": tuned_parameters,
    "questions": asked,
}
"""{file name: what draws it}. `frames` are the results, the curves and the study's tables by file name."""


def write(name: str, frames: Frames, cast: Cast, folder: Path) -> Path:
    """Draw the figure of this name as PNG and PDF; returns the path of the PNG."""
    return save(FIGURES[name](frames, cast), name, folder)


def save(figure: Figure, name: str, folder: Path) -> Path:
    """Write a figure as PNG and PDF under this name; returns the path of the PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    write_figure(figure, folder / f"{name}.png", dpi=200, metadata={"Software": None})
    plain = {"CreationDate": None, "Producer": None, "Creator": None}
    write_figure(figure, folder / f"{name}.pdf", metadata=plain)
    return folder / f"{name}.png"
