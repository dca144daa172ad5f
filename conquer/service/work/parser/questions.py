"""Sentences as a model's items: what a file of them holds, which is asked about next, and what a page draws."""

import random
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace

import msgspec

from conquer.data.treebank import Sentence, TreebankError, parse, text_of
from conquer.service.errors import invalid
from conquer.service.model.learner_protocol import Draw
from conquer.service.model.schemas import Context, Group, Item, decoded

LONGEST = 120
_context = msgspec.json.Decoder(Context).decode
_HELD_OUT = "held out"
_MOST_HELD_OUT = 300
_MOST_COUNTS = 1 << 17
_counts: dict[int, int] = {}
"""Words by the hash of their text: a count outlives its model, a text must not."""


class TreeView(msgspec.Struct):
    """A question as the page draws it: words from 1 on, 0 is the sentence itself; `heads` is the parser's tree now."""

    id: str
    forms: list[str]
    tags: list[str]
    heads: list[int]
    word: int
    candidates: list[int]


def read_treebank(data: bytes, held_out: bool = False, first: int = 1) -> list[Group]:
    """One group per sentence, numbered from `first`; held-out sentences need a tree each and are never asked about."""
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


def read_sentence(text: str, name: str) -> Sentence:
    """One sentence under the name of its item, or a RefusalError."""
    try:
        found = parse(text, heads="ignore")
    except TreebankError as error:
        raise invalid(f"sentence {name!r}: {error}") from None
    if len(found) != 1 or not 1 <= len(found[0]) <= LONGEST:
        sizes = [len(one) for one in found]
        raise invalid(f"an item's text is one sentence of 1 to {LONGEST} words, got {len(found)} of {sizes[:5]} words")
    return replace(found[0], id=name)


def draw_sentence(
    rng: random.Random, pool: Sequence[Group], taken: Set[str], asked: Mapping[str, Collection[int]]
) -> Draw | None:
    """One of the sentences with the fewest questions so far; the context are the words already `asked` about."""
    left = [item for item in asked_about(pool) if item.id not in taken and len(asked.get(item.id, ())) < words(item)]
    if not left:
        return None
    fewest = min(len(asked.get(item.id, ())) for item in left)
    least = [item for item in left if len(asked.get(item.id, ())) == fewest]
    item = least[rng.randrange(len(least))]
    return Draw([item], ",".join(map(str, sorted(asked.get(item.id, ())))) or None)


def read_asked(context: bytes) -> tuple[int, ...]:
    """The words that a round's context says not to ask about: null, or "3,5".

    >>> read_asked(b'"3,5"'), read_asked(b"null")
    ((3, 5), ())
    """
    given = decoded(_context, context, "context")
    if given is None or given == "":
        return ()
    parts = given.split(",") if isinstance(given, str) else ["?"]
    if not all(part.isascii() and part.isdecimal() and len(part) < 5 for part in parts):
        raise invalid(f"the context of a sentence is null or words as '3,5', got {given!r:.80}")
    return tuple(int(part) for part in parts)


def words(item: Item) -> int:
    """How many words a sentence has: lines that begin with a whole number. Every question asks it of every sentence."""
    text = item.text or ""
    key = hash(text)
    found = _counts.get(key)
    if found is None:
        if len(_counts) >= _MOST_COUNTS:
            _counts.clear()
        found = _counts[key] = sum(line.split("\t", 1)[0].isdecimal() for line in text.split("\n"))
    return found


def asked_about(pool: Sequence[Group]) -> list[Item]:
    """The sentences that people are asked about."""
    return [group.items[0] for group in pool if group.context is None]


def held_out(pool: Sequence[Group]) -> list[Sentence]:
    """The sentences with trees that the parser is measured on."""
    return [_with_tree(group) for group in pool if group.context == _HELD_OUT][:_MOST_HELD_OUT]


def _with_tree(group: Group) -> Sentence:
    return replace(parse(group.items[0].text or "")[0], id=group.items[0].id)
