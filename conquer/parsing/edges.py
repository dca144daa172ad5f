"""Edges as features: words as codes, and templates over head, word and what lies between, hashed into blocks."""

import hashlib
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from conquer.data.treebank import Sentence
from conquer.kernels.parsing import edges as kernel
from conquer.kernels.parsing.edges import CLASSES, COMMA, ROOT_CLASS, Hashed, Table, Text, edge_of, hash_edges
from conquer.rows import SparseRows, as_rows
from conquer.types import Floats

ATTRIBUTES = ("form", "lemma", "upos", "xpos", "feats", "suffix")
LONGEST = 1000
"""The most words of a sentence: its n * n edges are scored at once."""

_UPOS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
_CLASSES = {tag: number for number, tag in enumerate(_UPOS.split(), start=1)}
_OTHER_CLASS = 19


@lru_cache(maxsize=2**18)
def code_of(attribute: str, value: str) -> int:
    """A 32-bit hash of this value of an attribute."""
    return zlib.crc32(f"{attribute}\x1f{value}".encode())


def encode(sentences: Sequence[Sentence]) -> Text:
    """Sentences as arrays of codes; unknown heads are -1."""
    codes: list[list[int]] = []
    classes: list[int] = []
    heads: list[int] = []
    offsets = [0]
    root = [code_of(attribute, "<root>") for attribute in ATTRIBUTES]
    for sentence in sentences:
        if len(sentence) > LONGEST:
            raise ValueError(f"sentence {sentence.id} has {len(sentence)} words, expected at most {LONGEST}")
        codes.append(root)
        classes.append(ROOT_CLASS)
        heads.append(-1)
        columns = sentence.forms, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats
        for form, lemma, upos, xpos, feats in zip(*columns, strict=True):
            low = form.lower()
            values = (low, low if lemma == "_" else lemma, upos, upos if xpos == "_" else xpos, feats, low[-3:])
            codes.append([code_of(attribute, value) for attribute, value in zip(ATTRIBUTES, values, strict=True)])
            comma = upos == "PUNCT" and form == ","
            classes.append(COMMA if comma else _CLASSES.get(upos, _OTHER_CLASS))
        heads.extend(sentence.heads or [-1] * len(sentence))
        offsets.append(len(codes))
    return Text(
        np.array(codes, np.uint32).reshape(-1, len(ATTRIBUTES)),
        np.array(classes, np.int64),
        np.array(heads, np.int64),
        np.array(offsets, np.int64),
    )


GEOMETRIES = {
    "nothing": kernel.NOTHING,
    "side": kernel.SIDE,
    "distance": kernel.DISTANCE,
    "tags": kernel.TAGS,
    "same": kernel.SAME,
    "marks": kernel.MARKS,
}
"""What a template uses of the words between head and word: nothing, the side, side and distance, the set of tags, the
number of words with the head's or the word's tag, or the number of verbs, commas, conjunctions and other marks."""

_TAGS = """
distance: h.upos w.upos
side: h.upos w.upos
distance: h.upos
distance: w.upos
side: h.upos h-1.upos w.upos w-1.upos
side: h.upos h+1.upos w.upos w-1.upos
side: h.upos h-1.upos w.upos w+1.upos
side: h.upos h+1.upos w.upos w+1.upos
side: h.upos h+1.upos w.upos
side: h.upos h-1.upos w.upos
side: h.upos w.upos w+1.upos
side: h.upos w.upos w-1.upos
tags: h.upos w.upos
same: h.upos w.upos
marks: h.upos w.upos
"""
_WORDS = """
distance: h.lemma
distance: w.lemma
side: h.lemma w.lemma
side: h.lemma w.upos
side: h.upos w.lemma
distance: h.xpos w.xpos
side: h.xpos w.xpos
side: h.form w.xpos
side: h.xpos w.form
side: h.xpos h+1.xpos w.xpos
side: h.xpos h-1.xpos w.xpos
side: h.xpos w.xpos w+1.xpos
side: h.xpos w.xpos w-1.xpos
side: h.feats w.feats
side: h.feats w.upos
side: h.upos w.feats
side: h.suffix w.suffix
"""
SETS = {"tags": _TAGS, "standard": _TAGS + _WORDS}
_LEXICAL = frozenset({"form", "lemma", "feats", "suffix"})


def is_lexical(atoms: str) -> bool:
    """Whether a template needs a large block: it uses words, or more than two tags."""
    return any(word in atoms for word in _LEXICAL) or len(atoms.split()) > 2


def sides_of(atoms: str) -> dict[str, list[tuple[int, int]]]:
    """A template's atoms by side, "h" the head and "w" the word, each as (attribute, offset in the sentence).

    >>> sides_of("h.upos w-1.form")
    {'h': [(2, 0)], 'w': [(0, -1)]}
    """
    sides: dict[str, list[tuple[int, int]]] = {"h": [], "w": []}
    for atom in atoms.split():
        place, attribute = atom.split(".")
        sides[place[0]].append((ATTRIBUTES.index(attribute), int(place[1:] or 0)))
    return sides


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
        """The templates as arrays for the kernels."""
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
        """JSON-able: enough to rebuild these features, with a digest of the templates."""
        digest = hashlib.blake2b(repr(self.templates).encode(), digest_size=8).hexdigest()
        return {"name": self.name, "bits": self.bits, "templates": digest}

    @staticmethod
    def from_settings(settings: Mapping[str, Any]) -> "Features":
        """The features of `settings`; a ValueError if this version's templates differ."""
        features = Features(settings["name"], settings["bits"])
        if features.settings() != dict(settings):
            raise ValueError(f"trained with feature settings {dict(settings)}, this version has {features.settings()}")
        return features

    def source(self, text: Text, t: int) -> Hashed:
        """Sentence t of a text for the kernels, with room for the edges of one word."""
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
        return self.rows_of(encode([sentence]), 0)

    def rows_of(self, text: Text, t: int) -> SparseRows:
        """The same for sentence t of a text."""
        source = self.source(text, t)
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
        """The edges of a sentence, given as a Sentence or as its rows."""
        if isinstance(X, Sentence):
            if features is None:
                raise TypeError("this learner has no features: pass rows instead of a Sentence")
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
