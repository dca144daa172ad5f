"""Tables and figures of a study of staleness."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conquer.study.cells.output import markdown, write_text
from conquer.study.plots import staleness as draw
from conquer.study.plots.canvas import Cast, cast
from conquer.study.plots.reviews import save
from conquer.study.staleness.costs import StaleCourse
from conquer.study.staleness.spec import RULES, WIDTHS, StalenessSpec
from conquer.study.staleness.tables import all_tables
from conquer.study.staleness.work import ALONE, LATE, ON_SHOW, REGIONS

_NOTHING, _AS_LONG = "knowing nothing", "knowing nothing for as long as the delay"
_LEFT = 3.0
"""So far left of the smallest delay, as a factor, stands the point without delay."""


def write(spec: StalenessSpec, courses: Sequence[StaleCourse], folder: Path) -> None:
    """Write tables/NAME.md and figures/NAME.png into the folder."""
    for name, frame in all_tables(courses).items():
        path = folder / "tables" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, markdown(frame, digits=1))
    save(_delays(spec, courses), "delays", folder / "figures")
    if set(WIDTHS) & set(spec.algorithms):
        save(_on_show(spec, courses), "on_show", folder / "figures")
    if any(course.sizes(REGIONS) for course in courses):
        save(_regions(spec, courses), "regions", folder / "figures")


def _by_world(courses: Sequence[StaleCourse], points: Any) -> dict[str, dict[str, list[tuple[float, float, float]]]]:
    worlds: dict[str, dict[str, list[tuple[float, float, float]]]] = {}
    for course in courses:
        if line := points(course):
            worlds.setdefault(course.world, {})[course.algorithm] = line
    return worlds


def _looks(spec: StalenessSpec) -> Cast:
    return cast(spec.algorithms, RULES, _NOTHING, _AS_LONG)


def _delays(spec: StalenessSpec, courses: Sequence[StaleCourse]) -> Any:
    def points(course: StaleCourse) -> list[tuple[float, float, float]]:
        ways = {spec.delays[0] / _LEFT: (ALONE, 0)} | {float(d): (LATE, d) for d in spec.delays}
        return [(at, *course.regret(way)) for at, way in ways.items()]

    unlearnt = {course.world: float(course.unlearnt.mean()) for course in courses}
    return draw.delays(_by_world(courses, points), unlearnt, spec.delays, spec.rounds, _looks(spec))


def _on_show(spec: StalenessSpec, courses: Sequence[StaleCourse]) -> Any:
    def points(course: StaleCourse) -> list[tuple[float, float, float]]:
        costs = [(size, course.cost((ON_SHOW, size), (LATE, size))) for size in course.sizes(ON_SHOW)]
        return [(float(size), 100 * cost.mean, 100 * cost.half) for size, cost in costs]

    return draw.on_show(_by_world(courses, points), spec.delays, _looks(spec))


def _regions(spec: StalenessSpec, courses: Sequence[StaleCourse]) -> Any:
    ways = [(regions, every) for regions in spec.regions for every in (*spec.every, spec.rounds)]

    def points(course: StaleCourse) -> list[tuple[float, float, float]]:
        if not course.sizes(REGIONS):
            return []
        costs = [course.cost((REGIONS, *way), (REGIONS, 1, spec.rounds)) for way in ways]
        return [(float(at), 100 * cost.mean, 100 * cost.half) for at, cost in enumerate(costs)]

    labels = [f"{r} regions\n{'never' if e == spec.rounds else f'every {e}'}" for r, e in ways]
    return draw.regions(_by_world(courses, points), labels, _looks(spec))
