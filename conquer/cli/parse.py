"""`conquer parse`: a dependency parser trained by single-edge questions."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from conquer.cli.extras import need
from conquer.cli.options import filled
from conquer.cli.progress import showing
from conquer.cli.study import Cluster, Jobs, Out, Overwrite
from conquer.parsing.spec import TrainSpec
from conquer.study.parsing.spec import ParsingSpec

commands = typer.Typer(
    help="A dependency parser trained by single-edge questions.", no_args_is_help=True, rich_markup_mode=None
)


@commands.command("study")
@filled(ParsingSpec)
def study(
    given: dict[str, Any],
    jobs: Jobs = 2,
    cluster: Cluster = None,
    out: Out = Path("parsing-study"),
    overwrite: Overwrite = False,
) -> None:
    """Accuracy against the number of questions, for every rule, beside full supervision."""
    need("parse", "study", *(["cluster"] if cluster else []))
    from conquer.study.parsing.command import run_parsing_study

    spec, typed = ParsingSpec(**given), ["conquer", *sys.argv[1:]]
    run_parsing_study(spec, jobs=jobs, cluster=cluster, out=out, overwrite=overwrite, command=typed)


@commands.command("train")
@filled(TrainSpec)
def train(given: dict[str, Any]) -> None:
    """Train a parser from a treebank's simulated answers, or from recorded ones."""
    need("parse")
    spec = TrainSpec(**given)
    with showing("reading and compiling") as progress:
        from conquer.parsing.command import train as run

        said = run(spec, progress)
    typer.echo(said)


@commands.command("predict")
def predict(
    source: Annotated[Path, typer.Argument(metavar="IN.conllu")],
    target: Annotated[Path, typer.Argument(metavar="OUT.conllu")],
    model: Annotated[Path, typer.Option(help="A file that train wrote.")],
) -> None:
    """Parse a CoNLL-U file."""
    need("parse")
    from conquer.parsing.command import predict as run

    typer.echo(run(model, source, target))


@commands.command("evaluate")
def evaluate(gold: Path, system: Path, several_roots: bool = False) -> None:
    """Attachment scores of SYSTEM against GOLD."""
    need("parse")
    from conquer.parsing.command import compare, described

    typer.echo(described(compare(gold, system, several_roots=several_roots)))
