"""How far a parser has come, kept as rows of the log, and its trees and answers as `conquer parse` reads them."""

import json
import threading
from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection

from conquer.data.treebank import Sentence, parse, text_of
from conquer.parsing.parser import Parser
from conquer.parsing.trees import evaluate
from conquer.service.engine.engine import Engine
from conquer.service.engine.turn import Turn
from conquer.service.model.records import Answered, Entry, Event, Measured
from conquer.service.model.schemas import Group
from conquer.service.store.items import read_into
from conquer.service.store.log import Header
from conquer.service.work.exports import Record
from conquer.service.work.parse_learner import asked_about, held_out, parser_of, words
from conquer.service.work.pool import groups_of

_ONE = threading.Lock()
"""One at a time: the next caller finds it done."""


class ParserProgress(msgspec.Struct):
    """How far the treebank has come; `history`: (answers, UAS on the held-out sentences, how many those were)."""

    sentences: int
    words: int
    asked: int
    held_out: int
    uas: float | None
    history: list[tuple[int, float, int]]


def progress(pool: Sequence[Group], asked: int, history: list[tuple[int, float, int]]) -> ParserProgress:
    """How much of the uploaded sentences has been asked about, and how good the parser was whenever measured."""
    items, uas = asked_about(pool), history[-1][1] if history else None
    return ParserProgress(len(items), sum(map(words, items)), asked, len(held_out(pool)), uas, history)


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


def trees(parser: Parser, pool: Sequence[Group]) -> bytes:
    """Every sentence with the parser's tree, in CoNLL-U."""
    return text_of(parser.parse([parse(item.text or "", heads="ignore")[0] for item in asked_about(pool)])).encode()


def answer_lines(connection: Connection, header: Header) -> Record:
    """How answers are written for `conquer parse train --answers`, by the ids of the sentences in the file.

    Repeats that only measure agreement and late answers are left out.
    """
    pool: list[Group] = []
    read_into(connection, header.id, pool, 0, header.pooled)
    names = {item.id: item.label for item in asked_about(pool)}

    def record(_: Entry, said: Answered, event: Event) -> bytes | None:
        memo = event.choice.memo
        if said.reason in ("planted", "late") or memo.get("sentence") not in names:
            return None
        answers = {event.shown[0]: "first", event.shown[1]: "second", "skip": "refused"}
        row = {
            "sentence": names[memo["sentence"]],
            "word": int(memo["word"]),
            "heads": [int(head) for head in event.shown],
            "answer": answers.get(said.winner, "neither"),
        }
        return json.dumps(row).encode() + b"\n"

    return record
