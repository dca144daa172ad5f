"""Sentences as a model's items: uploads, the next question about them, the parser they make and how good it is."""

import functools
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from conquer.data.treebank import Sentence, TreebankError, parse, text_of
from conquer.parsing.parser import Parser
from conquer.service.annotation.uploads import Group
from conquer.service.commands import answering as asking
from conquer.service.errors import conflict, invalid
from conquer.service.http.schemas import ChooseRequest, Item, Raw
from conquer.service.log.event import Event
from conquer.service.log.transaction import Turn
from conquer.service.parser.learner import LONGEST, ParserBrain
from conquer.tickets import stream, ticket

_json = msgspec.json.Encoder().encode
_HELD_OUT = "held out"
_MOST_HELD_OUT = 300


class View(msgspec.Struct):
    """A question as the page draws it: words from 1 on, 0 is the sentence itself; `heads` is the parser's tree now."""

    id: str
    forms: list[str]
    tags: list[str]
    heads: list[int]
    word: int
    candidates: list[int]


class Progress(msgspec.Struct):
    """How far the treebank has come; `history`: (answers, UAS on the held-out sentences, how many those were)."""

    sentences: int
    words: int
    asked: int
    held_out: int
    uas: float | None
    history: list[tuple[int, float, int]]


def read_treebank(data: bytes, held_out: bool = False, first: int = 1) -> list[Group]:
    """One group a sentence, numbered from `first`; held-out sentences need a tree each and are never asked about."""
    try:
        sentences = parse(data.decode("utf-8-sig"), heads="tree" if held_out else "ignore")
    except (TreebankError, UnicodeDecodeError) as error:
        raise invalid(f"not a CoNLL-U file: {error}") from None
    kept = [sentence for sentence in sentences if len(sentence) <= LONGEST and (held_out or len(sentence) > 1)]
    if not kept:
        raise invalid("the file has no sentence to ask about")
    context = _HELD_OUT if held_out else None
    return [Group([_item(sentence, number)], context) for number, sentence in enumerate(kept, first)]


def _item(sentence: Sentence, number: int) -> Item:
    name = f"{number}-{sentence.id}"[:150].translate({ord(mark): "-" for mark in "/?#\\"})
    return msgspec.convert({"id": name, "text": text_of([sentence])}, Item)


def drawn(turn: Turn, pool: Sequence[Group], taken: set[str], voter: str) -> Event | None:
    """A question about one of the sentences with the fewest questions so far."""
    folded = turn.folded
    asked = folded.tally.asked
    open_ = [item for item in asked_about(pool) if item.id not in taken and len(asked.get(item.id, ())) < _words(item)]
    if not open_:
        return None
    fewest = min(len(asked.get(item.id, ())) for item in open_)
    least = [item for item in open_ if len(asked.get(item.id, ())) == fewest]
    rng = random.Random(ticket(stream("pool", folded.settings.seed), folded.tally.ordinal))
    item = least[rng.randrange(len(least))]
    words = ",".join(map(str, sorted(asked.get(item.id, ()))))
    request = ChooseRequest(items=Raw(_json([item])), context=Raw(_json(words or None)), voter=voter)
    reply = asking.choose(turn, request)
    return turn.event(reply.event_id) if reply.query != "none" else None


def _words(item: Item) -> int:
    return _count(item.text or "")


@functools.lru_cache(maxsize=1 << 16)
def _count(text: str) -> int:
    """How many words a sentence has: lines that begin with a whole number. Every question asks it of every sentence."""
    return sum(line.split("\t", 1)[0].isdecimal() for line in text.split("\n"))


def view(turn: Turn, event: Event) -> View:
    brain = _brain(turn)
    read = turn.folded.round_of(event)
    sentence = read.sentence
    return View(
        sentence.id,
        list(sentence.forms),
        list(sentence.upos),
        [int(head) for head in brain.learner.tree(sentence)],
        int(event.choice.memo["word"]),
        [int(name) for name in event.shown],
    )


def progress(turn: Turn, pool: Sequence[Group]) -> Progress:
    tally = turn.folded.tally
    return Progress(
        len(asked_about(pool)),
        sum(_words(item) for item in asked_about(pool)),
        sum(map(len, tally.asked.values())),
        len(held_out(pool)),
        tally.history[-1][1] if tally.history else None,
        tally.history,
    )


def asked_about(pool: Sequence[Group]) -> list[Item]:
    return [group.items[0] for group in pool if group.context is None]


def held_out(pool: Sequence[Group]) -> list[Sentence]:
    """The sentences with trees that the parser is measured on."""
    return [_with_tree(group) for group in pool if group.context == _HELD_OUT][:_MOST_HELD_OUT]


def _with_tree(group: Group) -> Sentence:
    return replace(parse(group.items[0].text or "")[0], id=group.items[0].id)


def parser_of(turn: Turn) -> Parser:
    """What has been learnt, for `conquer parse predict`."""
    return _brain(turn).parser()


def _brain(turn: Turn) -> ParserBrain:
    brain: Any = turn.folded.brain
    if not isinstance(brain, ParserBrain):
        raise conflict("no_parser", f"model {turn.folded.name!r} does not parse")
    return brain
