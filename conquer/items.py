"""What an item is: a text, a dict of features, a vector, or a dict with several of these as parts.

A dict in which `vector` holds numbers or `features` is a dict has parts. Its vector is learnt if there is one, and
otherwise its text; features are learnt with either. `learn` names the parts instead. Label, meta, image and format are
for display and never learnt.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from conquer.rows import ScipyMatrix, SparseRows

Item = str | Mapping[str, Any] | Sequence[float] | NDArray[Any]
"""A text, a dict of features or of parts, or a vector. A context has the same types."""
Items = Iterable[Item] | NDArray[Any] | SparseRows | ScipyMatrix
"""Several items of one kind; vectors also as a (K, D) array, a scipy sparse matrix or SparseRows."""
ItemKind = Literal["texts", "dicts", "vectors", "parts"]
Part = Literal["text", "features", "vector"]
PARTS: tuple[Part, ...] = get_args(Part)
SHOWN = ("label", "meta", "image", "format")
"""Keys of an item that are only displayed."""
_PLAIN: dict[type, ItemKind] = {str: "texts", dict: "dicts"}
"""The common types, recognised without a check of abstract classes."""
_SINGLE: dict[Part, ItemKind] = {"text": "texts", "features": "dicts", "vector": "vectors"}


@dataclass(frozen=True, slots=True, eq=False)
class ItemParts:
    """What is learnt of items with parts: texts and features, or vectors and features. None: not learnt."""

    text: Sequence[str] | None = None
    features: Sequence[Mapping[str, Any]] | None = None
    vector: Any = None


def kind_and_items(items: Any, learn: Sequence[Part] | None = None) -> tuple[ItemKind, Any]:
    """The kind of the items, and what is learnt of them: a list, a matrix, or `ItemParts`.

    `learn`: the parts that are learnt of dicts with parts.

    >>> kind_and_items(("good", "bad"))
    ('texts', ['good', 'bad'])
    >>> kind_and_items([{"text": "good tea", "vector": [0.5], "label": "A"}])
    ('vectors', [[0.5]])
    """
    if type(items) is list and len(types := {*map(type, items)}) == 1 and (plain := _PLAIN.get(types.pop())):
        return _learnt(items, learn) if plain == "dicts" and has_parts(items[0]) else (plain, items)
    if isinstance(items, ItemParts):
        return "parts", items
    if isinstance(items, SparseRows) or hasattr(items, "tocsr"):  # a dok_matrix is a dict too
        return "vectors", items
    if isinstance(items, str | bytes | Mapping):
        raise TypeError(f"items must be several texts, dicts or vectors in a list, got one {type(items).__name__}")
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
    if kinds[0] == "dicts" and has_parts(listed[0]):
        return _learnt(listed, learn)
    return kinds[0], listed


def _kind(item: Any, number: int) -> ItemKind:
    if isinstance(item, str):
        return "texts"
    if isinstance(item, Mapping):
        return "dicts"
    if isinstance(item, list | tuple | np.ndarray):
        return "vectors"
    raise TypeError(f"item {number} must be a str, a dict or a list of numbers, got {item!r:.80}")


def has_vectors(kind: ItemKind, values: Any) -> bool:
    """Whether these items are vectors, alone or with features."""
    return kind == "vectors" or (kind == "parts" and values.vector is not None)


def has_parts(item: Any) -> bool:
    """Whether a dict is an item with parts: `features` is a dict in it, or `vector` holds numbers.

    Neither can be the value of a feature, so a dict of plain features is never mistaken for one.

    >>> has_parts({"text": "good tea", "vector": [0.5]}), has_parts({"text": "good tea", "label": "A"})
    (True, False)
    """
    if type(item) is not dict and not isinstance(item, Mapping):
        return False
    if "vector" not in item and "features" not in item:
        return False
    vector, features = item.get("vector"), item.get("features")
    if isinstance(vector, list | tuple) and vector:
        return not isinstance(vector[0], str)
    return isinstance(vector, np.ndarray) or type(features) is dict or isinstance(features, Mapping)


def parts_of(item: Mapping[str, Any]) -> Any:
    """What can be learnt of an item: its one part as it is, several as a dict, None if it has none.

    >>> parts_of({"id": "a", "text": "good tea", "label": "A"}), parts_of({"id": "b", "text": "x", "vector": [1]})
    ('good tea', {'text': 'x', 'vector': [1]})
    """
    found = {part: item[part] for part in PARTS if item.get(part) is not None}
    return found if len(found) > 1 else next(iter(found.values()), None)


def checked_learn(learn: Any) -> tuple[Part, ...] | None:
    """`learn` as a tuple of parts, or None."""
    if learn is None:
        return None
    parts = tuple(learn) if isinstance(learn, list | tuple) else ()
    if not parts or len({*parts}) < len(parts) or not {*parts} <= {*PARTS}:
        raise ValueError(f"learn must be some of {', '.join(PARTS)}, got {learn!r:.80}")
    if {"text", "vector"} <= {*parts}:
        raise ValueError("learn takes text or vector, not both: a vector beside a text replaces it")
    return parts


def learnt_parts(has: Sequence[Part], learn: Sequence[Part] | None) -> tuple[Part, ...]:
    """Which parts are learnt of an item that has these; raises ValueError if there are none.

    >>> learnt_parts(["text", "vector"], None), learnt_parts(["text", "features"], None)
    (('vector',), ('text', 'features'))
    >>> learnt_parts(["text", "vector"], ["text"])
    ('text',)
    """
    usual: tuple[Part, ...] = ("features", "vector") if "vector" in has else ("text", "features")
    wanted = usual if learn is None else learn
    found = tuple(part for part in PARTS if part in has and part in wanted)
    if not found:
        expected = " or ".join(wanted if has or learn else PARTS)
        raise ValueError(f"has no learnable part: expected {expected}, got {' and '.join(has) or 'none'}")
    return found


def _learnt(items: Sequence[Mapping[str, Any]], learn: Sequence[Part] | None) -> tuple[ItemKind, Any]:
    """The kind and the content of what is learnt of items with parts, which must have the same parts."""
    parts: tuple[Part, ...] = ()
    for number, item in enumerate(items):
        if not has_parts(item) and not isinstance(item.get("text"), str):
            raise TypeError(f"item {number} must have text, features or vector as item 0 has, got {item!r:.80}")
        try:
            found = learnt_parts([part for part in PARTS if item.get(part) is not None], learn)
        except ValueError as error:
            raise ValueError(f"item {number} {error}") from None
        if parts and found != parts:
            raise TypeError(
                f"all items must have the same parts: item 0 has {', '.join(parts)}, item {number} {', '.join(found)}"
            )
        parts = found
    columns = {part: [item[part] for item in items] for part in parts}
    return (_SINGLE[parts[0]], columns[parts[0]]) if len(parts) == 1 else ("parts", ItemParts(**columns))
