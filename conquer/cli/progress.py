"""A progress bar on the terminal for work that takes longer than a second."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

_PATIENCE = 1.0
_EVERY = 10.0
"""Seconds between two lines when standard error is not a terminal."""


@contextmanager
def showing(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function (description, total, completed) that shows progress on standard error after one second."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines()
        return
    bar = Progress(console=console, transient=True)
    task = bar.add_task(what, total=None)
    later = threading.Timer(_PATIENCE, bar.start)
    later.daemon = True
    later.start()

    def show(what: str, total: int, done: int) -> None:
        bar.update(task, description=what, total=total, completed=done)

    try:
        yield show
    finally:
        later.cancel()
        later.join()
        if bar.live.is_started:
            bar.stop()


def _lines() -> Callable[[str, int, int], None]:
    last = time.monotonic() - _EVERY + _PATIENCE

    def say(what: str, total: int, done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            typer.echo(f"{what}: {done} of {total}", err=True)

    return say
