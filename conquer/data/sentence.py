"""A sentence of a treebank: its lines as they were read, the columns of its words, and what makes heads a tree."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

HEAD, DEPREL = 6, 7
"""Columns of CoNLL-U, from 0."""


class TreebankError(ValueError):
    """A treebank that cannot be used; the message names file, line and sentence."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: its raw `lines`, and the columns of its words (`at[j]` is the line of word j + 1).

    `heads` is empty when the file was read without looking at them.

    >>> rows = ("1 Rain rain NOUN _ _ 2 nsubj _ _", "2 fell fall VERB _ _ 0 root _ _")
    >>> from conquer.data.treebank import parse
    >>> sentence = parse("\\n".join(row.replace(" ", "\\t") for row in rows))[0]
    >>> len(sentence), sentence.forms, sentence.heads
    (2, ('Rain', 'fell'), (2, 0))
    """

    id: str
    line: int
    lines: tuple[str, ...]
    at: tuple[int, ...]
    forms: tuple[str, ...]
    lemmas: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    deprels: tuple[str, ...]
    heads: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.forms)

    def with_heads(self, heads: Sequence[int]) -> "Sentence":
        """The same sentence with another tree: HEAD is replaced, DEPREL becomes `root` or `dep`, the rest stays."""
        if len(heads) != len(self):
            raise ValueError(f"sentence {self.id} has {len(self)} words, got {len(heads)} heads")
        lines = list(self.lines)
        for at, head in zip(self.at, heads, strict=True):
            columns = lines[at].split("\t")
            columns[HEAD], columns[DEPREL] = str(head), "dep" if head else "root"
            lines[at] = "\t".join(columns)
        relations = tuple("dep" if head else "root" for head in heads)
        return replace(self, lines=tuple(lines), heads=tuple(int(head) for head in heads), deprels=relations)


def tree_fault(heads: Sequence[int], several_roots: bool = False) -> tuple[int, str] | None:
    """(word, what is wrong) for heads in [0, n] that are no tree, else None.

    >>> tree_fault([2, 0]), tree_fault([2, 1])
    (None, (1, 'words 1 and 2 are in a cycle'))
    """
    state = [0] * (len(heads) + 1)
    state[0] = len(heads) + 1
    for start in range(1, len(heads) + 1):
        word = start
        while state[word] == 0:
            state[word] = start
            word = heads[word - 1]
        if state[word] == start and word:
            return word, f"words {word} and {heads[word - 1]} are in a cycle"
    roots = [word for word, head in enumerate(heads, start=1) if head == 0]
    if len(roots) > 1 and not several_roots:
        return roots[1], f"expected one root, got {len(roots)} (words {', '.join(map(str, roots[:5]))})"
    return None
