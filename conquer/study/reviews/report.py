"""The report of a study of reviews: tables, figures and verdicts on one page, and a summary for the terminal."""

import inspect
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conquer.registry import table as registered
from conquer.study.output import clear, write_json, write_page, write_text
from conquer.study.plots.canvas import Draw, Palette, embedded, palette_of, save, sizes_of
from conquer.study.plots.curves import (
    regret_by_domain,
    regret_by_domain_one,
    regret_curves,
    regret_curves_one,
    sample_efficiency,
)
from conquer.study.plots.errors import errors_by_domain, errors_by_items, errors_by_reading
from conquer.study.progress import QUIET, REPORTING, StudyProgress
from conquer.study.reviews import claims, tables
from conquer.study.reviews.comparison import contenders, ordered
from conquer.study.reviews.run import Finished
from conquer.study.reviews.spec import CEILING, DECISIVE, in_order, reading_of, short_names
from conquer.study.runner import versions

if TYPE_CHECKING:
    from polars import DataFrame
    from rich.console import Console
    from rich.table import Table

FIGURES: dict[str, Draw] = {
    "errors": errors_by_items,
    "domains": errors_by_domain,
    "regret_by_domain": regret_by_domain,
    "regret_by_domain_one": regret_by_domain_one,
    "regret": regret_curves,
    "regret_one": regret_curves_one,
    "efficiency": sample_efficiency,
}
"""{file name: function that draws it}; its docstring is the caption. To add a figure, add a line."""
_TITLES = {
    "mean_error": "Mean test error by K",
    "online": "Mean regret per round and mean error of the first item shown, while learning",
    "one_versus_one": "One versus one: trials won by the row; a star: Student's test, p < 0.05 after Holm's correction",
    "silence": "Rounds without a question, percent (GNC)",
    "silence_paper": "Rounds without a question, percent (GNC), beside the paper's table",
    "silence_by_eta": "Rounds without a question by the eta that tuning chose, percent (GNC)",
    "controls": "A rule less its control, at the same parameters",
    "first_item": "Error of the first item chosen, and of the top score, where they differ",
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
    clear(folder)
    names = [reading_of(spec) for spec in finished.specs]
    short = short_names(names)
    progress.begin(REPORTING, len(names) * len(FIGURES))
    parts = {name: (results.filter(reading=name), finished.curves.filter(reading=name)) for name in names}
    sections: dict[str, _Section] = {}
    numbers = itertools.count(2 if len(names) > 1 else 1)
    for name, part in parts.items():
        place = slug(short[name]) if len(names) > 1 else ""
        sections[short[name]] = _section(folder, place, *part, numbers, progress)
    frames = {name: part for name, (part, _) in parts.items()}
    found = claims.compared(frames)
    rows = [
        {"reading": name, "claim": c.claim, "verdict": c.verdict, "evidence": c.evidence, "decided": each.decided}
        for each in found
        for name, c in each.views.items()
    ]
    write_json(folder / "claims.json", rows)
    write_text(folder / "tables" / "claims.md", claims.table(frames, found))
    tables.write({"domains": _domains(finished)}, folder / "tables")
    both, compared = tables.readings(results), None
    if len(names) > 1:
        tables.write({"readings": both, "lengths": tables.lengths(results)}, folder / "tables")
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
        settings={short[name]: _in_words(asdict(s)) for name, s in zip(names, finished.specs, strict=True)},
        short=short,
        versions=versions(),
    )


def combine(folders: Sequence[Path], out: Path) -> Path:
    """The claims of several finished studies on one page, with their errors side by side; returns the page's path.

    A reading that several studies have is taken from the one with the most repetitions. Real domains come first;
    synthetic ones, which are one generator, have a page of their own.
    """
    import polars as pl

    clear(out)
    every = [pl.read_parquet(folder / "results.parquet") for folder in folders]
    page = out / "tables" / "claims.md"
    for kind in ("files", "synthetic"):
        best: dict[str, DataFrame] = {}
        for frame in every:
            for (reading,), part in frame.filter(pl.col("kind") == kind).group_by("reading"):
                name = str(reading)
                if name not in best or part["repetition"].n_unique() > best[name]["repetition"].n_unique():
                    best[name] = part.sort("domain", "items", "algorithm", "repetition")
        if not best:
            continue
        parts = {name: best[name] for name in in_order(best)}
        end = "" if kind == "files" else "_synthetic"
        write_text(page.with_stem(f"claims{end}"), claims.table(parts))
        results = pl.concat(list(parts.values()))
        made = {f"readings{end}": tables.readings(results), f"lengths{end}": tables.lengths(results)}
        tables.write(made | {f"decisive{end}": tables.rules_less_rivals(parts)}, out / "tables")
        drawn = {
            name: part for name, part in parts.items()
            if all(part[axis][0] in values for axis, values in DECISIVE.items())
        }  # fmt: skip
        if drawn:
            short = short_names(drawn)
            means = {short[name]: tables.all_tables(part)["mean_error"] for name, part in drawn.items()}
            save(errors_by_reading(means, _palette(results)), out / "figures" / f"readings{end}")
    return page


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
    for name, draw in FIGURES.items():
        figure = draw(frames, _palette(results))
        if figure is not None:
            path = save(figure, folder / "figures" / place / name)
            pictures.append(_picture(next(numbers), inspect.getdoc(draw), path, folder))
        progress.advance(1)
    return _Section(place or "all", made, pictures)


