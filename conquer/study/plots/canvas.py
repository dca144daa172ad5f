"""The look of every figure: Okabe and Ito's colours, hatches and markers, one legend above everything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
