"""The ledger of a service as rows of a session's: one code replays both and estimates from both."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from conquer.data.compression import DataError, lines, name_of
from conquer.features.featurizer import Featurizer, UnfittedError
from conquer.items import PARTS, ItemParts, learnt_parts
from conquer.rows import SparseRows, as_rows
from conquer.types import Query

_ANSWERS = ("answer", "vote")
_SIDES = {0: 1, 1: -1}
"""The side of the first item where the item at this place was on the left."""


def service_rows(source: str | Path | bytes, featurizer: Featurizer | None = None) -> Iterator[dict[str, Any]]:
    """Yield the answers of a service's ledger, each after its question.

    Parameters
    ----------
    source : path or bytes
        What `GET /v1/models/NAME/log?format=ledger` gives, also compressed. Read twice, because answers that are undone
        later are left out.
    featurizer : Featurizer, optional
        The model's featurizer, where it was fitted: it is in the model's file, not in the ledger.

    Yields
    ------
    dict
        The rows `open`, `ask` and `tell` of a session's ledger. Questions without an answer are left out.

    Raises
    ------
    DataError
        A line is no row of a ledger, or its items cannot be read; the message names the line.
    """
    source = source if isinstance(source, bytes) else Path(source)
    undone = {row["body"]["undone"] for _, row in _rows(source) if row["kind"] == "correction"}
    asked: dict[str, Mapping[str, Any]] = {}
    reader: Featurizer | None = featurizer
    opened = False
    for place, row in _rows(source):
        kind, body, event = row["kind"], row.get("body") or {}, str(row.get("event_id"))
        try:
            if kind == "open":
                settings, opened = body["settings"], True
                reader = reader or _featurizer(settings.get("features", {}))
                yield {"kind": "open", "learner": _learner(settings)}
            elif kind == "choose":
                asked[event] = body
            elif kind in _ANSWERS and row.get("position") not in undone:
                if not opened or reader is None:
                    raise ValueError("the opening line with the model's settings is missing")
                question = body if kind == "vote" else asked.get(event)
                if question is not None:
                    # Several voters may answer one question: each answer gets its own.
                    name = str(row["position"])
                    yield _ask(name, question, reader)
                    yield _tell(name, row, body, question)
        except UnfittedError:
            raise DataError(f"{place}: the model's features were fitted; pass its featurizer=") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"{place}: not a row of a service's ledger: {error!s:.200}") from None


def _rows(source: Path | bytes) -> Iterator[tuple[str, Any]]:
    for number, text in enumerate(lines(source), 1):
        place = f"{name_of(source)}, line {number}"
        if text.strip():
            try:
                row = json.loads(text)
            except ValueError as error:
                raise DataError(f"{place}: not JSON: {error}") from None
            if not isinstance(row, dict) or not isinstance(row.get("kind"), str):
                raise DataError(f"{place}: a row is an object with a kind, got {row!r:.60}")
            yield place, row


def _featurizer(settings: Mapping[str, Any]) -> Featurizer:
    given = dict(settings)
    for name in ("ngrams", "learn"):
        if given.get(name) is not None:
            given[name] = tuple(given[name])
    return Featurizer(**{"dim": 1 << 18, **given})


def _learner(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What `conquer.saving.rebuilt` makes the model's learner from."""
    if settings.get("task", "pick") != "pick":
        raise ValueError(f"a {settings['task']} model has no rounds of items")
    own = {name: settings[name] for name in ("model", "believe") if settings.get(name) is not None}
    dim = settings.get("features", {}).get("dim", 1 << 18)
    return {
        "algorithm": settings.get("algorithm", "gnr"),
        "dim": dim,
        "parameters": {**settings.get("parameters", {}), **own},
    }


def _ask(name: str, body: Mapping[str, Any], featurizer: Featurizer) -> dict[str, Any]:
    rows = rows_of_items(body["items"], body.get("context"), featurizer)
    if "shown" not in body:
        # A vote: it was not asked here.
        return {
            "kind": "ask",
            "id": name,
            "rows": rows,
            "shown": (0, 1),
            "query": int(Query.DUEL),
            "ticket": 0,
            "memo": {},
        }
    memo = {} if body.get("planted") else dict(body.get("memo", {}))
    own = {key: body[key] for key in ("query", "ticket")}
    return {"kind": "ask", "id": name, "rows": rows, "shown": tuple(body["shown"]), "memo": memo, **own}


def _tell(name: str, row: Mapping[str, Any], body: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    side, names = 0, list(asked["names"])
    if len(names) == 2 and asked.get("left") in names:
        side = _SIDES[names.index(asked["left"])]
    told = {"kind": "tell", "id": name, "answer": body.get("value"), "side": side}
    if row.get("voter") is not None:
        told |= {"voter": row["voter"], "voter_kind": body.get("kind", "person")}
    return told


def rows_of_items(items: Sequence[Mapping[str, Any]], context: Any, featurizer: Featurizer) -> SparseRows:
    """The items as the service's models learn them: vectors without a context as they are, all else by the featurizer.

    >>> rows_of_items([{"id": "a", "vector": [0.0, 2.0]}], None, Featurizer(dim=3)).dense().tolist()
    [[0.0, 2.0, 0.0]]
    """
    parts = learnt_parts([part for part in PARTS if items[0].get(part) is not None], featurizer.learn)
    columns = {part: [item[part] for item in items] for part in parts}
    if parts == ("vector",) and context is None:
        dense = np.array(columns["vector"], np.float64)
        return as_rows(np.pad(dense, ((0, 0), (0, featurizer.dim - dense.shape[1]))), featurizer.dim)
    learnt: Any = columns[parts[0]] if len(parts) == 1 else ItemParts(**columns)
    return featurizer(learnt, context)
