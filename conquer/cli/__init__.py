"""The command line. Each command parses its options, calls one function and prints; heavy imports stay inside it."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from conquer.cli import judge, offpolicy, parse, service, study, votes
from conquer.cli.extras import remedy

RESUMING = (
    ("study",),
    ("arena",),
    ("parse", "study"),
    ("data", "get"),
    ("judge",),
)
"""Commands that resume when they are run again."""

app = typer.Typer(
    name="conquer",
    help="Learn what people want from which of two things they pick.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        try:
            found = metadata.version("conquer-bandits")
        except metadata.PackageNotFoundError:
            found = "from source"
        typer.echo(f"conquer {found}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn what people want from which of two things they pick."""


app.add_typer(study.data, name="data")
app.add_typer(parse.commands, name="parse")
app.add_typer(service.keys, name="keys")
app.add_typer(study.measure, name="measure")
for command in (
    service.serve,
    service.backup,
    service.restore,
    service.erase,
    service.replay,
    votes.fit,
    study.study,
    study.arena,
    votes.board,
    offpolicy.evaluate,
    judge.judge,
):
    app.command()(command)


@app.command("algorithms")
def list_algorithms(
    name: Annotated[str | None, typer.Argument(help="Show the parameters of this one.")] = None,
) -> None:
    """List the algorithms, or the parameters of one."""
    from conquer.registry import algorithms, find

    if name is None:
        for row in algorithms():
            typer.echo(f"{row.name:22} {row.description}")
    else:
        row = find(name)
        typer.echo(f"{row.name}: {row.description}\nmodels: {', '.join(row.models)}")
        for parameter in row.parameters:
            typer.echo(f"  {parameter.name:10} default {parameter.default!r:12} {parameter.values}")
        if row.published is not None:
            typer.echo(f"published=True: {row.published.text.replace('(r)', '(from memory of the paper)')}")


@app.command("check-algorithm")
def check_algorithm(name: Annotated[str, typer.Argument(help="Its name, as `conquer algorithms` lists it.")]) -> None:
    """Run the conformance suite against one algorithm, yours or ours."""
    from conquer.conformance import check_algorithm

    failed = 0
    for found in check_algorithm(name):
        typer.echo(f"{'failed' if found.problem else 'passed':7} {found.model:10} {found.promise}")
        if found.problem:
            typer.echo(f"        {found.problem}")
            failed += 1
    typer.echo(f"{name} fails {failed} checks" if failed else f"{name} passes every check")
    raise typer.Exit(1 if failed else 0)


@app.command()
def warmup() -> None:
    """Compile every kernel now instead of when it is first used."""
    from conquer.simulation import compile_kernels

    for name, seconds in compile_kernels():
        typer.echo(f"{name:50} {seconds:6.1f} s")


def main() -> int:
    """Run the command line. A usage error is one line and exit code 2, never a traceback."""
    try:
        status = app(standalone_mode=False)
    except ImportError as error:
        typer.echo(f"conquer: {remedy(error)}", err=True)
        return 2
    except (ValueError, TypeError, OSError, ArithmeticError, MemoryError) as error:
        typer.echo(f"conquer: {_plain(error)}", err=True)
        return 2
    except (typer.Abort, KeyboardInterrupt):
        typer.echo(_stopped(sys.argv[1:]), err=True)
        return 130
    except Exception as error:
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        return int(getattr(error, "exit_code", 2))
    if status == 130:  # typer's exit code for Ctrl-C
        typer.echo(_stopped(sys.argv[1:]), err=True)
    return status if isinstance(status, int) else 0


def _plain(error: Exception) -> str:
    """An error as one line."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    if isinstance(error, MemoryError):
        return f"not enough memory{f': {error}' if str(error) else ''}"
    return str(error) or type(error).__name__


def _stopped(given: Sequence[str]) -> str:
    """The message after Ctrl-C.

    >>> _stopped(["data", "get", "reviews"]), _stopped(["serve"])
    ('conquer: stopped; run the same command to continue', 'conquer: stopped')
    """
    resumes = any(tuple(given[: len(words)]) == words for words in RESUMING)
    return "conquer: stopped; run the same command to continue" if resumes else "conquer: stopped"
