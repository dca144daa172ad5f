"""What an edge looks like to the model: templates over head, word and what lies between, hashed into blocks."""

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from conquer.data.treebank import Sentence
from conquer.kernels.parsing import edges as kernel
from conquer.kernels.parsing.training import Text
from conquer.rows import SparseRows

ATTRIBUTES = ("form", "lemma", "upos", "xpos", "feats", "suffix")
GEOMETRIES = {
    "nothing": kernel.NOTHING,
    "side": kernel.SIDE,
    "distance": kernel.DISTANCE,
    "tags": kernel.TAGS,
    "same": kernel.SAME,
    "marks": kernel.MARKS,
}
"""What a template sees between head and word: nothing, the side, the side and distance, the set of tags, how many
words of the head's and the word's own tag, or how many verbs, commas, conjunctions and other marks."""

LONGEST = 1000
"""Words of the longest sentence taken: its n * n edges are scored at once."""

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

_UPOS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
_CLASSES = {tag: number for number, tag in enumerate(_UPOS.split(), start=1)}
_OTHER_CLASS = 19


@lru_cache(maxsize=2**18)
def _code(attribute: str, value: str) -> int:
    return zlib.crc32(f"{attribute}\x1f{value}".encode())


def _atoms(text: str) -> dict[str, list[tuple[int, int]]]:
    sides: dict[str, list[tuple[int, int]]] = {"h": [], "w": []}
    for atom in text.split():
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
        """Features an edge."""
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
        lexical = [any(word in atoms for word in _LEXICAL) or len(atoms.split()) > 2 for _, atoms in self.templates]
        return [self.bits if many else self.bits - 3 for many in lexical]

    @cached_property
    def table(self) -> kernel.Table:
        """The templates as the kernels want them."""
        sides = [_atoms(atoms) for _, atoms in self.templates]
        widest = max(len(side) for pair in sides for side in pair.values())
        arrays = {key: np.full((self.width, widest, 2), -1, np.int64) for key in "hw"}
        for t, pair in enumerate(sides):
            for key, atoms in pair.items():
                arrays[key][t, : len(atoms)] = np.array(atoms).reshape(-1, 2)
        base = np.cumsum([0, *(1 << bits for bits in self._block_bits)])[:-1]
        return kernel.Table(
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
        """Sentences as arrays of codes; heads are -1 where they are not known."""
        codes: list[list[int]] = []
        classes: list[int] = []
        heads: list[int] = []
        offsets = [0]
        root = [_code(attribute, "<root>") for attribute in ATTRIBUTES]
        for sentence in sentences:
            if len(sentence) > LONGEST:
                raise ValueError(f"sentence {sentence.id} has {len(sentence)} words, at most {LONGEST} are taken")
            codes.append(root)
            classes.append(kernel.ROOT_CLASS)
            heads.append(-1)
            columns = sentence.forms, sentence.lemmas, sentence.upos, sentence.xpos, sentence.feats
            for form, lemma, upos, xpos, feats in zip(*columns, strict=True):
                low = form.lower()
                values = (low, low if lemma == "_" else lemma, upos, upos if xpos == "_" else xpos, feats, low[-3:])
                codes.append([_code(attribute, value) for attribute, value in zip(ATTRIBUTES, values, strict=True)])
                comma = upos == "PUNCT" and form == ","
                classes.append(kernel.COMMA if comma else _CLASSES.get(upos, _OTHER_CLASS))
            heads.extend(sentence.heads or [-1] * len(sentence))
            offsets.append(len(codes))
        return Text(
            np.array(codes, np.uint32).reshape(-1, len(ATTRIBUTES)),
            np.array(classes, np.int64),
            np.array(heads, np.int64),
            np.array(offsets, np.int64),
        )

    def source(self, sentence: Sentence) -> kernel.Hashed:
        """The sentence as the kernels want it, with room for the edges of one word."""
        text = self.encode([sentence])
        size, width = len(sentence), self.width
        return kernel.Hashed(
            text.codes, text.classes, self.table,
            np.empty((size + 1, width), np.uint32), np.empty((size + 1, width), np.uint32),
            np.zeros(kernel.GEOMETRIES, np.uint32), np.zeros(kernel.CLASSES, np.int64),
            np.arange(size + 1, dtype=np.int64) * width, np.empty(size * width, np.int32),
            np.full(size * width, self.value), np.arange(size, dtype=np.int64),
        )  # fmt: skip

    def rows(self, sentence: Sentence) -> SparseRows:
        """(n * n, dim): the edges into word 1 from heads 0, 2, 3, ..., then those into word 2, and so on."""
        size, width = len(sentence), self.width
        out = np.empty(size * size * width, np.int32)
        kernel.hash_edges(self.source(sentence), out)
        starts = np.arange(size * size + 1, dtype=np.int64) * width
        return SparseRows(starts, out, np.full(out.size, self.value), self.dim)
