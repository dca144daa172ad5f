"""Review files that another package reads: a reader is named after the end of the files it takes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conquer import plugins


def reader_of(path: Path) -> plugins.Plugin | None:
    """The reader of an installed package for files of this ending; None where nobody offers one.

    >>> reader_of(Path("notes.nobody")) is None
    True
    """
    ending = path.suffix.lower().removeprefix(".")
    return plugins.find("readers", ending) if ending else None


def endings() -> tuple[str, ...]:
    """How the names of files end that installed packages read, with the dot."""
    return tuple(f".{name}" for name in plugins.names("readers"))


def rows_of(plugin: plugins.Plugin, path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(number from 1, row) for each row of a file; whatever goes wrong names the package."""
    try:
        for number, row in enumerate(plugin.value(path), 1):
            if not isinstance(row, Mapping):
                raise TypeError(f"a row must be a mapping with a text and stars, got {row!r:.60}")
            yield number, row
    except Exception as error:
        raise plugin.error(f"cannot read {path}: {type(error).__name__}: {error}") from error
