"""The tables of the study, as frames by file name."""

from collections.abc import Sequence
from typing import Any

from conquer.study.staleness.costs import StaleCourse
from conquer.study.staleness.work import ALONE, BATCHED, LATE, ON_SHOW, REGIONS

SHARES = (0.01, 0.1)


def all_tables(courses: Sequence[StaleCourse]) -> dict[str, Any]:
    """{file name: frame}; a way that was not run has no table."""
    import polars as pl

    lines = {
        "delays": [_by_size(course, LATE, "delay") for course in courses],
        "prices": [_prices(course) for course in courses],
        "batches": [_by_size(course, BATCHED, "batch") for course in courses if course.sizes(BATCHED)],
        "on_show": [_on_show(course) for course in courses if course.sizes(ON_SHOW)],
        "regions": [_regions(course) for course in courses if course.sizes(REGIONS)],
    }
    return {name: pl.DataFrame(rows) for name, rows in lines.items() if rows}


def _named(course: StaleCourse) -> dict[str, Any]:
    return {"world": course.world, "rule": course.algorithm}


def _by_size(course: StaleCourse, way: str, what: str) -> dict[str, Any]:
    alone = {"regret at once": float(course.regrets[ALONE, 0].mean())}
    return _named(course) | alone | {f"{what} {size}": str(course.cost((way, size))) for size in course.sizes(way)}


def _prices(course: StaleCourse) -> dict[str, Any]:
    """What a round of delay costs, and from that the delays that cost little; none where delay is no cost at all."""
    price, half = course.price()
    line = _named(course) | {"price of a round": f"{price:.2f} ± {half:.2f}", "no cost seen up to": course.free()}
    for share in SHARES:
        cheap, dear = course.delay_for(share, price + half), course.delay_for(share, max(price - half, 1e-9))
        known = f"{course.delay_for(share, price):.0f} ({cheap:.0f} to {dear:.0f})" if price > half else "no such delay"
        line[f"{100 * share:.0f} % at"] = known
    return line


def _on_show(course: StaleCourse) -> dict[str, Any]:
    line = _named(course)
    for size in course.sizes(ON_SHOW):
        line[f"delay {size}"] = str(course.cost((ON_SHOW, size), (LATE, size)))
    last = course.sizes(ON_SHOW)[-1]
    asked = [f"{100 * course.asked[way, last]:.0f}" for way in (LATE, ON_SHOW)]
    return line | {f"asks at {last}, %": f"{asked[0]}, on show {asked[1]}"}


def _regions(course: StaleCourse) -> dict[str, Any]:
    alone = next(way for way in course.regrets if way[:2] == (REGIONS, 1))
    line = _named(course) | {"regret of one": float(course.regrets[alone].mean())}
    for way in course.regrets:
        if way[0] == REGIONS and way != alone:
            _, regions, every = way
            when = "never merged" if every == alone[2] else f"merged every {every}"
            line[f"{regions} regions, {when}"] = str(course.cost(way, alone))
    return line
