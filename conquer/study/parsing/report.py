"""The report of a parsing study: tables, figures and one page of Markdown beside the results."""

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conquer.parsing.edges import Features
from conquer.study.backends import choose
from conquer.study.parsing.run import CEILING, ParsingSpec, recipe_of, study_parsing


def run_parsing_study(
    treebank: str,
    *,
    ask: str = "pair,gnc,margin,confusion,random",
    questions: int = 1,
    passes: int = 1,
    seeds: int = 5,
    error: str = "0",
    refusal: str = "0",
    eta: float | None = None,
    lam: float | None = None,
    replay: int | None = None,
    neither: str | None = None,
    scale: str | None = None,
    average: bool | None = None,
    punctuation: bool | None = None,
    features: str = "standard",
    bits: int = 16,
    jobs: int = 1,
    cluster: str | None = None,
    out: str | Path = "parsing-study",
    command: Sequence[str] = (),
) -> int:
    """Run a study of the treebank in a folder and report it in the folder `out`; returns the exit status 0.

    Lists are comma-separated; None leaves the default. `command` is what the user typed, for the report.
    """
    from rich.console import Console

    from conquer.study.reviews.command import Bars

    recipe = recipe_of(
        eta=eta, lam=lam, replay=replay, neither=neither, scale=scale, average=average,
        punctuation=punctuation,
    )  # fmt: skip
    rules = tuple(part.strip() for part in ask.split(",") if part.strip())
    spec = ParsingSpec(
        folder=str(treebank), ask=rules, questions=questions, passes=passes, seeds=seeds,
        errors=_rates("error", error), refusals=_rates("refusal", refusal),
        recipe=recipe, features=Features(features, bits),
    )  # fmt: skip
    console = Console()
    start = time.monotonic()
    with Bars(console) as bars:
        frame = study_parsing(spec, out, choose(jobs, cluster), bars)
    page = write(frame, spec, Path(out), shlex.join(command) or "conquer parse study")
    console.print(page.read_text().split("\n## ")[1])
    console.print(f"{time.monotonic() - start:.0f} seconds. The report: {page}")
    return 0


def _rates(name: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{name} must be rates separated by commas, got {text!r}") from None


def table(frame: Any, error: float = 0.0, refusal: float = 0.0) -> Any:
    """By rule and pass: questions, share of edges, mean UAS of the seeds with its deviation, share of the ceiling."""
    import polars as pl

    ceiling = frame.filter(pl.col("ask") == CEILING)["uas_nopunct"].mean()
    ends = frame.filter(
        (pl.col("ask") == CEILING)
        | ((pl.col("error") == error) & (pl.col("refusal") == refusal) & (pl.col("visits") % pl.col("sentences") == 0))
    )
    number = pl.when(pl.col("ask") == CEILING).then(0).otherwise(pl.col("visits") // pl.col("sentences"))
    grouped = ends.with_columns(number.alias("passes")).group_by("ask", "passes")
    return (
        grouped.agg(
            pl.col("questions").mean().round(0).cast(pl.Int64),
            pl.col("share").mean(),
            pl.col("neither").mean(),
            pl.col("uas").mean(),
            pl.col("uas_nopunct").mean(),
            pl.col("uas_nopunct").std().alias("sd"),
            pl.col("exact").mean(),
            pl.col("settled_uas_nopunct").mean().alias("settled"),
            pl.col("settled_uas_nopunct").std().alias("settled sd"),
            pl.len().alias("seeds"),
        )
        .with_columns(
            (pl.col("uas_nopunct") / ceiling).alias("of ceiling"),
            (pl.col("settled") / ceiling).alias("settled of ceiling"),
        )
        .sort("passes", "uas_nopunct", descending=[False, True])
    )


def markdown(frame: Any) -> str:
    """A frame as a Markdown table: shares with four digits."""

    def shown(value: Any) -> str:
        if value is None:
            return ""
        return f"{value:.4f}" if isinstance(value, float) else str(value)

    lines = ["| " + " | ".join(frame.columns) + " |", "|" + "---|" * len(frame.columns)]
    lines += ["| " + " | ".join(shown(value) for value in row) + " |" for row in frame.iter_rows()]
    return "\n".join(lines)


def write(frame: Any, spec: ParsingSpec, folder: Path, command: str) -> Path:
    """Tables, figures and the page; returns the page."""
    from conquer.study.plots import parsing as figures_parsing

    first, *others = spec.annotators()
    main = table(frame, first.error, first.refusal)
    main.write_csv(folder / "table.csv")
    figures = figures_parsing.write(frame, folder, spec.errors, spec.refusals)
    parts = [
        f"# Parsing with light feedback: {Path(spec.folder).name}",
        f"Made by `{command}`.",
        "## How much of full annotation a few questions buy\n\n"
        "UAS on the test part; `uas_nopunct` leaves out gold punctuation; `settled` is the same after fitting the "
        "weights anew to all answers so far; `sd` is over the seeds; passes 0 is full supervision, its passes "
        f"chosen on the development part.\n\n{markdown(main)}",
    ]
    parts += [f"![{caption}]({path.name})\n\n{caption}" for caption, path in figures.items()]
    for person in others:
        who = f"Annotators who err {person.error:.0%} and refuse {person.refusal:.0%} of the time"
        parts.append(f"## {who}\n\n{markdown(table(frame, person.error, person.refusal))}")
    page = folder / "report.md"
    page.write_text("\n\n".join(parts) + "\n")
    return page
