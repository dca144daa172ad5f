"""A trained parser: features, weights, and its file."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from conquer.data.treebank import Sentence
from conquer.files import FileError, pack, unpack, write_atomically
from conquer.kernels.parsing.edges import Text
from conquer.kernels.parsing.training import fill_heads
from conquer.parsing.edges import Features, encode
from conquer.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Parser:
    """A trained dependency parser: weights over hashed edge features. `train` and `load` make one.

    `about` says how it was trained (JSON-able).

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
        """The sentences with the heads of their best trees.

        Parameters
        ----------
        sentences : sentences of at most 1,000 words each; their own heads are ignored.

        Returns
        -------
        The same sentences with HEAD and DEPREL (`root` or `dep`) replaced.
        """
        if not sentences:
            return []
        text = encode(sentences)
        heads = parse_heads(text, self.features, self.weights, self.several_roots)
        starts = text.offsets
        return [
            sentence.with_heads(heads[starts[t] + 1 : starts[t + 1]].tolist()) for t, sentence in enumerate(sentences)
        ]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parser to a file that `load` reads, atomically."""
        write_atomically(path, dumps(self))

    def __str__(self) -> str:
        about = self.about or {}
        count, words = about.get("questions", 0), about.get("words", 0)
        taught = {"recorded": f"{count} recorded answers", "full-supervision": "whole trees"}
        share = f" ({count / words:.1%} of {words} edges)" if words else ""
        said = taught.get(about.get("ask", ""), f"{count} questions{share}")
        return f"trained on {about['sentences']} sentences with {said}" if "sentences" in about else f"parser: {said}"


def parse_heads(text: Text, features: Features, weights: Floats, several_roots: bool = False) -> Ints:
    """(N,): the head of every word in the best tree of its sentence, -1 at roots."""
    out = np.empty(text.codes.shape[0], np.int64)
    fill_heads(np.ascontiguousarray(weights), text, features.table, features.value, several_roots, out)
    return out


def dumps(parser: Parser) -> bytes:
    """The bytes of the parser's file."""
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
    """The parser in a file's bytes, which are not trusted; a FileError if they do not fit together."""
    header, arrays = unpack(data)
    try:
        fields = header["parser"]
        features = Features.from_settings(fields["features"])
        ids, values = arrays["ids"], arrays["weights"]
        if ids.dtype != np.int32 or values.dtype != np.float64 or ids.ndim != 1 or ids.shape != values.shape:
            raise ValueError(f"expected int32 ids and float64 weights of one shape, got {ids.shape} and {values.shape}")
        if ids.size and (ids[0] < 0 or ids[-1] >= features.dim or (np.diff(ids) <= 0).any()):
            raise ValueError(f"feature ids must be sorted within [0, {features.dim})")
        weights = np.zeros(features.dim)
        weights[ids] = values
        return Parser(features, weights, bool(fields["several_roots"]), fields["about"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileError(f"not a parser that this version can read: {type(error).__name__}: {error}") from None


def load(path: str | os.PathLike[str]) -> Parser:
    """The parser in a file.

    Parameters
    ----------
    path : a file that `Parser.save` or `conquer parse train` wrote.

    Returns
    -------
    The `Parser`.

    Raises
    ------
    FileError : the file is damaged, or its features differ from this version's; the message names it.

    Examples
    --------
    >>> import tempfile
    >>> features = Features("tags", bits=8)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Parser(features, np.zeros(features.dim)).save(f"{folder}/parser.model")
    ...     load(f"{folder}/parser.model").features.name
    'tags'
    """
    try:
        return loads(Path(path).read_bytes())
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
