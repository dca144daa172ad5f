"""Parse questions behind a model's name: an item is a sentence in CoNLL-U, what is shown are two heads of one word."""

import functools
import random
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from conquer.data.treebank import Sentence
from conquer.files import pack, unpack
from conquer.kernels.parsing.edges import ends_of
from conquer.models.diagonal import Diagonal
from conquer.parsing.edges import Features
from conquer.parsing.learner import EdgeLearner, EdgeRule
from conquer.parsing.parser import Parser
from conquer.parsing.prior import begin
from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError, conflict, invalid
from conquer.service.model.learner_protocol import Chosen, Draw, May, ServedLearner, Text
from conquer.service.model.reading import decode_items
from conquer.service.model.records import Event
from conquer.service.model.schemas import Group, ModelSettings
from conquer.service.work.parser.questions import TreeView, draw_sentence, read_asked, read_sentence
from conquer.types import Choice, Query, Source

_RULE = ("ask", "eta", "neither", "silent", "several_roots")
_MODEL = ("lam", "update")


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


class ParseLearner(ServedLearner):
    """A parser behind the service's interface. Edges are featurised when needed: a long sentence's take a megabyte."""

    ties = False
    draws = 1
    pairwise = False
    exhausted = "every word has been asked about"

    def __init__(self, settings: ModelSettings) -> None:
        given: dict[str, Any] = {
            "lam": 0.3,
            "update": "margin",
            "features": "standard",
            "bits": 14,
            "prior": "upos",
            **settings.parameters,
        }
        unknown = set(given) - {*_RULE, *_MODEL, "features", "bits", "prior"}
        if unknown:
            takes = ", ".join((*_RULE, *_MODEL, "features", "bits"))
            raise ValueError(f"a parser takes {takes} and prior; got {sorted(unknown)}")
        self.settings = settings
        self.features = Features(given["features"], given["bits"])
        rule = EdgeRule(**{name: given[name] for name in _RULE if name in given})
        model = Diagonal(self.features.dim, **{name: given[name] for name in _MODEL})
        begin(model, self.features, given["prior"])
        self.learner = EdgeLearner(model, rule, features=self.features)

    @property
    def size(self) -> int:
        return int(self.learner.model.state.table.nbytes)

    def read(self, items: bytes, context: bytes, room: int | None = None) -> ReadSentence:
        """`items`: one item whose text is the sentence; `context`: words not to ask about, as "3,5"."""
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
        """The memo says which sentence and which word; the scores of a sentence's many edges stay here."""
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
        """Neither head may be right; the rule says whether that teaches something."""
        return self.learner.rule.neither != "skip"

    def draw(
        self,
        rng: random.Random,
        pool: Sequence[Group],
        taken: Set[str],
        asked: Mapping[str, Collection[int]],
        may: May | None = None,
    ) -> Draw | None:
        return draw_sentence(rng, pool, taken, asked)

    def view(self, read: ReadSentence, event: Event) -> TreeView:
        sentence = read.sentence
        return TreeView(
            sentence.id,
            list(sentence.forms),
            list(sentence.upos),
            [int(head) for head in self.learner.tree(sentence)],
            int(event.choice.memo["word"]),
            [int(name) for name in event.shown],
        )

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


def build(settings: ModelSettings, data: bytes | None) -> tuple[ParseLearner, str | None]:
    """A parser, fresh or from a snapshot, and the tally stored beside it."""
    try:
        learner = ParseLearner(settings)
    except (ValueError, TypeError) as error:
        raise invalid(str(error)) from None
    return learner, None if data is None else learner.restore(data)


def check_settings(settings: ModelSettings) -> None:
    """Refuse what could not be built, before anything is stored."""
    if settings.algorithm != "parser":
        raise invalid(f"a model for the task 'parse' has the algorithm 'parser', got {settings.algorithm!r}")
    build(settings, None)


def parser_of(turn: Turn) -> Parser:
    """What a model has learnt, for `conquer parse predict`; a RefusalError where it does not parse."""
    learner = turn.state.learner
    if not isinstance(learner, ParseLearner):
        raise conflict("no_parser", f"model {turn.state.name!r} does not parse")
    return learner.parser()


@functools.cache
def warm() -> None:
    """Load or compile what parse questions call, before the first one comes."""
    learner, _ = build(ModelSettings(algorithm="parser", task="parse", parameters={"bits": 4}), None)
    rows = "".join(f"{k}\\tw\\t_\\tX\\t_\\t_\\t_\\t_\\t_\\t_\\n" for k in (1, 2, 3))
    read = learner.read(f'[{{"id":"s","text":"{rows}"}}]'.encode(), b"null")
    (chosen,) = learner.choose_many([read], [0])
    if isinstance(chosen, RefusalError):
        raise chosen
    learner.learn_many([read], [chosen[0]], [1.0], [None])
