"""The report of a study of reviews: tables, figures and verdicts on one page, and a summary for the terminal."""

import base64
import inspect
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conquer.registry import table as registered
from conquer.study.output import write_json, write_page, write_text
from conquer.study.plots import reviews as figures
from conquer.study.plots.canvas import Palette, palette_of, save, sizes_of
from conquer.study.plots.errors import errors_by_reading
from conquer.study.progress import QUIET, REPORTING, StudyProgress
from conquer.study.reviews import claims, tables
from conquer.study.reviews.comparison import contenders, ordered
from conquer.study.reviews.run import Finished
from conquer.study.reviews.spec import CEILING, reading_of
from conquer.study.runner import versions

if TYPE_CHECKING:
    from polars import DataFrame
    from rich.console import Console
    from rich.table import Table

_TITLES = {
    "mean_error": "Mean test error by K",
    "online": "Mean regret per round and mean error of the first item shown, while learning",
    "one_versus_one": "One versus one: trials won by the row; a star: Student's test, p < 0.05 after Holm's correction",
    "silence": "Rounds without a question, percent (GNC)",
    "equal_pairs": "Questions between equally good items, percent",
    "tuned": "Chosen grid points",
    "by_pass": "Rounds without a question by pass, percent",
}
_NAMES, _NUMBER = 13, 7
"""Columns of a terminal that the names take, and a number with its gap."""


def write(finished: Finished, command: str, progress: StudyProgress = QUIET) -> Path:
    """Write tables, figures, claims.json and report.html into the study's folder; returns the page's path.

    Each of several readings has its own folder in tables/ and figures/; comparisons of them are beside those.
    """
    folder, results = finished.folder, finished.results
    names = [reading_of(spec) for spec in finished.specs]
    progress.begin(REPORTING, len(names) * len(figures.FIGURES))
    parts = {name: (results.filter(reading=name), finished.curves.filter(reading=name)) for name in names}
    sections: dict[str, _Section] = {}
    numbers = itertools.count(2 if len(names) > 1 else 1)
    for name, part in parts.items():
        place = slug(name) if len(names) > 1 else ""
        sections[name] = _section(folder, place, *part, numbers, progress)
    found = claims.compared({name: part for name, (part, _) in parts.items()})
    rows = [
        {"reading": name, "claim": c.claim, "verdict": c.verdict, "evidence": c.evidence, "why": each.why}
        for each in found
        for name, c in each.views.items()
    ]
    write_json(folder / "claims.json", rows)
    write_text(folder / "tables" / "claims.md", claims.table(found))
    both, compared = tables.readings(results), None
    if len(names) > 1:
        tables.write({"readings": both}, folder / "tables")
        means = {name: section.tables["mean_error"] for name, section in sections.items()}
        path = save(errors_by_reading(means, _palette(results)), folder / "figures" / "readings")
        compared = _picture(1, inspect.getdoc(errors_by_reading), path, folder)
    return write_page(
        folder / "report.html",
        Path(__file__).with_suffix(".html"),
        command=command,
        data=finished.specs[0].data,
        shared=finished.specs[0],
        results=results,
        reviews=sum(facts["reviews"] for facts in finished.domains.values()),
        claims=found,
        classes={claims.HOLDS: "holds", claims.FAILS: "fails"},
        compared=compared,
        readings=both,
        sections=sections,
        titles=_TITLES,
        domains=_domains(finished),
        left_out=finished.left_out,
        problems=[line for facts in finished.domains.values() for line in facts.get("problems", [])],
        settings={name: _in_words(s.described()) for name, s in zip(names, finished.specs, strict=True)},
        versions=versions(),
    )


@dataclass(frozen=True, slots=True)
class _Picture:
    """A figure of the page: its number, its caption, its PNG, and its PDF relative to the page."""

    number: int
    caption: str
    encoded: str
    pdf: str


@dataclass(frozen=True, slots=True)
class _Section:
    """What the page shows of one reading: its name in links, its tables by file name, its pictures."""

    slug: str
    tables: "dict[str, DataFrame]"
    pictures: list[_Picture]


def _section(
    folder: Path,
    place: str,
    results: "DataFrame",
    curves: "DataFrame",
    numbers: Iterator[int],
    progress: StudyProgress,
) -> _Section:
    made = tables.all_tables(results)
    tables.write(made, folder / "tables" / place)
    frames = made | {"results": results, "curves": curves}
    pictures = []
    for name, draw in figures.FIGURES.items():
        path = save(draw(frames, _palette(results)), folder / "figures" / place / name)
        pictures.append(_picture(next(numbers), inspect.getdoc(draw), path, folder))
        progress.advance(1)
    return _Section(place or "all", made, pictures)


