"""How far a parser has come and how good it is: measured beside the engine, kept as rows of the log."""

import threading
from collections.abc import Sequence

import msgspec

from conquer.data.treebank import Sentence
from conquer.parsing.parser import Parser
from conquer.parsing.trees import evaluate
from conquer.service.engine.engine import Engine
from conquer.service.engine.turn import Turn
from conquer.service.model.records import Measured
from conquer.service.work.parser.parse_learner import parser_of
from conquer.service.work.parser.questions import asked_about, held_out, words
from conquer.service.work.pool import groups_of

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


def progress(turn: Turn) -> ParserProgress:
    """How much of the uploaded sentences has been asked about, and how good the parser was whenever measured."""
    tally, pool = turn.state.tally, groups_of(turn)
    return ParserProgress(
        len(asked_about(pool)),
        sum(words(item) for item in asked_about(pool)),
        sum(map(len, tally.asked.values())),
        len(held_out(pool)),
        tally.history[-1][1] if tally.history else None,
        tally.history,
    )


def measure(engine: Engine, name: str) -> None:
    """Measure the model unless it has not changed since the last time."""
    with _ONE:
        due = engine.call_now(name, _due, reads=True)
        if due is None:
            return
        parser, gold, answers = due
        row = Measured(answers, evaluate(gold, parser.parse(gold)).uas_nopunct, len(gold))
        engine.call_now(name, lambda turn: turn.append(row, None))


def _due(turn: Turn) -> tuple[Parser, Sequence[Sentence], int] | None:
    """The parser, what it is to be measured on, and its number of answers."""
    parser, gold = parser_of(turn), held_out(groups_of(turn))
    history, answers = turn.state.tally.history, turn.state.tally.learnt
    if not gold or (history and (history[-1][0], history[-1][2]) == (answers, len(gold))):
        return None
    return parser, gold, answers
