"""Requests and replies as types, and the decoding of JSON into them. The OpenAPI document is made from these."""

import math
import re
import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from conquer.features import vocabulary
from conquer.features.featurizer import Columns, Products
from conquer.items import Part
from conquer.service.errors import Kind, RefusalError, invalid

Decoded = TypeVar("Decoded")
Raw = msgspec.Raw
MARKS = re.compile(r"[\x00-\x1f\x7f/?#\\]")
"""Characters that no identifier has."""
# Python's `$` alone would let a newline follow; `(?!\n)$` is the end in every dialect.
Identifier = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f/?#\\]+(?!\n)$")]
EventId = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^(?!\.{1,2}$)[^\x00-\x1f\x7f/?#\\]+(?!\n)$")]
"""An identifier that can be part of a path: "." and ".." would lead elsewhere."""
ModelName = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*(?!\n)$")]
Line = Annotated[str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*(?!\n)$")]
"""Some words on one line, for people."""
LARGEST = 1e15
"""No number of an item or a context is larger: squares, sums and quotients of them stay far from what overflows."""
Number = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Value = str | Number | bool
Context = str | dict[str, Value | list[Number] | dict[str, Value]] | list[Number] | None
"""A text, features or a vector; or a dict of some of the three, by the names `text`, `features` and `vector`."""
Parameter = (
    Annotated[str, Meta(max_length=64)] | Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)] | float | bool | None
)
"""What a parameter can be: nothing nested, no number of more digits than a machine's."""
ANSWER_WORDS = frozenset({"tie", "both_bad", "skip"})
"""What a winner may be besides a shown item's id; so never an item's id itself."""
_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PATTERN = re.compile(r"matching regex (['\"]).*?\1(?= - at |$)", re.DOTALL)
Format = Literal["plain", "markdown", "code"]
_MetaName = Annotated[str, Meta(max_length=200)]
_Word = Annotated[str, Meta(max_length=2000)]
_Whole = Annotated[int, Meta(ge=-(1 << 53), le=1 << 53)]
_Words = Annotated[list[_MetaName], Meta(max_length=64)]
ItemMeta = Annotated[dict[_MetaName, _Word | _Whole | float | bool | _Words | None], Meta(max_length=64)]
UPLOADED = r"[0-9a-f]{32}\.(png|jpg|webp|gif)"
"""The name of an uploaded image: a digest of its bytes, and what it is."""
IMAGE = rf"^(/(?![/\\])[^\x00-\x20\x7f\\]*|{UPLOADED})(?!\n)$"
"""A path of this server, which cannot lead to another host; or an image that was uploaded to the model."""


class Strict(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A request: a misspelt field is an error, not a default."""


class FeatureSettings(Strict):
    """How items become rows: text and dicts get `dim` columns, vectors have at most `dim` numbers.

    `tfidf`, `idf` and `vocabulary` are fitted to the first items uploaded, or come fitted in a file, and then stay.
    """

    dim: Annotated[int, Meta(ge=1, le=1 << 24)] = 1 << 18
    kind: vocabulary.Kind = "binary"
    columns: Columns = "hashing"
    ngrams: Annotated[list[Annotated[int, Meta(ge=1, le=8)]], Meta(min_length=2, max_length=2)] = msgspec.field(
        default_factory=lambda: [1, 2]
    )
    encoder: Annotated[str, Meta(max_length=64)] | None = None
    """A featurizer of an installed package that makes vectors of texts or dicts."""
    learn: Annotated[list[Part], Meta(min_length=1, max_length=2)] | None = None
    """Which parts of an item are learnt. None: its vector, or its text where it has none, and its features."""
    products: Products = "all"
    """Of vectors and a context that is one: all, or those of numbers in the same place."""


class ModelSettings(Strict):
    """Everything that makes a model, fixed at its creation; its log does the rest."""

    algorithm: Annotated[str, Meta(max_length=64)] = "gnr"
    model: Annotated[str, Meta(max_length=64)] | None = None
    """diagonal, full or kernel; None: the algorithm's own."""
    parameters: Annotated[dict[Annotated[str, Meta(max_length=64)], Parameter], Meta(max_length=64)] = {}
    features: FeatureSettings = msgspec.field(default_factory=FeatureSettings)
    seed: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] = 0
    window_seconds: Annotated[float, Meta(gt=0)] | None = None
    """An answer later than this is logged as late and not learnt. None: answers are welcome for ever."""
    per_round: Annotated[int, Meta(ge=2, le=100)] = 5
    """How many items of an uploaded pool take part in one question."""
    quota: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """How many answers a pair of an uploaded pool gets; the pool is done when every pair has them. None: no end."""
    planted: Annotated[float, Meta(ge=0, le=0.5)] = 0.0
    """Share of questions that ask an earlier one again, to measure agreement; their answers are not learnt."""
    instructions: Annotated[str, Meta(max_length=10_000)] = ""
    question: Annotated[str, Meta(max_length=500)] = ""
    format: Format = "plain"
    """How pages show texts: as they are, as Markdown, or as code."""
    task: Literal["pick", "parse"] = "pick"
    stop: Annotated[float, Meta(gt=0, le=2)] | None = None
    """Done when no item is better than the leader by more than this, at level `delta`. None: never."""
    delta: Annotated[float, Meta(gt=0, lt=1)] = 0.05
    """The chance of error that boards and `stop` may take."""
    believe: Literal["voters", "people"] | None = None
    """Learn each voter's pull to a side and how far to rely on them; "people": judges by people's answers. None: no."""


