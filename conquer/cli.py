"""The command line: parse, call one function, print. Heavy imports stay inside the commands."""

import sys
from typing import Annotated, Optional

import typer

app = typer.Typer(
    name="conquer",
    help="Learn what people want from which of two things they pick.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.command()
def algorithms(name: Annotated[Optional[str], typer.Argument(help="Show the parameters of this one.")] = None) -> None:
    """List the algorithms, or the parameters of one."""
    from conquer.registry import ALGORITHMS

    if name is None:
        for row in ALGORITHMS.values():
            typer.echo(f"{row.name:22} {row.description}")
    elif name not in ALGORITHMS:
        raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {name!r}")
    else:
        row = ALGORITHMS[name]
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
        app(standalone_mode=False)
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
