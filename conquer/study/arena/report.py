"""The arena's report: rankings with paired intervals, regret curves as SVG, and one HTML page."""

import json
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from conquer.metrics import compare
from conquer.registry import table
from conquer.study.arena.contenders import VARIANTS, published
from conquer.study.arena.run import settings_of
from conquer.study.arena.spec import ArenaSpec
from conquer.study.arena.worlds import SETTINGS
from conquer.study.output import write_page, write_text
from conquer.study.plots.canvas import COLOURS, spread
from conquer.study.runner import Row

CURVES = 8
"""The number of a world's best algorithms whose curves are shown."""
PARTS = {"Beside the rivals as published": True, "Beside our variants of the rivals": False}
"""Ours are compared with the systems as their papers run them first, then with our variants of them."""
_REGRETS = {"Regret of the better shown": "weak", "Regret of both shown": "strong"}
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _NAMES = 800, 280, 56, 34, 10, 200
_DASHES = ("", "7 3", "2 3", "9 3 2 3")
_LINE = 16
"""Height of a name beside the lines."""
_FLOOR = "random"


def parts(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Ours with the rivals of each part, by its title; a part without rivals is left out unless both are empty.

    >>> rows = [{"group": "paper"}, {"group": "rivals", "published": True}, {"group": "rivals", "published": False}]
    >>> [len(part) for part in parts(rows).values()]
    [2, 2]
    """
    every = list(rows)
    found = {
        title: [row for row in every if row["group"] == "paper" or row["published"] == flag]
        for title, flag in PARTS.items()
    }
    return {t: part for t, part in found.items() if any(row["group"] != "paper" for row in part)} or {"Ours": every}


def ranking(rows: Iterable[Row], world: str, regret: str = "weak") -> list[Row]:
    """Rows of one world by mean final regret, each with its paired difference from the best that duels."""
    here = [row for row in rows if row["world"] == world]
    here.sort(key=lambda row: float(np.mean(row[regret])))
    best = next((row for row in here if not row["single"]), here[0])
    ranked = []
    for row in here:
        gap = compare(row[regret], best[regret])
        mean = float(np.mean(row[regret]))
        ratio = mean / max(float(np.mean(best[regret])), 1e-12)
        ranked.append({**row, "mean": mean, "ratio": ratio, "low": gap.low, "high": gap.high, "behind": gap.mean})
    return ranked


def ratio_interval(ours: Sequence[float], rival: Sequence[float], *, seed: int = 0) -> tuple[float, float]:
    """The 95 % bootstrap interval of mean(ours)/mean(rival), paired by repetition.

    >>> ratio_interval([2.0, 4.0, 6.0], [1.0, 2.0, 3.0])
    (2.0, 2.0)
    """
    pairs = np.array([ours, rival], dtype=np.float64)
    drawn = np.random.default_rng(seed).integers(0, pairs.shape[1], (2000, pairs.shape[1]))
    means = pairs[:, drawn].mean(axis=2)
    low, high = np.quantile(means[0] / np.maximum(means[1], 1e-12), [0.025, 0.975])
    return float(low), float(high)


def _best(rows: Sequence[Row]) -> list[Row]:
    """The best of ranked rows that duel (of all, if none does)."""
    return ([row for row in rows if not row["single"]] or list(rows))[:CURVES]


def thinned(rows: Sequence[Row]) -> list[Row]:
    """The rows with curves only for the best of each world and part, and for choosing at random."""
    kept = set()
    for world in dict.fromkeys(row["world"] for row in rows):
        for part in parts(row for row in rows if row["world"] == world).values():
            kept |= {(world, row["algorithm"]) for row in _best(ranking(part, world))} | {(world, _FLOOR)}
    return [
        {name: value for name, value in row.items() if name != "curve" or (row["world"], row["algorithm"]) in kept}
        for row in rows
    ]


def verdicts(rows: Sequence[Row], regret: str = "weak") -> str:
    """A Markdown table: in each world the best of ours and of the rivals that duel, and their paired difference.

    `toptwo` is left out: over a linear estimator it is our own ttg.
    """
    lines = [
        "| world | best of ours | best rival | ours/rival [95 %] | ours - rival [95 %] | next |",
        "|---|---|---|---|---|---|",
    ]
    for world in dict.fromkeys(row["world"] for row in rows):
        here = [row for row in ranking(rows, world, regret) if not row["single"] and row["algorithm"] != "toptwo"]
        ours, rival = (next((row for row in here if row["group"] == group), None) for group in ("paper", "rivals"))
        if ours is None or rival is None:
            continue
        gap = compare(ours[regret], rival[regret])
        low, high = ratio_interval(ours[regret], rival[regret])
        others = [row for row in here if row not in (ours, rival)][:3]
        after = ", ".join(f"{row['algorithm']} {row['mean']:.0f}" for row in others)
        lines.append(
            f"| {world} | {ours['algorithm']} {ours['mean']:.1f} | {rival['algorithm']} {rival['mean']:.1f} "
            f"| {ours['mean'] / rival['mean']:.2f} [{low:.2f}, {high:.2f}] "
            f"| {gap.mean:.1f} [{gap.low:.1f}, {gap.high:.1f}] | {after} |"
        )
    return "\n".join(lines)


def chart_of(rows: Sequence[Row]) -> dict[str, Any]:
    """The cumulative regret of the best with 95 % bands over repetitions; choosing at random may exceed the scale."""
    drawn = [row for row in rows if "curve" in row and row["algorithm"] != _FLOOR]
    best = _best(drawn)
    floor = [row for row in rows if "curve" in row and row["algorithm"] == _FLOOR]
    shown = [*best, *floor]
    top = 1.15 * max(max(row["curve"]["regret"]) for row in best or floor) or 1.0
    last = max(shown[0]["curve"]["round"])
    across, up = (_WIDTH - _LEFT - _NAMES) / last, (_HEIGHT - _BOTTOM - _TOP) / top

    def point(t: float, regret: float) -> str:
        return f"{_LEFT + across * t:.1f},{_HEIGHT - _BOTTOM - up * regret:.1f}"

    lines = []
    for row in shown:
        at, regret, half = (row["curve"][name] for name in ("round", "regret", "half"))
        over = [(t, r + h) for t, r, h in zip(at, regret, half, strict=True)]
        under = [(t, max(0.0, r - h)) for t, r, h in zip(at, regret, half, strict=True)]
        colour, dash = look_of(row["algorithm"])
        lines.append(
            {
                "name": row["algorithm"], "colour": colour, "dash": dash, "end": min(regret[-1], top),
                "points": " ".join(point(*each) for each in zip(at, regret, strict=True)),
                "band": " ".join(point(*each) for each in (*over, *reversed(under))),
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


def ticks(most: float) -> list[float]:
    """Four to nine round numbers from 0 to `most`.

    >>> ticks(1000), ticks(0.7)
    ([0, 200, 400, 600, 800, 1000], [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    """
    step = 10.0 ** math.floor(math.log10(most))
    step *= next(factor for factor in (0.1, 0.2, 0.5, 1.0, 2.0) if most / (step * factor) <= 8)
    found = [round(step * k, 12) for k in range(int(most / step + 1e-9) + 1)]
    return [int(each) for each in found] if step >= 1 else found


@cache
def _places() -> dict[str, int]:
    """A number for every name, the same in every picture."""
    return {name: place for place, name in enumerate(dict.fromkeys([*table(), *VARIANTS, *published()]))}


def look_of(name: str) -> tuple[str, str]:
    """(colour, dashes) of an algorithm, the same in every picture.

    >>> look_of("ttg") == look_of("ttg") != look_of("gnr")
    True
    """
    if name == _FLOOR:
        return "#777777", "2 3"
    place = _places().get(name, 0)
    return COLOURS[place % len(COLOURS)], _DASHES[place // len(COLOURS) % len(_DASHES)]


def write(spec: ArenaSpec, rows: Sequence[Row], folder: Path) -> Path:
    """Write results.json, verdicts.md and the page arena.html into the folder; returns the page's path."""
    about = {setting.name: {"text": setting.text, **setting.described()} for setting in settings_of(spec)}
    settings = {"seed": spec.seed, "repetitions": spec.repetitions, "worlds": about}
    kept = thinned(rows)
    lines = ",\n".join(json.dumps(row) for row in kept)
    write_text(folder / "results.json", f'{{"settings": {json.dumps(settings)},\n"cells": [\n{lines}\n]}}\n')
    tables = "\n\n".join(
        f"{part}. {title}:\n\n{verdicts(own, regret)}"
        for part, own in parts(rows).items()
        for title, regret in _REGRETS.items()
    )
    write_text(folder / "verdicts.md", tables + "\n")
    worlds = []
    for name in about:
        here = [row for row in kept if row["world"] == name]
        ranked = {title: ranking(part, name) for title, part in parts(here).items()}
        shown = [{"title": title, "rows": own, "chart": chart_of(own)} for title, own in ranked.items()]
        worlds.append({"name": name, "about": about[name], "parts": shown, "command": command(settings, here)})
    return write_page(folder / "arena.html", Path(__file__).with_name("arena.html"), worlds=worlds)


def command(settings: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """The command that repeats the results of one world."""
    world, names = rows[0]["world"], ",".join(sorted(row["algorithm"] for row in rows))
    rest = " ".join(f"--{name} {settings[name]}" for name in ("repetitions", "seed"))
    rounds = settings["worlds"][world]["rounds"]
    rest += "" if rounds == SETTINGS[world].rounds else f" --rounds {rounds}"
    return f"conquer arena --worlds {world} --algorithms {shlex.quote(names)} {rest}"
