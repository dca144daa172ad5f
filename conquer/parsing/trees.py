"""Trees: the best one over scored edges, and attachment scores as in the CoNLL 2018 shared task."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from conquer.data.treebank import Sentence, TreebankError
from conquer.kernels.parsing.arborescence import arborescence
from conquer.types import Ints


def best_tree(scores: ArrayLike, *, several_roots: bool = False, fixed: ArrayLike | None = None) -> Ints:
    """(n,) heads of words 1 to n: the tree with the largest sum of `scores[word, head]`, (n + 1, n + 1).

    Row 0 and the diagonal are ignored. Exactly one word has head 0 unless `several_roots`. `fixed` (n,) holds known
    heads, -1 for the others; where they contradict each other, as many as possible are kept.

    >>> best_tree([[0, 0, 0], [5, 0, 1], [4, 3, 0]]).tolist()
    [0, 1]
    >>> best_tree([[0, 0, 0], [5, 0, 1], [4, 3, 0]], several_roots=True).tolist()
    [0, 0]
    """
    values = np.ascontiguousarray(scores, dtype=np.float64)
    size = values.shape[0] if values.ndim else 0
    if values.shape != (size, size) or size < 2:
        raise ValueError(f"scores must be (n + 1, n + 1) for n >= 1 words, got shape {values.shape}")
    used = ~np.eye(size, dtype=bool)
    used[0] = False
    if not np.isfinite(values[used]).all():
        raise ValueError("scores must be finite")
    free = np.full(size, -1, np.int64)
    if fixed is not None:
        given = np.asarray(fixed, dtype=np.int64)
        if given.shape != (size - 1,) or (given < -1).any() or (given >= size).any():
            raise ValueError(f"fixed must be {size - 1} heads in [-1, {size - 1}], got {given.tolist()}")
        if (given == np.arange(1, size)).any():
            raise ValueError(f"a word cannot be its own head, got fixed = {given.tolist()}")
        free[1:] = given
    heads = np.empty(size, np.int64)
    arborescence(values, free, several_roots, heads)
    return heads[1:]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Attachment scores of a parser.

    `uas` is the share of words with the right head, `uas_nopunct` the same without words of gold UPOS PUNCT, and
    `exact` the share of sentences whose whole tree is right.

    >>> print(Evaluation(0.8, 0.75, 0.5, 10, 8, 2))
    UAS                      80.00 %  (10 words)
    UAS without punctuation  75.00 %  (8 words)
    whole trees              50.00 %  (2 sentences)
    """

    uas: float
    uas_nopunct: float
    exact: float
    words: int
    words_nopunct: int
    sentences: int

    def as_dict(self) -> dict[str, float]:
        """The scores by name."""
        return asdict(self)

    def __str__(self) -> str:
        rows = (
            ("UAS", self.uas, f"{self.words} words"),
            ("UAS without punctuation", self.uas_nopunct, f"{self.words_nopunct} words"),
            ("whole trees", self.exact, f"{self.sentences} sentences"),
        )
        return "\n".join(f"{name:<24} {value:.2%}  ({count})".replace("%", " %") for name, value, count in rows)


def evaluate(gold: Sequence[Sentence], system: Sequence[Sentence]) -> Evaluation:
    """Attachment scores of parsed sentences against the right trees.

    Parameters
    ----------
    gold : the sentences with the right heads.
    system : the same sentences as a parser returned them.

    Returns
    -------
    An `Evaluation`. The shared task's UAS is an F1 over aligned words; for the same words on both sides it is the share
    of right heads.

    Raises
    ------
    TreebankError : the words differ, there are no sentences, or heads are missing.

    Examples
    --------
    >>> from conquer.data.treebank import parse
    >>> gold = parse("1\\ta\\t_\\tX\\t_\\t_\\t2\\t_\\t_\\t_\\n2\\tb\\t_\\tX\\t_\\t_\\t0\\t_\\t_\\t_\\n")
    >>> evaluate(gold, [gold[0].with_heads([0, 1])]).uas
    0.0
    """
    if len(gold) != len(system):
        raise TreebankError(f"gold has {len(gold)} sentences, system {len(system)}")
    if not gold:
        raise TreebankError("nothing to evaluate: no sentences")
    words = right = scored = scored_right = exact = 0
    for ours, theirs in zip(gold, system, strict=True):
        if ours.forms != theirs.forms:
            raise TreebankError(
                f"sentence {ours.id} (gold line {ours.line}, system line {theirs.line}): the words differ: "
                f"{_first_difference(ours.forms, theirs.forms)}"
            )
        if not ours.heads or not theirs.heads:
            raise TreebankError(f"sentence {ours.id} (gold line {ours.line}) was read without heads")
        hits = [a == b for a, b in zip(ours.heads, theirs.heads, strict=True)]
        kept = [hit for hit, tag in zip(hits, ours.upos, strict=True) if tag != "PUNCT"]
        words, right = words + len(hits), right + sum(hits)
        scored, scored_right = scored + len(kept), scored_right + sum(kept)
        exact += all(hits)
    nopunct = scored_right / scored if scored else float("nan")
    return Evaluation(right / words, nopunct, exact / len(gold), words, scored, len(gold))


def _first_difference(ours: Sequence[str], theirs: Sequence[str]) -> str:
    for number, (a, b) in enumerate(zip(ours, theirs, strict=False), start=1):
        if a != b:
            return f"word {number} is {a!r} in gold and {b!r} in system"
    return f"{len(ours)} words in gold and {len(theirs)} in system"
