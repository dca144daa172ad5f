"""A prior over tags: where words of a tag usually hang, as the weights that a parser starts from."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from conquer.checks import one_of
from conquer.data.treebank import parse
from conquer.kernels.parsing.edges import ends_of
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.model import CompiledModel
from conquer.parsing.edges import Features
from conquer.types import Floats

PRIORS = {"none": 0, "upos": 1}
RULES = """
DET    0.3  >NOUN >PROPN >ADJ
ADJ    0.3  >NOUN >PROPN <NOUN root
NUM    0.3  >NOUN <NOUN
ADP    0.3  >NOUN >PROPN >PRON >NUM
NOUN   0.2  VERB <NOUN >NOUN root
PROPN  0.2  <PROPN VERB <NOUN root
PRON   0.2  VERB >NOUN
ADV    0.2  VERB >ADJ
AUX    0.2  >VERB >ADJ >NOUN
PART   0.2  >VERB
CCONJ  0.2  >VERB >NOUN >ADJ
SCONJ  0.1  >VERB
VERB   0.1  root <VERB
INTJ   0.2  VERB
SYM    0.2  NOUN
X      0.2  <X NOUN
PUNCT  0.1  VERB
"""
"""A word's tag, the loss of a head per step away, and its heads, most likely first: >NOUN follows the word, <NOUN
precedes it, VERB does either. The first is worth 1, each after it `_LESS` less, any other 0."""
_LESS = 0.25
STRENGTH = 1.0
"""The factor of the table; an answer asks for a lead of 2. On the development parts 0.25 and 0.5 were worse after 100
questions and 1.5 was no better; after a pass they differ less than seeds do."""
_STEPS = (1, 2, 3, 4, 5, 7, 10, 15, 25)
"""The distances at which a step begins, as in the templates."""
_ROOT = "root"
_PAIR, _FAR = ("side", "h.upos w.upos"), ("distance", "w.upos")
"""The templates that carry the prior: the pair of tags with its side, and the distance of a tag's head."""


def table() -> Iterator[tuple[str, float, dict[tuple[str, str], float]]]:
    """Each word's tag, its loss per step, and what its heads are worth by tag and side.

    >>> next(table())
    ('DET', 0.3, {('NOUN', '>'): 1.0, ('PROPN', '>'): 0.75, ('ADJ', '>'): 0.5})
    """
    for line in RULES.strip().splitlines():
        tag, loss, *heads = line.split()
        worth: dict[tuple[str, str], float] = {}
        for rank, head in enumerate(heads):
            sides = "<" if head == _ROOT else head[0] if head[0] in "<>" else "<>"
            worth |= {(head.lstrip("<>"), side): 1.0 - _LESS * rank for side in sides}
        yield tag, float(loss), worth


@lru_cache(maxsize=16)
def starting_weights(features: Features) -> tuple[NDArray[np.int32], Floats]:
    """w_0 of the prior "upos" as (ids, values), ids sorted, values non-zero.

    A cell that several pairs or distances share holds their mean.

    >>> ids, values = starting_weights(Features("tags", bits=10))
    >>> ids.size == values.size and bool((values != 0).all())
    True
    """
    rules = {tag: (loss, worth) for tag, loss, worth in table()}
    # A sentence of all tags, three times: every pair of tags on either side, at every distance.
    tags = [_ROOT, *rules, *rules, *rules]
    size = len(tags) - 1
    lines = (f"{place}\t_\t_\t{tag}" + "\t_" * 6 for place, tag in enumerate(tags) if place)
    cells = features.rows(parse("\n".join(lines), heads="ignore")[0]).indices.reshape(size * size, features.width)
    pair, far = features.templates.index(_PAIR), features.templates.index(_FAR)
    said: dict[tuple[str, ...], tuple[int, float]] = {}
    for edge, row in enumerate(cells.tolist()):
        word, head = ends_of(edge, size)
        tag, other, side = tags[word], tags[head], "<" if head < word else ">"
        loss, worth = rules[tag]
        step = sum(abs(head - word) >= begin for begin in _STEPS)
        said[tag, other, side] = row[pair], worth.get((other, side), 0.0)
        said[tag, side, str(step)] = row[far], -loss * step
    places, values = (np.array(column) for column in zip(*said.values(), strict=True))
    ids, group = np.unique(places, return_inverse=True)
    means = np.bincount(group, values) / np.bincount(group)
    kept = means != 0
    return ids[kept].astype(np.int32), STRENGTH / features.value * means[kept]


def begin(model: CompiledModel, features: Features, prior: str) -> None:
    """Start a fresh model from the prior's weights; A stays lam I, so answers soon outweigh them.

    >>> features = Features("tags", bits=10)
    >>> model = Diagonal(features.dim)
    >>> begin(model, features, "upos")
    >>> bool(model.weights().any()), bool(model.stats.any())
    (True, False)
    """
    if one_of("prior", prior, PRIORS) == PRIORS["none"]:
        return
    ids, values = starting_weights(features)
    if isinstance(model, Diagonal):
        unmoved = np.full(ids.size, model.fresh)
        model.restore({"ids": ids, "weights": values, "inverse": unmoved, "stats": np.zeros_like(model.stats)})
    elif isinstance(model, Full):
        w = model.weights()
        w[ids] = values
        model.restore(model.arrays() | {"weights": w})
    else:
        raise TypeError(f"prior={prior!r} needs a diagonal or full model, got {type(model).__name__}")
