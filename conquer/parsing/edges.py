"""What an edge looks like to the model: templates over head, word and what lies between, hashed into blocks."""

import hashlib
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from conquer.data.treebank import Sentence
from conquer.kernels.parsing.edges import Hashed, hash_edges
from conquer.kernels.parsing.numbering import edge_of
from conquer.kernels.parsing.sentences import Text
from conquer.kernels.parsing.templates import CLASSES, Table
from conquer.parsing.templates import GEOMETRIES, SETS, is_lexical, sides_of
from conquer.parsing.words import LONGEST, encode
from conquer.rows import SparseRows, as_rows
from conquer.types import Floats


@dataclass(frozen=True)
class Features:
    """A set of templates hashed into blocks of 2^bits cells (2^(bits - 3) for pairs of tags).

    Each template has its own block, so no two features of an edge share a cell; each edge has unit norm.

    >>> features = Features("tags")
    >>> features.width, features.dim
    (15, 581632)
    """

    name: str = "standard"
    bits: int = 16

    def __post_init__(self) -> None:
        if self.name not in SETS:
            raise ValueError(f"features must be one of {', '.join(SETS)}, got {self.name!r}")
        if isinstance(self.bits, bool) or not isinstance(self.bits, int) or not 4 <= self.bits <= 22:
            raise ValueError(f"bits must be a whole number in [4, 22], got {self.bits!r}")

    @cached_property
    def templates(self) -> tuple[tuple[str, str], ...]:
        """(geometry, atoms) of every template, in the order of an edge's features."""
        lines = [line.split(": ") for line in SETS[self.name].split("\n") if line]
        return tuple(sorted(((geometry, atoms) for geometry, atoms in lines), key=lambda line: GEOMETRIES[line[0]]))

    @property
    def width(self) -> int:
        """Features per edge."""
        return len(self.templates)

    @property
    def value(self) -> float:
        """The value of every feature: an edge has unit norm."""
        return float(1.0 / np.sqrt(self.width))

    @property
    def dim(self) -> int:
        """Cells in all blocks."""
        return int(sum(1 << bits for bits in self._block_bits))

    @cached_property
    def _block_bits(self) -> list[int]:
        return [self.bits if is_lexical(atoms) else self.bits - 3 for _, atoms in self.templates]

    @cached_property
    def table(self) -> Table:
        """The templates as the kernels want them."""
        sides = [sides_of(atoms) for _, atoms in self.templates]
        widest = max(len(side) for pair in sides for side in pair.values())
        arrays = {key: np.full((self.width, widest, 2), -1, np.int64) for key in "hw"}
        for t, pair in enumerate(sides):
            for key, atoms in pair.items():
                arrays[key][t, : len(atoms)] = np.array(atoms).reshape(-1, 2)
        base = np.cumsum([0, *(1 << bits for bits in self._block_bits)])[:-1]
        return Table(
            heads=arrays["h"],
            words=arrays["w"],
            geometry=np.array([GEOMETRIES[name] for name, _ in self.templates], np.int32),
            salt=np.array([zlib.crc32(repr(template).encode()) for template in self.templates], np.uint32),
            base=base.astype(np.uint32),
            shift=np.array([32 - bits for bits in self._block_bits], np.uint32),
        )

    def settings(self) -> dict[str, Any]:
        """JSON-able: enough to make these features again and to notice that they have changed since."""
        digest = hashlib.blake2b(repr(self.templates).encode(), digest_size=8).hexdigest()
        return {"name": self.name, "bits": self.bits, "templates": digest}

    @staticmethod
    def from_settings(settings: Mapping[str, Any]) -> "Features":
        """The features of `settings`; a ValueError if this version's templates are others."""
        features = Features(settings["name"], settings["bits"])
        if features.settings() != dict(settings):
            raise ValueError(f"trained with feature settings {dict(settings)}, here they are {features.settings()}")
        return features

    def encode(self, sentences: Sequence[Sentence]) -> Text:
        """Sentences as arrays of codes, the same for all features."""
        return encode(sentences)

    def source(self, sentence: Sentence) -> Hashed:
        """The sentence as the kernels want it, with room for the edges of one word."""
        return self._source(self.encode([sentence]), 0)

    def _source(self, text: Text, t: int) -> Hashed:
        start, end = int(text.offsets[t]), int(text.offsets[t + 1])
        size, width = end - start - 1, self.width
        return Hashed(
            text.codes[start:end], text.classes[start:end], self.table,
            np.empty((size + 1, width), np.uint32), np.empty((size + 1, width), np.uint32),
            np.zeros(len(GEOMETRIES), np.uint32), np.zeros(CLASSES, np.int64),
            np.arange(size + 1, dtype=np.int64) * width, np.empty(size * width, np.int32),
            np.full(size * width, self.value), np.arange(size, dtype=np.int64),
        )  # fmt: skip

    def rows(self, sentence: Sentence) -> SparseRows:
        """(n * n, dim): the edges into word 1 from heads 0, 2, 3, ..., then those into word 2, and so on."""
        return self.rows_of(self.encode([sentence]), 0)

    def rows_of(self, text: Text, t: int) -> SparseRows:
        """The same for sentence t of a text."""
        source = self._source(text, t)
        size, width = source.rows.size, self.width
        out = np.empty(size * size * width, np.int32)
        hash_edges(source, out)
        starts = np.arange(size * size + 1, dtype=np.int64) * width
        return SparseRows(starts, out, np.full(out.size, self.value), self.dim)


@dataclass(frozen=True, slots=True)
class EdgeRows:
    """The n * n edges of a sentence of n words as rows, numbered by `edge_of`."""

    rows: SparseRows
    size: int

    @staticmethod
    def read(X: Any, dim: int, features: Features | None) -> "EdgeRows":
        """The edges of a sentence, or rows that are the edges of one already."""
        if isinstance(X, Sentence):
            if features is None:
                raise TypeError("a learner without features takes rows, not a Sentence")
            X = features.rows(X)
        rows = as_rows(X, dim)
        size = math.isqrt(len(rows))
        if size * size != len(rows) or not 1 <= size <= LONGEST:
            raise ValueError(f"a sentence of n words has n * n edges, n in [1, {LONGEST}], got {len(rows)} rows")
        return EdgeRows(rows, size)

    def into(self, word: int) -> SparseRows:
        """The n edges into a word."""
        first = edge_of(word, 0, self.size)
        return self.rows.take(np.arange(first, first + self.size))

    def table(self, flat: Floats) -> Floats:
        """(n * n,) by edge as (n + 1, n + 1) by word and head; row 0 and the diagonal are 0."""
        table = np.zeros((self.size + 1, self.size + 1))
        table[1:][~np.eye(self.size + 1, dtype=bool)[1:]] = flat
        return table
