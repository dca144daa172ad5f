"""A trained parser as one file: features, weights, and how they came about."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from conquer.data.treebank import Sentence
from conquer.files import FileError, pack, unpack, write_atomically
from conquer.kernels.parsing.predict import fill_heads
from conquer.kernels.parsing.sentences import Text
from conquer.parsing.edges import Features
from conquer.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Parser:
    """Weights over hashed edge features; `about` says how they were trained (JSON-able).

    >>> features = Features("tags", bits=8)
    >>> parser = Parser(features, np.zeros(features.dim))
    >>> loads(dumps(parser)).features == features
    True
    """

    features: Features
    weights: Floats
    several_roots: bool = False
    about: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.weights.shape != (self.features.dim,) or not np.isfinite(self.weights).all():
            raise ValueError(f"weights must be {self.features.dim} finite numbers, got shape {self.weights.shape}")

    def parse(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        """The sentences with the best tree of each in place of their heads."""
        if not sentences:
            return []
        text = self.features.encode(sentences)
        heads = parse_heads(text, self.features, self.weights, self.several_roots)
        starts = text.offsets
        return [
            sentence.with_heads(heads[starts[t] + 1 : starts[t + 1]].tolist()) for t, sentence in enumerate(sentences)
        ]


def parse_heads(text: Text, features: Features, weights: Floats, several_roots: bool = False) -> Ints:
    """(N,): the head of every word in the best tree of its sentence, -1 at roots."""
    out = np.empty(text.codes.shape[0], np.int64)
    fill_heads(np.ascontiguousarray(weights), text, features.table, features.value, several_roots, out)
    return out


def dumps(parser: Parser) -> bytes:
    """The parser as one file's bytes."""
    ids = np.flatnonzero(parser.weights).astype(np.int32)
    header = {
        "parser": {
            "features": parser.features.settings(),
            "several_roots": parser.several_roots,
            "about": dict(parser.about or {}),
        }
    }
    return pack(header, {"ids": ids, "weights": parser.weights[ids]})


def loads(data: bytes) -> Parser:
    """The parser in a file's bytes, which may come from anyone; a FileError if they do not fit together."""
    header, arrays = unpack(data)
    try:
        fields = header["parser"]
        features = Features.from_settings(fields["features"])
        ids, values = arrays["ids"], arrays["weights"]
        if ids.dtype != np.int32 or values.dtype != np.float64 or ids.ndim != 1 or ids.shape != values.shape:
            raise ValueError(f"expected as many int32 ids as float64 weights, got {ids.shape} and {values.shape}")
        if ids.size and (ids[0] < 0 or ids[-1] >= features.dim or (np.diff(ids) <= 0).any()):
            raise ValueError(f"feature ids must rise within [0, {features.dim})")
        weights = np.zeros(features.dim)
        weights[ids] = values
        return Parser(features, weights, bool(fields["several_roots"]), fields["about"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError(f"not a parser that this version can use: {type(error).__name__}: {error}") from None


def save(parser: Parser, path: str | os.PathLike[str]) -> None:
    """Write one file, all or nothing."""
    write_atomically(path, dumps(parser))


def load(path: str | os.PathLike[str]) -> Parser:
    """The parser of a file; errors name it."""
    try:
        return loads(Path(path).read_bytes())
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
