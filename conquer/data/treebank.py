"""Treebanks in CoNLL-U: every byte of a sentence is kept, and errors name file, line and sentence."""

import gzip
import lzma
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from conquer.data.compression import DataError, content
from conquer.files import write_atomically

Heads = Literal["tree", "forest", "ignore"]
"""What the HEAD column must hold: one tree, several trees under the root, or anything."""

COLUMNS = 10
HEAD, DEPREL = 6, 7
"""Columns of CoNLL-U, from 0."""
_ID = re.compile(r"(0|[1-9][0-9]{0,11})(?:([-.])(0|[1-9][0-9]{0,11}))?")
"""The id of a word, of a range of words (3-4) or of an empty node (3.1)."""
_HEAD = re.compile("0|[1-9][0-9]{0,11}")


class TreebankError(ValueError):
    """A treebank that cannot be read. The message names file, line and sentence."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: its raw `lines`, and the columns of its words (`at[j]` is the line of word j + 1).

    `heads` is empty where the file was read with heads="ignore".

    >>> rows = ("1 Rain rain NOUN _ _ 2 nsubj _ _", "2 fell fall VERB _ _ 0 root _ _")
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


class _Place:
    """The place in a file, for messages."""

    def __init__(self, name: str, ordinal: int) -> None:
        self.name, self.id = name, f"number {ordinal}"

    def error(self, line: int, message: str) -> TreebankError:
        return TreebankError(f"{self.name}:{line}: sentence {self.id}: {message}")


def _sentence(lines: Sequence[str], first: int, name: str, ordinal: int, check: Heads) -> Sentence:
    place = _Place(name, ordinal)
    at: list[int] = []
    words: list[list[str]] = []
    spans: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        if line.startswith("#"):
            key, equals, value = line[1:].partition("=")
            if equals and key.strip() == "sent_id":
                place.id = value.strip()
            continue
        columns = line.split("\t")
        if len(columns) != COLUMNS:
            raise place.error(first + number, f"expected {COLUMNS} columns separated by tabs, got {len(columns)}")
        if "" in columns:
            raise place.error(first + number, f"column {columns.index('') + 1} is empty; write _ for an unknown value")
        found = _ID.fullmatch(columns[0])
        if found is None:
            raise place.error(first + number, f"bad ID: {columns[0]!r:.30} is not the id of a word")
        start, mark, end = int(found[1]), found[2], found[3]
        if mark is None:
            if start != len(words) + 1:
                raise place.error(first + number, f"expected word {len(words) + 1}, got {start}")
            at.append(number)
            words.append(columns)
        elif mark == "-":
            if start != len(words) + 1 or int(end) < start:
                raise place.error(first + number, f"expected a range starting at {len(words) + 1}, got {columns[0]}")
            spans.append((first + number, int(end)))
        elif start != len(words):
            raise place.error(first + number, f"expected an empty node {len(words)}.x, got {columns[0]}")
    if not words:
        raise place.error(first, "no words")
    for line_number, last in spans:
        if last > len(words):
            raise place.error(line_number, f"a range ends at word {last} of {len(words)}")
    heads = () if check == "ignore" else _heads(words, [first + k for k in at], place, check)
    columns_of = list(zip(*words, strict=True))
    return Sentence(
        id=place.id,
        line=first,
        lines=tuple(lines),
        at=tuple(at),
        forms=columns_of[1],
        lemmas=columns_of[2],
        upos=columns_of[3],
        xpos=columns_of[4],
        feats=columns_of[5],
        deprels=columns_of[DEPREL],
        heads=heads,
    )


def tree_fault(heads: Sequence[int], several_roots: bool = False) -> tuple[int, str] | None:
    """(word, message) for heads in [0, n] that are not a tree, else None.

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


def _heads(words: Sequence[Sequence[str]], lines: Sequence[int], place: _Place, check: Heads) -> tuple[int, ...]:
    heads: list[int] = []
    for word, (columns, line) in enumerate(zip(words, lines, strict=True), start=1):
        if columns[HEAD] == "_":
            raise place.error(line, f"word {word} has no head")
        head = int(columns[HEAD]) if _HEAD.fullmatch(columns[HEAD]) else -1
        if not 0 <= head <= len(words) or head == word:
            raise place.error(
                line, f"the head of word {word} must be another word up to {len(words)} or 0, got {columns[HEAD]!r:.30}"
            )
        heads.append(head)
    fault = tree_fault(heads, several_roots=check == "forest")
    if fault is not None:
        word, message = fault
        raise place.error(lines[word - 1], message)
    return tuple(heads)


def parse(text: str, name: str = "text", heads: Heads = "tree") -> list[Sentence]:
    """All sentences of a CoNLL-U text; a `TreebankError` names the first mistake."""
    if heads not in ("tree", "forest", "ignore"):
        raise ValueError(f"heads must be tree, forest or ignore, got {heads!r}")
    sentences: list[Sentence] = []
    block: list[str] = []
    first = 1
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        line = line.removesuffix("\r")
        if line:
            if not block:
                first = number
            block.append(line)
        elif block:
            sentences.append(_sentence(block, first, name, len(sentences) + 1, heads))
            block = []
    if block:
        sentences.append(_sentence(block, first, name, len(sentences) + 1, heads))
    return sentences


def read(path: str | os.PathLike[str], heads: Heads = "tree") -> list[Sentence]:
    """All sentences of a CoNLL-U file, plain or compressed with gzip, xz or zstandard.

    A byte order mark and carriage returns are dropped; the last blank line may be missing.
    """
    path = Path(path)
    try:
        raw = content(path)
    except DataError as problem:
        raise TreebankError(str(problem)) from None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = raw.count(b"\n", 0, problem.start) + 1
        raise TreebankError(
            f"{path}:{line}: expected UTF-8, got byte 0x{raw[problem.start]:02x} ({problem.reason})"
        ) from problem
    return parse(text, str(path), heads)


def text_of(sentences: Iterable[Sentence]) -> str:
    """CoNLL-U text: the sentences' lines, each sentence followed by a blank line.

    >>> text = "# note\\n1\\tHi\\thi\\tINTJ\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n"
    >>> text_of(parse(text)) == text
    True
    """
    return "".join("\n".join(sentence.lines) + "\n\n" for sentence in sentences)


def write(path: str | os.PathLike[str], sentences: Iterable[Sentence]) -> None:
    """Write a CoNLL-U file atomically, compressed if its name ends in `.gz` or `.xz`."""
    path = Path(path)
    raw = text_of(sentences).encode("utf-8")
    if path.suffix == ".gz":
        raw = gzip.compress(raw, mtime=0)
    elif path.suffix == ".xz":
        raw = lzma.compress(raw)
    write_atomically(path, raw)
