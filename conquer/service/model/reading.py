"""From the bytes of a round's items to their ids and rows: the one place where outside items are checked."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from conquer.features.featurizer import Featurizer, UnfittedError, needs_fitting
from conquer.features.hashing import MOST_PRODUCTS
from conquer.items import PARTS, ItemParts, has_parts, learnt_parts
from conquer.rows import SparseRows
from conquer.service.errors import conflict, invalid
from conquer.service.model.decoding import decoded
from conquer.service.model.schemas import ANSWER_WORDS, Context, FeatureSettings, Item, NewContext, NewItem
from conquer.service.model.vectors import read_vectors, vector_rows
from conquer.service.settings import Limits

_items, _new_items = msgspec.json.Decoder(list[Item]).decode, msgspec.json.Decoder(list[NewItem]).decode
_context, _new_context = msgspec.json.Decoder(Context).decode, msgspec.json.Decoder(NewContext).decode
_OBJECTS, _ID = 900, 65
"""Bytes of a round's Python objects, and of each id: measured."""
_UNFITTED = (
    "features of kind {!r} with columns {!r} must be fitted before the first round: upload items, whose words are then"
    " counted once, or import a model file that was saved with its featurizer"
)


ITEM = 16
"""An item costs as much as so many features, even one without any."""


class ReadItems(NamedTuple):
    """A round's items as read: their ids, their rows (K, dim), and of how many features and products those are made."""

    ids: list[str]
    rows: SparseRows
    cells: int

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        rows = self.rows
        arrays = rows.indptr.nbytes + rows.indices.nbytes + rows.data.nbytes + rows.rows.nbytes
        return arrays + _OBJECTS + _ID * len(self.ids)


class Reader:
    """Rounds to rows as one model's settings say. Vectors are taken as they are, text and dicts become unit rows.

    >>> ids, rows, cells = Reader(FeatureSettings(dim=2), Limits()).read(b'[{"id":"a","vector":[0,1]}]', b"null")
    >>> ids, rows.dense().tolist()
    (['a'], [[0.0, 1.0]])
    """

    def __init__(self, settings: FeatureSettings, limits: Limits, featurizer: Featurizer | None = None) -> None:
        self.settings, self.limits = settings, limits
        self.featurizer = featurizer or fresh_featurizer(settings)

    def read(self, raw: bytes, raw_context: bytes, room: int | None = None) -> ReadItems:
        """The items' ids and rows, or a RefusalError that names the item.

        `room`: the items are new, and may fill so many cells of rows. None: they are in the log, where items of earlier
        versions may be larger than what is let in now.
        """
        alone = raw_context == b"null"
        everyday = room is not None and alone and self.settings.learn is None
        if everyday and (found := read_vectors(raw, self.settings.dim, self.limits)) is not None:
            ids, rows = found
            if room is not None and rows.indices.size <= room:
                return ReadItems(ids, rows, rows.indices.size + ITEM * len(ids))
        items = decode_items(raw, new=room is not None)
        ids = [item.id for item in items]
        kind = self._check(items, ids)
        context: Any = None
        if not alone:
            context = decoded(_context if room is None else _new_context, raw_context, "context")
            if type(context) is dict and has_parts(context) and (unknown := context.keys() - {*PARTS}):
                raise invalid(f"context: beside a vector or features there is room for a text, got {min(unknown)!r}")
        values = _values(items, kind)
        try:
            if kind == "vector" and context is None:
                rows = vector_rows(values, self.settings.dim)
                cells = rows.indices.size
            else:
                most = MOST_PRODUCTS if room is None else max(0, room)
                rows, cells = self.featurizer.rows_and_cost(values, context, most)
            if room is not None and cells > room:
                raise ValueError(f"the items have {cells} features and products with their context, {room} fit in")
        except (TypeError, ValueError, OverflowError) as error:
            _check_context(context)
            raise invalid(f"items: {error}") from None
        except UnfittedError:
            raise conflict("unfitted", _UNFITTED.format(self.settings.kind, self.settings.columns)) from None
        return ReadItems(ids, rows, cells + ITEM * len(ids))

    @property
    def unfitted(self) -> bool:
        """Whether the features need a corpus and have not had one."""
        featurizer = self.featurizer
        return featurizer.fitted is None and needs_fitting(featurizer.kind, featurizer.columns)

    def fit(self, items: Sequence[Item]) -> None:
        """Fit the features to the words or the names of these items."""
        kinds = {self.kind_of(item) for item in items}
        if len(kinds) > 1 or any("vector" in kind for kind in kinds):
            kind = self.featurizer.kind
            raise invalid(f"{kind} features are fitted to texts or to dicts, got {', '.join(sorted(kinds))}")
        try:
            self.featurizer = self.featurizer.fit(_values(items, kinds.pop()))
        except (ValueError, TypeError) as error:
            raise invalid(f"items: {error}") from None

    def kind_of(self, item: Item) -> str:
        """Which parts of an item are learnt, by their names with a + between them; a RefusalError where it is none."""
        try:
            return "+".join(
                learnt_parts([part for part in PARTS if getattr(item, part) is not None], self.settings.learn)
            )
        except ValueError as error:
            raise invalid(f"item {item.id!r} {error}") from None

    def _check(self, items: list[Item], ids: list[str]) -> str:
        """What is learnt of these items."""
        limits = self.limits
        if not 1 <= len(items) <= limits.items:
            raise invalid(f"a round has 1 to {limits.items} items, got {len(items)}")
        if len(set(ids)) < len(ids):
            raise invalid(f"item ids must differ, got {next(one for one in ids if ids.count(one) > 1)!r} twice")
        if not ANSWER_WORDS.isdisjoint(ids):
            raise invalid(f"{sorted(ANSWER_WORDS.intersection(ids))[0]!r} is a reserved word and cannot be an item id")
        kind, several, plain = "", False, self.settings.learn is None
        for item in items:
            text, features, vector = item.text, item.features, item.vector
            if plain and (text is not None) + (features is not None) + (vector is not None) == 1:
                found = "text" if text is not None else "features" if features is not None else "vector"
            else:
                found, several = self.kind_of(item), True
            if found != kind:
                if kind:
                    raise invalid(
                        f"the same parts of all items are learnt, {kind} of the first; {item.id!r} has {found}"
                    )
                kind = found
            if text is not None and len(text) > limits.text:
                raise invalid(f"a text has at most {limits.text} characters; {item.id!r} has {len(text)}")
            size = len(features or vector or ())
            if size > limits.features or (several and len(vector or ()) > limits.features):
                raise invalid(f"an item has at most {limits.features} features; {item.id!r} has {size}")
        return kind


