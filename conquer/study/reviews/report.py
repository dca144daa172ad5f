"""One page that needs nothing else: what was run, the command, the versions, verdicts, tables and figures."""

import base64
import inspect
import json
from pathlib import Path
from typing import Any

from conquer.registry import table
from conquer.study.cells.output import write_json, write_page, write_text
from conquer.study.cells.store import versions
from conquer.study.plots import reviews as figures
from conquer.study.plots.canvas import cast
from conquer.study.progress import QUIET, REPORTING, StudyProgress
from conquer.study.reviews import tables
from conquer.study.reviews.claims import verdicts
from conquer.study.reviews.claims.facts import FAILS, HOLDS
from conquer.study.reviews.comparison import contenders, ordered
from conquer.study.reviews.run import Finished
from conquer.study.reviews.spec import CEILING

_TITLES = {
    "mean_error": "Mean test error by K",
    "online": "Mean regret per round and mean error of the first item shown, while learning",
    "one_versus_one": "One versus one, trials won; a star where a sign test gives p < 0.05",
    "silence": "Rounds without a question, percent (GNC)",
    "equal_pairs": "Questions between equally good items, percent",
    "tuned": "Chosen grid points",
    "by_pass": "Rounds without a question by pass, percent",
}


def write(finished: Finished, command: str, progress: StudyProgress = QUIET) -> Path:
    """Write tables, figures, claims.json and report.html into the study's folder; returns the page's path."""
    progress.begin(REPORTING, len(figures.FIGURES))
    folder, results = finished.folder, finished.results
    made = tables.all_tables(results)
    tables.write(made, folder / "tables")
    frames = made | {"results": results, "curves": finished.curves}
    looks = cast(contenders(results), ordered(table()), "random", CEILING)
    pictures = {}
    for name, figure in figures.FIGURES.items():
        path = figures.write(name, frames, looks, folder / "figures")
        pictures[inspect.getdoc(figure)] = base64.b64encode(path.read_bytes()).decode()
        progress.advance(1)
    claims = verdicts.judge(results)
    write_json(
        folder / "claims.json", [{"claim": c.claim, "verdict": c.verdict, "evidence": c.evidence} for c in claims]
    )
    write_text(folder / "tables" / "claims.md", verdicts.table(claims))
    return write_page(
        folder / "report.html",
        Path(__file__).with_suffix(".html"),
        command=command,
        data=finished.spec.data,
        results=results,
        reviews=sum(facts["reviews"] for facts in finished.domains.values()),
        claims=claims,
        classes={HOLDS: "holds", FAILS: "fails"},
        figures=pictures,
        tables={title: made[name] for name, title in _TITLES.items() if name in made},
        domains=_domains(finished),
        left_out=finished.left_out,
        problems=[line for facts in finished.domains.values() for line in facts.get("problems", [])],
        settings=json.dumps(finished.spec.described(), indent=1),
        versions=json.dumps(versions(), indent=1),
    )


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
