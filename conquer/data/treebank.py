"""CoNLL-U in and out: every byte of a sentence is kept, and every mistake is named with file, sentence and line."""

import gzip
import lzma
import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal

from conllu.exceptions import ParseException
from conllu.parser import parse_id_value, parse_int_value

from conquer.data.sentence import DEPREL, HEAD, Sentence, TreebankError, tree_fault
from conquer.files import write_atomically

__all__ = ["Heads", "Sentence", "TreebankError", "parse", "read", "text_of", "write"]

Heads = Literal["tree", "forest", "ignore"]
"""What the HEAD column must hold: one tree, several trees under the root, or anything (it is not looked at)."""

COLUMNS = 10
_LONGEST_NUMBER = 12
"""Characters of an id or a head: no sentence has as many words as longer ones would say."""


@lru_cache(maxsize=4096)
def _number(text: str) -> int | tuple[int, str, int] | None:
    parsed: int | tuple[int, str, int] | None = parse_id_value(text)
    return parsed


@lru_cache(maxsize=4096)
def _head(text: str) -> int | None:
    parsed: int | None = parse_int_value(text)
    return parsed


class _Place:
    """Where we are in a file, for messages."""

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
            raise place.error(first + number, f"column {columns.index('') + 1} is empty; an unknown value is written _")
        if len(columns[0]) > 2 * _LONGEST_NUMBER:
            raise place.error(first + number, f"bad ID: {columns[0]!r:.30} is no word's")
        try:
            key_ = _number(columns[0])
        except ParseException as problem:
            raise place.error(first + number, f"bad ID: {problem}") from None
        if key_ is None or key_ == 0:
            raise place.error(first + number, f"word ids must start at 1, got {columns[0]!r}")
        if isinstance(key_, int):
            if key_ != len(words) + 1:
                raise place.error(first + number, f"expected word {len(words) + 1}, got {key_}")
            at.append(number)
            words.append(columns)
        elif key_[1] == "-":
            if key_[0] != len(words) + 1:
                raise place.error(first + number, f"expected a range starting at {len(words) + 1}, got {columns[0]}")
            spans.append((first + number, key_[2]))
        elif key_[0] != len(words):
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


def _heads(words: Sequence[Sequence[str]], lines: Sequence[int], place: _Place, check: Heads) -> tuple[int, ...]:
    heads: list[int] = []
    for word, (columns, line) in enumerate(zip(words, lines, strict=True), start=1):
        try:
            head = _head(columns[HEAD]) if len(columns[HEAD]) <= _LONGEST_NUMBER else -1
        except ParseException:
            head = -1
        if head is None:
            raise place.error(line, f"word {word} has no head")
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
    """All sentences of a CoNLL-U text, checked; raises `TreebankError` at the first mistake."""
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
    """All sentences of a CoNLL-U file (`.gz` and `.xz` too).

    A byte order mark and carriage returns are dropped; the last blank line may be missing.
    """
    path = Path(path)
    raw = path.read_bytes()
    try:
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
        elif path.suffix == ".xz":
            raw = lzma.decompress(raw)
    except (OSError, EOFError, lzma.LZMAError) as problem:
        raise TreebankError(f"{path}: not a complete {path.suffix[1:]} file: {problem}") from problem
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
    """Write a CoNLL-U file (compressed if it ends in `.gz` or `.xz`): all of it or nothing."""
    path = Path(path)
    raw = text_of(sentences).encode("utf-8")
    if path.suffix == ".gz":
        raw = gzip.compress(raw, mtime=0)
    elif path.suffix == ".xz":
        raw = lzma.compress(raw)
    write_atomically(path, raw)
