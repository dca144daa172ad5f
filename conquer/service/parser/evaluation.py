"""How good a parser is on its held-out sentences: worked out beside the writer, kept as rows of the log."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from conquer.data.treebank import Sentence
from conquer.parsing.evaluation import evaluate
from conquer.parsing.parser import Parser
from conquer.service.annotation.pool import groups_of
from conquer.service.log.records import Measured
from conquer.service.log.transaction import Turn
from conquer.service.parser.questions import held_out, parser_of
from conquer.service.writer.queue import Writer

_ONE = threading.Lock()
"""One at a time: whoever waits finds it done."""


@dataclass(frozen=True, slots=True)
class Due:
    """A parser as of so many answers, and what it is to be measured on."""

    parser: Parser
    gold: Sequence[Sentence]
    answers: int


def measure(writer: Writer, name: str) -> None:
    """Measure the model unless it has not changed since the last time."""
    with _ONE:
        due = writer.call_now(name, _due)
        if due is None:
            return
        found = evaluate(due.gold, due.parser.parse(due.gold)).uas_nopunct
        row = Measured(due.answers, found, len(due.gold))
        writer.call_now(name, lambda turn: turn.append(row, None))


def measure_active(writer: Writer) -> None:
    """Every parser that is in memory, so that the curve has no gaps where nobody looked."""
    for name, folded in list(writer.models.items()):
        if folded.settings.task == "parse":
            measure(writer, name)


def _due(turn: Turn) -> Due | None:
    parser, gold = parser_of(turn), held_out(groups_of(turn))
    history, answers = turn.folded.tally.history, turn.folded.tally.learnt
    if not gold or (history and (history[-1][0], history[-1][2]) == (answers, len(gold))):
        return None
    return Due(parser, gold, answers)
