"""From the bytes of a round's items to their ids and rows: the one place where outside items are checked."""

from typing import Any

import msgspec
import numpy as np

from conquer.rows import SparseRows, as_rows
from conquer.service.refusals import RefusalError, invalid
from conquer.service.requests import RESERVED, FeatureSettings, Item, Value
from conquer.service.settings import Limits

_items = msgspec.json.Decoder(list[Item]).decode
_context = msgspec.json.Decoder(str | dict[str, Value] | None).decode


class Reader:
    """Turns rounds into rows as one model's settings say.

    >>> ids, rows = Reader(FeatureSettings(dim=2), Limits()).read(b'[{"id":"a","vector":[0,1]}]', b"null")
    >>> ids, rows.dense().tolist()
    (['a'], [[0.0, 1.0]])
    """

    def __init__(self, settings: FeatureSettings, limits: Limits) -> None:
        self.settings, self.limits = settings, limits

    def read(self, raw: bytes, raw_context: bytes) -> tuple[list[str], SparseRows]:
        """(ids, rows (K, dim)), or a RefusalError that names the item."""
        items = decode_items(raw)
        ids = [item.id for item in items]
        self._check(items, ids)
        context = None if raw_context == b"null" else _decode(_context, raw_context, "context")
        if items[0].vector is not None:
            return ids, self._vectors(items, context)
        raise invalid("only vectors")

    def _check(self, items: list[Item], ids: list[str]) -> None:
        limits = self.limits
        if not 1 <= len(items) <= limits.items:
            raise invalid(f"a round has 1 to {limits.items} items, got {len(items)}")
        if len(set(ids)) < len(ids):
            raise invalid(f"item ids must differ, got {next(one for one in ids if ids.count(one) > 1)!r} twice")
        if not RESERVED.isdisjoint(ids):
            raise invalid(f"{sorted(RESERVED.intersection(ids))[0]!r} is a reserved word and cannot be an item id")
        kind = _kind(items[0])
        for item in items:
            if _kind(item) != kind:
                raise invalid(f"all items of a round need the same one of text, features, vector; {item.id!r} differs")

    def _vectors(self, items: list[Item], context: Any) -> SparseRows:
        dim = self.settings.dim
        for item in items:
            if item.vector is None or len(item.vector) != dim:
                raise invalid(f"vectors of this model have {dim} numbers; {item.id!r} has {len(item.vector or ())}")
        if context is not None:
            raise invalid("vectors take no context: put it into the vector")
        return as_rows(np.array([item.vector for item in items]), dim)


def decode_items(raw: bytes) -> list[Item]:
    items: list[Item] = _decode(_items, raw, "items")
    return items


def _decode(decode: Any, raw: bytes, what: str) -> Any:
    try:
        return decode(raw)
    except msgspec.ValidationError as error:
        raise invalid(f"{what}: {error}") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise RefusalError(400, "malformed", f"{what}: {error}") from None


def _kind(item: Item) -> str:
    given = [name for name in ("text", "features", "vector") if getattr(item, name) is not None]
    if len(given) != 1:
        raise invalid(f"item {item.id!r} needs exactly one of text, features, vector, got {given or 'none'}")
    return given[0]
