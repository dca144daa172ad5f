"""The report of a parsing study: tables, figures and one page of Markdown, and a summary for the terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from conquer.parsing.spec import FULL
from conquer.study.output import markdown, write_frame, write_text
from conquer.study.parsing.run import annotators, frame_of
from conquer.study.parsing.spec import ParsingSpec
from conquer.study.plots import parsing as figures
from conquer.study.runner import Row

if TYPE_CHECKING:
    from polars import DataFrame
    from rich.table import Table


def table(frame: "DataFrame", error: float = 0.0, refusal: float = 0.0) -> "DataFrame":
    """By rule and pass: questions, share of edges, mean UAS of the seeds with its deviation, share of the ceiling."""
    import polars as pl

    ceiling = frame.filter(pl.col("ask") == FULL)["uas_nopunct"].mean()
    ends = frame.filter(
        (pl.col("ask") == FULL)
        | ((pl.col("error") == error) & (pl.col("refusal") == refusal) & (pl.col("visits") % pl.col("sentences") == 0))
    )
    number = pl.when(pl.col("ask") == FULL).then(0).otherwise(pl.col("visits") // pl.col("sentences"))
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


def write(spec: ParsingSpec, rows: Sequence[Row], folder: Path, *, command: str) -> Path:
    """Write results.parquet, tables, figures and the page report.md; returns the page's path."""
    frame = frame_of(rows)
    write_frame(frame, folder / "results.parquet")
    first, *others = annotators(spec)
    main = table(frame, first.error, first.refusal)
    main.write_csv(folder / "table.csv")
    drawn = figures.write(frame, FULL, folder, spec.error, spec.refusal)
    parts = [
        f"# Parsing study: {Path(spec.treebank).name}",
        f"Made by `{command}`.",
        "## Accuracy by number of questions\n\n"
        "UAS on the test part; `uas_nopunct` leaves out gold punctuation; `settled` is the same after fitting the "
        "weights again to all answers so far; `sd` is over the seeds; `early` is the share of the first 20 questions "
        "that show the word's true head; passes 0 is full supervision, its number of passes "
        f"chosen on the development part.\n\n{markdown(main, 4).rstrip()}",
    ]
    parts += [f"![{caption}]({path.name})\n\n{caption}" for caption, path in drawn.items()]
    for person in others:
        who = f"Annotators who err {person.error:.0%} and refuse {person.refusal:.0%} of the time"
        parts.append(f"## {who}\n\n{markdown(table(frame, person.error, person.refusal), 4).rstrip()}")
    page = folder / "report.md"
    write_text(page, "\n\n".join(parts) + "\n")
    return page


def summary(spec: ParsingSpec, rows: Sequence[Row]) -> "Table":
    """The report's first table in 80 columns: accuracy by rule and pass."""
    from rich.box import SIMPLE
    from rich.table import Table

    first = table(frame_of(rows), spec.error[0], spec.refusal[0])
    settled = first["settled"].is_not_null().any()
    grid = Table(
        title="right heads on the test part, gold punctuation left out", title_justify="left", box=SIMPLE,
        collapse_padding=True, pad_edge=False,
        caption="full: learnt from complete trees, the ceiling. settled: weights fitted again to all answers so far.",
        caption_justify="left",
    )  # fmt: skip
    grid.add_column("rule", no_wrap=True)
    for heading in ("pass", "questions", "of edges", "UAS", "± sd", "of ceiling", *(["settled"] if settled else [])):
        grid.add_column(heading, justify="right", no_wrap=True)
    for row in first.iter_rows(named=True):
        sd, after = ("" if row[name] is None else f"{row[name]:.4f}" for name in ("sd", "settled"))
        cells = [str(row["passes"] or ""), f"{row['questions']:,}", f"{row['share']:.1%}", f"{row['uas_nopunct']:.4f}"]
        cells += [sd, f"{row['of ceiling']:.3f}", *([after] if settled else [])]
        grid.add_row("full" if row["ask"] == FULL else row["ask"], *cells)
    return grid
