"""The items that a session was fitted on, by id."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.answers import checked_ids
from conquer.rows import SparseRows
from conquer.types import ItemId

_ARRAYS = ("indptr", "indices", "data")


class Catalog(Mapping[ItemId, SparseRows]):
    """{id: its row}, in one order. `names` are the ids, `rows` all rows together (K, D).

    `ids_only`: an item is its id alone, one column each, so only these ids have rows.

    >>> catalog = Catalog(["tea", "mug"], SparseRows([0, 1, 2], [0, 1], [1.0, 1.0], 2), ids_only=True)
    >>> catalog["mug"].dense().tolist(), list(catalog)
    ([[0.0, 1.0]], ['tea', 'mug'])
    """

    def __init__(self, names: Sequence[ItemId], rows: SparseRows, *, ids_only: bool = False) -> None:
        self.names: tuple[ItemId, ...] = tuple(checked_ids(names))
        self.rows, self.ids_only = rows.packed(), bool(ids_only)
        if len(self.names) != len(self.rows):
            raise ValueError(f"need one row per name, got {len(self.names)} names and {len(self.rows)} rows")

    @cached_property
    def positions(self) -> dict[ItemId, int]:
        """The position of every id."""
        return {name: position for position, name in enumerate(self.names)}

    def __getitem__(self, name: ItemId) -> SparseRows:
        return self.rows.take([self.positions[name]])

    def __iter__(self) -> Iterator[ItemId]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def lookup(
        self, items: Any, context: Any = None, ids: Sequence[ItemId] | None = None
    ) -> tuple[SparseRows, list[ItemId]] | None:
        """(rows, ids) if `items` is this catalog or a list of its ids; None if they must be featurized.

        A list of strings or whole numbers holds ids, and an unknown one is a ValueError; texts come as {id: text}, or
        with `ids`. With `ids_only` texts and contexts are refused.
        """
        if self.ids_only and context is not None:
            raise ValueError("this session was fitted on items by their ids, so it cannot use a context")
        if items is self and context is None:
            return self.rows, list(self.names)
        if isinstance(items, np.ndarray) and items.ndim == 1 and items.dtype.kind in "OUiu":
            items = items.tolist()
        given, values = items, items
        if isinstance(items, Mapping) and self.ids_only:
            given, values = list(items), list(items.values())
        if not isinstance(values, list | tuple):
            if not isinstance(values, Mapping | np.ndarray | SparseRows) and not hasattr(values, "tocsr"):
                raise TypeError(f"items must be a list of ids, {{id: item}} or rows, got {values!r:.60}")
            return None
        if self.ids_only and values and isinstance(values[0], Mapping):
            raise ValueError(f"this session knows {len(self)} items by their ids, got {values[0]!r:.60}")
        if not values or not all(isinstance(name, str | int) and not isinstance(name, bool) for name in values):
            return None
        positions = [self.positions.get(name, -1) for name in values]
        if -1 in positions:
            self._check_texts(values[positions.index(-1)], texts=ids is not None and max(positions) < 0)
            return None
        if context is not None:
            if ids is not None:
                return None
            raise ValueError(
                f"{values[0]!r:.80} was fitted without a context: pass {{id: item}} to cross items with one"
            )
        return self.rows.take(np.array(positions)).packed(), list(given)

    def _check_texts(self, name: Any, *, texts: bool) -> None:
        """Raise a ValueError for an unknown id, unless it may be a text."""
        if texts and not self.ids_only and isinstance(name, str):
            return
        other = str(name) if isinstance(name, int) else int(name) if name.isdecimal() else None
        hint = f"; did you mean {other!r}?" if other in self.positions else ""
        if not hint and not self.ids_only:
            hint = "; a list of strings holds ids, pass texts as {id: text}"
        raise ValueError(f"unknown item {name!r:.80}: not one of the {len(self)} ids of this session{hint}")

    def settings(self) -> dict[str, Any]:
        """Everything but the rows, as JSON takes it."""
        return {"names": list(self.names), "ids_only": self.ids_only}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The rows."""
        return {name: getattr(self.rows, name) for name in _ARRAYS}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], dim: int) -> "Catalog":
        """The catalog that gave these settings and arrays, checked."""
        indptr, indices, data = (arrays[name] for name in _ARRAYS)
        return cls(settings["names"], SparseRows(indptr, indices, data, dim), ids_only=settings["ids_only"])
