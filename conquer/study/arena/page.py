"""The arena's page: rankings with paired intervals, and regret curves, as one HTML file that needs nothing else."""

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from conquer.metrics import compare

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F3C8D", "#1B1B1B")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 260, 48, 24
_ABOUT = """Every algorithm in every world: its parameters are chosen from its own eight-point grid on worlds apart,
then it meets the same repetitions as all others. Regret is the paper's: the best item's reward less that of the better
shown one, summed. Differences are paired by repetition, with a 95 % bootstrap interval, from the best algorithm that
duels. Ours are bold. Those in italics show one item and are told, without noise, whether it is the best of all: an
easier question than a noisy duel, so they are not to be compared with the others."""
_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}td,th{padding:.15rem .6rem;text-align:right}
td:first-child,th:first-child{text-align:left}tr:nth-child(even){background:#f5f5f5}.ours{font-weight:600}
code{background:#f0f0f0;padding:.1rem .3rem}svg{max-width:100%;height:auto}"""


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
    """The cells with curves for the eight best of each world that duel (of all, where none does) and for no other."""
    kept = set()
    for world in dict.fromkeys(found["world"] for found in cells):
        rows = ranking(cells, world)
        best = [row for row in rows if not row["single"]] or rows
        kept |= {(world, row["algorithm"]) for row in best[: len(_COLOURS)]}
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


def write_page(folder: Path) -> Path:
    """Make arena.html from results.json beside it."""
    result = json.loads((folder / "results.json").read_text())
    settings = result["settings"]
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>The arena</title><style>{_STYLE}</style>",
        f"<h1>The arena</h1><p>{_ABOUT}</p>",
    ]
    for world, about in settings["worlds"].items():
        rows = ranking(result["cells"], world)
        parts.append(
            f"<h2 id={world}>{world}</h2><p>{html.escape(about['text'])}. {about['rounds']} rounds, "
            f"{about['items']} items, {about['dim']} features.</p>"
            f"<p><code>{html.escape(command(settings, rows))}</code></p>{_curves(rows)}{_table(rows)}"
        )
    page = folder / "arena.html"
    page.write_text("\n".join(parts) + "\n")
    return page


def command(settings: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The command that makes the results of one world again."""
    names = ",".join(sorted(row["algorithm"] for row in rows))
    rest = " ".join(f"--{name} {settings[name]}" for name in ("repetitions", "seed"))
    return f"conquer arena --worlds {rows[0]['world']} --algorithms {names} {rest}"


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    head = "<tr><th>algorithm<th>regret<th>times the best<th>behind the best<th>both shown<th>asks<th>µs a round"
    body = []
    for row in rows:
        kind = (" class=ours" if row["group"] == "paper" else "") + (
            " style=font-style:italic" if row["single"] else ""
        )
        told = html.escape(", ".join(f"{name}={value}" for name, value in row["parameters"].items()))
        strong = sum(row["strong"]) / len(row["strong"])
        body.append(
            f"<tr><td{kind} title='{told}'>{row['algorithm']}<td>{row['mean']:.1f}<td>{row['ratio']:.2f}"
            f"<td>{row['behind']:.1f} [{row['low']:.1f}, {row['high']:.1f}]<td>{strong:.0f}"
            f"<td>{100 * row['query_rate']:.0f} %<td>{row['microseconds']:.0f}"
        )
    return f"<table>{head}{''.join(body)}</table>"


def _curves(rows: Sequence[Mapping[str, Any]]) -> str:
    """The best as lines of cumulative regret."""
    best = [row for row in rows if "curve" in row]
    top = max(max(row["curve"]["regret"]) for row in best) or 1.0
    last = max(best[0]["curve"]["round"])
    shapes = []
    for k, row in enumerate(best):
        across, up = (_WIDTH - _LEFT - 150) / last, (_HEIGHT - _BOTTOM - 10) / top
        points = " ".join(
            f"{_LEFT + across * t:.1f},{_HEIGHT - _BOTTOM - up * r:.1f}"
            for t, r in zip(row["curve"]["round"], row["curve"]["regret"], strict=True)
        )
        shapes.append(f"<polyline points='{points}' fill=none stroke='{_COLOURS[k]}' stroke-width=2 />")
        shapes.append(
            f"<text x={_WIDTH - 140} y={24 + 18 * k} font-size=13 fill='{_COLOURS[k]}'>{row['algorithm']}</text>"
        )
    axis = f"<path d='M{_LEFT},10V{_HEIGHT - _BOTTOM}H{_WIDTH - 150}' fill=none stroke=#888 />"
    labels = (
        f"<text x={_LEFT - 6} y=18 font-size=12 text-anchor=end>{top:.0f}</text>"
        f"<text x={_WIDTH - 150} y={_HEIGHT - 6} font-size=12 text-anchor=end>{last} rounds</text>"
    )
    opening = f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role=img aria-label='cumulative regret'>"
    return f"{opening}{axis}{labels}{''.join(shapes)}</svg>"
