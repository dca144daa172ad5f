"""A prior over tags: where words of a tag usually attach, as the initial weights of a parser."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from conquer.checks import one_of
from conquer.data.treebank import parse
from conquer.kernels.models.diagonal import W
from conquer.kernels.parsing.edges import ends_of
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
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
"""A word's tag, the loss of a head per step of distance, and its heads, most likely first: >NOUN follows the word,
<NOUN precedes it, VERB does either. The first is worth 1, each further one 0.25 less, any other 0. An answer asks for
a lead of 2. On the development parts a quarter or half of these weights is worse after 100 questions, 1.5 times no
better."""
_STEPS = (1, 2, 3, 4, 5, 7, 10, 15, 25)
"""The distances at which a step begins, as in the templates."""
_ROOT = "root"
_PAIR, _DISTANCE = ("side", "h.upos w.upos"), ("distance", "w.upos")
"""The templates that carry the prior: the pair of tags with its side, and the distance of a tag's head."""


def table() -> Iterator[tuple[str, float, dict[tuple[str, str], float]]]:
    """Each word's tag, its loss per step, and the worth of its heads by tag and side.

    >>> next(table())
    ('DET', 0.3, {('NOUN', '>'): 1.0, ('PROPN', '>'): 0.75, ('ADJ', '>'): 0.5})
    """
    for line in RULES.strip().splitlines():
        tag, loss, *heads = line.split()
        worth: dict[tuple[str, str], float] = {}
        for rank, head in enumerate(heads):
            sides = "<" if head == _ROOT else head[0] if head[0] in "<>" else "<>"
            worth |= {(head.lstrip("<>"), side): 1.0 - 0.25 * rank for side in sides}
        yield tag, float(loss), worth


@lru_cache(maxsize=16)
def starting_weights(features: Features) -> tuple[NDArray[np.int32], Floats]:
    """w_0 of the prior "upos" as (ids, values), ids sorted, values non-zero.

    A feature that several pairs or distances share by hashing gets their mean.
    """
    rules = {tag: (loss, worth) for tag, loss, worth in table()}
    # A sentence of all tags, three times: every pair of tags on either side, at every distance.
    tags = [_ROOT, *rules, *rules, *rules]
    size = len(tags) - 1
    lines = (f"{place}\t_\t_\t{tag}" + "\t_" * 6 for place, tag in enumerate(tags) if place)
    edges = features.rows(parse("\n".join(lines), heads="ignore")[0]).indices.reshape(size * size, features.width)
    pair, distance = features.templates.index(_PAIR), features.templates.index(_DISTANCE)
    weights: dict[tuple[str, ...], tuple[int, float]] = {}
    for edge, ids in enumerate(edges.tolist()):
        word, head = ends_of(edge, size)
        tag, other, side = tags[word], tags[head], "<" if head < word else ">"
        loss, worth = rules[tag]
        step = sum(abs(head - word) >= begin for begin in _STEPS)
        weights[tag, other, side] = ids[pair], worth.get((other, side), 0.0)
        weights[tag, side, str(step)] = ids[distance], -loss * step
    places, values = (np.array(column) for column in zip(*weights.values(), strict=True))
    shared, group = np.unique(places, return_inverse=True)
    means = np.bincount(group, values) / np.bincount(group)
    return shared[means != 0].astype(np.int32), 1.0 / features.value * means[means != 0]


def begin(model: Diagonal | Full, features: Features, prior: str) -> None:
    """Start a fresh model from the prior's weights; A stays lam I, so answers soon outweigh them.

    >>> features = Features("tags", bits=10)
    >>> model = Diagonal(features.dim)
    >>> begin(model, features, "upos")
    >>> bool(model.weights().any()), bool(model.stats.any())
    (True, False)
    """
    if one_of("prior", prior, PRIORS) != PRIORS["none"]:
        ids, values = starting_weights(features)
        w = model.table[:, W] if isinstance(model, Diagonal) else model.w
        w[ids] = values