class NewModel(ModelSettings, kw_only=True):
    """A model to make. `believe` "auto": "voters" where the algorithm can weigh voters, else none."""

    name: ModelName
    # "auto" is what a request may leave open; settings never hold it.
    believe: Literal["auto", "voters", "people"] | None = "auto"  # type: ignore[assignment]

    def settings(self) -> ModelSettings:
        """Without the name. `model`, `dim` and `believe` may be among the parameters, as in `conquer.make`."""
        given = {name: getattr(self, name) for name in ModelSettings.__struct_fields__}
        parameters = dict(self.parameters)
        given |= {name: parameters.pop(name) for name in ("model", "believe") if name in parameters}
        if "dim" in parameters:
            given["features"] = msgspec.structs.replace(self.features, dim=parameters.pop("dim"))
        given |= {"parameters": parameters, "believe": None if given["believe"] == "auto" else given["believe"]}
        return msgspec.convert(msgspec.to_builtins(ModelSettings(**given)), ModelSettings)


class Item(Strict):
    """An item: its vector is learnt, or its text where it has none, and its features, unless the model says otherwise.

    All else is only shown and exported.
    """

    id: Identifier
    text: str | None = None
    features: dict[str, Value] | None = None
    vector: list[Number] | None = None
    label: Annotated[str, Meta(max_length=500)] | None = None
    """A name for people."""
    meta: ItemMeta | None = None
    """Whatever else is known of it."""
    image: Annotated[str, Meta(max_length=500, pattern=IMAGE)] | None = None
    """A path on this server, or the name of an image that was uploaded to the model."""
    format: Format | None = None
    """How pages show its text; None: as the model says."""


def bytes_of(item: Item) -> int:
    """Bytes of an item in memory, roughly."""
    words = len(item.text or "") + len(item.label or "") + len(item.image or "")
    entries = [*(item.features or {}).items(), *(item.meta or {}).items()]
    return (
        500 + 2 * words + 32 * len(item.vector or ()) + sum(200 + 2 * len(name) + _long(one) for name, one in entries)
    )


def _long(value: Any) -> int:
    """Bytes of a feature's or meta's value beyond those of a number."""
    if isinstance(value, list):
        return sum(60 + 2 * len(word) for word in value)
    return 2 * len(value) if isinstance(value, str) else 0


class Group(Strict):
    """Items that may be compared. `context` is what they answer to, if anything."""

    items: list[Item]
    context: Context = None


BATCH = 1000
"""Rounds or answers in one request."""
_Elements = Meta(min_length=1, max_length=BATCH)


class _ElementsLeft(threading.local):
    """How many more elements the batch may have that this thread decodes."""

    count: float = math.inf

    def take(self) -> None:
        self.count -= 1
        if self.count < 0:
            raise ValueError(f"a batch has at most {BATCH} elements")


_left = _ElementsLeft()
_ROUND = {"type": "array", "items": {"$ref": "#/components/schemas/Item"}, "minItems": 1, "maxItems": 1000}
# Parts of a request that stay as the bytes that came: they are stored so, and decoded by the learner.
RawItems = Annotated[Raw, Meta(extra_json_schema=_ROUND)]
RawContext = Annotated[Raw, Meta(extra_json_schema=msgspec.json.schema(Context))]
NO_CONTEXT: Any = msgspec.field(default_factory=lambda: Raw(b"null"))


class ChooseRequest(Strict, gc=False):
    """A round. `event_id` makes the request safe to repeat; `voter` is the person who will answer."""

    items: RawItems
    context: RawContext = NO_CONTEXT
    event_id: EventId | None = None
    voter: Identifier | None = None

    def __post_init__(self) -> None:
        _left.take()


