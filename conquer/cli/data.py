"""`conquer data`: public data sets, what there is and fetching it."""

from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer(
    help="Public data sets: what there is, and fetching it.", no_args_is_help=True, rich_markup_mode=None
)


@commands.command("list")
def every() -> None:
    """Names and sizes of the public data sets."""
    from conquer.data.download import listing

    for name, size, about in listing():
        typer.echo(f"{name:34} {size:>10}  {about}")


@commands.command("info")
def info(name: str) -> None:
    """Origin, licence, size and files of one."""
    from conquer.data.download import details

    for key, value in details(name):
        typer.echo(f"{key:10} {value}")


@commands.command("get")
def fetch(name: str, out: Annotated[Path, typer.Option(help="Folder to put it in.")] = Path("data")) -> None:
    """Fetch one, resuming what was begun, and check it."""
    from conquer.data.download import get

    for path in get(name, out, lambda file, done, total: typer.echo(f"\r{file} {done}/{total or '?'}", nl=False)):
        typer.echo(f"\n{path}")
