"""Reads a round's items from bytes to ids and rows. Items from outside are checked here and nowhere else."""

import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from conquer.features.featurizer import Featurizer, UnfittedError, needs_fitting
from conquer.features.hashing import MOST_PRODUCTS
from conquer.items import PARTS, ItemParts, Part, has_parts, learnt_parts
from conquer.rows import SparseRows, compressed
from conquer.service.errors import RefusalError, conflict, invalid
from conquer.service.model.learner_protocol import Text
from conquer.service.model.schemas import (
    ANSWER_WORDS,
    LARGEST,
    MARKS,
    Context,
    FeatureSettings,
    Item,
    decoded,
)
from conquer.service.settings import Limits
from conquer.types import Floats


class _VectorItem(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An item that may be one; `_vectors` checks the marks in its id, `_vector_rows` its numbers, all at once."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    vector: list[float]


_items = msgspec.json.Decoder(list[Item]).decode
_context = msgspec.json.Decoder(Context).decode
_vector_items = msgspec.json.Decoder(list[_VectorItem]).decode
_VECTOR, _BEGINNING = b'"vector"', 512
_NO_CONTEXT = b"null"
_OBJECTS, _ID = 900, 65
"""Bytes of a round's Python objects, and of each id: measured."""
_ITEM = 16
"""Cells of an item besides its features."""
_COUNTED = 96
"""Bytes of a distinct feature while features are fitted."""
_UNFITTED = (
    "features of kind {!r} with columns {!r} must be fitted before the first round: upload items, whose words are then"
    " counted once, or import a model file that was saved with its featurizer"
)


class ReadItems(msgspec.Struct, gc=False):
    """A round's items as read: the rows `start` to `stop` of `batch`, which rounds read together share.

    `cells`: how many features and products with the context they have.
    """

    ids: list[str]
    batch: SparseRows
    cells: int
    start: int
    stop: int

    @property
    def rows(self) -> SparseRows:
        """(K, dim)."""
        if self.stop - self.start == len(self.batch):
            return self.batch
        return self.batch.view(self.batch.rows[self.start : self.stop])

    @property
    def nbytes(self) -> int:
        """Bytes in memory, without rows of other rounds."""
        ends, rows = self.batch.indptr, self.batch.rows
        entries = int((ends[rows[self.start : self.stop] + 1] - ends[rows[self.start : self.stop]]).sum())
        return 12 * entries + 24 * (self.stop - self.start) + _OBJECTS + _ID * len(self.ids)

    def pair(self, first: int, second: int) -> "ReadPair":
        """Two of the items, with arrays of their own."""
        batch, rows = self.batch, self.batch.rows
        a, b, ends = rows.item(self.start + first), rows.item(self.start + second), batch.indptr
        one, other = slice(ends.item(a), ends.item(a + 1)), slice(ends.item(b), ends.item(b + 1))
        indices = np.concatenate((batch.indices[one], batch.indices[other]))
        data = np.concatenate((batch.data[one], batch.data[other]))
        return ReadPair(indices, data, one.stop - one.start, batch.dim)


class ReadPair(msgspec.Struct, gc=False):
    """The two shown items of a duel: what is kept of a round until its answer is learnt."""

    indices: NDArray[np.int32]
    data: Floats
    split: int
    """How many entries the first item has."""
    dim: int

    @property
    def rows(self) -> SparseRows:
        """(2, dim)."""
        return joined([self])

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return 12 * self.data.size + _OBJECTS


def joined(pairs: Sequence[ReadPair]) -> SparseRows:
    """The items of all pairs, two rows a pair."""
    sizes = [size for pair in pairs for size in (pair.split, pair.data.size - pair.split)]
    indices = np.concatenate([pair.indices for pair in pairs])
    data = np.concatenate([pair.data for pair in pairs])
    return SparseRows.made(np.cumsum([0, *sizes]), indices, data, pairs[0].dim)


class Reader:
    """Rounds to rows by one model's settings. Vectors are taken as they are, text and dicts become unit rows.

    >>> read = Reader(FeatureSettings(dim=2), Limits()).read(b'[{"id":"a","vector":[0,1]}]', b"null")
    >>> read.ids, read.rows.dense().tolist()
    (['a'], [[0.0, 1.0]])
    """

    def __init__(self, settings: FeatureSettings, limits: Limits, featurizer: Featurizer | None = None) -> None:
        self.settings, self.limits = settings, limits
        self.featurizer = featurizer or fresh_featurizer(settings)

    def read(self, items: bytes, context: bytes, room: int | None = None) -> ReadItems:
        """A round's items. `room`: they are new, and have at most this many cells. Raises RefusalError."""
        (found,) = self.read_many([(items, context)], room)
        if isinstance(found, RefusalError):
            raise found
        return found

    def read_many(self, rounds: Sequence[Text], room: int | None = None) -> list[ReadItems | RefusalError]:
        """Read rounds together: those that have vectors alone become the rows of one batch.

        >>> reader = Reader(FeatureSettings(dim=2), Limits())
        >>> one, other = reader.read_many([(b'[{"id":"a","vector":[0,1]}]', b"null"), (b'[{"id":"b"}]', b"null")])
        >>> one.ids, other.message
        (['a'], "item 'b' has no learnable part: expected text or features or vector, got none")
        """
        found: dict[int, ReadItems | RefusalError] = {}
        if self.settings.learn is None:
            plain = {
                place: read
                for place, (items, context) in enumerate(rounds)
                if context == _NO_CONTEXT and (read := _vectors(items, self.limits)) is not None
            }
            found.update(_batch(plain, self.settings.dim, room))
        return [found.get(place) or self._read_alone(*text, room) for place, text in enumerate(rounds)]

    def _read_alone(self, raw: bytes, raw_context: bytes, room: int | None) -> ReadItems | RefusalError:
        try:
            return self._read(raw, raw_context, room)
        except RefusalError as refusal:
            return refusal

    def _read(self, raw: bytes, raw_context: bytes, room: int | None) -> ReadItems:
        items = decode_items(raw)
        ids = [item.id for item in items]
        kind = self._check(items, ids)
        context: Any = None
        if raw_context != _NO_CONTEXT:
            context = decoded(_context, raw_context, "context")
            if type(context) is dict and has_parts(context) and (unknown := context.keys() - {*PARTS}):
                raise invalid(f"context: beside a vector or features there is room for a text, got {min(unknown)!r}")
        values = _values(items, kind)
        try:
            if kind == "vector" and context is None:
                rows = _vector_rows(values, self.settings.dim)
                cells = rows.indices.size
            else:
                rows, cells = self.featurizer.rows_and_cost(values, context, MOST_PRODUCTS if room is None else room)
            if room is not None and cells > room:
                raise ValueError(f"the items have {cells} features and products with their context, {room} fit in")
        except (TypeError, ValueError, OverflowError) as error:
            _check_context(context)
            raise invalid(f"items: {error}") from None
        except UnfittedError:
            raise conflict("unfitted", _UNFITTED.format(self.settings.kind, self.settings.columns)) from None
        return ReadItems(ids, rows, cells + _ITEM * len(ids), 0, len(ids))

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
            most = self.limits.fitting_bytes // _COUNTED
            self.featurizer = self.featurizer.fit(_values(items, kinds.pop()), most=most)
        except (ValueError, TypeError) as error:
            raise invalid(f"items: {error}") from None

    def kind_of(self, item: Item) -> str:
        """Which parts of an item are learnt, by their names with a + between them; a RefusalError if none is."""
        learn = self.settings.learn
        try:
            has = tuple([part for part in PARTS if getattr(item, part) is not None])
            return _kind(has, None if learn is None else tuple(learn))
        except ValueError as error:
            raise invalid(f"item {item.id!r} {error}") from None

    def _check(self, items: list[Item], ids: list[str]) -> str:
        """Which parts of these items are learnt."""
        limits = self.limits
        if not 1 <= len(items) <= limits.items:
            raise invalid(f"a round has 1 to {limits.items} items, got {len(items)}")
        if len(set(ids)) < len(ids):
            raise invalid(f"item ids must differ, got {next(one for one in ids if ids.count(one) > 1)!r} twice")
        if not ANSWER_WORDS.isdisjoint(ids):
            raise invalid(f"{sorted(ANSWER_WORDS.intersection(ids))[0]!r} is a reserved word and cannot be an item id")
        first = self.kind_of(items[0])
        for item in items:
            kind = self.kind_of(item)
            if kind != first:
                raise invalid(f"the same parts of all items are learnt, {first} of the first; {item.id!r} has {kind}")
            if len(item.text or "") > limits.text:
                raise invalid(f"a text has at most {limits.text} characters; {item.id!r} has {len(item.text or '')}")
            size = max(len(item.features or ()), len(item.vector or ()))
            if size > limits.features:
                raise invalid(f"an item has at most {limits.features} features; {item.id!r} has {size}")
        return first


@lru_cache(64)
def _kind(has: tuple[Part, ...], learn: tuple[Part, ...] | None) -> str:
    return "+".join(learnt_parts(has, learn))


def _vectors(raw: bytes, limits: Limits) -> tuple[list[str], list[list[float]]] | None:
    """The ids and vectors of items that have nothing else; None for other items and for those that are refused."""
    if raw.find(_VECTOR, 0, _BEGINNING) < 0:
        return None
    try:
        items = _vector_items(raw)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    ids, vectors = [item.id for item in items], [item.vector for item in items]
    plain = 1 <= len(ids) <= limits.items and len({*ids}) == len(ids) and ANSWER_WORDS.isdisjoint(ids)
    plain = plain and MARKS.search("".join(ids)) is None
    return (ids, vectors) if plain and len(vectors[0]) <= limits.features else None


def _batch(rounds: dict[int, tuple[list[str], list[list[float]]]], dim: int, room: int | None) -> dict[int, ReadItems]:
    """Rounds of vectors by place, as the rows of one batch; rounds that cannot be read this way are left out."""
    vectors = [vector for _, vectors in rounds.values() for vector in vectors]
    try:
        rows = _vector_rows(vectors, dim) if vectors else None
    except ValueError:
        # One of them is refused, or they differ in length.
        alone = [_batch({place: one}, dim, room) for place, one in rounds.items()] if len(rounds) > 1 else []
        return {place: read for part in alone for place, read in part.items()}
    found: dict[int, ReadItems] = {}
    start, ends = 0, [] if rows is None else rows.indptr.tolist()
    for place, (ids, _) in rounds.items():
        stop = start + len(ids)
        cells = ends[stop] - ends[start]
        if rows is not None and (room is None or cells <= room):
            found[place] = ReadItems(ids, rows, cells + _ITEM * len(ids), start, stop)
        start = stop
    return found


def _vector_rows(values: Sequence[list[float]], dim: int) -> SparseRows:
    """Vectors of one length as rows (K, dim). Raises ValueError."""
    width = len(values[0])
    lengths = list(map(len, values))
    if not 1 <= width <= dim or lengths.count(width) != len(lengths):
        raise invalid(f"vectors of a round have one length in [1, {dim}], got lengths {lengths[:10]}")
    # Packing takes a third of the time of np.array, which looks at every number's type.
    pack, size = _packer(width), 8 * width
    room = bytearray(size * len(values))
    for place, value in enumerate(values):
        pack(room, place * size, *value)
    dense = np.frombuffer(room).reshape(len(values), width)
    if not (dense.max() <= LARGEST and dense.min() >= -LARGEST):
        raise ValueError(f"numbers must be in [{-LARGEST:g}, {LARGEST:g}]")
    rows = compressed(dense)
    return rows if width == dim else rows.widened(dim)


@lru_cache(64)
def _packer(width: int) -> Any:
    return struct.Struct(f"{width}d").pack_into


def _values(items: Sequence[Item], kind: str) -> Any:
    """The learnt parts of these items, as a featurizer takes them."""
    if "+" not in kind:
        return [getattr(item, kind) for item in items]
    return ItemParts(**{part: [getattr(item, part) for item in items] for part in kind.split("+")})


def _check_context(context: Any) -> None:
    """Raise RefusalError if the mistake is in the context."""
    for name, value in context.items() if type(context) is dict and not has_parts(context) else ():
        if isinstance(value, list | dict):
            raise invalid(f"context: {name!r} must be a text, a number or a bool, got {value!r:.80}")


def fresh_featurizer(settings: FeatureSettings) -> Featurizer:
    """The featurizer of a new model. Raises RefusalError if the settings do not fit together."""
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


def decode_items(raw: bytes) -> list[Item]:
    """The items of a round. Raises RefusalError."""
    return decoded(_items, raw, "items")


def same_round(known: Text, given: Text) -> bool:
    """Whether items and their context are those of a known round. Raises RefusalError if they are not JSON.

    >>> same_round((b'[{"id":"a","vector":[1]}]', b"null"), (b'[{"vector": [1.0], "id": "a"}]', b"null"))
    True
    """
    if known == given:
        return True
    read = decode_items(given[0]), decoded(_context, given[1], "context")
    return read == (decode_items(known[0]), _context(known[1]))
