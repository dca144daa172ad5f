"""The look of every figure: Okabe and Ito's colours, hatches and markers, one legend above everything."""

from typing import Any

from conquer.registry import table
from conquer.study.reviews import tables
from conquer.study.reviews.spec import CEILING

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
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
_WIDTH = 7.2
REFERENCES = {"random": ("0.35", "--"), CEILING: ("black", ":")}

Figure = Any
Frame = Any


def styles(names: list[str]) -> dict[str, tuple[str, str, str]]:
    """{algorithm: (colour, hatch, marker)}, the same in every figure of a study."""
    known = [name for name in tables.ordered([*table()]) if name not in REFERENCES]
    order = known + [name for name in names if name not in known]
    return {
        name: (_COLOURS[i % len(_COLOURS)], _HATCHES[i % len(_HATCHES)], MARKERS[i % len(MARKERS)])
        for i, name in enumerate(order)
    }


def new(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for axis in axes.ravel():
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=7)
    return figure, axes


def legend(figure: Figure, axis: Any) -> None:
    """One legend above everything: algorithms first, reference lines last."""
    handles, labels = axis.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i] in REFERENCES)
    chosen = [handles[i] for i in order], [labels[i] for i in order]
    figure.legend(*chosen, loc="outside upper center", ncols=6, fontsize=7, frameon=False)


def sizes_of(results: Frame) -> list[int]:
    return sorted(results["items"].unique().to_list())
