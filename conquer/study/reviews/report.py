"""One page that needs nothing else: what was run, the command, the versions, verdicts, tables and figures."""

import base64
import inspect
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conquer.registry import table
from conquer.study.cells.output import write_json, write_page, write_text
from conquer.study.cells.store import versions
from conquer.study.plots import reviews as figures
from conquer.study.plots.canvas import cast
from conquer.study.plots.errors import errors_by_reading
from conquer.study.progress import QUIET, REPORTING, StudyProgress
from conquer.study.reviews import tables
from conquer.study.reviews.claims import verdicts
from conquer.study.reviews.claims.facts import FAILS, HOLDS
from conquer.study.reviews.comparison import contenders, ordered
from conquer.study.reviews.readings import reading_of
from conquer.study.reviews.run import Finished
from conquer.study.reviews.spec import CEILING

_TITLES = {
    "mean_error": "Mean test error by K",
    "online": "Mean regret per round and mean error of the first item shown, while learning",
    "one_versus_one": "One versus one: trials won by the row; a star: Student's test, p < 0.05 after Holm's correction",
    "silence": "Rounds without a question, percent (GNC)",
    "equal_pairs": "Questions between equally good items, percent",
    "tuned": "Chosen grid points",
    "by_pass": "Rounds without a question by pass, percent",
}


def write(finished: Finished, command: str, progress: StudyProgress = QUIET) -> Path:
    """Write tables, figures, claims.json and report.html into the study's folder; returns the page's path.

    Several readings have folders of their own in tables/ and figures/; what compares them lies beside those.
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
    claims = verdicts.compared({name: part for name, (part, _) in parts.items()})
    rows = [
        {"reading": name, "claim": c.claim, "verdict": c.verdict, "evidence": c.evidence, "why": each.why}
        for each in claims
        for name, c in each.views.items()
    ]
    write_json(folder / "claims.json", rows)
    write_text(folder / "tables" / "claims.md", verdicts.table(claims))
    both, compared = tables.readings(results), None
    if len(names) > 1:
        tables.write({"readings": both}, folder / "tables")
        means = {name: section.tables["mean_error"] for name, section in sections.items()}
        figure = errors_by_reading(means, cast(contenders(results), ordered(table()), "random", CEILING))
        path = figures.save(figure, "readings", folder / "figures")
        compared = _picture(1, inspect.getdoc(errors_by_reading), path, folder)
    return write_page(
        folder / "report.html",
        Path(__file__).with_suffix(".html"),
        command=command,
        data=finished.specs[0].data,
        shared=finished.specs[0],
        results=results,
        reviews=sum(facts["reviews"] for facts in finished.domains.values()),
        claims=claims,
        classes={HOLDS: "holds", FAILS: "fails"},
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
    """A figure of the page: its number, its caption, its PNG, and where its PDF lies beside the page."""

    number: int
    caption: str
    encoded: str
    pdf: str


@dataclass(frozen=True, slots=True)
class _Section:
    """What the page shows of one reading: its name in links, its tables by file name, its pictures."""

    slug: str
    tables: dict[str, Any]
    pictures: list[_Picture]


def _section(
    folder: Path, place: str, results: Any, curves: Any, numbers: Iterator[int], progress: StudyProgress
) -> _Section:
    made = tables.all_tables(results)
    tables.write(made, folder / "tables" / place)
    frames = made | {"results": results, "curves": curves}
    looks = cast(contenders(results), ordered(table()), "random", CEILING)
    pictures = []
    for name, figure in figures.FIGURES.items():
        path = figures.write(name, frames, looks, folder / "figures" / place)
        pictures.append(_picture(next(numbers), inspect.getdoc(figure), path, folder))
        progress.advance(1)
    return _Section(place or "all", made, pictures)


def _picture(number: int, caption: str | None, path: Path, folder: Path) -> _Picture:
    encoded, pdf = base64.b64encode(path.read_bytes()).decode(), path.relative_to(folder).with_suffix(".pdf")
    return _Picture(number, " ".join((caption or "").split()), encoded, pdf.as_posix())


def _in_words(settings: dict[str, Any]) -> dict[str, str]:
    """Settings as a reader reads them.

    >>> _in_words({"items": (5, 10), "lam": None, "test_sets": 50, "cold": True})
    {'items': '5, 10', 'lam': 'none', 'test sets': '50', 'cold': 'yes'}
    """

    def words(value: Any) -> str:
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


def _domains(finished: Finished) -> Any:
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
