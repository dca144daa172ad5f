"""One page that needs nothing else: what was run, the command, the versions, verdicts, tables and figures."""

import base64
import html
import json
from pathlib import Path
from typing import Any

from conquer.study import progress as outlook
from conquer.study.plots import reviews as figures
from conquer.study.plots.reviews import FIGURES
from conquer.study.reviews import claims, tables
from conquer.study.reviews.results import versions
from conquer.study.reviews.run import Finished, Progress, Quiet, dump, write_text

_TITLES = {
    "mean_error": "Mean test error by K",
    "online": "Mean regret a round and mean error of the first item shown, while learning",
    "one_versus_one": "One versus one, trials won; a star where a sign test gives p < 0.05",
    "silence": "Rounds without a question, percent (GNC)",
    "equal_pairs": "Questions between equally good items, percent",
    "tuned": "Chosen grid points",
    "by_pass": "Rounds without a question by pass, percent",
}
_STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b}
table{border-collapse:collapse;font-size:13px;margin:.5rem 0}td,th{padding:.15rem .6rem;border-bottom:1px solid #ddd;
text-align:right}td:first-child,th:first-child{text-align:left}img{max-width:100%}pre{background:#f4f4f4;padding:.6rem;
overflow-x:auto}figure{margin:1.5rem 0}figcaption{color:#444;font-size:13px}.holds{color:#00674b}.fails{color:#a33b00}
details{margin:.8rem 0}.scroll{overflow-x:auto}"""


def write(finished: Finished, command: str, progress: Progress | None = None) -> Path:
    """Write tables, figures, claims.json and report.html into the study's folder; returns the page's path."""
    told = progress or Quiet()
    told.begin(outlook.REPORTING, len(FIGURES))
    folder, results = finished.folder, finished.results
    made = tables.all_tables(results)
    tables.write(made, folder / "tables")
    pictures = {}
    for name in FIGURES:
        pictures[name] = figures.write(name, results, finished.curves, folder / "figures")
        told.advance(1)
    verdicts = claims.judge(results)
    dump(folder / "claims.json", [{"claim": c.claim, "verdict": c.verdict, "evidence": c.evidence} for c in verdicts])
    write_text(folder / "tables" / "claims.md", claims_markdown(verdicts))
    page = folder / "report.html"
    write_text(page, _page(finished, command, made, pictures, verdicts))
    return page


def claims_markdown(verdicts: list[claims.Claim]) -> str:
    """The verdicts as a Markdown table."""
    lines = ["| claim | here | numbers |", "|---|---|---|"]
    lines += [f"| {c.claim} | {c.verdict} | {c.evidence} |" for c in verdicts]
    return "\n".join(lines) + "\n"


def _page(
    finished: Finished, command: str, made: dict[str, Any], pictures: dict[str, Path], verdicts: list[claims.Claim]
) -> str:
    results = finished.results
    head = (
        f"{results['domain'].n_unique()} domains, "
        f"{sum(facts['reviews'] for facts in finished.domains.values()):,} reviews, "
        f"K in {sorted(results['items'].unique().to_list())}, {results['algorithm'].n_unique() - 1} algorithms and the "
        f"ceiling, {results['repetition'].n_unique()} repetitions, {results.height:,} cells, "
        f"{results['seconds'].sum():,.0f} seconds of learning."
    )
    parts = [
        "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>",
        f"<title>CONQUER study</title><style>{_STYLE}</style><h1>CONQUER study: {html.escape(finished.spec.data)}</h1>",
        f"<p>{html.escape(head)}</p><pre>{html.escape(command)}</pre>",
        "<h2>What holds here</h2>", _verdicts(verdicts),
        "<h2>Figures</h2>", *(_figure(name, path) for name, path in pictures.items()),
        "<h2>Tables</h2>",
        *(f"<h3>{title}</h3>{_table(made[name])}" for name, title in _TITLES.items() if name in made),
        "<h2>Domains</h2>", _domains(finished),
        "<h2>Settings and versions</h2>",
        f"<pre>{html.escape(json.dumps(finished.spec.described(), indent=1))}</pre>",
        f"<pre>{html.escape(json.dumps(versions(), indent=1))}</pre></html>",
    ]  # fmt: skip
    return "\n".join(parts)


def _verdicts(verdicts: list[claims.Claim]) -> str:
    rows = []
    for c in verdicts:
        kind = {claims.HOLDS: "holds", claims.FAILS: "fails"}.get(c.verdict, "")
        rows.append(
            f"<li>{html.escape(c.claim)} <b class='{kind}'>{html.escape(c.verdict)}</b>. {html.escape(c.evidence)}</li>"
        )
    return f"<ol>{''.join(rows)}</ol>"


def _figure(name: str, path: Path) -> str:
    data = base64.b64encode(path.read_bytes()).decode()
    caption = (FIGURES[name].__doc__ or "").strip()
    return (
        f"<figure><img alt='{html.escape(caption, quote=True)}' src='data:image/png;base64,{data}'>"
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
    )


def _table(table: Any) -> str:
    def cell(value: Any) -> str:
        return "" if value is None else f"{value:.3f}" if isinstance(value, float) else html.escape(str(value))

    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.columns)
    body = "".join("<tr>" + "".join(f"<td>{cell(v)}</td>" for v in row) + "</tr>" for row in table.iter_rows())
    inside = f"<div class='scroll'><table><tr>{head}</tr>{body}</table></div>"
    return inside if table.height <= 15 else f"<details><summary>{table.height} rows</summary>{inside}</details>"


def _domains(finished: Finished) -> str:
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
    problems = [line for facts in finished.domains.values() for line in facts.get("problems", [])]
    lists = [f"<li>{html.escape(name)}: {html.escape(why)}</li>" for name, why in finished.left_out.items()]
    left = f"<p>Left out:</p><ul>{''.join(lists)}</ul>" if lists else ""
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in problems)
    unread = f"<details><summary>Unreadable rows</summary><ul>{lines}</ul></details>" if problems else ""
    return _table(pl.DataFrame(rows, infer_schema_length=None)) + left + unread
