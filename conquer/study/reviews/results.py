"""The cells of a study put together: one row per cell, and one row per point of a learning curve."""

import json
from typing import Any

from conquer.study.cells.store import Row

_COLUMNS = (
    "reading", "domain", "items", "algorithm", "repetition", "error", "online_error", "regret", "rounds", "answers",
    "query_rate", "query_rates", "equal_pairs", "equal_in_sets", "unique_in_sets", "length_correlation", "mean_answer",
    "centred_error", "tuning_error", "parameters", "diverged", "features_seen", "seed", "features", "ngrams", "model",
    "update", "tuning", "tune_at", "lam", "judge", "passes", "balance", "data", "versions", "seconds",
)  # fmt: skip
_PLACE = ("reading", "domain", "items", "algorithm", "repetition")


def frames(rows: list[Row]) -> tuple[Any, Any]:
    """(results, curves) as polars frames, rows sorted by reading, domain, items, algorithm and repetition."""
    import polars as pl

    ordered = sorted(rows, key=lambda row: tuple(row[name] for name in _PLACE))
    table = []
    curves: dict[str, list[Any]] = {name: [] for name in (*_PLACE, "round", "regret", "answers", "error")}
    for row in ordered:
        plain = {name: row.get(name) for name in _COLUMNS}
        plain["parameters"] = json.dumps(row["parameters"], sort_keys=True)
        plain["versions"] = json.dumps(row["versions"], sort_keys=True)
        plain["diverged"] = bool(row.get("diverged", False))
        table.append(plain)
        curve = row.get("curve")
        if curve:
            for name in _PLACE:
                curves[name].extend([row[name]] * len(curve["round"]))
            for name in ("round", "regret", "answers", "error"):
                curves[name].extend(curve[name])
    reals = (
        "error", "online_error", "regret", "query_rate", "equal_pairs", "equal_in_sets", "unique_in_sets",
        "length_correlation", "mean_answer", "centred_error", "tuning_error", "lam", "seconds",
    )  # fmt: skip
    types: dict[str, Any] = dict.fromkeys(reals, pl.Float64)
    types |= dict.fromkeys(("items", "repetition", "rounds", "answers", "features_seen", "seed", "passes"), pl.Int64)
    types |= {"query_rates": pl.List(pl.Float64), "diverged": pl.Boolean}
    schema = {name: types.get(name, pl.String) for name in _COLUMNS}
    points = dict.fromkeys(("items", "repetition", "round", "answers"), pl.Int64)
    shape = {name: points.get(name, pl.String if name in _PLACE else pl.Float64) for name in curves}
    return pl.DataFrame(table, schema=schema), pl.DataFrame(curves, schema=shape)
