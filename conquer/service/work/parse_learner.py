"""Parse questions behind a model's name: an item is a sentence in CoNLL-U, what is shown are two heads of one word."""

import functools
import random
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from conquer.data.treebank import Sentence, TreebankError, parse, text_of
from conquer.files import pack, unpack
from conquer.kernels.parsing.edges import ends_of
from conquer.models.diagonal import Diagonal
from conquer.parsing.edges import Features
from conquer.parsing.learner import EdgeLearner, EdgeRule
from conquer.parsing.parser import Parser
from conquer.parsing.prior import begin
from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError, conflict, invalid
from conquer.service.model.learner_protocol import Chosen, May, ServedLearner, Text
from conquer.service.model.reading import decode_items
from conquer.service.model.records import Event
from conquer.service.model.schemas import MARKS, Group, Item, ModelSettings, decoded
from conquer.service.work.pool import groups_of
from conquer.types import Choice, Query, Source

_RULE = ("ask", "eta", "neither", "silent", "several_roots")
_DEFAULTS: dict[str, Any] = {"lam": 0.3, "update": "margin", "features": "standard", "bits": 14, "prior": "upos"}
LONGEST = 120
_asked = msgspec.json.Decoder(list[Annotated[int, Meta(ge=1, le=LONGEST)]] | None).decode


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A sentence and the words that are not to be asked about."""

    sentence: Sentence
    asked: tuple[int, ...]

    @property
    def cells(self) -> int:
        """Its edges."""
        return len(self.sentence) ** 2

    @property
    def nbytes(self) -> int:
        """A word has a line and eight columns."""
        return 1000 + 2 * sum(map(len, self.sentence.lines)) + 600 * len(self.sentence)


class TreeView(msgspec.Struct):
    """A question as the page draws it: words from 1 on, 0 is the sentence itself; `heads` is the parser's tree now."""

    id: str
    forms: list[str]
    tags: list[str]
    heads: list[int]
    word: int
    candidates: list[int]


class ParseLearner(ServedLearner):
    """A parser behind the service's interface. Edges are featurised when needed: a long sentence's take a megabyte."""

    ties = False
    draws = 1
    pairwise = False
    exhausted = "every word has been asked about"

    def __init__(self, settings: ModelSettings) -> None:
        if settings.algorithm != "parser":
            raise ValueError(f"a model for the task 'parse' has the algorithm 'parser', got {settings.algorithm!r}")
        given = {**_DEFAULTS, **settings.parameters}
        if unknown := sorted(given.keys() - {*_RULE, *_DEFAULTS}):
            raise ValueError(f"a parser takes {', '.join((*_RULE, *_DEFAULTS))}; got {unknown}")
        self.settings = settings
        self.features = Features(given["features"], given["bits"])
        rule = EdgeRule(**{name: given[name] for name in _RULE if name in given})
        model = Diagonal(self.features.dim, lam=given["lam"], update=given["update"])
        begin(model, self.features, given["prior"])
        self.learner = EdgeLearner(model, rule, features=self.features)
        self._words: dict[str, int] = {}
        """How many words each sentence has, by its id: every question looks at every sentence."""

    @property
    def size(self) -> int:
        return int(self.learner.model.state.table.nbytes)

    def read(self, items: bytes, context: bytes, room: int | None = None) -> ReadSentence:
        """`items`: one item whose text is the sentence; `context`: the numbers of words not to ask about."""
        found = decode_items(items)
        if len(found) != 1 or found[0].text is None:
            raise invalid("a parse question has one item, whose text is a sentence in CoNLL-U")
        read = ReadSentence(read_sentence(found[0].text, found[0].id), read_asked(context))
        if room is not None and read.cells > room:
            raise invalid(f"the sentence has {read.cells} edges, expected at most {room}")
        return read

    def read_many(self, rounds: Sequence[Text], room: int | None = None) -> list[ReadSentence | RefusalError]:
        found: list[ReadSentence | RefusalError] = []
        for text in rounds:
            try:
                found.append(self.read(*text, room))
            except RefusalError as refusal:
                found.append(refusal)
        return found

    def cost(self, read: ReadSentence) -> float:
        return float(read.cells)

    def choose_many(self, reads: Sequence[ReadSentence], tickets: Sequence[int]) -> list[Chosen | RefusalError]:
        return [self._choose(*one) for one in zip(reads, tickets, strict=True)]

    def _choose(self, read: ReadSentence, ticket: int) -> Chosen | RefusalError:
        """The memo names the sentence and the word; scores of the many edges are not returned."""
        try:
            choice = self.learner.choose(read.sentence, ticket, read.asked)
        except ValueError as error:
            return invalid(str(error))
        return replace(choice, memo={**choice.memo, "sentence": read.sentence.id}), []

    def learn_many(
        self,
        reads: Sequence[ReadSentence],
        choices: Sequence[Choice],
        values: Sequence[float],
        sources: Sequence[Source | None],
    ) -> list[Exception | None]:
        errors: list[Exception | None] = []
        for read, choice, value in zip(reads, choices, values, strict=True):
            try:
                self.learner.learn(read.sentence, choice, value)
                errors.append(None)
            except (ValueError, TypeError, LookupError, ArithmeticError) as error:
                errors.append(error)
        return errors

    def names(self, read: ReadSentence, choice: Choice) -> tuple[str, ...]:
        """Heads are named by their place in the sentence, "0" is the root."""
        return tuple(str(ends_of(edge, len(read.sentence))[1]) for edge in choice.shown)

    def check(self, read: ReadSentence, choice: Choice) -> tuple[str, ...]:
        count = len(read.sentence) ** 2
        if choice.query is not Query.NONE:
            self.learner.check(choice, count)
        elif len(choice.shown) != 1 or not 0 <= choice.shown[0] < count:
            raise ValueError(f"expected one of {count} edges, got {choice.shown}")
        return self.names(read, choice)

    def outside(self, choice: Choice) -> bool:
        """Neither head may be right; whether that teaches something is a setting of the rule."""
        return self.learner.rule.neither != "skip"

    def draw(
        self,
        rng: random.Random,
        pool: Sequence[Group],
        taken: Set[str],
        asked: Mapping[str, Collection[int]],
        may: May | None = None,
    ) -> Group | None:
        """One of the sentences with the fewest questions so far; the context are the words already `asked` about."""
        items = [group.items[0] for group in pool]
        counts = {item.id: len(asked.get(item.id, ())) for item in items}
        left = [item for item in items if item.id not in taken and counts[item.id] < self.words_of(item)]
        if not left:
            return None
        fewest = min(counts[item.id] for item in left)
        least = [item for item in left if counts[item.id] == fewest]
        item = least[rng.randrange(len(least))]
        return Group([item], [*sorted(asked.get(item.id, ()))] or None)

    def words_of(self, item: Item) -> int:
        if item.id not in self._words:
            self._words[item.id] = _words(item)
        return self._words[item.id]

    def view(self, read: ReadSentence, event: Event) -> TreeView:
        sentence, word = read.sentence, int(event.choice.memo["word"])
        tree, heads = [int(head) for head in self.learner.tree(sentence)], [int(name) for name in event.shown]
        return TreeView(sentence.id, list(sentence.forms), list(sentence.upos), tree, word, heads)

    def dumps(self, extra: str) -> bytes:
        service = {"settings": msgspec.to_builtins(self.settings), "tally": extra}
        return pack({"service": service}, self.learner.model.arrays())

    def restore(self, data: bytes) -> str:
        """Take a snapshot's weights; return the text stored beside them."""
        header, arrays = unpack(data)
        self.learner.model.restore(arrays)
        return str(header["service"]["tally"])


