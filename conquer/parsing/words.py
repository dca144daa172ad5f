"""A treebank's words as arrays of codes: what the kernels see of a form, a lemma, a tag."""

import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from conquer.data.treebank import Sentence
from conquer.kernels.parsing.sentences import Text
from conquer.kernels.parsing.templates import COMMA, ROOT_CLASS
from conquer.parsing.templates import ATTRIBUTES

LONGEST = 1000
"""Words of the longest sentence taken: its n * n edges are scored at once."""

_UPOS = "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X"
_CLASSES = {tag: number for number, tag in enumerate(_UPOS.split(), start=1)}
_OTHER_CLASS = 19


@lru_cache(maxsize=2**18)
def code_of(attribute: str, value: str) -> int:
    """The 32 bits that stand for this value of an attribute."""
    return zlib.crc32(f"{attribute}\x1f{value}".encode())


def encode(sentences: Sequence[Sentence]) -> Text:
    """Sentences as arrays of codes; heads are -1 where they are not known."""
    codes: list[list[int]] = []
    classes: list[int] = []
    heads: list[int] = []
    offsets = [0]
    root = [code_of(attribute, "<root>") for attribute in ATTRIBUTES]
    for sentence in sentences:
        if len(sentence) > LONGEST:
            raise ValueError(f"sentence {sentence.id} has {len(sentence)} words, at most {LONGEST} are taken")
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
