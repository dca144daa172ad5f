"""The look of every figure: Okabe and Ito's colours, hatches and markers, names at the ends of lines, fonts in PDFs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Okabe and Ito's eight, then two that differ from all of them in lightness as well.
COLOURS = (
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
_LEADER = {"arrowstyle": "-", "lw": 0.4, "shrinkA": 1, "shrinkB": 0, "relpos": (0.0, 0.5)}
_REFERENCES = (("0.35", "--"), ("black", ":"))

Figure = Any
Frame = Any
Frames = Mapping[str, Frame]


@dataclass(frozen=True, slots=True)
class Cast:
    """Who appears in a study's figures: the algorithms in their order, with their looks, and the reference lines.

    `styles` has {algorithm: (colour, hatch, marker)}, `references` {name: (colour, line)}.
    """

    names: list[str]
    styles: dict[str, tuple[str, str, str]]
    references: dict[str, tuple[str, str]]


def cast(names: Sequence[str], known: Sequence[str], floor: str, ceiling: str) -> Cast:
    """The cast of these algorithms. `known` are all there are: the place there gives each its look, in every study.

    >>> cast(["b"], ["a", "b"], "random", "all").styles["b"]
    ('#E69F00', '//', 's')
    """
    lines = dict(zip((floor, ceiling), _REFERENCES, strict=True))
    everyone = [name for name in dict.fromkeys([*known, *names]) if name not in lines]
    looks = {
        name: (COLOURS[i % len(COLOURS)], _HATCHES[i % len(_HATCHES)], MARKERS[i % len(MARKERS)])
        for i, name in enumerate(everyone)
    }
    return Cast(list(names), looks, lines)


def new(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    """A figure of the width of a page, and its (rows, columns) axes."""
    from matplotlib.figure import Figure as Canvas

    figure = Canvas(figsize=(_WIDTH, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for axis in axes.ravel():
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(labelsize=7)
    return figure, axes


def panels(count: int, columns: int, height: float, **options: Any) -> tuple[Figure, list[Any]]:
    """A figure of so many panels, at most `columns` in a row, each row `height` inches; the axes one after another."""
    columns = min(columns, 2 if count == 4 else count)
    rows = -(-count // columns)
    figure, axes = new(rows, columns, max(2.8, height * rows + 0.8), **options)
    for axis in axes.ravel()[count:]:
        axis.set_visible(False)
    return figure, list(axes.ravel()[:count])


def legend(figure: Figure, axis: Any, cast: Cast) -> None:
    """One legend above everything: algorithms first, reference lines last."""
    handles, labels = axis.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i] in cast.references)
    chosen = [handles[i] for i in order], [labels[i] for i in order]
    figure.legend(*chosen, loc="outside upper center", ncols=6, fontsize=7, frameon=False)


def name_ends(axis: Any, ends: Sequence[tuple[str, float, float, str]], gap: float = 0.045) -> None:
    """Write names (name, x, y, colour) beside the last points of lines, none over another.

    Names keep the order of their heights and are at least `gap` of the axis apart; call it when all is drawn.
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
    """Rising places moved as little as can be, so that neighbours are at least `gap` apart.

    >>> [round(place, 2) for place in spread([0.5, 0.5, 0.9], 0.1)]
    [0.45, 0.55, 0.9]
    """
    blocks: list[list[float]] = []  # names that touch: the middle of their place, and how many
    for place in places:
        blocks.append([place, 1])
        while len(blocks) > 1 and _end(blocks[-2], gap) + gap > _start(blocks[-1], gap):
            mean, size = blocks.pop()
            before, count = blocks[-1]
            blocks[-1] = [(before * count + mean * size) / (count + size), count + size]
    return [_start(block, gap) + i * gap for block in blocks for i in range(int(block[1]))]


def _start(block: Sequence[float], gap: float) -> float:
    return block[0] - gap * (block[1] - 1) / 2


def _end(block: Sequence[float], gap: float) -> float:
    return block[0] + gap * (block[1] - 1) / 2


def write_figure(figure: Figure, path: Path, **options: Any) -> None:
    """Save a figure; fonts of a PDF are TrueType (Type 42), which publishers take and people can search."""
    import matplotlib

    with matplotlib.rc_context({"pdf.fonttype": 42, "ps.fonttype": 42}):
        figure.savefig(path, **options)


def ink(picture: Any, value: float) -> str:
    """Black or white, whichever can be read better on the colour that an image has for this value."""
    red, green, blue, _ = picture.cmap(picture.norm(value))
    luminance = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    return "white" if luminance < 0.179 else "black"  # there both have the same contrast


def sizes_of(results: Frame) -> list[int]:
    """The values of K in a study."""
    return sorted(results["items"].unique().to_list())


def domains_of(results: Frame) -> list[str]:
    """The domains of a study by name, whatever the case of their letters."""
    return sorted(results["domain"].unique().to_list(), key=str.casefold)
