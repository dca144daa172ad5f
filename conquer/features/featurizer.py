"""The one door from items to rows: settings that travel with a saved model, fitted or not."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from conquer.checks import checked_dim
from conquer.features.context import MOST_PRODUCTS, cross
from conquer.features.dicts import hash_dicts, hash_together, hash_vector
from conquer.features.fitted import FittedColumns, fit_columns, read_fitted
from conquer.features.hashing import Entries, Grams, hash_texts, hashed, hashed_rows, signed_column
from conquer.features.items import vector_rows
from conquer.features.kinds import KINDS, Kind
from conquer.features.names import named_hashes
from conquer.features.parts import together
from conquer.features.settings import Columns, Products, check_rows, check_words
from conquer.features.through import check_through, vectors_through
from conquer.features.vectors import LARGEST_DIM, matched, vector_entries
from conquer.items import ItemKind, ItemParts, Items, Part, checked_learn, has_parts, has_vectors, kind_and_items
from conquer.kernels.text import hashing as kernel
from conquer.rows import SparseRows

VERSION = 1
"""Raised whenever the same text would give other columns than before; a model made with another is refused."""
UNFITTED = FittedColumns()
"""What there is without fitting: hashed columns, all of them equally rare."""
_SETTINGS = ("dim", "kind", "columns", "ngrams", "least", "unit", "seed")
_LATER = {"through": None, "learn": None, "products": "all"}
"""Settings that came later, and what they are where a file has none."""


class UnfittedError(RuntimeError):
    """A vocabulary or the rarity of words is needed, and nothing has been fitted."""


def needs_fitting(kind: Kind, columns: Columns) -> bool:
    """Whether rows of this kind in these columns can only be made once some items are known.

    >>> needs_fitting("idf", "hashing"), needs_fitting("binary", "hashing")
    (True, False)
    """
    return KINDS[kind].rarity or columns == "vocabulary"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Featurizer:
    """Texts, dicts or vectors, and a shared context, to unit rows of dimension `dim`. It never changes.

    kind: "binary" (1 for a word that occurs), "counts", "tfidf" (counts times rarity among the fitted items) or "idf"
    (1 for a word that occurs, times its rarity).
    columns: "hashing" (signed; nothing to fit but rarity) or "vocabulary" (the `dim` most frequent features of the
    fitted items that are in at least `least` of them). Numbers in dicts and vectors weigh what they are, so scale them;
    vectors keep their columns whatever `kind` and `columns` say.
    through: the name under which an installed package offers a function from texts or dicts to vectors, which are then
    taken as vectors are.
    learn: of dicts with text, features and vector in them, which of the three are learnt (`conquer.items`).
    products: of vectors and a context that is one, every number with every number ("all") or with the one in the same
    place ("matching", for embeddings of one kind).

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
    through: str | None = None
    learn: tuple[Part, ...] | None = None
    products: Products = "all"
    fitted: FittedColumns | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dim", checked_dim(self.dim))
        check_words(self.kind, self.columns, self.ngrams, self.least)
        check_rows(self.unit, self.seed, self.products)
        if self.through is not None:
            check_through(self.through, self.kind, self.columns)
        object.__setattr__(self, "learn", checked_learn(self.learn))

    def fit(self, items: Items) -> "Featurizer":
        """A copy fitted to texts or dicts; this one stays as it is."""
        kind, values = kind_and_items(items, self.learn)
        if has_vectors(kind, values):
            raise TypeError("fit takes texts or dicts, got vectors, which keep their columns")
        return self._fit(self._grams(kind, values))

    def _fit(self, grams: Grams) -> "Featurizer":
        vocabulary = self.columns == "vocabulary"
        found = fit_columns(grams, kind=self.kind, vocabulary=vocabulary, dim=self.dim, least=self.least)
        return replace(self, fitted=found)

    def __call__(self, items: Items, context: Any = None) -> SparseRows:
        """The items as K rows of length 1; with a context (a text, a dict, a vector) also their products with it.

        An item without a known feature is a row of zeros. The items must be all texts, all dicts or all vectors.
        """
        return self.counted(items, context)[0]

    def counted(self, items: Items, context: Any = None, most: int = MOST_PRODUCTS) -> tuple[SparseRows, int]:
        """The rows, and how many features and products they were made of.

        More than `most` products are refused before there is room made for them.
        """
        kind, values = kind_and_items(items, self.learn)
        if self.through is not None and not has_vectors(kind, values):
            kind, values = self._through(kind, values)
        if has_vectors(kind, values):
            return self._vectors(values, context, most)
        if kind == "dicts" and type(context) is dict and not has_parts(context):
            return self._weighed(*hash_together(values, context, self.seed, KINDS[self.kind].presence), most)
        return self._weighed(self._grams(kind, values), None if context is None else self._context(context), most)

    def _through(self, kind: ItemKind, values: Any) -> tuple[ItemKind, Any]:
        """The vectors that another package makes of texts or dicts; features beside texts stay beside them."""
        name = str(self.through)
        if kind != "parts":
            return "vectors", vectors_through(name, values)
        return kind, ItemParts(features=values.features, vector=vectors_through(name, values.text))

    def _vectors(self, values: Any, context: Any, most: int) -> tuple[SparseRows, int]:
        """Vectors, and features beside them whatever `kind` and `columns` say."""
        several = isinstance(values, ItemParts)
        features = self._grams("dicts", values.features) if several else None
        found, width = vector_entries(values.vector if several else values, features, self.dim)
        if context is None:
            return self._finished(found, width, None, most)
        kind, about = self._about(context)
        if self.products == "all" or kind != "vectors":
            return self._finished(found, width, self._context(context), most)
        if several:
            raise ValueError("matching products are of vectors alone, got features too: products='all' has both")
        return self._finished(matched(found, width, vector_rows(about, LARGEST_DIM), self.dim), width, None, most)

    def _grams(self, kind: ItemKind, values: Any) -> Grams:
        binary = KINDS[self.kind].presence
        if kind == "texts":
            return hash_texts(values, ngrams=self.ngrams, seed=self.seed, binary=binary)
        if kind == "parts":
            return together(self._grams("texts", values.text), self._grams("dicts", values.features))
        return hash_dicts(values, seed=self.seed, binary=binary)

    def _weighed(self, grams: Grams, context: Grams | None, most: int = MOST_PRODUCTS) -> tuple[SparseRows, int]:
        fitted = self._needed()
        times = 1 if context is None else 1 + context.hashes.size
        if fitted is UNFITTED and grams.hashes.size * (times - 1) <= most:
            rows, used = hashed_rows(grams, self.dim, context, seed=self.seed, unit=self.unit)
            return rows, used * times
        known = fitted.vocabulary
        indptr, indices, data = hashed(grams, self.dim) if known is None else known.entries(grams)
        if fitted.idf is not None:
            data = data * fitted.idf[indices]
        return self._finished((indptr, indices, data), 0 if known is None else len(known), context, most)

    def _needed(self) -> FittedColumns:
        if self.fitted is not None:
            return self.fitted
        if needs_fitting(self.kind, self.columns):
            raise UnfittedError(
                f"kind {self.kind!r} with columns {self.columns!r} must be fitted first: "
                "featurizer = featurizer.fit(texts) returns a fitted copy"
            )
        return UNFITTED

    def _finished(self, rows: Entries, base: int, context: Grams | None, most: int) -> tuple[SparseRows, int]:
        """Rows of length 1, crossed with the context, whose products go to the columns from `base` on."""
        cells = rows[1].size
        if context is not None:
            cells *= 1 + context.hashes.size
            rows = cross(rows, context, self.dim, base=base, seed=self.seed, most=most)
        indptr, indices, data = rows
        if self.unit:
            kernel.to_unit(indptr, data)
        return SparseRows(indptr, indices, data, self.dim), cells

    def _about(self, context: Any) -> tuple[ItemKind, Any]:
        """The kind of a context, and what is learnt of it, in a list."""
        parts = self.learn if self.learn is not None and has_parts(context) else ()
        return kind_and_items([context], self.learn if any(context.get(part) is not None for part in parts) else None)

    def _context(self, context: Any) -> Grams:
        kind, values = self._about(context)
        if kind == "vectors":
            return hash_vector(vector_rows(values, LARGEST_DIM), seed=self.seed)
        if has_vectors(kind, values):
            vector = hash_vector(vector_rows(values.vector, LARGEST_DIM), seed=self.seed)
            return together(vector, self._grams("dicts", values.features))
        return self._grams(kind, values)

    def explain(self, item: str | Mapping[str, Any], base: int = 0) -> dict[str, tuple[int, int]]:
        """The column and the sign of each feature of a text or dict that has a column, by the feature's name.

        `base`: they are beside vectors of so many numbers.

        >>> Featurizer(columns="vocabulary").fit(["so good", "good"]).explain("good, so good")
        {'good': (0, 1), 'so': (1, 1), 'so good': (2, 1)}
        """
        if self.through is not None and not base:
            return {}
        hashes = named_hashes(item, self.ngrams, self.seed)
        if base:
            placed = {name: signed_column(hash_, self.dim - base) for name, hash_ in hashes.items()}
            return {name: (column + base, sign) for name, (column, sign) in placed.items()}
        known = self._needed().vocabulary
        columns: dict[str, tuple[int, int]] = {}
        for name, hash_ in hashes.items():
            if known is None:
                columns[name] = signed_column(hash_, self.dim)
            elif (column := known.column(hash_)) is not None:
                columns[name] = (column, 1)
        return columns

    def settings(self) -> dict[str, Any]:
        """Everything but the fitted arrays, as JSON takes it.

        >>> Featurizer(dim=100).settings()["dim"]
        100
        """
        values = {name: getattr(self, name) for name in _SETTINGS}
        values |= {"version": VERSION, "ngrams": list(self.ngrams), "fitted": self.fitted is not None}
        # Only where they are set, so that all others read and write as before.
        return values | {name: getattr(self, name) for name, usual in _LATER.items() if getattr(self, name) != usual}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The fitted arrays: `keys` of a vocabulary, `idf` where rarity counts; empty when there are none."""
        return {} if self.fitted is None else self.fitted.arrays()

    @classmethod
    def from_settings(
        cls, settings: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]] | None = None
    ) -> "Featurizer":
        """The featurizer that gave these settings and arrays; anything that does not fit together is refused.

        >>> fitted = Featurizer(dim=50, kind="tfidf").fit(["good", "bad"])
        >>> again = Featurizer.from_settings(fitted.settings(), fitted.arrays())
        >>> again(["good"]).data.tolist() == fitted(["good"]).data.tolist()
        True
        """
        expected = {*_SETTINGS, "version", "fitted"}
        if set(settings) - {*_LATER} != expected:
            raise ValueError(f"settings must have {sorted(expected)}, got {sorted(map(str, settings))}")
        if settings["version"] != VERSION:
            raise ValueError(f"features of version {VERSION} expected, got version {settings['version']!r}")
        values = {name: settings[name] for name in _SETTINGS} | {
            name: settings.get(name, usual) for name, usual in _LATER.items()
        }
        if isinstance(values["ngrams"], list):
            values["ngrams"] = tuple(values["ngrams"])
        featurizer = cls(**values)
        found = dict(arrays or {})
        if settings["fitted"]:
            vocabulary = featurizer.columns == "vocabulary"
            fitted = read_fitted(found, kind=featurizer.kind, vocabulary=vocabulary, dim=featurizer.dim)
            return replace(featurizer, fitted=fitted)
        if found:
            raise ValueError(f"an unfitted featurizer has no arrays, got {sorted(found)}")
        return featurizer


def featurize(
    items: Items,
    dim: int = 2**20,
    context: Any = None,
    kind: Kind = "binary",
    *,
    ngrams: tuple[int, int] = (1, 2),
    seed: int = 0,
) -> SparseRows:
    """Texts, dicts or vectors as unit rows of dimension `dim` (hashed), crossed with `context` when one is given.

    Calls agree with each other for kind "binary" and "counts". With "tfidf" and "idf" rarity is counted among the given
    items, so give all of them at once; for rows that arrive round by round, fit a `Featurizer` and keep it.

    >>> featurize(["good food", "bad food"], dim=1000, kind="tfidf")
    SparseRows(2 x 1000)
    >>> featurize([{"price": 0.3, "brand": "x"}, {"price": 0.7}], dim=1000, context={"user": "ann"})
    SparseRows(2 x 1000)
    """
    featurizer = Featurizer(dim=dim, kind=kind, ngrams=ngrams, seed=seed)
    known, values = kind_and_items(items)
    if has_vectors(known, values) or not KINDS[kind].rarity:
        return featurizer(values, context)
    grams = featurizer._grams(known, values)
    return featurizer._fit(grams)._weighed(grams, None if context is None else featurizer._context(context))[0]
