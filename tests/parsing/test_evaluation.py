"""Scores against a scorer written from the shared task's description alone: F1 over words aligned by characters."""

import numpy as np
import pytest
from parsing.treebanks import TAGS, conllu, random_heads

from conquer.data.treebank import TreebankError, parse
from conquer.parsing.trees import evaluate


def conll2018_uas(gold: str, system: str, punctuation: bool = True) -> float:
    """Precision, recall and F1 of (span of characters, span of the head's characters or root), straight from text."""

    def edges(text: str) -> set:
        found, at = set(), 0
        for sentence in text.strip().split("\n\n"):
            rows = [line.split("\t") for line in sentence.split("\n") if not line.startswith("#")]
            rows = [row for row in rows if row[0].isdigit()]
            spans = {"0": "root"}
            for row in rows:
                spans[row[0]] = (at, at + len(row[1]))
                at += len(row[1])
            found |= {(spans[r[0]], spans[r[6]]) for r in rows if punctuation or r[3] != "PUNCT"}
        return found

    ours, theirs = edges(gold), edges(system)
    right = len(ours & theirs)
    precision, recall = right / len(theirs), right / len(ours)
    return 2 * precision * recall / (precision + recall) if right else 0.0


@pytest.mark.parametrize("seed", range(20))
def test_against_the_independent_scorer(seed):
    rng = np.random.default_rng(seed)
    gold = system = ""
    for number in range(12):
        size = int(rng.integers(1, 8))
        tags = [TAGS[k] for k in rng.integers(len(TAGS), size=size)]
        forms = [f"w{rng.integers(1000)}" for _ in tags]
        heads = random_heads(rng, size)
        gold += conllu(forms, tags, heads, f"s{number}")
        system += conllu(forms, tags, heads if rng.random() < 0.4 else random_heads(rng, size), f"s{number}")
    found = evaluate(parse(gold), parse(system))
    assert found.uas == pytest.approx(conll2018_uas(gold, system), abs=1e-12)
    assert found.uas_nopunct == pytest.approx(conll2018_uas(gold, system, punctuation=False), abs=1e-12)
    same = [a.heads == b.heads for a, b in zip(parse(gold), parse(system), strict=True)]
    assert found.exact == np.mean(same)


def test_what_cannot_be_compared():
    one = parse(conllu(["a", "b"], ["X", "X"], [2, 0]))
    with pytest.raises(TreebankError, match="1 sentences, system 0"):
        evaluate(one, [])
    with pytest.raises(TreebankError, match="no sentences"):
        evaluate([], [])
    with pytest.raises(TreebankError, match="word 2 is 'b' in gold and 'c' in system"):
        evaluate(one, parse(conllu(["a", "c"], ["X", "X"], [2, 0])))
    with pytest.raises(TreebankError, match="2 words in gold and 1 in system"):
        evaluate(one, parse(conllu(["a"], ["X"], [0])))
    with pytest.raises(TreebankError, match="without heads"):
        evaluate(one, parse(conllu(["a", "b"], ["X", "X"], [2, 0]), heads="ignore"))


def test_only_punctuation():
    (dot,) = parse(conllu(["."], ["PUNCT"], [0]))
    found = evaluate([dot], [dot])
    assert found.uas == 1.0
    assert np.isnan(found.uas_nopunct)
