"""What a template sees of an edge: parts of head and word, and what lies between them."""

from conquer.kernels.parsing import templates as kernel

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
    """Whether a template needs a large block: it looks at words, or at more than two tags."""
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
