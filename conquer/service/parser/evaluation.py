"""How far a parser has come and how good it is: measured beside the writer, kept as rows of the log."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from conquer.data.treebank import Sentence
from conquer.parsing.parser import Parser
from conquer.parsing.trees import evaluate
from conquer.service.annotation.pool import groups_of
from conquer.service.log.records import Measured
from conquer.service.log.transaction import Turn
from conquer.service.parser.parse_learner import parser_of
from conquer.service.parser.questions import asked_about, held_out, words
from conquer.service.writer.queue import Writer

_ONE = threading.Lock()
"""One at a time: whoever waits finds it done."""


class ParserProgress(msgspec.Struct):
    """How far the treebank has come; `history`: (answers, UAS on the held-out sentences, how many those were)."""

    sentences: int
    words: int
    asked: int
    held_out: int
    uas: float | None
    history: list[tuple[int, float, int]]


@dataclass(frozen=True, slots=True)
class Due:
    """A parser as of so many answers, and what it is to be measured on."""

    parser: Parser
    gold: Sequence[Sentence]
    answers: int


def progress(turn: Turn) -> ParserProgress:
    """How much of the uploaded sentences has been asked about, and how good the parser was whenever measured."""
    tally, pool = turn.folded.tally, groups_of(turn)
    return ParserProgress(
        len(asked_about(pool)),
        sum(words(item) for item in asked_about(pool)),
        sum(map(len, tally.asked.values())),
        len(held_out(pool)),
        tally.history[-1][1] if tally.history else None,
        tally.history,
    )


def measure(writer: Writer, name: str) -> None:
    """Measure the model unless it has not changed since the last time."""
    with _ONE:
        due = writer.call_now(name, _due, reads=True)
        if due is None:
            return
        found = evaluate(due.gold, due.parser.parse(due.gold)).uas_nopunct
        row = Measured(due.answers, found, len(due.gold))
        writer.call_now(name, lambda turn: turn.append(row, None))


def _due(turn: Turn) -> Due | None:
    parser, gold = parser_of(turn), held_out(groups_of(turn))
    history, answers = turn.folded.tally.history, turn.folded.tally.learnt
    if not gold or (history and (history[-1][0], history[-1][2]) == (answers, len(gold))):
        return None
    return Due(parser, gold, answers)
