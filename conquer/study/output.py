"""What a study writes beside its cells: tables, pages and figures, and which study a folder's report belongs to."""

import io
import json
import shutil
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conquer.files import write_atomically
from conquer.study.published import sign as sign_pages
from conquer.study.runner import Row, key

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from polars import DataFrame

_NAME = "study.json"


def write_text(path: Path, text: str) -> None:
    """Write a text file, and its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())


def write_json(path: Path, content: Any) -> None:
    """Write JSON that people can read and diff."""
    write_text(path, json.dumps(content, indent=1, sort_keys=True) + "\n")


def write_frame(frame: "DataFrame", path: Path) -> None:
    """Write a frame as Parquet."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    write_atomically(path, buffer.getvalue())


def number(value: object, digits: int = 3) -> str:
    """A value as a table shows it: empty for None, rounded if it is a float.

    >>> number(0.5), number(7), number(None)
    ('0.500', '7', '')
    """
    return "" if value is None else f"{value:.{digits}f}" if isinstance(value, float) else str(value)


def markdown(table: "DataFrame", digits: int = 3) -> str:
    """A frame as a Markdown table."""
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * table.width]
    lines += ["| " + " | ".join(number(value, digits) for value in row) + " |" for row in table.iter_rows()]
    return "\n".join(lines) + "\n"


def write_page(path: Path, template: Path, **values: Any) -> Path:
    """Render a jinja2 template with autoescaping, and return the page's path."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(template.parent)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["number"] = number
    write_text(path, environment.get_template(template.name).render(values))
    return path


def clear(study: Path) -> None:
    """Remove the tables and figures of an earlier report from the folder of a study."""
    for folder in ("tables", "figures"):
        shutil.rmtree(study / folder, ignore_errors=True)


def publish(study: Path, place: Path, command: Sequence[str], entry: str) -> list[Path]:
    """Copy the tables (Markdown) and figures (PNG) of the folder `study` to `place`; returns the files written.

    Of several readings the figures of the first are copied; the others are in the report.
    `command` made them with the code of the module `entry`, which is recorded in `place`. What the record before that
    lists and this study no longer makes is removed.
    """
    written = []
    own = sorted(path.name for path in (study / "figures").glob("*/"))[1:]
    for folder, ending in (("tables", "*.md"), ("figures", "*.png")):
        for path in sorted((study / folder).rglob(ending)):
            if folder == "figures" and path.parent.name in own:
                continue
            target = place / path.relative_to(study / folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            written.append(target)
    sign_pages(place, command, entry, written)
    return written


def check_place(
    folder: str | Path, page: str, kind: str, specs: "Sequence[DataclassInstance]", overwrite: bool = False
) -> None:
    """Raise a ValueError if `folder` has the `page` of another study; finished cells are always shared."""
    if overwrite or not Path(folder, page).exists():
        return
    wanted = _identity(kind, specs)
    try:
        there = json.loads(Path(folder, _NAME).read_bytes())
    except (OSError, ValueError):
        there = {}
    if there.get("hash") != wanted["hash"]:
        other = ", ".join(_differing(there.get("settings"), wanted["settings"])) or "unknown"
        raise ValueError(
            f"{folder} has the report of another study ({other}): choose another --out, or give --overwrite to replace "
            f"{page}; finished cells are kept"
        )


def sign(folder: str | Path, kind: str, specs: "Sequence[DataclassInstance]") -> None:
    """Record beside a finished report which study it belongs to."""
    write_json(Path(folder, _NAME), _identity(kind, specs))


def _identity(kind: str, specs: "Sequence[DataclassInstance]") -> Row:
    """The settings that differ from the defaults, and their hash."""
    changed = [
        {each.name: value for each in fields(spec) if (value := getattr(spec, each.name)) != each.default}
        for spec in specs
    ]
    settings = json.loads(json.dumps(changed, default=str))
    return {"kind": kind, "settings": settings, "hash": key("study", kind, settings)}


def _differing(there: list[Row] | None, wanted: list[Row]) -> list[str]:
    """The names of the settings that differ."""
    if there is None:
        return []
    if len(there) != len(wanted):
        return ["readings"]
    pairs = zip(there, wanted, strict=True)
    return sorted({name for old, new in pairs for name in old.keys() | new if old.get(name) != new.get(name)})
