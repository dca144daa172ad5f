"""The arena's page: rankings with paired intervals, and regret curves, as one HTML file that needs nothing else."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conquer.study.arena.chart import chart_of
from conquer.study.arena.ranking import parts, ranking
from conquer.study.arena.worlds import SETTINGS
from conquer.study.cells.output import write_page


def write_arena_page(folder: Path) -> Path:
    """Make arena.html from results.json beside it."""
    result = json.loads((folder / "results.json").read_text())
    settings = result["settings"]
    worlds = []
    for name, about in settings["worlds"].items():
        cells = [cell for cell in result["cells"] if cell["world"] == name]
        tables = {title: ranking(part, name) for title, part in parts(cells).items()}
        shown = [{"title": title, "rows": rows, "chart": chart_of(rows)} for title, rows in tables.items()]
        worlds.append({"name": name, "about": about, "parts": shown, "command": command(settings, cells)})
    return write_page(folder / "arena.html", Path(__file__).with_name("arena.html"), worlds=worlds)


def command(settings: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The command that makes the results of one world again."""
    names = ",".join(sorted(row["algorithm"] for row in rows))
    rest = " ".join(f"--{name} {settings[name]}" for name in ("repetitions", "seed"))
    rounds = settings["worlds"][rows[0]["world"]]["rounds"]
    rest += "" if rounds == SETTINGS[rows[0]["world"]].rounds else f" --rounds {rounds}"
    return f"conquer arena --worlds {rows[0]['world']} --algorithms {shlex.quote(names)} {rest}"
