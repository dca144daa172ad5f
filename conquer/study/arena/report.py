"""The arena's report: rankings with paired intervals, regret curves, and one HTML page."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
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
from conquer.study.plots.canvas import embedded, palette_of, save
from conquer.study.plots.curves import mean_regret
from conquer.study.runner import Row

CURVES = 8
"""The number of a world's best algorithms whose curves are shown."""
PARTS = {"Beside the rivals as published": True, "Beside our variants of the rivals": False}
"""Ours are compared with the systems as their papers run them first, then with our variants of them."""
_REGRETS = {"Regret of the better shown": "weak", "Regret of both shown": "strong"}
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


def write(spec: ArenaSpec, rows: Sequence[Row], folder: Path) -> Path:
    """Write results.json, verdicts.md, figures/ and the page arena.html into the folder; returns the page's path."""
    about = {setting.name: {"text": setting.text, **setting.described()} for setting in settings_of(spec)}
    settings = {"seed": spec.seed, "repetitions": spec.repetitions, "worlds": about}
    lines = ",\n".join(json.dumps({name: row[name] for name in row if name != "curve"}) for row in rows)
    write_text(folder / "results.json", f'{{"settings": {json.dumps(settings)},\n"cells": [\n{lines}\n]}}\n')
    tables = "\n\n".join(
        f"{part}. {title}:\n\n{verdicts(own, regret)}"
        for part, own in parts(rows).items()
        for title, regret in _REGRETS.items()
    )
    write_text(folder / "verdicts.md", tables + "\n")
    worlds = []
    for name in about:
        here = [row for row in rows if row["world"] == name]
        ranked = {title: ranking(part, name) for title, part in parts(here).items()}
        shown = [
            {"title": title, "rows": own, "chart": _chart(own, folder / "figures" / f"{name}-{number}")}
            for number, (title, own) in enumerate(ranked.items(), 1)
        ]
        worlds.append({"name": name, "about": about[name], "parts": shown, "command": command(settings, here)})
    return write_page(folder / "arena.html", Path(__file__).with_name("arena.html"), worlds=worlds)


def _chart(rows: Sequence[Row], path: Path) -> str:
    """The regret curves of the best of ranked rows that duel (of all, if none does), as an image for the page."""
    floor, others = ([row for row in rows if (row["algorithm"] == _FLOOR) == flag] for flag in (True, False))
    best = ([row for row in others if not row["single"]] or others)[:CURVES]
    palette = palette_of([row["algorithm"] for row in best], [*table(), *VARIANTS, *published()], _FLOOR, "")
    return embedded(save(mean_regret(best, floor, palette), path))


def command(settings: Mapping[str, Any], rows: Sequence[Row]) -> str:
    """The command that repeats the results of one world."""
    world, names = rows[0]["world"], ",".join(sorted(row["algorithm"] for row in rows))
    rest = " ".join(f"--{name} {settings[name]}" for name in ("repetitions", "seed"))
    rounds = settings["worlds"][world]["rounds"]
    rest += "" if rounds == SETTINGS[world].rounds else f" --rounds {rounds}"
    return f"conquer arena --worlds {world} --algorithms {shlex.quote(names)} {rest}"
