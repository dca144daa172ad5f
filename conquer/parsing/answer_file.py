"""Files of recorded answers, as JSON lines: one question per line, with its answer."""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conquer.data.treebank import Sentence, TreebankError
from conquer.files import write_atomically
from conquer.parsing.training import ANSWERS, EdgeQuestion


def write(path: str | os.PathLike[str], sentences: Sequence[Sentence], log: Iterable[EdgeQuestion]) -> None:
    """One line per question: sentence (its id), word, heads (the two shown) and answer."""
    lines = [
        json.dumps({"sentence": sentences[q.sentence].id, "word": q.word, "heads": list(q.heads), "answer": q.answer})
        for q in log
    ]
    write_atomically(path, "".join(line + "\n" for line in lines).encode())


def read(path: str | os.PathLike[str], sentences: Sequence[Sentence]) -> list[EdgeQuestion]:
    """The questions in a file about these sentences; a TreebankError names the first line that does not fit."""
    path = Path(path)
    places: dict[str, int] = {}
    for position, sentence in enumerate(sentences):
        if sentence.id in places:
            raise TreebankError(f"two sentences have the id {sentence.id}; answers need distinct ids")
        places[sentence.id] = position
    found = []
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as problem:
        raise TreebankError(f"{path}: expected UTF-8, got byte {problem.object[problem.start]:#04x}") from problem
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                found.append(_question(json.loads(line), places, sentences))
            except (ValueError, TypeError, KeyError) as problem:
                raise TreebankError(f"{path}:{number}: {type(problem).__name__}: {problem}") from None
    return found


def _question(row: Any, places: dict[str, int], sentences: Sequence[Sentence]) -> EdgeQuestion:
    if not isinstance(row, dict) or set(row) != {"sentence", "word", "heads", "answer"}:
        raise ValueError(f"expected sentence, word, heads and answer, got {row!r}")
    if row["sentence"] not in places:
        raise ValueError(f"no sentence has the id {row['sentence']!r}")
    position = places[row["sentence"]]
    size, word, heads = len(sentences[position]), row["word"], row["heads"]
    whole = all(isinstance(n, int) and not isinstance(n, bool) for n in (word, *heads))
    if not whole or not 1 <= word <= size:
        raise ValueError(f"expected a word from 1 to {size}, got {word!r}")
    if len(heads) != 2 or heads[0] == heads[1] or any(not 0 <= head <= size or head == word for head in heads):
        raise ValueError(f"expected two heads from 0 to {size} other than {word}, got {heads!r}")
    if row["answer"] not in ANSWERS:
        raise ValueError(f"the answer must be one of {', '.join(ANSWERS)}, got {row['answer']!r}")
    return EdgeQuestion(position, word, (heads[0], heads[1]), row["answer"])


def known_heads(sentences: Sequence[Sentence], log: Iterable[EdgeQuestion]) -> list[Sentence]:
    """The sentences with the heads that the answers name, -1 for the others. The last answer counts."""
    named: dict[int, dict[int, int]] = {}
    for question in log:
        if question.answer in ("first", "second"):
            head = question.heads[question.answer == "second"]
            named.setdefault(question.sentence, {})[question.word] = head
    return [
        replace(
            sentence,
            heads=tuple(named.get(position, {}).get(word, -1) for word in range(1, len(sentence) + 1)),
        )
        for position, sentence in enumerate(sentences)
    ]
