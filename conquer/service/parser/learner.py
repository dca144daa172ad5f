"""Parse questions behind a model's name: an item is a sentence in CoNLL-U, what is shown are two heads of one word."""

from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from conquer.answers import left_is_second
from conquer.data.treebank import Sentence, TreebankError, parse
from conquer.files import pack, unpack
from conquer.kernels.parsing.numbering import ends_of
from conquer.models.diagonal import Diagonal
from conquer.parsing.edges import Features
from conquer.parsing.learner import EdgeLearner
from conquer.parsing.parser import Parser
from conquer.parsing.rule import EdgeRule
from conquer.service.commands.reading import decode_items
from conquer.service.errors import invalid
from conquer.service.http.schemas import ModelSettings
from conquer.service.log.fold import Pick
from conquer.tickets import stream, ticket
from conquer.types import Choice, Query

LONGEST = 120
_RULE = ("ask", "eta", "neither", "silent", "several_roots")
_MODEL = ("lam", "update")


@dataclass(frozen=True, slots=True)
class ReadSentence:
    """A sentence and the words that are not to be asked about."""

    sentence: Sentence
    asked: tuple[int, ...]


class ParserBrain:
    """Edges are featurised when they are needed: those of a long sentence take a megabyte."""

    def __init__(self, settings: ModelSettings) -> None:
        given = {"lam": 0.3, "update": "margin", "features": "standard", "bits": 14, **settings.parameters}
        unknown = set(given) - {*_RULE, *_MODEL, "features", "bits"}
        if unknown:
            raise ValueError(f"a parser takes {', '.join((*_RULE, *_MODEL))}, features and bits; got {sorted(unknown)}")
        self.settings = settings
        self.features = Features(given["features"], given["bits"])
        rule = EdgeRule(**{name: given[name] for name in _RULE if name in given})
        model = Diagonal(self.features.dim, **{name: given[name] for name in _MODEL})
        self.learner = EdgeLearner(model, rule, features=self.features)
        self._stream = stream("policy", settings.seed)

    @property
    def size(self) -> int:
        return sum(array.nbytes for array in self.learner.model.state)

    def parse(self, items: bytes, context: bytes) -> ReadSentence:
        """`items`: one item whose text is the sentence; `context`: words not to ask about, as "3,5"."""
        found = decode_items(items)
        if len(found) != 1 or found[0].text is None:
            raise invalid("a parse question has one item, whose text is a sentence in CoNLL-U")
        words = msgspec.json.decode(context)
        return ReadSentence(read_sentence(found[0].text, found[0].id), _asked(words))

    def choose(self, read: ReadSentence, ordinal: int) -> Pick:
        number = ticket(self._stream, ordinal)
        try:
            choice = self.learner.choose(read.sentence, number, read.asked)
        except ValueError as error:
            raise invalid(str(error)) from None
        choice = replace(choice, memo={**choice.memo, "sentence": read.sentence.id})
        names = self._names(read, choice)
        return Pick(choice, names, names[-1] if left_is_second(number) else names[0], None, [])

    def learn(self, read: ReadSentence, choice: Choice, value: float) -> None:
        self.learner.learn(read.sentence, choice, value)

    def expose(self, read: ReadSentence, choice: Choice) -> Choice:
        return self.learner.expose(read.sentence, choice)

    def check(self, read: ReadSentence, choice: Choice) -> tuple[str, ...]:
        count = len(read.sentence) ** 2
        if choice.query is not Query.NONE:
            self.learner.check(choice, count)
        elif len(choice.shown) != 1 or not 0 <= choice.shown[0] < count:
            raise ValueError(f"expected one of {count} edges, got {choice.shown}")
        return self._names(read, choice)

    def _names(self, read: ReadSentence, choice: Choice) -> tuple[str, ...]:
        """Heads are named by their place in the sentence, "0" is the root."""
        return tuple(str(ends_of(edge, len(read.sentence))[1]) for edge in choice.shown)

    def dumps(self, extra: str) -> bytes:
        service = {"settings": msgspec.to_builtins(self.settings), "tally": extra}
        return pack({"service": service}, self.learner.model.arrays())

    def restore(self, data: bytes) -> str:
        """Take a snapshot's weights; return the text stored beside them."""
        header, arrays = unpack(data)
        self.learner.model.restore(arrays)
        return str(header["service"]["tally"])

    def parser(self) -> Parser:
        """What has been learnt, as the parser that `conquer parse predict` uses."""
        weights: Any = np.asarray(self.learner.model.weights())
        return Parser(self.features, weights, self.learner.rule.several_roots, {"answers": self.learner.answers})


def read_sentence(text: str, name: str) -> Sentence:
    try:
        found = parse(text, heads="ignore")
    except TreebankError as error:
        raise invalid(f"sentence {name!r}: {error}") from None
    if len(found) != 1 or not 1 <= len(found[0]) <= LONGEST:
        sizes = [len(one) for one in found]
        raise invalid(f"an item's text is one sentence of 1 to {LONGEST} words, got {len(found)} of {sizes[:5]} words")
    return replace(found[0], id=name)


def _asked(words: Any) -> tuple[int, ...]:
    if words is None or words == "":
        return ()
    parts = words.split(",") if isinstance(words, str) else ["?"]
    if not all(part.isascii() and part.isdecimal() and len(part) < 5 for part in parts):
        raise invalid(f"the context of a sentence is null or words as '3,5', got {words!r}")
    return tuple(int(part) for part in parts)
