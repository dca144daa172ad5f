"""A parser's trees, and people's answers, as `conquer parse` reads them."""

import json
from collections.abc import Sequence

from sqlalchemy import Connection

from conquer.data.treebank import parse, text_of
from conquer.parsing.parser import Parser
from conquer.service.model.records import Answered, Entry, Event
from conquer.service.model.schemas import Group
from conquer.service.store.items import read_into
from conquer.service.store.log import Header
from conquer.service.work.exports import Record


def trees(parser: Parser, pool: Sequence[Group]) -> bytes:
    """Every sentence with the parser's tree, in CoNLL-U."""
    sentences = [parse(group.items[0].text or "", heads="ignore")[0] for group in pool]
    return text_of(parser.parse(sentences)).encode()


def answer_lines(connection: Connection, header: Header) -> Record:
    """How answers are written for `conquer parse train --answers`, by the ids of the sentences in the file.

    Repeats that only measure agreement and late answers are left out.
    """
    pool: list[Group] = []
    read_into(connection, header.id, pool, 0, header.pooled)
    names = {group.items[0].id: group.items[0].label for group in pool}

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
