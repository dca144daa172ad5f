"""What every figure shares: colours, hatches and markers, panels, names at the ends of lines, and how it is saved."""

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from polars import DataFrame

# The eight colours of Okabe and Ito, then two that differ from all of them in lightness as well.
COLOURS = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#C4AD00", "#999999", "#7F3C8D", "#1B1B1B",
)  # fmt: skip
_HATCHES = ("", "//", "", "\\\\", "", "..", "", "xx", "", "")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
_WIDTH = 7.2
_LEADER = {"arrowstyle": "-", "lw": 0.4, "shrinkA": 1, "shrinkB": 0, "relpos": (0.0, 0.5)}
_REFERENCES = (("0.35", "--"), ("black", ":"))

Frames = Mapping[str, "DataFrame"]
"""The results, the curves and the tables of a study, by name."""
Draw: TypeAlias = "Callable[[Frames, Palette], Figure | None]"
"""Draws a figure, or returns None where a study has nothing to draw."""


@dataclass(frozen=True, slots=True)
class Palette:
    """The algorithms of a study in their order, how each is drawn, and the reference lines.

    `styles` has {algorithm: (colour, hatch, marker)}, `references` {name: (colour, line)}.
    """

    names: list[str]
    styles: dict[str, tuple[str, str, str]]
    references: dict[str, tuple[str, str]]


def palette_of(names: Sequence[str], known: Sequence[str], floor: str, ceiling: str) -> Palette:
    """The palette of these algorithms; an algorithm's place in `known` gives it the same style in every study.

    >>> palette_of(["b"], ["a", "b"], "random", "all").styles["b"]
    ('#E69F00', '//', 's')
    """
    lines = dict(zip((floor, ceiling), _REFERENCES, strict=True))
    every = [name for name in dict.fromkeys([*known, *names]) if name not in lines]
    styles = {
        name: (COLOURS[i % len(COLOURS)], _HATCHES[i % len(_HATCHES)], MARKERS[i % len(MARKERS)])
        for i, name in enumerate(every)
    }
    return Palette(list(names), styles, lines)


def new(rows: int, columns: int, height: float, **options: Any) -> "tuple[Figure, Any]":
    """A figure of the width of a page, and its (rows, columns) axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for axis in axes.ravel():
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=7)
    return figure, axes


def panels(count: int, columns: int, height: float, **options: Any) -> "tuple[Figure, list[Axes]]":
    """A figure of `count` panels, at most `columns` in a row, each row `height` inches; the axes in order."""
    columns = min(columns, 2 if count == 4 else count)
    rows = -(-count // columns)
    figure, axes = new(rows, columns, max(2.8, height * rows + 0.8), **options)
    for axis in axes.ravel()[count:]:
        axis.set_visible(False)
    return figure, list(axes.ravel()[:count])


def legend(figure: "Figure", axis: "Axes", palette: Palette) -> None:
    """One legend above all panels: algorithms first, reference lines last."""
    handles, labels = axis.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i] in palette.references)
    chosen = [handles[i] for i in order], [labels[i] for i in order]
    figure.legend(*chosen, loc="outside upper center", ncols=6, fontsize=7, frameon=False)


def name_ends(axis: "Axes", ends: Sequence[tuple[str, float, float, str]], gap: float = 0.045) -> None:
    """Write names (name, x, y, colour) beside the last points of lines without overlaps.

    Names keep the order of their heights and are at least `gap` of the axis apart. Call it after everything is drawn.
    """
    low, high = axis.get_ylim()
    if not ends or not high > low:
        return
    order = sorted(ends, key=lambda end: end[2])
    places = spread([(y - low) / (high - low) for _, _, y, _ in order], gap)
    across, (first, last) = axis.get_xaxis_transform(), axis.get_xlim()
    right = max(x for _, x, _, _ in order)
    beside = right * 1.3 if axis.get_xscale() == "log" else right + 0.06 * (last - first)
    for (name, x, y, colour), place in zip(order, places, strict=True):
        axis.annotate(
            name, (x, y), xytext=(beside, place), textcoords=across, color=colour, fontsize=6, va="center",
            annotation_clip=False, arrowprops=_LEADER | {"color": colour},
        )  # fmt: skip


def spread(places: Sequence[float], gap: float) -> list[float]:
    """Increasing places, moved as little as possible so that neighbours are at least `gap` apart.

    >>> [round(place, 2) for place in spread([0.5, 0.5, 0.9], 0.1)]
    [0.45, 0.55, 0.9]
    """
    blocks: list[tuple[float, int]] = []  # names that touch: the middle of their place, and their number
    for place in places:
        blocks.append((place, 1))
        while len(blocks) > 1 and _start(*blocks[-1], gap) < _start(*blocks[-2], gap) + gap * blocks[-2][1]:
            mean, size = blocks.pop()
            before, count = blocks[-1]
            blocks[-1] = (before * count + mean * size) / (count + size), count + size
    return [_start(*block, gap) + i * gap for block in blocks for i in range(block[1])]


def _start(middle: float, count: int, gap: float) -> float:
    return middle - gap * (count - 1) / 2


def save(figure: "Figure", path: Path) -> Path:
    """Write a figure as PNG and PDF; returns the path of the PNG.

    Fonts of the PDF are TrueType (Type 42), which publishers accept and readers can search.
    """
    import matplotlib

    path.parent.mkdir(parents=True, exist_ok=True)
    png, pdf = path.with_name(f"{path.name}.png"), path.with_name(f"{path.name}.pdf")
    figure.savefig(png, dpi=200, metadata={"Software": None})
    with matplotlib.rc_context({"pdf.fonttype": 42}):
        figure.savefig(pdf, metadata={"CreationDate": None, "Producer": None, "Creator": None})
    return png


def embedded(path: Path) -> str:
    """A PNG as the source of an image on a page that needs no other file."""
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"


def sizes_of(results: "DataFrame") -> list[int]:
    """The values of K in a study."""
    return sorted(results["items"].unique().to_list())


def domains_of(results: "DataFrame") -> list[str]:
    """The domains of a study in alphabetical order, ignoring case."""
    return sorted(results["domain"].unique().to_list(), key=str.casefold)
