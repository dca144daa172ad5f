"""The command line: parse, call one function, print. Heavy imports stay inside the commands."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from conquer.cli import data, parse, service
from conquer.cli.extras import need

app = typer.Typer(
    name="conquer",
    help="Learn what people want from which of two things they pick.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


app.add_typer(data.commands, name="data")
app.add_typer(parse.commands, name="parse")
app.add_typer(service.keys, name="keys")
for command in (service.serve, service.backup, service.restore, service.erase, service.replay):
    app.command()(command)

Text = Annotated[str | None, typer.Option()]
Whole = Annotated[int | None, typer.Option()]


@app.command()
def study(
    data: Annotated[str | None, typer.Option(help="synthetic, digits, a folder or a file of reviews.")] = None,
    domains: Annotated[str | None, typer.Option(help="Only these domains, comma-separated.")] = None,
    items: Annotated[str | None, typer.Option(help="Values of K, comma-separated.")] = None,
    algorithms: Annotated[str | None, typer.Option(help="paper, rivals, all, or names, comma-separated.")] = None,
    repetitions: Whole = None,
    passes: Annotated[int | None, typer.Option(help="Passes over the training rounds.")] = None,
    features: Annotated[str | None, typer.Option(help="binary, counts, tfidf or idf.")] = None,
    hashing: Annotated[int | None, typer.Option(help="n-grams share 2^this columns by a signed hash.")] = None,
    model: Text = None,
    update: Annotated[str | None, typer.Option(help="implicit, margin or coordinate.")] = None,
    preset: Annotated[str, typer.Option(help="small or paper: where everything not given comes from.")] = "small",
    judge: Annotated[str | None, typer.Option(help="linear, noisy, logistic, perfect or raters.")] = None,
    seed: Whole = None,
    jobs: Annotated[int, typer.Option(help="Worker processes.")] = 2,
    cluster: Annotated[str | None, typer.Option(help="Address of a running Dask scheduler.")] = None,
    out: Annotated[Path, typer.Option(help="Where results and report go; the same command resumes there.")] = Path(
        "study"
    ),
    balance: Annotated[str | None, typer.Option(help="stars or none.")] = None,
    minimum: Annotated[int | None, typer.Option(help="Leave out domains with fewer reviews.")] = None,
    reviews: Annotated[int | None, typer.Option(help="How many synthetic reviews in all.")] = None,
    test_sets: Whole = None,
    development: Annotated[float | None, typer.Option(help="Share of the reviews for tuning, 0.15.")] = None,
    test: Annotated[float | None, typer.Option(help="Share of the reviews for testing, 0.10.")] = None,
    penalties: Annotated[str | None, typer.Option(help="The ceiling's, rising, comma-separated.")] = None,
    text: Annotated[str | None, typer.Option(help="The column of your files that holds the text.")] = None,
    rating: Annotated[str | None, typer.Option(help="The column of your files that holds the stars.")] = None,
) -> None:
    """Run the paper's study, or an extension of it, and report it."""
    need("study")
    if cluster:
        need("cluster")
    from conquer.study.reviews.command import run_study

    run_study(
        data=data, domains=domains, items=items, algorithms=algorithms, repetitions=repetitions, passes=passes,
        features=features, hashing=hashing, model=model, update=update, preset=preset, judge=judge, seed=seed,
        jobs=jobs, cluster=cluster, out=out, balance=balance, minimum=minimum, reviews=reviews, test_sets=test_sets,
        development=development, test=test, penalties=penalties, text=text, rating=rating,
        command=["conquer", *sys.argv[1:]],
    )  # fmt: skip


@app.command()
def arena(
    out: Annotated[Path, typer.Option(help="Where results and page go; the same command resumes there.")] = Path(
        "arena"
    ),
    preset: Annotated[str, typer.Option(help="small, or standard: the literature's usual setting.")] = "small",
    worlds: Annotated[str | None, typer.Option(help="Names of worlds, comma-separated, instead of a preset.")] = None,
    algorithms: Annotated[str, typer.Option(help="all, paper, rivals, or names, comma-separated.")] = "all",
    rounds: Whole = None,
    repetitions: int = 8,
    seed: int = 0,
    jobs: Annotated[int, typer.Option(help="Worker processes.")] = 2,
) -> None:
    """Every algorithm in simulated worlds: a ranking with paired intervals, curves, seconds a round."""
    need("study")
    from conquer.study.arena.run import run_arena

    page = run_arena(
        out, preset=preset, worlds=worlds, algorithms=algorithms, rounds=rounds, repetitions=repetitions, seed=seed,
        jobs=jobs, progress=typer.echo,
    )  # fmt: skip
    typer.echo(f"The page: {page}")


@app.command()
def bench(
    quick: Annotated[bool, typer.Option(help="A minute instead of ten; wider spreads.")] = False,
    service: Annotated[bool, typer.Option(help="Measure the service as well.")] = False,
    out: Annotated[Path, typer.Option(help="Where bench.json and the plots go.")] = Path("bench"),
) -> None:
    """Measure speed beside other packages, as ratios in one run."""
    need("bench")
    from conquer.bench.command import run_bench

    raise typer.Exit(run_bench(quick=quick, service=service, out=out))


@app.command()
def algorithms(name: Annotated[str | None, typer.Argument(help="Show the parameters of this one.")] = None) -> None:
    """List the algorithms, or the parameters of one."""
    from conquer.registry import find, table

    if name is None:
        for row in table().values():
            typer.echo(f"{row.name:22} {row.description}")
    elif name not in table():
        raise ValueError(f"algorithm must be one of {', '.join(table())}, got {name!r}")
    else:
        row = find(name)
        typer.echo(f"{row.name}: {row.description}\nmodels: {', '.join(row.models)}")
        for parameter in row.parameters:
            typer.echo(f"  {parameter.name:10} default {parameter.default!r:12} {parameter.values}")


@app.command()
def warmup() -> None:
    """Compile every kernel now, so that no later command waits for it."""
    from conquer.simulation import warm

    for name, seconds in warm():
        typer.echo(f"{name:10} {seconds:6.1f} s")


def main() -> int:
    """Run the command line: mistakes in a call are one line and exit code 2, never a traceback."""
    try:
        status = app(standalone_mode=False)
    except (ValueError, TypeError, OSError, ArithmeticError, ImportError) as error:
        typer.echo(f"conquer: {error}", err=True)
        return 2
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("conquer: stopped; the same command goes on from here", err=True)
        return 130
    except Exception as error:
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", 2))
    if status == 130:  # typer's own word for Ctrl-C
        typer.echo("conquer: stopped; the same command goes on from here", err=True)
    return status if isinstance(status, int) else 0
