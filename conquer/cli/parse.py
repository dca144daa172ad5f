"""`conquer parse`: a dependency parser trained by single-edge questions."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

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
    need("study", *(["cluster"] if cluster else []))
    from conquer.study.parsing.run import run_parsing_study

    spec, typed = ParsingSpec(**given), ["conquer", *sys.argv[1:]]
    run_parsing_study(spec, jobs=jobs, cluster=cluster, out=out, overwrite=overwrite, command=typed)


@commands.command("train")
@filled(TrainSpec)
def train(
    given: dict[str, Any],
    treebank: Annotated[Path, typer.Option(help="CoNLL-U, plain, gz or xz.")],
    model: Annotated[Path, typer.Option(help="The file to write.")],
) -> None:
    """Train a parser from a treebank's simulated answers, or from recorded ones."""
    spec = TrainSpec(**given)
    check_writable(model)
    with showing("reading and compiling") as progress:
        from conquer.parsing import train as run

        parser = run(treebank, spec, progress=progress)
        parser.save(model)
    typer.echo(f"{model}: {parser}")


@commands.command("predict")
def predict(
    source: Annotated[Path, typer.Argument(metavar="IN.conllu")],
    target: Annotated[Path, typer.Argument(metavar="OUT.conllu")],
    model: Annotated[Path, typer.Option(help="A file that train wrote.")],
) -> None:
    """Parse a CoNLL-U file: HEAD and DEPREL (root, dep) are filled, the rest stays."""
    from conquer import parsing

    parser = parsing.load(model)
    check_writable(target)
    sentences = parsing.read(source, heads="ignore")
    parsing.write(target, parser.parse(sentences))
    typer.echo(f"{target}: {len(sentences)} sentences, {sum(map(len, sentences))} words")


@commands.command("evaluate")
def evaluate(gold: Path, system: Path, several_roots: bool = False) -> None:
    """Attachment scores of SYSTEM against GOLD."""
    from conquer import parsing

    heads: Literal["tree", "forest"] = "forest" if several_roots else "tree"
    typer.echo(parsing.evaluate(parsing.read(gold, heads), parsing.read(system, heads)))


def check_writable(path: Path) -> None:
    """Raise before the work if the folder to write into is missing."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"no folder {path.parent} to write {path.name} into")
