"""The report of a parsing study: tables, figures and one page of Markdown beside the results."""

from pathlib import Path
from typing import Any

from conquer.study.cells.output import markdown, write_text
from conquer.study.parsing.run import annotators
from conquer.study.parsing.spec import CEILING, ParsingSpec
from conquer.study.plots import parsing as figures


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
            pl.col("early").cast(pl.Float64).mean(),
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


def write(frame: Any, spec: ParsingSpec, folder: Path, command: str) -> Path:
    """Tables, figures and the page; returns the page."""
    first, *others = annotators(spec)
    main = table(frame, first.error, first.refusal)
    main.write_csv(folder / "table.csv")
    drawn = figures.write(frame, CEILING, folder, spec.error, spec.refusal)
    parts = [
        f"# Parsing with light feedback: {Path(spec.treebank).name}",
        f"Made by `{command}`.",
        "## How much of full annotation a few questions buy\n\n"
        "UAS on the test part; `uas_nopunct` leaves out gold punctuation; `settled` is the same after fitting the "
        "weights anew to all answers so far; `sd` is over the seeds; `early` is the share of the first 20 questions "
        "that show the word's true head; passes 0 is full supervision, its passes "
        f"chosen on the development part.\n\n{markdown(main, 4).rstrip()}",
    ]
    parts += [f"![{caption}]({path.name})\n\n{caption}" for caption, path in drawn.items()]
    for person in others:
        who = f"Annotators who err {person.error:.0%} and refuse {person.refusal:.0%} of the time"
        parts.append(f"## {who}\n\n{markdown(table(frame, person.error, person.refusal), 4).rstrip()}")
    page = folder / "report.md"
    write_text(page, "\n\n".join(parts) + "\n")
    return page
