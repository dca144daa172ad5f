"""Who is ahead in each world: rankings with paired intervals, and the best of ours beside the best rival."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from conquer.metrics import compare

CURVES = 8
"""So many of a world's best are shown with their curves."""


PARTS = {"Beside the rivals as published": True, "Beside our variants of the rivals": False}
"""Ours are compared with the systems as their papers run them first, then with our variants of them."""


def parts(cells: Iterable[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Ours with the rivals of each part, by its title; a part without rivals is left out, unless nobody else is there.

    >>> rows = [{"group": "paper"}, {"group": "rivals", "published": True}, {"group": "rivals"}]
    >>> [len(part) for part in parts(rows).values()]
    [2, 2]
    """
    rows = list(cells)
    found = {
        title: [row for row in rows if row["group"] == "paper" or bool(row.get("published")) == flag]
        for title, flag in PARTS.items()
    }
    return {t: part for t, part in found.items() if any(row["group"] != "paper" for row in part)} or {"Ours": rows}


def ranking(cells: Iterable[Mapping[str, Any]], world: str, regret: str = "weak") -> list[dict[str, Any]]:
    """Rows of one world, least mean final regret first, each with its paired difference from the best that duels."""
    rows = [found for found in cells if found["world"] == world]
    rows.sort(key=lambda found: float(np.mean(found[regret])))
    best = next((row for row in rows if not row["single"]), rows[0])
    table = []
    for row in rows:
        gap = compare(row[regret], best[regret])
        mean = float(np.mean(row[regret]))
        ratio = mean / max(float(np.mean(best[regret])), 1e-12)
        table.append({**row, "mean": mean, "ratio": ratio, "low": gap.low, "high": gap.high, "behind": gap.mean})
    return table


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


def thinned(cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The cells with curves for the eight best of each world and part that duel (of all, if none does) and random."""
    kept = set()
    for world in dict.fromkeys(found["world"] for found in cells):
        for part in parts(found for found in cells if found["world"] == world).values():
            rows = ranking(part, world)
            best = [row for row in rows if not row["single"]] or rows
            kept |= {(world, row["algorithm"]) for row in best[:CURVES]} | {(world, "random")}
    return [
        {
            name: value
            for name, value in found.items()
            if name != "curve" or (found["world"], found["algorithm"]) in kept
        }
        for found in cells
    ]


def verdicts(cells: Sequence[Mapping[str, Any]], regret: str = "weak") -> str:
    """A Markdown table: in each world the best of ours and of the rivals that duel, and their paired difference.

    `toptwo` is left out: over a linear estimator it is our own ttg.
    """
    lines = [
        "| world | best of ours | best rival | ours/rival [95 %] | ours - rival [95 %] | next |",
        "|---|---|---|---|---|---|",
    ]
    for world in dict.fromkeys(found["world"] for found in cells):
        rows = [row for row in ranking(cells, world, regret) if not row["single"] and row["algorithm"] != "toptwo"]
        ours, rival = (next((row for row in rows if row["group"] == group), None) for group in ("paper", "rivals"))
        if ours is None or rival is None:
            continue
        gap = compare(ours[regret], rival[regret])
        low, high = ratio_interval(ours[regret], rival[regret])
        others = [row for row in rows if row not in (ours, rival)][:3]
        told = ", ".join(f"{row['algorithm']} {row['mean']:.0f}" for row in others)
        lines.append(
            f"| {world} | {ours['algorithm']} {ours['mean']:.1f} | {rival['algorithm']} {rival['mean']:.1f} "
            f"| {ours['mean'] / rival['mean']:.2f} [{low:.2f}, {high:.2f}] "
            f"| {gap.mean:.1f} [{gap.low:.1f}, {gap.high:.1f}] | {told} |"
        )
    return "\n".join(lines)
