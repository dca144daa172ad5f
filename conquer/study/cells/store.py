"""Cells on disk: one small file each, written whole or not at all, named by what they depend on."""

import hashlib
import json
from importlib import metadata
from pathlib import Path
from typing import Any

from conquer.files import write_atomically

Row = dict[str, Any]


def key(*content: Any) -> str:
    """A name made of content: equal content, equal name, on every machine.

    >>> key("cell", {"b": 1, "a": 2}) == key("cell", {"a": 2, "b": 1})
    True
    """
    return digest(json.dumps(content, sort_keys=True, separators=(",", ":")))


def digest(text: str) -> str:
    """32 letters that stand for a text.

    >>> len(digest("any text"))
    32
    """
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class Cells:
    """A folder of finished cells.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cells = Cells(Path(folder))
    ...     cells.put("ab12", {"error": 0.25})
    ...     cells.get("ab12"), cells.get("cd34")
    ({'error': 0.25}, None)
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / f"{name}.json"

    def get(self, name: str) -> Row | None:
        """The row of this name, or None where it has not been computed, or its file is damaged."""
        try:
            row: Row = json.loads(self._path(name).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return row

    def put(self, name: str, row: Row) -> None:
        """Write a row; whoever reads sees all of it or nothing."""
        path = self._path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, json.dumps(row).encode())


def versions() -> dict[str, str]:
    """The versions that numbers could depend on."""
    found = {name: metadata.version(name) for name in ("numpy", "numba", "scipy")}
    try:
        found["conquer"] = metadata.version("conquer-bandits")
    except metadata.PackageNotFoundError:
        found["conquer"] = "from source"
    return found
