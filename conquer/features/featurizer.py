"""From items to rows: `Featurizer`, whose settings are saved with a model, and `featurize` for a single call."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from conquer.checks import checked_dim
from conquer.features.hashing import (
    CATEGORY,
    MOST_PRODUCTS,
    NUMBER,
    TEXT,
    Entries,
    Grams,
    cross,
    feature_hash,
    hash_dicts,
    hash_texts,
    hash_vector,
    hashed,
    named_features,
    row_by_row,
    signed_column,
    string_key,
    together,
)
from conquer.features.text import ngrams as runs
from conquer.features.text import tokens
from conquer.features.vectors import check_encoder, encoded, matched, vector_entries, vector_rows
from conquer.features.vocabulary import KINDS, FittedColumns, Kind, checked_kind, fit_columns, read_fitted
from conquer.items import Item, ItemKind, ItemParts, Items, Part, checked_learn, has_parts, has_vectors, kind_and_items
from conquer.kernels import features as kernels
from conquer.rows import SparseRows

VERSION = 1
"""Incremented when an item would get other columns than before; a model made with another version is refused."""
Columns = Literal["hashing", "vocabulary"]
Products = Literal["all", "matching"]
_LONGEST_NGRAM = 8
_PIECE, _FEATURE = 1 << 18, 50
"""Characters of the pieces that a corpus is fitted in; a feature of a dict counts as this many."""
_MIDDLE, _SPREAD = 6.0, 4.0
"""Of the logarithm of a text's length: 400 characters are the middle, and half as many weigh a sixth less."""
_UNFITTED = FittedColumns()
"""Hashed columns, not weighed by rarity."""


class UnfittedError(RuntimeError):
    """The featurizer needs a vocabulary or the rarity of words and has not been fitted."""


