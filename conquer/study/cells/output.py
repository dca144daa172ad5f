"""What a study writes beside its cells: frames, tables, JSON and pages, each whole or not at all."""

import io
import json
import shutil
from pathlib import Path
from typing import Any

from conquer.files import write_atomically


def write_text(path: Path, text: str) -> None:
    """Write a text file."""
    write_atomically(path, text.encode())


def write_json(path: Path, content: Any) -> None:
    """Write JSON that people can read and diff."""
    write_text(path, json.dumps(content, indent=1, sort_keys=True) + "\n")


def write_frame(frame: Any, path: Path) -> None:
    """Write a frame as Parquet."""
    room = io.BytesIO()
    frame.write_parquet(room)
    write_atomically(path, room.getvalue())


def number(value: Any, digits: int = 3) -> str:
    """A value of a table: nothing for None, so many digits for a float.

    >>> number(0.5), number(7), number(None)
    ('0.500', '7', '')
    """
    return "" if value is None else f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def markdown(table: Any, digits: int = 3) -> str:
    """A frame as a Markdown table."""
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * table.width]
    lines += ["| " + " | ".join(number(value, digits) for value in row) + " |" for row in table.iter_rows()]
    return "\n".join(lines) + "\n"


def write_page(path: Path, template: Path, **values: Any) -> Path:
    """Fill a jinja2 template, everything escaped that is not marked safe, and return the page's path."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(template.parent)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = number
    write_text(path, environment.get_template(template.name).render(values))
    return path


def publish(study: Path, place: Path) -> list[Path]:
    """Copy tables and figures of the folder `study` to `place`, those of a reading into a folder of its own.

    Files of the same names are replaced, others are left alone. Returns what was written.
    """
    written = []
    for folder, ending in (("tables", "*.md"), ("figures", "*.png")):
        for path in sorted((study / folder).rglob(ending)):
            target = place / path.relative_to(study / folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            written.append(target)
    return written
