"""Published results: the command and the code that made a folder of pages, and whether that code is still the same.

A folder has a `published.json`: its command, the module that its numbers come from, a hash of that module's code and of
all code it imports, and its files. An archived folder or page has the commit it was made at instead: it can no longer
be made, and its pages say so.
"""

import ast
import hashlib
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from conquer.files import write_atomically

MANIFEST = "published.json"
_BESIDE = tuple(
    f"conquer.{name}"
    for name in (
        "boards", "cli", "conformance", "extending", "files", "fitting", "items", "learners.believer",
        "learners.learner_board", "learners.voters", "plugins", "reference", "saving", "session", "study.backends",
        "study.options", "study.output", "study.progress", "study.published",
    )
)  # fmt: skip
"""Modules that a study imports and that compute none of its numbers."""


_SIZE = 32
"""The length of a hash."""


def modules_of(entry: str) -> dict[str, Path]:
    """{name: file} of a module and of all modules of its package or of conquer that it imports, directly or not.

    >>> "conquer.tickets" in modules_of("conquer.data.splits")
    True
    """
    roots = (entry.partition(".")[0], "conquer")
    found: dict[str, Path] = {}
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        beside = any(name == other or name.startswith(f"{other}.") for other in _BESIDE)
        if name in found or name.partition(".")[0] not in roots or beside:
            continue
        path = _file_of(name)
        if path is not None:
            found[name] = path
            waiting += _imports(name, path)
    return dict(sorted(found.items()))


def _file_of(name: str) -> Path | None:
    try:
        spec = find_spec(name)
    except (ImportError, AttributeError, ValueError):
        return None
    return Path(spec.origin) if spec is not None and spec.origin and spec.origin.endswith(".py") else None


def _imports(name: str, path: Path) -> Iterator[str]:
    """The names that a module imports, and those that might be modules among `from x import y`."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
    yield from (name.rsplit(".", depth)[0] for depth in range(1, name.count(".") + 1))


def code(source: str) -> str:
    """The lines of a source without docstrings, comment lines and empty lines: what its numbers can depend on.

    >>> code("# note\\ndef f():\\n    'Text.'\\n    return 1\\n")
    'def f():\\n    return 1'
    """
    told: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        for statement in getattr(node, "body", ()) if not isinstance(node, ast.Lambda | ast.IfExp) else ():
            value = getattr(statement, "value", None)
            if isinstance(statement, ast.Expr) and isinstance(value, ast.Constant) and isinstance(value.value, str):
                told |= set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    lines = (line.rstrip() for number, line in enumerate(source.splitlines(), 1) if number not in told)
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))


def hash_of(entry: str) -> str:
    """A hash of the code of a module and of everything of its package that it imports."""
    digest = hashlib.blake2b(digest_size=16)
    for name, path in modules_of(entry).items():
        digest.update(f"{name}\n{code(path.read_text())}\n".encode())
    return digest.hexdigest()


def sign(folder: Path, command: Sequence[str], entry: str, files: Sequence[Path]) -> None:
    """Record in a folder how its files were made; files of the record before that are not among them are removed."""
    names = sorted(path.relative_to(folder).as_posix() for path in files)
    for name in set(record(folder).get("files", ())) - set(names):
        (folder / name).unlink(missing_ok=True)
    content = {"command": shlex.join(command), "entry": entry, "code": hash_of(entry), "files": names}
    write_atomically(folder / MANIFEST, (json.dumps(content, indent=1) + "\n").encode())


def record(folder: Path) -> dict[str, Any]:
    """The record of a folder, empty where it has none."""
    path = folder / MANIFEST
    return dict(json.loads(path.read_bytes())) if path.exists() else {}


def stale(folder: Path) -> str | None:
    """Why the pages of a folder may differ from what their command gives now; None where the code is the same."""
    about = record(folder)
    if "archived" in about or about.get("code") == hash_of(about["entry"]):
        return None
    if len(about.get("code", "")) != _SIZE:
        return f"{folder.name}: {about.get('code')}; `{about['command']}` makes it anew"
    return f"{folder.name}: {about['entry']} or what it imports has changed since `{about['command']}`"


def main(folder: str, entry: str, *command: str) -> None:
    """Record how the files in a folder were made, for a command that does not publish by itself.

    `python -m conquer.study.published FOLDER MODULE COMMAND...`
    """
    place = Path(folder)
    files = [path for path in sorted(place.iterdir()) if path.is_file() and path.name != MANIFEST]
    sign(place, command, entry, files)


if __name__ == "__main__":
    main(*sys.argv[1:])