def needs_fitting(kind: Kind, columns: Columns) -> bool:
    """Whether rows of this kind in these columns can be made only after fitting.

    >>> needs_fitting("idf", "hashing"), needs_fitting("binary", "hashing")
    (True, False)
    """
    return KINDS[kind].rarity or columns == "vocabulary"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Featurizer:
    """Texts, dicts or vectors, and a shared context, to sparse rows of dimension `dim`. Immutable.

    Every row is scaled to length 1 (`unit`), whatever the items are and whatever container they come in. (Learners,
    and sessions without a featurizer, take vectors as they are.) In a dict, a number has its value as weight and a word
    has weight 1, also in a list; None is ignored. An item without features has an empty row.

    Parameters
    ----------
    dim : int
        The number of columns, 2**20 by default. Features that are hashed to one column share a weight, up to the sign.
    kind : {"binary", "counts", "tfidf", "idf"}
        The weight of a word: 1 if it occurs, its count, its count times its rarity among the fitted items, or 1 times
        its rarity.
    columns : {"hashing", "vocabulary"}
        Signed hashing, or the `dim` most frequent features of the fitted items. Vectors keep their columns.
    ngrams : (int, int)
        The shortest and the longest run of words that is a feature, within 1 and 8.
    least : int
        The number of fitted items that a feature of a vocabulary must be in.
    unit : bool
        Scale every row to Euclidean length 1.
    seed : int
        Selects the columns and signs of hashing.
    encoder : str, optional
        The name of an encoder from an installed package, a function from texts or dicts to vectors.
    learn : tuple of {"text", "features", "vector"}, optional
        The parts that are learnt of dicts with parts. By default the vector, or the text if there is none, and
        features.
    length : bool
        The last column holds the length of a text, (ln(1 + characters) - 6)/4, added after scaling. Longer answers win
        more often in most votes, and rows of length 1 do not show it.
    products : {"all", "matching"}
        The products of vectors with a context that is a vector: every pair of numbers, or those at the same place
        (for embeddings of one kind).
    fitted : FittedColumns, optional
        The result of `fit`.

    Raises
    ------
    TypeError, ValueError
        If a setting is not one of the above.

    Notes
    -----
    The hash has 64 bits and depends on the feature's kind and strings and on `seed`, never on the process or the
    machine. It is not cryptographic: with a known seed, names can be chosen that collide.

    Examples
    --------
    >>> Featurizer(dim=1000)(["good food", "bad food"])
    SparseRows(2 x 1000)
    >>> fitted = Featurizer(dim=1000, kind="tfidf", columns="vocabulary").fit(["good food", "bad food"])
    >>> fitted(["no known word but food"]).indices.tolist()
    [0]
    """

    dim: int = 2**20
    kind: Kind = "binary"
    columns: Columns = "hashing"
    ngrams: tuple[int, int] = (1, 2)
    least: int = 1
    unit: bool = True
    seed: int = 0
    encoder: str | None = None
    learn: tuple[Part, ...] | None = None
    products: Products = "all"
    length: bool = False
    fitted: FittedColumns | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", checked_dim(self.dim))
        checked_kind(self.kind)
        for name, allowed in (("columns", get_args(Columns)), ("products", get_args(Products))):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        if not (isinstance(self.ngrams, tuple) and len(self.ngrams) == 2 and all(map(_is_int, self.ngrams))):
            raise TypeError(f"ngrams must be a tuple (shortest, longest), got {self.ngrams!r}")
        if not 1 <= self.ngrams[0] <= self.ngrams[1] <= _LONGEST_NGRAM:
            raise ValueError(f"ngrams must satisfy 1 <= shortest <= longest <= {_LONGEST_NGRAM}, got {self.ngrams}")
        if not _is_int(self.least) or self.least < 1:
            raise ValueError(f"least must be a whole number from 1, got {self.least!r}")
        for name in ("unit", "length"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} must be True or False, got {getattr(self, name)!r}")
        if not _is_int(self.seed) or not 0 <= self.seed < 2**64:
            raise ValueError(f"seed must be a whole number in [0, 2**64), got {self.seed!r}")
        if self.encoder is not None:
            check_encoder(self.encoder, self.kind, self.columns)
        object.__setattr__(self, "learn", checked_learn(self.learn))

    def fit(self, items: Items, *, most: int | None = None) -> "Featurizer":
        """A copy fitted to texts or dicts.

        Parameters
        ----------
        items : texts or dicts
            The items whose features get the columns of a vocabulary and whose words are counted for rarity.
        most : int, optional
            Distinct features that a vocabulary is chosen from, about 96 bytes each; more are a ValueError.

        Returns
        -------
        Featurizer
            A fitted copy.

        Raises
        ------
        TypeError
            If the items are vectors, which keep their columns.

        Examples
        --------
        >>> Featurizer(columns="vocabulary").fit(["so good", "good"]).explain("good, so good")
        {'good': (0, 1), 'so': (1, 1), 'so good': (2, 1)}
        """
        kind, values = kind_and_items(items, self.learn)
        if has_vectors(kind, values):
            raise TypeError("fit takes texts or dicts, got vectors, which keep their columns")
        found = fit_columns(
            (self._grams(kind, some, first) for first, some in _pieces(kind, values)),
            kind=self.kind,
            vocabulary=self.columns == "vocabulary",
            dim=self.dim,
            least=self.least,
            most=most,
        )
        return replace(self, fitted=found)

    def __call__(self, items: Items, context: Item | None = None) -> SparseRows:
        """The items as K rows, with a context also their products with it.

        Parameters
        ----------
        items : list of str, list of dict, list of vectors, (K, D) array, scipy sparse matrix or SparseRows
            The items of a round, all of one kind.
        context : str, dict or vector, optional
            What the items have in common in this round, such as the user or the hour. Each feature of an item is
            multiplied with each feature of the context.

        Returns
        -------
        SparseRows
            One row per item, of dimension `dim`.

        Raises
        ------
        TypeError, ValueError
            If an item or the context is none of these, a value is not finite, or there are more than 2**24 products.
        UnfittedError
            If the settings need `fit` first.

        Examples
        --------
        >>> Featurizer(dim=1000)([{"price": 0.3}, {"price": 0.7}], context={"user": "ann"})
        SparseRows(2 x 1000)
        """
        return self.rows_and_cost(items, context)[0]

    def rows_and_cost(
        self, items: Items, context: Item | None = None, most: int = MOST_PRODUCTS
    ) -> tuple[SparseRows, int]:
        """The rows, and the number of features and products they were made of.

        More than `most` products are a ValueError, raised before memory is allocated for them.
        """
        kind, values = kind_and_items(items, self.learn)
        if self.encoder is not None and not has_vectors(kind, values):
            if kind == "parts":
                values = ItemParts(features=values.features, vector=encoded(self.encoder, values.text))
            else:
                kind, values = "vectors", encoded(self.encoder, values)
        if has_vectors(kind, values):
            return self._vectors(values, context, most)
        rows, cost = self._finished(*self._columns(self._grams(kind, values)), self._context(context), most)
        texts = values.text if kind == "parts" else values if kind == "texts" else None
        return (self._with_length(rows, texts) if self.length and texts else rows), cost

    def _with_length(self, rows: SparseRows, texts: Sequence[str]) -> SparseRows:
        lengths = (np.log1p(np.fromiter(map(len, texts), np.float64, len(texts))) - _MIDDLE) / _SPREAD
        last = np.full(len(rows), self.dim - 1, np.int32)
        both = row_by_row((rows.indptr, rows.indices, rows.data), (np.arange(len(rows) + 1), last, lengths))
        return SparseRows(*both, self.dim)  # a word that is hashed to the last column, one in a million, shares it

    def _vectors(self, values: Any, context: Item | None, most: int) -> tuple[SparseRows, int]:
        """Vectors, and features beside them whatever `kind` and `columns` say."""
        several = isinstance(values, ItemParts)
        features = hash_dicts(values.features, seed=self.seed, binary=KINDS[self.kind].presence) if several else None
        found, width = vector_entries(values.vector if several else values, features, self.dim)
        if context is not None and self.products == "matching":
            kind, about = self._read_context(context)
            if kind == "vectors":
                if several:
                    raise ValueError("matching products are of vectors alone, got features too: use products='all'")
                return self._finished(matched(found, width, vector_rows(about), self.dim), width, None, most)
        return self._finished(found, width, self._context(context), most)

    def _grams(self, kind: ItemKind, values: Any, first: int = 0) -> Grams:
        """`first`: the number of the first item, for errors."""
        binary = KINDS[self.kind].presence
        if kind == "texts":
            return hash_texts(values, ngrams=self.ngrams, seed=self.seed, binary=binary)
        if kind == "parts":
            return together(self._grams("texts", values.text), self._grams("dicts", values.features, first))
        return hash_dicts(values, seed=self.seed, binary=binary, first=first)

    def _columns(self, grams: Grams) -> tuple[Entries, int]:
        """The entries of hashed or fitted columns, and the first column that products may use."""
        fitted = self._fitted()
        known = fitted.vocabulary
        indptr, indices, data = hashed(grams, self.dim) if known is None else known.entries(grams)
        if fitted.idf is not None:
            data = data * fitted.idf[indices]
        return (indptr, indices, data), 0 if known is None else len(known)

    def _fitted(self) -> FittedColumns:
        if self.fitted is None and needs_fitting(self.kind, self.columns):
            raise UnfittedError(
                f"kind {self.kind!r} with columns {self.columns!r} must be fitted first: "
                "featurizer = featurizer.fit(texts) returns a fitted copy"
            )
        return self.fitted or _UNFITTED

    def _finished(self, rows: Entries, base: int, context: Grams | None, most: int) -> tuple[SparseRows, int]:
        """The rows crossed with the context, whose products use the columns from `base` on, and scaled."""
        cost = rows[1].size
        if context is not None:
            cost *= 1 + context.hashes.size
            rows = cross(rows, context, self.dim, base=base, seed=self.seed, most=most)
        indptr, indices, data = rows
        finite = kernels.to_unit(indptr, data) if self.unit else np.isfinite(data).all()
        make = SparseRows.made if finite else SparseRows  # whose checks name the row
        return make(indptr, indices, data, self.dim), cost

    def _read_context(self, context: Item) -> tuple[ItemKind, Any]:
        """The kind of a context, and what is learnt of it, in a list."""
        learn = self.learn
        if learn is not None and not (
            isinstance(context, Mapping) and has_parts(context) and any(context.get(part) is not None for part in learn)
        ):
            learn = None
        return kind_and_items([context], learn)

    def _context(self, context: Item | None) -> Grams | None:
        if context is None:
            return None
        kind, values = self._read_context(context)
        if kind == "dicts":
            return hash_dicts(values, seed=self.seed, binary=KINDS[self.kind].presence, first=-1)
        if kind == "vectors":
            return hash_vector(vector_rows(values), seed=self.seed)
        if has_vectors(kind, values):
            vector = hash_vector(vector_rows(values.vector), seed=self.seed)
            return together(vector, self._grams("dicts", values.features))
        return self._grams(kind, values)

    def explain(self, item: str | Mapping[str, Any], base: int = 0) -> dict[str, tuple[int, int]]:
        """The column and the sign of each feature of a text or dict that has a column.

        Parameters
        ----------
        item : str or dict
            One item without parts.
        base : int
            The length of the vectors that the features are beside, 0 if there are none.

        Returns
        -------
        dict
            {name: (column, +1 or -1)}. A name is an n-gram, the name of a number, or "name=word".

        Raises
        ------
        TypeError
            If the item is a vector.
        UnfittedError
            If the settings need `fit` first.

        Examples
        --------
        >>> Featurizer(dim=1000, seed=7).explain({"price": 2, "brand": "x"})
        {'price': (214, -1), 'brand=x': (817, -1)}
        """
        if self.encoder is not None and not base:
            return {}
        hashes = _hashes_by_name(item, self.ngrams, self.seed)
        length = {"length of the text": (self.dim - 1, 1)} if self.length and isinstance(item, str) else {}
        known = None if base else self._fitted().vocabulary
        if known is not None:
            found = {name: (column, 1) for name, hash_ in hashes.items() if (column := known.column(hash_)) is not None}
            return found | length
        placed = {name: signed_column(hash_, self.dim - base) for name, hash_ in hashes.items()}
        return {name: (column + base, sign) for name, (column, sign) in placed.items()} | length

    def settings(self) -> dict[str, Any]:
        """Everything but the fitted arrays, as JSON takes it.

        >>> Featurizer(dim=100).settings()["dim"]
        100
        """
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        lists = {name: list(value) for name, value in values.items() if isinstance(value, tuple)}
        return values | lists | {"version": VERSION, "fitted": self.fitted is not None}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The fitted arrays: `keys` of a vocabulary and `idf`, whichever there are."""
        return {} if self.fitted is None else self.fitted.arrays()

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> "Featurizer":
        """The featurizer with these `settings()` and `arrays()`; a ValueError if they do not fit together.

        >>> fitted = Featurizer(dim=50, kind="tfidf").fit(["good", "bad"])
        >>> again = Featurizer.from_settings(fitted.settings(), fitted.arrays())
        >>> again(["good"]).data.tolist() == fitted(["good"]).data.tolist()
        True
        """
        expected = {*(one.name for one in fields(cls)), "version"}
        if {*settings} != expected:
            raise ValueError(f"settings must have {sorted(expected)}, got {sorted(map(str, settings))}")
        if settings["version"] != VERSION:
            raise ValueError(f"features of version {VERSION} expected, got version {settings['version']!r}")
        values = {name: value for name, value in settings.items() if name not in ("version", "fitted")}
        if isinstance(values["ngrams"], list):
            values["ngrams"] = tuple(values["ngrams"])
        featurizer, found = cls(**values), dict(arrays or {})
        if settings["fitted"]:
            vocabulary = featurizer.columns == "vocabulary"
            fitted = read_fitted(found, kind=featurizer.kind, vocabulary=vocabulary, dim=featurizer.dim)
            return replace(featurizer, fitted=fitted)
        if found:
            raise ValueError(f"an unfitted featurizer has no arrays, got {sorted(found)}")
        return featurizer


def _pieces(kind: ItemKind, values: Any) -> Iterator[tuple[int, Any]]:
    """(number of the first item, items): a corpus in pieces, whose hashes take a bounded part of the memory."""
    given = (values.text, values.features) if kind == "parts" else (values,)
    first = size = 0
    for place, parts in enumerate(zip(*given, strict=True), 1):
        size += sum(len(one) if isinstance(one, str) else _FEATURE * len(one) for one in parts)
        if size >= _PIECE or place == len(given[0]):
            some = [each[first:place] for each in given]
            yield first, ItemParts(text=some[0], features=some[1]) if kind == "parts" else some[0]
            first, size = place, 0


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _hashes_by_name(item: str | Mapping[str, Any], ngrams: tuple[int, int], seed: int) -> dict[str, int]:
    """The hash of each feature of a text or dict, by the feature's name."""
    kind, _ = kind_and_items([item])
    found: dict[str, tuple[int, list[str]]]
    if isinstance(item, str):
        found = {run: (TEXT, run.split(" ")) for run in runs(tokens(item), *ngrams)}
    elif kind == "dicts":
        features = [feature for feature, _ in named_features(item, binary=True)]
        found = {name: (NUMBER, [name]) for name in features if isinstance(name, str)}
        found |= {"=".join(pair[1:]): (CATEGORY, [*pair[1:]]) for pair in features if not isinstance(pair, str)}
    else:
        raise TypeError(f"explain takes one text or dict, got {item!r:.80}")
    return {name: feature_hash(map(string_key, strings), seed, salt) for name, (salt, strings) in found.items()}


