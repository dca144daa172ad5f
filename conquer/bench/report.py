"""What was measured against what was aimed at, as plain data and as a table for people."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from conquer.bench import everyday
from conquer.bench.growth import Points, slope
from conquer.bench.timing import Race, Ratio

FLAT = ("rounds t", "features D, 10,000 in use", "features D, all in use")
LIMITS = {"rounds t": 0.05, "features D, 10,000 in use": 0.05}
"""Changes per decade that stay within their aim; with all features in use the caches come in as well."""
MAIN = "K = 10, ids by frequency"


@dataclass(frozen=True, slots=True)
class Goal:
    """A ratio with its aims; `larger`: whether a larger one is better."""

    what: str
    ratio: Ratio
    must: float
    stretch: float | None
    larger: bool

    @property
    def verdict(self) -> str:
        """By the median; "barely" where a quarter of the turns say otherwise."""
        if not self.ratio.stable:
            return "unstable"
        worst, best = (self.ratio.low, self.ratio.high) if self.larger else (self.ratio.high, self.ratio.low)
        for name, aim in (("stretch", self.stretch), ("must", self.must)):
            if aim is not None and self._reached(self.ratio.median, aim):
                return name if self._reached(worst, aim) else f"{name}, barely"
        return "missed, barely" if self._reached(best, self.must) else "missed"

    def _reached(self, value: float, aim: float) -> bool:
        return value >= aim if self.larger else value <= aim


def decision_goals(race: Race) -> list[Goal]:
    """The goals that the race over sparse features decides; those of an absent rival are left out."""
    goals = []
    aims = {"ttg": (5, 8), "gnr": (5, 8), "gnw": (5, 8), "gnu": (3.5, 5), "gnc": (3.5, 5), "gnt": (2.2, 3)}
    if "vw cache" in race.turns:
        for name, (must, stretch) in aims.items():
            goals.append(Goal(f"VW from its cache / {name}", race.ratio("vw cache", name), must, stretch, True))
        for name in ("ttg", "gnc"):
            must, stretch = aims[name]
            ratio = race.ratio("vw cache", f"{name} float32")
            goals.append(Goal(f"VW from its cache / {name} with VW's float32", ratio, must, stretch, True))
    goals.append(Goal("ttg / streaming the rows", race.ratio("ttg", "stream"), 2.5, 2, False))
    if "vw dicts" in race.turns:
        goals.append(Goal("VW from dicts / ttg from dicts", race.ratio("vw dicts", "ttg dicts"), 1, None, True))
    calls = ("ttg", "gnc", "gnt")
    return goals + [Goal(f"{n} call by call / compiled", race.ratio(f"{n} calls", n), 1.8, 1.4, False) for n in calls]


def matrix_goals(race: Race, packages: Race | None) -> list[Goal]:
    """The goals of the full matrix at D = 1000."""
    greedy = ("ttg", "gnr", "gnw")
    goals = [Goal(f"full {n} / dsymv + dsyr", race.ratio(n, "dsymv + dsyr"), 1.8, 1.3, False) for n in greedy]
    goals += [Goal(f"full {n} / dsymm + dsyr", race.ratio(n, "dsymm + dsyr"), 1.2, 1, False) for n in ("gnu", "gnc")]
    if packages and "mabwiser LinUCB" in packages.turns:
        goals.append(Goal("MABWiser LinUCB / full gnu", packages.ratio("mabwiser LinUCB", "gnu"), 10, None, True))
    return goals


def everyday_goals(race: Race) -> list[Goal]:
    """The goals of the everyday paths: microseconds of one ask and one tell."""
    return [
        Goal(f"ask + tell, {name}, us", race.spread(name), must, stretch, False)
        for name, (must, stretch) in everyday.AIMS.items()
    ]


def everyday_rows(race: Race) -> dict[str, dict[str, Any]]:
    """{path: microseconds of ask + tell, of choose + learn on ready rows, and their ratio}."""
    rows = {}
    for name in everyday.PATHS:
        ratio = race.ratio(name, everyday.ready(name))
        rows[name] = {"us": asdict(race.spread(name)), "ready": race.median(everyday.ready(name)), "shown": str(ratio)}
    return rows


PARTS = {
    "rounds, tickets, judge, log, fetching ahead": ("random", None),
    "ten scores and the two picks": ("ttg without learning", "random"),
    "learning two items": ("ttg", "ttg without learning"),
    "widths (gnu)": ("gnu", "ttg"),
    "widths of differences (gnc)": ("gnc", "ttg"),
    "a draw of the weights (gnt)": ("gnt", "ttg"),
    "call by call": ("ttg calls", "ttg"),
    "from dicts": ("ttg dicts", "ttg calls"),
}
"""Where a round's time goes: one contender less another."""


