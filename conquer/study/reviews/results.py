"""Cells on disk: one small file each, written whole or not at all, named by what they depend on."""

import json
import os
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any

Row = dict[str, Any]

_COLUMNS = (
    "domain", "items", "algorithm", "repetition", "error", "online_error", "regret", "rounds", "answers", "query_rate",
    "query_rates", "equal_pairs", "equal_in_sets", "tuning_error", "parameters", "diverged", "features_seen", "seed",
    "features", "model", "update", "judge", "passes", "balance", "data", "versions", "seconds",
)  # fmt: skip


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

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> Row | None:
        """The row of this name, or None where it has not been computed, or a power cut left no whole file."""
        try:
            row: Row = json.loads(self._path(key).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return row

    def put(self, key: str, row: Row) -> None:
        """Write a row; whoever reads sees all of it or nothing."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "w") as file:
            json.dump(row, file)
        os.replace(name, path)


def versions() -> dict[str, str]:
    """The versions that numbers could depend on."""
    found = {name: metadata.version(name) for name in ("numpy", "numba", "scipy")}
    try:
        found["conquer"] = metadata.version("conquer-bandits")
    except metadata.PackageNotFoundError:
        found["conquer"] = "from source"
    return found


def frames(rows: list[Row]) -> tuple[Any, Any]:
    """(results, curves) as polars frames, rows sorted by key: one row a cell, one row a point of a curve."""
    import polars as pl

    ordered = sorted(rows, key=lambda row: (row["domain"], row["items"], row["algorithm"], row["repetition"]))
    table = []
    curves: dict[str, list[Any]] = {
        name: [] for name in ("domain", "items", "algorithm", "repetition", "round", "regret", "answers", "error")
    }
    for row in ordered:
        plain = {name: row.get(name) for name in _COLUMNS}
        plain["parameters"] = json.dumps(row["parameters"], sort_keys=True)
        plain["versions"] = json.dumps(row["versions"], sort_keys=True)
        plain["diverged"] = bool(row.get("diverged", False))
        table.append(plain)
        curve = row.get("curve")
        if curve:
            for name in ("domain", "items", "algorithm", "repetition"):
                curves[name].extend([row[name]] * len(curve["round"]))
            for name in ("round", "regret", "answers", "error"):
                curves[name].extend(curve[name])
    reals = ("error", "online_error", "regret", "query_rate", "equal_pairs", "equal_in_sets", "tuning_error", "seconds")
    types: dict[str, Any] = dict.fromkeys(reals, pl.Float64)
    types |= dict.fromkeys(("items", "repetition", "rounds", "answers", "features_seen", "seed", "passes"), pl.Int64)
    types |= {"query_rates": pl.List(pl.Float64), "diverged": pl.Boolean}
    schema = {name: types.get(name, pl.String) for name in _COLUMNS}
    points = dict.fromkeys(("items", "repetition", "round", "answers"), pl.Int64)
    shape = {name: points.get(name, pl.String if name in ("domain", "algorithm") else pl.Float64) for name in curves}
    return pl.DataFrame(table, schema=schema), pl.DataFrame(curves, schema=shape)


def write_frame(frame: Any, path: Path) -> None:
    """Write a frame as Parquet, all or nothing."""
    room = path.with_suffix(".tmp")
    frame.write_parquet(room)
    os.replace(room, path)