class BatchChoose(Strict):
    rounds: Annotated[list[ChooseRequest], _Elements]


class Shown(msgspec.Struct, gc=False):
    id: str


class ChooseReply(msgspec.Struct, gc=False):
    event_id: str
    query: Literal["none", "duel", "best"]
    shown: list[Shown]
    left: str
    scores: list[float]
    chance: float | None
    ordinal: int
    done: bool | msgspec.UnsetType = msgspec.UNSET
    """Of a model with `stop`: whether the answers so far decide between these items, so that asking may end.

    Absent where that takes too long to tell here, for a large round or model: see the board.
    """


class AnswerRequest(Strict, gc=False):
    """`winner` is a shown item's id, or `tie`, `both_bad`, `skip`; for a `best` question also the item itself."""

    winner: Annotated[str, Meta(min_length=1, max_length=200)]
    voter: Identifier | None = None
    kind: Literal["person", "judge"] = "person"
    """Whether the voter is a person or a judge, such as a language model."""
    strength: Annotated[float, Meta(gt=0, le=1)] | None = None
    seconds: Annotated[float, Meta(ge=0, le=86400)] | None = None


class BatchAnswer(AnswerRequest, kw_only=True):
    event_id: EventId

    def __post_init__(self) -> None:
        _left.take()


class BatchAnswers(Strict):
    answers: Annotated[list[BatchAnswer], _Elements]


class BatchReply(msgspec.Struct):
    """One result per request, in order: the reply, or `{"error": ...}`."""

    results: Sequence[Any]


def decoder(kind: Any) -> Callable[[bytes], Any]:
    """A function that decodes a request of this kind. Decoding ends at the first element too many of a batch.

    >>> decoder(BatchAnswers)(b'{"answers":[{"event_id":"visit-17","winner":"tie"}]}').answers[0].event_id
    'visit-17'
    """
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(kind).decode
    if kind not in (BatchChoose, BatchAnswers):
        return decode

    def decode_batch(raw: bytes) -> Any:
        _left.count = BATCH
        try:
            return decode(raw)
        finally:
            _left.count = math.inf

    return decode_batch


class AnswerReply(msgspec.Struct, omit_defaults=True, gc=False):
    """`learnt`, `repeat` (said before; nothing changed) or `ignored` with the reason. Never silent."""

    status: Literal["learnt", "repeat", "ignored"]
    event_id: str
    reason: str | None = None
    first: str | None = None
    """For a repeat: what became of the answer the first time."""


class Failure(msgspec.Struct):
    code: str
    message: str


def is_model_name(text: str) -> bool:
    return _MODEL_NAME.fullmatch(text) is not None


def decoded(decode: Callable[[bytes], Decoded], raw: bytes, what: str) -> Decoded:
    """Decode bytes. Raises RefusalError with the mistake in `what`.

    Parts that a decoder leaves as bytes (`msgspec.Raw`) are UTF-8 too, so that they can be stored as text.

    >>> decoded(msgspec.json.Decoder(list[int]).decode, b"[1]", "the body")
    [1]
    >>> decoded(msgspec.json.Decoder(msgspec.Raw).decode, b'"\\xff"', "the body")
    Traceback (most recent call last):
    conquer.service.errors.RefusalError: the body is not UTF-8: invalid start byte at byte 1
    """
    try:
        if not raw.isascii():
            raw.decode()
        return decode(raw)
    except msgspec.ValidationError as error:
        raise invalid(f"{what}: {in_words(str(error))}") from None
    except UnicodeDecodeError as error:
        message = f"{what} is not UTF-8: {error.reason} at byte {error.start}"
    except msgspec.DecodeError as error:
        message = f"{what} is not JSON: {error}"
    except RecursionError:
        message = f"{what} is nested too deeply"
    raise RefusalError(Kind.MALFORMED, "malformed", message)


def in_words(message: str) -> str:
    """A decoder's message with its patterns in words.

    >>> in_words("Expected `str` matching regex '^[A-Za-z0-9][A-Za-z0-9._-]*(?!\\\\n)$' - at `$.name`")
    'Expected `str` of letters, digits, dots, hyphens or underscores, beginning with a letter or a digit - at `$.name`'
    """

    def words(found: re.Match[str]) -> str:
        if "png|jpg" in found.group():
            return "that is a path beginning with one slash, or the name of an uploaded image"
        if "A-Za-z0-9" in found.group():
            return "of letters, digits, dots, hyphens or underscores, beginning with a letter or a digit"
        return "without control characters, slashes, backslashes, ? and #, and not . or .. alone"

    return _PATTERN.sub(words, message)
