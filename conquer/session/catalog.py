"""Items that a session knows by name, because its learner was fitted on them."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conquer.answers import checked_ids
from conquer.rows import SparseRows

_ARRAYS = ("indptr", "indices", "data")


class Catalog(Mapping[str, SparseRows]):
    """{id: its row}, in one order. `names` are the ids, `rows` all rows together (K, D).

    `closed`: the ids are all there is to an item, one column each, so that a name nobody knows has no row.

    >>> known = Catalog(["tea", "mug"], SparseRows([0, 1, 2], [0, 1], [1.0, 1.0], 2), closed=True)
    >>> known["mug"].dense().tolist(), list(known)
    ([[0.0, 1.0]], ['tea', 'mug'])
    """

    def __init__(self, names: Sequence[str], rows: SparseRows, *, closed: bool = False) -> None:
        self.names: tuple[str, ...] = tuple(checked_ids(names))
        self.rows, self.closed = rows.packed(), bool(closed)
        if len(self.names) != len(self.rows):
            raise ValueError(f"need one row per name, got {len(self.names)} names and {len(self.rows)} rows")

    @cached_property
    def places(self) -> dict[str, int]:
        """The position of every name."""
        return {name: place for place, name in enumerate(self.names)}

    def __getitem__(self, name: str) -> SparseRows:
        return self.rows.take([self.places[name]])

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def found(
        self, items: Any, context: Any = None, ids: Sequence[str] | None = None
    ) -> tuple[SparseRows, list[str]] | None:
        """(rows, ids) of items given as all that is known or as a list of known names; None where they are neither.

        A list of strings is of names, and one that nobody knows is a ValueError. Texts come as {id: text}, or with
        `ids`. Where names are all there is to an item, texts and a context are refused.
        """
        if self.closed and context is not None:
            raise ValueError("this session was fitted on items by their ids, so a context says nothing to it")
        if items is self and context is None:
            return self.rows, list(self.names)
        if isinstance(items, np.ndarray) and items.ndim == 1 and items.dtype.kind in "OU":
            items = items.tolist()
        given, values = items, items
        if isinstance(items, Mapping) and self.closed:
            given, values = list(items), list(items.values())
        if not isinstance(values, list | tuple):
            if not isinstance(values, Mapping | np.ndarray | SparseRows) and not hasattr(values, "tocsr"):
                raise TypeError(f"items must be a list of ids, {{id: item}} or rows, got {values!r:.60}")
            return None
        if self.closed and values and isinstance(values[0], Mapping):
            raise ValueError(f"this session knows {len(self)} items by their ids, got {values[0]!r:.60}")
        if not values or not all(isinstance(name, str) for name in values):
            return None
        places = [self.places.get(name, -1) for name in values]
        if -1 in places:
            self._check_texts(values[places.index(-1)], texts=ids is not None and max(places) < 0)
            return None
        if context is not None:
            if ids is not None:
                return None
            raise ValueError(
                f"{values[0]!r:.80} was fitted without a context: pass {{id: item}} to cross items with one"
            )
        return self.rows.take(np.array(places)).packed(), list(given)

    def _check_texts(self, name: str, *, texts: bool) -> None:
        """Raise, unless a string that is no name may be a text."""
        if self.closed:
            raise ValueError(f"nobody knows {name!r} among the {len(self)} items by their ids")
        if not texts:
            raise ValueError(
                f"nobody knows {name!r:.80} among the {len(self)} items of this session, where a list of strings is of "
                "ids: pass texts as {id: text}"
            )

    def settings(self) -> dict[str, Any]:
        """Everything but the rows, as JSON takes it."""
        return {"names": list(self.names), "closed": self.closed}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The rows."""
        return {name: getattr(self.rows, name) for name in _ARRAYS}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], dim: int) -> "Catalog":
        """What gave these settings and arrays, checked."""
        indptr, indices, data = (arrays[name] for name in _ARRAYS)
        return cls(settings["names"], SparseRows(indptr, indices, data, dim), closed=settings["closed"])
