"""How good a parser is: attachment scores as in the CoNLL 2018 shared task, for files with the same words."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from conquer.data.treebank import Sentence, TreebankError


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`uas`: share of words with the right head; `uas_nopunct`: without gold UPOS PUNCT; `exact`: whole trees right."""

    uas: float
    uas_nopunct: float
    exact: float
    words: int
    words_nopunct: int
    sentences: int

    def as_dict(self) -> dict[str, float]:
        """The same by name."""
        return asdict(self)


def evaluate(gold: Sequence[Sentence], system: Sequence[Sentence]) -> Evaluation:
    """Compare two readings of the same words, which must agree form by form.

    The task's UAS is an F1 over aligned words; with the same words on both sides it is the share of right heads.

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
