"""`conquer parse`: a dependency parser trained by single-edge questions."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from conquer.cli.extras import need
from conquer.cli.options import filled
from conquer.cli.progress import showing
from conquer.cli.study import Cluster, Jobs, Out
from conquer.study.parsing.spec import ParsingSpec

commands = typer.Typer(
    help="A dependency parser trained by single-edge questions.", no_args_is_help=True, rich_markup_mode=None
)
_REPLAY = "Rehearsals of earlier answers after each question; 0 learns every answer once, as the paper does."
_SCALE = "A step of an edge, or with tree of an edge over the sentence's length, as the paper has it."
_NEITHER = 'What "neither" teaches: skip nothing, tie an even answer, coin a toss, as the paper has it.'


@commands.command("study")
@filled(ParsingSpec)
def study(given: dict[str, Any], jobs: Jobs = 2, cluster: Cluster = None, out: Out = Path("parsing-study")) -> None:
    """Accuracy against the number of questions, for every rule, beside full supervision."""
    need("parse")
    if cluster:
        need("cluster")
    from conquer.study.parsing.command import run_parsing_study

    run_parsing_study(ParsingSpec(**given), jobs=jobs, cluster=cluster, out=out, command=["conquer", *sys.argv[1:]])


@commands.command("train")
def train(
    treebank: Annotated[Path, typer.Option(help="CoNLL-U, plain, gz or xz.")],
    model: Annotated[Path, typer.Option(help="The file to write.")],
    ask: Annotated[str, typer.Option(help="Which question to ask; full-supervision learns whole trees.")] = "gnc",
    questions: Annotated[int, typer.Option(help="Questions per sentence and pass.")] = 1,
    passes: int = 1,
    seed: int = 0,
    answers: Annotated[Path | None, typer.Option(help="Learn from recorded answers instead.")] = None,
    save_answers: Annotated[Path | None, typer.Option(help="Record the simulated answers here.")] = None,
    error: Annotated[float, typer.Option(help="Share of simulated answers that are wrong.")] = 0.0,
    refusal: Annotated[float, typer.Option(help="Share of simulated questions left unanswered.")] = 0.0,
    replay: Annotated[int, typer.Option(help=_REPLAY)] = 8,
    scale: Annotated[str, typer.Option(help=_SCALE)] = "edge",
    neither: Annotated[str, typer.Option(help=_NEITHER)] = "skip",
    punctuation: Annotated[bool, typer.Option(help="Ask about punctuation as well.")] = False,
    settled: Annotated[bool, typer.Option(help="In the end fit the weights anew to all answers.")] = True,
    several_roots: bool = False,
) -> None:
    """Train a parser from a treebank's simulated answers, or from recorded ones."""
    need("parse")
    with showing("reading and compiling") as progress:
        from conquer.parsing.command import train as run

        said = run(
            treebank, model, ask=ask, questions=questions, passes=passes, seed=seed, answers=answers,
            save_answers=save_answers, error=error, refusal=refusal, replay=replay, scale=scale, neither=neither,
            punctuation=punctuation, settled=settled, several_roots=several_roots, progress=progress,
        )  # fmt: skip
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
