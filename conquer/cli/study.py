"""The commands of studies: study, arena, measure and data."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from conquer.cli.extras import need
from conquer.cli.options import filled, help_of
from conquer.study.arena.spec import ArenaSpec
from conquer.study.reviews.spec import Spec

measure = typer.Typer(help="Measurements that are not part of the study.", no_args_is_help=True, rich_markup_mode=None)
data = typer.Typer(
    help="Public data sets: what there is, and fetching it.", no_args_is_help=True, rich_markup_mode=None
)

Jobs = Annotated[int, typer.Option(help="Worker processes.")]
Cluster = Annotated[str | None, typer.Option(help="Address of a running Dask scheduler.")]
Out = Annotated[Path, typer.Option(help="Where results and report go; the same command resumes there.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace another study's report in --out.")]
Publish = Annotated[Path | None, typer.Option(help="Copy tables (Markdown) and figures (PNG) there too.")]


@filled(Spec, unset=True)
def study(
    changes: dict[str, Any],
    preset: Annotated[
        str, typer.Option(help="paper: nothing added to the text; ours: our settings; small: both on little data.")
    ] = "small",
    jobs: Jobs = 2,
    cluster: Cluster = None,
    out: Out = Path("study"),
    overwrite: Overwrite = False,
    publish: Publish = None,
) -> None:
    """Run the paper's study, or an extension of it, and report it.

    The options rounds, balance, update, features and tuning are the axes along which the paper can be read. Each takes
    several values, separated by commas; the study then has every combination.
    """
    need("study", *(["cluster"] if cluster else []))
    from conquer.study.reviews.command import run_study

    where: dict[str, Any] = {"jobs": jobs, "cluster": cluster, "out": out, "command": ["conquer", *sys.argv[1:]]}
    run_study(preset=preset, publish=publish, overwrite=overwrite, **where, **changes)


@filled(ArenaSpec)
def arena(
    given: dict[str, Any],
    jobs: Jobs = 2,
    cluster: Cluster = None,
    out: Out = Path("arena"),
    overwrite: Overwrite = False,
) -> None:
    """Every algorithm in simulated worlds: a ranking with paired intervals, curves, seconds per round."""
    need("study", *(["cluster"] if cluster else []))
    from conquer.study.arena.run import run_arena

    run_arena(ArenaSpec(**given), jobs=jobs, cluster=cluster, out=out, overwrite=overwrite)


@measure.command()
def limits(
    data: Annotated[str, typer.Argument(help=help_of(Spec, "data"))],
    repetitions: Annotated[int, typer.Option(help=help_of(Spec, "repetitions"))] = 3,
    features: Annotated[str, typer.Option(help=help_of(Spec, "features"))] = "tfidf",
) -> None:
    """How much one answer is worth: exact ridge on duels beside ridge on true stars."""
    need("study")
    from conquer.study.reviews.trials import run_limits

    run_limits(data, repetitions=repetitions, features=features)


@measure.command()
def claims(
    folders: Annotated[list[Path], typer.Argument(help="Folders of finished studies of reviews.")],
    out: Out = Path("claims"),
    publish: Publish = None,
) -> None:
    """Which claims of the paper hold under which readings, over several finished studies, and what decides each."""
    need("study")
    from conquer.study.output import publish as copy
    from conquer.study.reviews.command import ENTRY
    from conquer.study.reviews.report import combine

    typer.echo(combine(folders, out))
    if publish is not None:
        copy(out, publish, ["conquer", *sys.argv[1:]], ENTRY)


@data.command("list")
def data_list() -> None:
    """Names and sizes of the public data sets."""
    from conquer.data.download import listing

    for name, size, about in listing():
        typer.echo(f"{name:34} {size:>10}  {about}")


@data.command("info")
def data_info(name: str) -> None:
    """Origin, licence, size and files of one data set."""
    from conquer.data.download import details

    for key, value in details(name):
        typer.echo(f"{key:10} {value}")


@data.command("get")
def data_get(name: str, out: Annotated[Path, typer.Option(help="Folder to put it in.")] = Path("data")) -> None:
    """Download a data set, resuming if interrupted, and verify it."""
    from conquer.data.download import get

    for path in get(name, out, lambda file, done, total: typer.echo(f"\r{file} {done}/{total or '?'}", nl=False)):
        typer.echo(f"\n{path}")
