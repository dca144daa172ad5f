"""The arena's page: rankings with paired intervals, and regret curves, as one HTML file that needs nothing else."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conquer.study.arena.ranking import CURVES, parts, ranking
from conquer.study.arena.worlds import SETTINGS
from conquer.study.cells.output import write_page

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F3C8D", "#1B1B1B")
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _LEGEND = 800, 260, 48, 24, 10, 230


def write_arena_page(folder: Path) -> Path:
    """Make arena.html from results.json beside it."""
    result = json.loads((folder / "results.json").read_text())
    settings = result["settings"]
    worlds = []
    for name, about in settings["worlds"].items():
        cells = [cell for cell in result["cells"] if cell["world"] == name]
        tables = {title: ranking(part, name) for title, part in parts(cells).items()}
        shown = [{"title": title, "rows": rows, "chart": _chart(rows)} for title, rows in tables.items()]
        worlds.append({"name": name, "about": about, "parts": shown, "command": command(settings, cells)})
    return write_page(folder / "arena.html", Path(__file__).with_name("arena.html"), worlds=worlds)


def command(settings: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The command that makes the results of one world again."""
    names = ",".join(sorted(row["algorithm"] for row in rows))
    rest = " ".join(f"--{name} {settings[name]}" for name in ("repetitions", "seed"))
    rounds = settings["worlds"][rows[0]["world"]]["rounds"]
    rest += "" if rounds == SETTINGS[rows[0]["world"]].rounds else f" --rounds {rounds}"
    return f"conquer arena --worlds {rows[0]['world']} --algorithms {shlex.quote(names)} {rest}"


def _chart(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The cumulative regret of the best, as points of a picture."""
    best = [row for row in rows if "curve" in row and not row["single"]] or [row for row in rows if "curve" in row]
    best = best[:CURVES]
    top = max(max(row["curve"]["regret"]) for row in best) or 1.0
    last = max(best[0]["curve"]["round"])
    across, up = (_WIDTH - _LEFT - _LEGEND) / last, (_HEIGHT - _BOTTOM - _TOP) / top
    lines = []
    for colour, row in zip(_COLOURS, best, strict=False):
        points = " ".join(
            f"{_LEFT + across * t:.1f},{_HEIGHT - _BOTTOM - up * r:.1f}"
            for t, r in zip(row["curve"]["round"], row["curve"]["regret"], strict=True)
        )
        lines.append({"points": points, "colour": colour, "name": row["algorithm"]})
    edges = {"left": _LEFT, "right": _WIDTH - _LEGEND, "top": _TOP, "bottom": _HEIGHT - _BOTTOM}
    return {"lines": lines, "most": top, "last": last, "width": _WIDTH, "height": _HEIGHT, **edges}