def featurize(
    items: Items,
    dim: int = 2**20,
    context: Item | None = None,
    kind: Kind = "binary",
    *,
    ngrams: tuple[int, int] = (1, 2),
    seed: int = 0,
) -> SparseRows:
    """Texts, dicts or vectors as rows of length 1 and dimension `dim`, hashed.

    Calls agree with each other for kind "binary" and "counts". For "tfidf" and "idf" rarity is counted among the given
    items, so pass all of them at once; for items that arrive round by round, fit a `Featurizer` and keep it.

    Parameters
    ----------
    items : list of str, list of dict, list of vectors, (K, D) array, scipy sparse matrix or SparseRows
        The items, all of one kind.
    dim : int
        The number of columns.
    context : str, dict or vector, optional
        What the items have in common; each feature of an item is multiplied with each feature of the context.
    kind : {"binary", "counts", "tfidf", "idf"}
        The weight of a word: 1 if it occurs, its count, or either times its rarity.
    ngrams : (int, int)
        The shortest and the longest run of words that is a feature.
    seed : int
        Selects the columns and signs of hashing.

    Returns
    -------
    SparseRows
        One row per item.

    Raises
    ------
    TypeError, ValueError
        If a setting, an item or the context is none of these, or a value is not finite.

    Examples
    --------
    >>> featurize(["good food", "bad food"], dim=1000, kind="tfidf")
    SparseRows(2 x 1000)
    >>> featurize([{"price": 0.3, "brand": "x"}, {"price": 0.7}], dim=1000, context={"user": "ann"})
    SparseRows(2 x 1000)
    """
    featurizer = Featurizer(dim=dim, kind=kind, ngrams=ngrams, seed=seed)
    if KINDS[kind].rarity:
        item_kind, items = kind_and_items(items)
        if not has_vectors(item_kind, items):
            featurizer = featurizer.fit(items)
    return featurizer(items, context)
