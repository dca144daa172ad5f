"""What kind of items came: texts, dicts or vectors, never a mixture, and never one where a list was meant."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from conquer.features.hashing import Entries
from conquer.features.parts import ItemParts, LearntKind, learnt
from conquer.items import Part, is_whole
from conquer.rows import SparseRows, as_rows

Items = Any
"""Several texts, several dicts, or several vectors (lists, a (K, D) array, a scipy sparse matrix, SparseRows).

Dicts with parts (`conquer.items`) are what is learnt of them.
"""
ItemKind = LearntKind
_PLAIN: dict[type, ItemKind] = {str: "texts", dict: "dicts"}
"""What most items are: known without asking an abstract class about each."""


def kind_and_items(items: Items, learn: Sequence[Part] | None = None) -> tuple[ItemKind, Any]:
    """The kind of the items, and the items as a list (texts, dicts) or as they came (vectors, parts).

    `learn`: of dicts that have parts, those that are learnt.

    >>> kind_and_items(("good", "bad"))
    ('texts', ['good', 'bad'])
    """
    if type(items) is list and len(types := {*map(type, items)}) == 1 and (plain := _PLAIN.get(types.pop())):
        return learnt(items, learn) if plain == "dicts" and is_whole(items[0]) else (plain, items)
    if isinstance(items, ItemParts):
        return "parts", items
    if isinstance(items, str | bytes | Mapping):
        raise TypeError(f"items must be several texts, dicts or vectors in a list, got one {type(items).__name__}")
    if isinstance(items, SparseRows) or hasattr(items, "tocsr"):
        return "vectors", items
    if isinstance(items, np.ndarray) and items.dtype.kind in "biuf":
        return "vectors", items
    if not isinstance(items, Iterable):
        raise TypeError(f"items must be several texts, dicts or vectors in a list, got {items!r:.80}")
    listed = list(items)
    if not listed:
        raise ValueError("need at least one item, got none")
    kinds = [_kind(item, number) for number, item in enumerate(listed)]
    for number, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise TypeError(f"items must be of one kind: item 0 is of {kinds[0]}, item {number} of {kind}")
    if kinds[0] == "dicts" and is_whole(listed[0]):
        return learnt(listed, learn)
    return kinds[0], listed


def _kind(item: Any, number: int) -> ItemKind:
    if isinstance(item, str):
        return "texts"
    if isinstance(item, Mapping):
        return "dicts"
    if isinstance(item, list | tuple | np.ndarray):
        return "vectors"
    raise TypeError(f"item {number} must be a str, a dict or a list of numbers, got {item!r:.80}")


def vector_rows(items: Any, dim: int) -> SparseRows:
    """Vectors as rows with their own columns; they may be shorter than `dim`.

    >>> vector_rows([[0.0, 2.0]], dim=10).indices.tolist()
    [1]
    """
    if not hasattr(items, "shape"):
        try:
            items = np.array(items, np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"vectors must be lists of numbers of one length: {error}") from None
    if len(items.shape) != 2:
        raise ValueError(f"vectors must have two dimensions (items, features), got shape {items.shape}")
    if not 1 <= items.shape[1] <= dim:
        raise ValueError(f"vectors must have 1 to dim = {dim} features, got {items.shape[1]}")
    return as_rows(items, items.shape[1]).packed()


def entries(rows: SparseRows) -> Entries:
    """The rows' arrays, free to be changed."""
    return rows.indptr.copy(), rows.indices.copy(), rows.data.copy()