def _palette(results: "DataFrame") -> Palette:
    return palette_of(contenders(results), ordered(registered()), "random", CEILING)


def _picture(number: int, caption: str | None, path: Path, folder: Path) -> _Picture:
    pdf = path.relative_to(folder).with_suffix(".pdf").as_posix()
    return _Picture(number, " ".join((caption or "").split()), embedded(path), pdf)


def _in_words(settings: dict[str, Any]) -> dict[str, str]:
    """Settings as text."""

    def words(value: object) -> str:
        if isinstance(value, tuple | list):
            return ", ".join(map(words, value))
        return "none" if value is None else ("yes" if value else "no") if isinstance(value, bool) else str(value)

    return {name.replace("_", " "): words(value) for name, value in settings.items()}


def slug(name: str) -> str:
    """A reading's name as a folder's.

    >>> slug("T=n/20, as found, eta+lam")
    't-n-20-as-found-eta-lam'
    """
    return re.sub(r"[^a-z0-9.]+", "-", name.lower())


def _domains(finished: Finished) -> "DataFrame":
    """A frame with one row per domain: what was read of it, and how many reviews balancing leaves."""
    import polars as pl

    rows = [
        {
            "domain": name,
            "reviews": facts["reviews"],
            "stars 1/2/3/4/5": "/".join(str(facts["stars"].get(str(star), 0)) for star in range(1, 6)),
            "n-grams": facts["features"],
            "read": facts.get("read"),
            "unreadable": facts.get("unreadable"),
            "repeated": facts.get("duplicates"),
            "balanced": finished.balanced[name]["reviews"] if name in finished.balanced else None,
        }
        for name, facts in finished.domains.items()
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def show(finished: Finished, console: "Console") -> None:
    """Print the mean errors, of several readings side by side, and what was left out."""
    for table in _readings(finished.results, console.width):
        console.print(table)
    for name, why in finished.left_out.items():
        console.print(f"left out {name}: {why}")
    uneven = [name for name, facts in finished.balanced.items() if facts.get("balanced") is False]
    if uneven:
        console.print(f"not balanced: ratings are fractional or have more than 11 distinct values: {', '.join(uneven)}")
    unread = sum(facts.get("unreadable", 0) for facts in finished.domains.values())
    if unread:
        console.print(f"{unread} unreadable rows, listed in the report")


def _readings(results: "DataFrame", width: int) -> "Iterator[Table]":
    """All readings side by side, a column for each of them and each K; in several tables where one is too wide."""
    from rich.box import SIMPLE
    from rich.table import Table

    frame, sizes = tables.readings(results), sizes_of(results)
    short = short_names(frame["reading"])
    beside = max(1, (width - _NAMES) // (_NUMBER * len(sizes)))
    for first in range(0, len(frame), beside):
        some = frame[first : first + beside]
        number = {reading: str(i) for i, reading in enumerate(some["reading"], first + 1)}
        title = "; ".join(f"{number[reading]} = {short[reading]}" for reading in number)
        title = f"mean test error (intervals are in the report): {title}"
        table = Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1, 0, 0))
        table.add_column("algorithm", no_wrap=True)
        for reading in number:
            for position, items in enumerate(sizes):
                table.add_column(f"{number[reading] if position == 0 else ''}\nK={items}", justify="right")
        for name in some.columns[1:]:
            label = "full info" if name == CEILING else name  # fits in a terminal of 80 columns
            table.add_row(label, *(error for errors in some[name] for error in errors.split()))
        yield table