def _palette(results: "DataFrame") -> Palette:
    return palette_of(contenders(results), ordered(registered()), "random", CEILING)


def _picture(number: int, caption: str | None, path: Path, folder: Path) -> _Picture:
    encoded, pdf = base64.b64encode(path.read_bytes()).decode(), path.relative_to(folder).with_suffix(".pdf")
    return _Picture(number, " ".join((caption or "").split()), encoded, pdf.as_posix())


def _in_words(settings: dict[str, Any]) -> dict[str, str]:
    """Settings as text.

    >>> _in_words({"items": (5, 10), "lam": None, "test_sets": 50, "cold": True})
    {'items': '5, 10', 'lam': 'none', 'test sets': '50', 'cold': 'yes'}
    """

    def words(value: object) -> str:
        if isinstance(value, tuple | list):
            return ", ".join(map(words, value))
        return "none" if value is None else ("yes" if value else "no") if isinstance(value, bool) else str(value)

    return {name.replace("_", " "): words(value) for name, value in settings.items()}


def slug(name: str) -> str:
    """A reading's name as a folder's.

    >>> slug("paper, ngrams 2")
    'paper-ngrams-2'
    """
    return re.sub(r"[^a-z0-9.+]+", "-", name.lower())


def _domains(finished: Finished) -> "DataFrame":
    """A frame with one row per domain: what was read of it."""
    import polars as pl

    rows = [
        {
            "domain": name,
            "reviews": facts["reviews"],
            "n-grams": facts["features"],
            "read": facts.get("read"),
            "unreadable": facts.get("unreadable"),
            "repeated": facts.get("duplicates"),
            "balanced": facts.get("balanced") and "yes",
        }
        for name, facts in finished.domains.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def show(finished: Finished, console: "Console") -> None:
    """Print the mean errors, of several readings side by side, and what was left out."""
    if len(finished.specs) == 1:
        console.print(_errors(tables.mean_errors(finished.results)))
    else:
        for table in _readings(finished.results, console.width):
            console.print(table)
    for name, why in finished.left_out.items():
        console.print(f"left out {name}: {why}")
    uneven = [name for name, facts in finished.domains.items() if facts.get("balanced") is False]
    if uneven and finished.specs[0].balance == "stars":
        console.print(f"not balanced, because ratings are fractions or of more than 11 kinds: {', '.join(uneven)}")
    unread = sum(facts.get("unreadable", 0) for facts in finished.domains.values())
    if unread:
        console.print(f"{unread} unreadable rows, listed in the report")


def _errors(frame: "DataFrame") -> "Table":
    table = _grid("mean test error ± half a 95 % interval")
    sizes = [name.removeprefix("K=") for name in frame.columns if name.startswith("K=")]
    table.add_column("algorithm", no_wrap=True)
    for heading in (*(f"K = {size}" for size in sizes), "mean", "ratio"):
        table.add_column(heading, justify="right")
    for row in frame.iter_rows(named=True):
        cells = [_with_half(row[f"K={size}"], row[f"±{size}"]) for size in sizes]
        table.add_row(_short(row["algorithm"]), *cells, f"{row['mean']:.3f}", f"{row['of ceiling']:.2f}")
    return table


def _readings(results: "DataFrame", width: int) -> "Iterator[Table]":
    """All readings side by side, a column for each of them and each K; in several tables where one is too wide."""
    frame, sizes = tables.readings(results), sizes_of(results)
    beside = max(1, (width - _NAMES) // (_NUMBER * len(sizes)))
    for first in range(0, len(frame), beside):
        some = frame[first : first + beside]
        table = _grid("mean test error under each reading; intervals are in the report")
        table.add_column("algorithm", no_wrap=True)
        for reading in some["reading"]:
            for position, items in enumerate(sizes):
                table.add_column(f"{reading if position == 0 else ''}\nK={items}", justify="right")
        for name in some.columns[1:]:
            table.add_row(_short(name), *(error for errors in some[name] for error in errors.split()))
        yield table


def _grid(title: str) -> "Table":
    from rich.box import SIMPLE
    from rich.table import Table

    return Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))


def _short(algorithm: str) -> str:
    """A name that leaves room for the numbers on a terminal of 80 columns."""
    return "full info" if algorithm == CEILING else algorithm


def _with_half(mean: float, half: float | None) -> str:
    return f"{mean:.3f}" if half is None else f"{mean:.3f}±{half:.3f}"
