"""Sentences for the tests: random trees over a small language, and where the real treebanks are."""

import os
from pathlib import Path

import numpy as np
import pytest

from conquer.data.treebank import Sentence, parse

TAGS = ("NOUN", "VERB", "DET", "ADJ", "PUNCT", "ADP")


def random_heads(rng: np.random.Generator, size: int) -> list[int]:
    """A uniformly grown tree with one root child."""
    order = rng.permutation(size) + 1
    heads = [0] * size
    for k in range(1, size):
        heads[order[k] - 1] = int(order[rng.integers(k)])
    return heads


def conllu(forms, tags, heads, name="s1") -> str:
    lines = [f"# sent_id = {name}"]
    for j, (form, tag, head) in enumerate(zip(forms, tags, heads, strict=True), start=1):
        relation = "root" if head == 0 else "dep"
        lines.append(f"{j}\t{form}\t{form.lower()}\t{tag}\t_\t_\t{head}\t{relation}\t_\t_")
    return "\n".join(lines) + "\n\n"


def random_treebank(seed: int, count: int, longest: int = 9) -> list[Sentence]:
    """Sentences whose heads lean on tags, so that there is something to learn."""
    rng = np.random.default_rng(seed)
    text = ""
    for number in range(count):
        size = int(rng.integers(1, longest + 1))
        tags = [TAGS[k] for k in rng.integers(len(TAGS), size=size)]
        forms = [f"{tag.lower()}{rng.integers(5)}" for tag in tags]
        root = next((j for j, tag in enumerate(tags, start=1) if tag == "VERB"), 1)
        heads = [0 if j == root else root for j in range(1, size + 1)]
        for j, tag in enumerate(tags, start=1):
            if tag in ("DET", "ADJ") and j < size and j != root and tags[j] == "NOUN" and j + 1 != root:
                heads[j - 1] = j + 1
        text += conllu(forms, tags, heads, f"s{number}")
    return parse(text)


def real_treebank(name: str, part: str) -> Path:
    """The file of a real treebank, or a skip that says where it was looked for."""
    folder = Path(os.environ.get("CONQUER_DATA", Path(__file__).parents[3] / "shared" / "data")) / "treebanks"
    found = sorted(folder.glob(f"UD_{name}*/*-{part}.conllu.xz"))
    if not found:
        pytest.skip(f"no treebank UD_{name} in {folder}")
    return found[0]
