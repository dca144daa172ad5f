"""Which study a folder's report is of: another one does not take its place without being told to."""

import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from conquer.study.cells.output import write_json
from conquer.study.cells.store import key

_NAME = "study.json"


def check_place(folder: str | Path, page: str, kind: str, specs: Any, overwrite: bool = False) -> None:
    """A ValueError where `folder` has a `page` of another study; finished cells are shared and in nobody's way.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = Path(place, "report.html").write_text("of a study of tea")
    ...     sign(place, "reviews", {"data": "tea"})
    ...     check_place(place, "report.html", "reviews", {"data": "tea"})
    ...     try:
    ...         check_place(place, "report.html", "reviews", {"data": "coffee"})
    ...     except ValueError as error:
    ...         print(str(error).replace(place, "HERE"))
    HERE has the report of another study (data): choose another --out, or give --overwrite to replace report.html; \
cells that are finished are kept
    """
    if overwrite or not Path(folder, page).exists():
        return
    wanted = _described(kind, specs)
    try:
        there = json.loads(Path(folder, _NAME).read_bytes())
    except (OSError, ValueError):
        there = {}
    if there.get("hash") != wanted["hash"]:
        other = ", ".join(_differing(there.get("settings"), wanted["settings"])) or "by an earlier version"
        raise ValueError(
            f"{folder} has the report of another study ({other}): choose another --out, or give --overwrite to replace "
            f"{page}; cells that are finished are kept"
        )


def sign(folder: str | Path, kind: str, specs: Any) -> None:
    """Note beside a finished report what it is of."""
    write_json(Path(folder, _NAME), _described(kind, specs))


def _described(kind: str, specs: Any) -> dict[str, Any]:
    listed = specs if isinstance(specs, tuple | list) else [specs]
    plain = [_changed(spec) if is_dataclass(spec) and not isinstance(spec, type) else spec for spec in listed]
    settings = json.loads(json.dumps(plain, default=str))
    return {"kind": kind, "settings": settings, "hash": key("study", kind, settings)}


def _changed(spec: Any) -> dict[str, Any]:
    """The settings that are not the defaults: an option that comes later leaves older reports their owner's."""
    given = {each.name: getattr(spec, each.name) for each in fields(spec)}
    return {each.name: given[each.name] for each in fields(spec) if given[each.name] != each.default}


def _differing(there: Any, wanted: list[dict[str, Any]]) -> list[str]:
    """The names of the settings that differ."""
    if not isinstance(there, list):
        return []
    if len(there) != len(wanted):
        return ["readings"]
    pairs = zip(there, wanted, strict=True)
    return sorted({name for old, new in pairs for name in old.keys() | new if old.get(name) != new.get(name)})