def part_rows(race: Race) -> dict[str, dict[str, float]]:
    """{part: microseconds}, the median of the differences turn by turn, with their quartiles."""
    rows = {}
    for part, (whole, rest) in PARTS.items():
        if {whole, rest or whole} <= race.turns.keys():
            taken = race.turns[whole] - (race.turns[rest] if rest else 0.0)
            low, median, high = (float(value) for value in np.quantile(taken, (0.25, 0.5, 0.75)))
            rows[part] = {"median": median, "low": low, "high": high}
    return rows


def goal_rows(goals: list[Goal]) -> list[dict[str, Any]]:
    """The goals as JSON; an unstable ratio keeps its spread and loses its median."""
    rows = []
    for goal in goals:
        row = {**asdict(goal), "verdict": goal.verdict, "shown": str(goal.ratio)}
        if not goal.ratio.stable:
            row["ratio"]["median"] = None
        rows.append(row)
    return rows


def race_rows(race: Race) -> dict[str, dict[str, float]]:
    """{contender: median, fastest and slowest microseconds per round}."""
    return {
        name: {"median": race.median(name), "low": float(turns.min()), "high": float(turns.max())}
        for name, turns in race.turns.items()
    }


def growth_rows(growth: Mapping[str, Points]) -> dict[str, dict[str, Any]]:
    """The points with the fitted power of growth and the change per decade.

    What should be flat is fitted over all points, what should grow over the upper half: below, the fixed cost of a
    round hides the growth.
    """
    rows: dict[str, dict[str, Any]] = {}
    for name, points in growth.items():
        first = 0 if name in FLAT else len(points["x"]) // 2
        power = slope(points["x"][first:], points["microseconds"][first:])
        rows[name] = {**points, "power": power, "change_a_decade": 10.0**power - 1.0}
    return rows


def table(results: Mapping[str, Any]) -> str:
    """Everything in `results` as Markdown."""
    where = "decisions on one core" if results["one_core"] else "no sched_setaffinity: decisions on any core"
    load = f"Load average {results['load'][0]:.1f} on {results['cores']} cores"
    lines = [f"{load}; processor time of all threads, not wall time; {where}.", ""]
    lines += ["| goal | ratio (middle half of the turns) | must | stretch | reached |", "|---|---|---|---|---|"]
    for row in results["goals"]:
        sign = ">=" if row["larger"] else "<="
        stretch = "" if row["stretch"] is None else f"{sign} {row['stretch']}"
        lines.append(f"| {row['what']} | {row['shown']} | {sign} {row['must']} | {stretch} | {row['verdict']} |")
    lines += [
        "",
        f"**Where a round goes**, {MAIN}, microseconds: median (middle half)",
        "",
        "| part | us |",
        "|---|---|",
    ]
    for part, row in results["parts"].items():
        lines.append(f"| {part} | {row['median']:.1f} ({row['low']:.1f} to {row['high']:.1f}) |")
    for title, race in results["races"].items():
        lines += ["", f"**{title}**, microseconds per round: median (fastest to slowest turn)", ""]
        lines += ["| contender | microseconds |", "|---|---|"]
        for name, row in race.items():
            lines.append(f"| {name} | {row['median']:.1f} ({row['low']:.1f} to {row['high']:.1f}) |")
    lines += ["", "**Everyday paths**, microseconds: ask + tell of a session, choose + learn on ready rows", ""]
    lines += ["| items | ask + tell (middle half) | ready rows | ratio |", "|---|---|---|---|"]
    for name, row in results["everyday"].items():
        us = row["us"]
        spread = f"{us['median']:.0f} ({us['low']:.0f} to {us['high']:.0f})"
        lines.append(f"| {name} | {spread} | {row['ready']:.1f} | {row['shown']} |")
    lines += ["", "| growth with | power | change per decade | must |", "|---|---|---|---|"]
    for name, row in results["growth"].items():
        change, limit = row["change_a_decade"], LIMITS.get(name)
        aim = "" if limit is None else f"< {limit:.0%}: {'reached' if change < limit else 'missed'}"
        lines.append(f"| {name} | {row['power']:.2f} | {change:+.0%} | {aim} |")
    lines.append("")
    for name, value in results["files"].items():
        lines.append(f"- {name.replace('_a_', '_per_').replace('_', ' ')}: {value:,.6g}")
    text = results["texts"]
    lines += [f"- documents per second, {name}: {value:,.0f}" for name, value in text["documents_a_second"].items()]
    lines.append(f"- text, HashingVectorizer / conquer: {text['shown']}")
    lines += [f"- full matrix: {name} is measured up to D = {dim:,}" for name, dim in results["largest"].items()]
    lines += [f"- {name} cannot take this work: {why}" for name, why in results["cannot"].items()]
    lines += [f"- {name} is not installed and was not measured" for name in results["missing"]]
    return "\n".join(lines) + "\n"
