"""The arena's regret curves as points of an SVG picture: ticks, bands, and a colour for each name in every picture."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from conquer.registry import table
from conquer.study.arena.contenders import VARIANTS, published
from conquer.study.arena.ranking import CURVES
from conquer.study.plots.canvas import COLOURS, spread

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _NAMES = 800, 280, 56, 34, 10, 200
_DASHES = ("", "7 3", "2 3", "9 3 2 3")
_LINE = 16
"""Height of a name beside the lines."""
_FLOOR = "random"


def chart_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The cumulative regret of the best with 95 % bands over repetitions; choosing at random leaves the picture."""
    drawn = [row for row in rows if "curve" in row and row["algorithm"] != _FLOOR]
    best = ([row for row in drawn if not row["single"]] or drawn)[:CURVES]
    floor = [row for row in rows if "curve" in row and row["algorithm"] == _FLOOR]
    shown = [*best, *floor]
    top = 1.15 * max(max(row["curve"]["regret"]) for row in best or floor) or 1.0
    last = max(shown[0]["curve"]["round"])
    across, up = (_WIDTH - _LEFT - _NAMES) / last, (_HEIGHT - _BOTTOM - _TOP) / top

    def point(t: float, regret: float) -> str:
        return f"{_LEFT + across * t:.1f},{_HEIGHT - _BOTTOM - up * regret:.1f}"

    lines = []
    for row in shown:
        curve = row["curve"]
        over, under = _edge(row, 1.0), _edge(row, -1.0)
        band = [*zip(curve["round"], over, strict=True), *reversed([*zip(curve["round"], under, strict=True)])]
        colour, dash = look_of(row["algorithm"])
        lines.append(
            {
                "name": row["algorithm"], "colour": colour, "dash": dash, "end": min(curve["regret"][-1], top),
                "points": " ".join(point(*each) for each in zip(curve["round"], curve["regret"], strict=True)),
                "band": " ".join(point(*each) for each in band) if "half" in curve else "",
            }
        )  # fmt: skip
    lines.sort(key=lambda line: line["end"])
    height = _HEIGHT - _BOTTOM - _TOP
    for line, place in zip(lines, spread([up * line["end"] for line in lines], _LINE), strict=True):
        line["label"] = min(max(_HEIGHT - _BOTTOM - place, _TOP + 4), _TOP + height) + 4
    return {
        "lines": lines, "width": _WIDTH, "height": _HEIGHT, "left": _LEFT, "right": _WIDTH - _NAMES, "top": _TOP,
        "bottom": _HEIGHT - _BOTTOM,
        "ticks": [(_LEFT + across * t, f"{t:,.0f}") for t in ticks(last)],
        "levels": [(_HEIGHT - _BOTTOM - up * r, f"{r:,g}") for r in ticks(top)],
    }  # fmt: skip


def _edge(row: Mapping[str, Any], side: float) -> list[float]:
    """The upper (1) or lower (-1) edge of a row's band; cells of earlier versions have none."""
    regret = row["curve"]["regret"]
    return [
        max(0.0, r + side * half) for r, half in zip(regret, row["curve"].get("half", [0.0] * len(regret)), strict=True)
    ]


def ticks(most: float) -> list[float]:
    """Round numbers from 0 to `most`, four to nine of them.

    >>> ticks(1000), ticks(0.7)
    ([0, 200, 400, 600, 800, 1000], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    """
    step = 10.0 ** math.floor(math.log10(most))
    step *= next(factor for factor in (0.1, 0.2, 0.5, 1.0, 2.0) if most / (step * factor) <= 8)
    found = [round(step * k, 12) for k in range(int(most / step + 1e-9) + 1)]
    return [int(each) for each in found] if step >= 1 else found


@cache
def _known() -> dict[str, int]:
    """Every name that there is, by its place: the same in every picture."""
    return {name: place for place, name in enumerate(dict.fromkeys([*table(), *VARIANTS, *published()]))}


def look_of(name: str) -> tuple[str, str]:
    """(colour, dashes) of an algorithm, the same in every picture.

    >>> look_of("ttg") == look_of("ttg") != look_of("gnr")
    True
    """
    if name == _FLOOR:
        return "#777777", "2 3"
    place = _known().get(name, 0)
    return COLOURS[place % len(COLOURS)], _DASHES[place // len(COLOURS) % len(_DASHES)]