def _values(items: Sequence[Item], kind: str) -> Any:
    """What is learnt of these items, as a featurizer takes it."""
    if "+" not in kind:
        return [getattr(item, kind) for item in items]
    return ItemParts(**{part: [getattr(item, part) for item in items] for part in kind.split("+")})


def _check_context(context: Any) -> None:
    """A RefusalError where it is the context that is wrong."""
    for name, value in context.items() if type(context) is dict and not has_parts(context) else ():
        if isinstance(value, list | dict):
            raise invalid(f"context: {name!r} must be a text, a number or a bool, got {value!r:.80}")


def fresh_featurizer(settings: FeatureSettings) -> Featurizer:
    """The featurizer of a model that starts from nothing, or a RefusalError that says what is wrong with it."""
    ngrams = (settings.ngrams[0], settings.ngrams[1])
    try:
        return Featurizer(
            dim=settings.dim,
            kind=settings.kind,
            columns=settings.columns,
            ngrams=ngrams,
            encoder=settings.encoder,
            learn=None if settings.learn is None else tuple(settings.learn),
            products=settings.products,
        )
    except ValueError as error:
        raise invalid(f"features: {error}") from None


def decode_items(raw: bytes, new: bool = False) -> list[Item]:
    """Items of the log, or with `new` such as are let in now."""
    decode: Any = _new_items if new else _items
    items: list[Item] = decoded(decode, raw, "items")
    return items


def same_round(items: bytes, context: bytes, new_items: bytes, new_context: bytes) -> bool:
    """Whether new items and their context say what those of the log do; a RefusalError where they say nothing.

    >>> same_round(b'[{"id":"a","vector":[1]}]', b"null", b'[{"vector": [1.0], "id": "a"}]', b"null")
    True
    """
    if (items, context) == (new_items, new_context):
        return True
    told = decode_items(new_items), decoded(_context, new_context, "context")
    return told == (decode_items(items), _context(context))
