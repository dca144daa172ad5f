"""The command of votes: fit."""

from pathlib import Path
from typing import Annotated

import typer

from conquer.cli.extras import need
from conquer.cli.progress import showing


def fit(
    votes: Annotated[
        list[Path], typer.Argument(help="Files of votes: CSV, TSV, JSON lines, JSON, Parquet, PrefLib, a ledger.")
    ],
    out: Annotated[Path, typer.Option(help="The model file to write.")],
    items: Annotated[Path | None, typer.Option(help="A file of the items that ids stand for.")] = None,
    algorithm: Annotated[str, typer.Option(help="What learns; see: conquer algorithms.")] = "gnr",
    model: Annotated[
        str | None, typer.Option(help="full, diagonal or kernel. Not given: full up to 2,048 features.")
    ] = None,
    lam: Annotated[float | None, typer.Option(help="How strongly weights are pulled to 0.")] = None,
    update: Annotated[str | None, typer.Option(help="Of a diagonal model: implicit, margin or coordinate.")] = None,
    dim: Annotated[int | None, typer.Option(help="Columns of texts and dicts. Not given: 2**20.")] = None,
    things: Annotated[
        str | None, typer.Option(help="ids, texts, dicts or vectors, where files do not show it.")
    ] = None,
    columns: Annotated[str | None, typer.Option(help="first=NAME,second=NAME,winner=NAME,voter=NAME,...")] = None,
    kind: Annotated[str, typer.Option(help="Who voted, where no column says it: person or judge.")] = "person",
    both_bad: Annotated[str, typer.Option(help="What 'both are bad' says: skip (nothing) or tie.")] = "skip",
    context: Annotated[bool, typer.Option(help="Cross every vote's context with its two things.")] = False,
    contradictions: Annotated[
        bool, typer.Option(help="Take two answers of one voter to one question as two votes.")
    ] = False,
    strict: Annotated[
        bool, typer.Option(help="Stop at the first bad row, or pass over bad rows and list them.")
    ] = True,
    seed: Annotated[int, typer.Option(help="Of the session's later choices.")] = 0,
    jobs: Annotated[int, typer.Option(help="Worker processes for files, or parts of large ones.")] = 1,
    one_by_one: Annotated[
        bool, typer.Option("--one-by-one", help="Learn vote by vote, which boards with --interval proved need.")
    ] = False,
    cluster: Annotated[str | None, typer.Option(help="Address of a running Dask scheduler that sums parts.")] = None,
) -> None:
    """Learn from votes that other systems gathered, and write a model to serve, continue or compare."""
    if cluster:
        need("cluster")
    from conquer.fitting.command import run_fit

    with showing("reading votes") as progress:
        run_fit(
            votes, items=items, out=out, columns=columns, parameters={"lam": lam, "update": update},
            progress=progress, say=lambda line: typer.echo(line, err=line.startswith("refused")),
            algorithm=algorithm, model=model, dim=dim, things=things, kind=kind, both_bad=both_bad, context=context,
            contradictions=contradictions, strict=strict, seed=seed, jobs=jobs, cluster=cluster,
            one_by_one=one_by_one,
        )  # fmt: skip
