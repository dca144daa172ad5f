"""A treebank's three parts, as the study needs them: sentences, arrays, and accuracy on a part."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from conquer.data import treebank
from conquer.data.treebank import Sentence, TreebankError
from conquer.kernels.parsing.edges import Text
from conquer.parsing.edges import Features, encode
from conquer.parsing.parser import parse_heads
from conquer.types import Floats

PARTS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Bank:
    """A treebank's three parts as sentences and arrays, and which of its words are punctuation."""

    sentences: dict[str, list[Sentence]]
    texts: dict[str, Text]
    punctuation: dict[str, Any]

    def score(self, part: str, features: Features, weights: Floats) -> dict[str, float]:
        """UAS with and without punctuation and the share of whole trees."""
        text = self.texts[part]
        words = text.heads >= 0
        right = parse_heads(text, features, weights) == text.heads
        kept = words & ~self.punctuation[part]
        whole = np.add.reduceat((right | ~words).astype(np.int64), text.offsets[:-1]) == np.diff(text.offsets)
        return {
            "uas": float(right[words].mean()),
            "uas_nopunct": float(right[kept].mean()) if kept.any() else float("nan"),
            "exact": float(whole.mean()),
        }


def files(folder: str | Path) -> dict[str, Path]:
    """The treebank's files by part: the one whose name says train, dev or test."""
    found: dict[str, Path] = {}
    for part in PARTS:
        matches = [p for end in ("", ".gz", ".xz") for p in sorted(Path(folder).glob(f"*{part}*.conllu{end}"))]
        if len(matches) != 1:
            names = ", ".join(path.name for path in matches) or "none"
            raise TreebankError(f"{folder}: expected one *{part}*.conllu file (.gz, .xz), found {names}")
        found[part] = matches[0]
    return found


def digest_of(paths: dict[str, Path]) -> str:
    """What the files hold, in 32 letters."""
    digest = hashlib.blake2b(digest_size=16)
    for part in PARTS:
        digest.update(paths[part].read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=2)
def bank(folder: str, features: Features, longest: int | None = None) -> Bank:
    """The treebank in a folder; a worker reads it once. Longer training sentences than `longest` are left out."""
    sentences = {part: treebank.read(path) for part, path in files(folder).items()}
    sentences["train"] = [each for each in sentences["train"] if longest is None or len(each) <= longest]
    if empty := [part for part, found in sentences.items() if not found]:
        raise TreebankError(f"{folder}: no sentences in {', '.join(empty)}")
    marks = {
        part: np.array([mark for s in found for mark in (True, *(tag == "PUNCT" for tag in s.upos))])
        for part, found in sentences.items()
    }
    return Bank(sentences, {part: encode(found) for part, found in sentences.items()}, marks)