def build(settings: ModelSettings, data: bytes | None) -> tuple[ParseLearner, str | None]:
    """A parser, fresh or from a snapshot, and the tally stored beside it."""
    try:
        learner = ParseLearner(settings)
    except (ValueError, TypeError) as error:
        raise invalid(str(error)) from None
    return learner, None if data is None else learner.restore(data)


def parser_of(turn: Turn) -> Parser:
    """What a model has learnt, as the parser that `conquer parse predict` uses. Raises RefusalError if it has none."""
    found = turn.state.learner
    if not isinstance(found, ParseLearner):
        raise conflict("no_parser", f"model {turn.state.name!r} does not parse")
    weights: Any = np.asarray(found.learner.model.weights())
    return Parser(found.features, weights, found.learner.rule.several_roots, {"answers": found.learner.answers})


def words_in(turn: Turn) -> int:
    """The words of all sentences that a parser's model asks about."""
    learner = turn.state.learner
    items = (group.items[0] for group in groups_of(turn))
    return sum(map(learner.words_of, items)) if isinstance(learner, ParseLearner) else 0


@functools.cache
def warm() -> None:
    """Load or compile what parse questions call, before the first one comes."""
    learner = ParseLearner(ModelSettings(algorithm="parser", task="parse", parameters={"bits": 4})).learner
    rows = "".join(f"{k}\tw\t_\tX\t_\t_\t_\t_\t_\t_\n" for k in (1, 2, 3))
    sentence = read_sentence(rows, "s")
    learner.learn(sentence, learner.choose(sentence, 0), 1.0)


# Sentences as items.


def read_treebank(data: bytes) -> list[Group]:
    """One group per sentence, labelled with its id in the file."""
    try:
        sentences = parse(data.decode("utf-8-sig"), heads="ignore")
    except (TreebankError, UnicodeDecodeError) as error:
        raise invalid(f"not a CoNLL-U file: {error}") from None
    kept = [sentence for sentence in sentences if 1 < len(sentence) <= LONGEST]
    if not kept:
        raise invalid("the file has no sentence to ask about")
    names = [MARKS.sub("-", one.id[:150] or f"number {number}") for number, one in enumerate(kept, 1)]
    return [Group([Item(name, text=text_of([one]), label=one.id[:500])]) for name, one in zip(names, kept, strict=True)]


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


def read_asked(context: bytes) -> tuple[int, ...]:
    """The words not to ask about, from a round's context: null, or their numbers.

    >>> read_asked(b"[3,5]"), read_asked(b"null")
    ((3, 5), ())
    """
    return tuple(decoded(_asked, context, "the context of a sentence") or ())


def _words(item: Item) -> int:
    """How many words a sentence has: lines that begin with a whole number."""
    return sum(line.split("\t", 1)[0].isdecimal() for line in (item.text or "").split("\n"))
