"""Batches over HTTP: what they hold, and how they are decoded, at little cost and never further than they may go."""

import contextlib
import math
import re
import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from conquer.service.model.schemas import LONGEST_IDENTIFIER, AnswerRequest, ChooseRequest, EventId, Strict

BATCH = 1000
"""Rounds or answers in one request."""
_Places = Meta(min_length=1, max_length=BATCH)
_Name = Annotated[str, Meta(min_length=1, max_length=LONGEST_IDENTIFIER)]
_UNFIT = re.compile(r"[\x00-\x1f\x7f/?#\\]")
_ELSEWHERE = frozenset({".", ".."})


class BatchChoose(Strict):
    rounds: Annotated[list[ChooseRequest], _Places]


class BatchAnswer(AnswerRequest, kw_only=True):
    event_id: EventId


class BatchAnswers(Strict):
    answers: Annotated[list[BatchAnswer], _Places]


class BatchReply(msgspec.Struct):
    """One result per request, in order: the reply, or `{"error": ...}`; each stands for itself."""

    results: Sequence[Any]


class _Left(threading.local):
    """How many more elements the batch may have that this thread is decoding."""

    places: float = math.inf

    def take(self) -> None:
        self.places -= 1
        if self.places < 0:
            raise ValueError(f"a batch has at most {BATCH} elements")


_left = _Left()


class _CountedRound(ChooseRequest):
    def __post_init__(self) -> None:
        _left.take()


class _CountedRounds(BatchChoose):
    # Nobody puts others into what was decoded.
    rounds: Annotated[list[_CountedRound], _Places]  # type: ignore[assignment]


class _CountedAnswer(BatchAnswer):
    def __post_init__(self) -> None:
        _left.take()


class _CountedAnswers(BatchAnswers):
    answers: Annotated[list[_CountedAnswer], _Places]  # type: ignore[assignment]


class _NamedRound(ChooseRequest):
    event_id: _Name | None = None
    voter: _Name | None = None


class _NamedRounds(BatchChoose):
    rounds: Annotated[list[_NamedRound], _Places]  # type: ignore[assignment]


class _NamedAnswer(BatchAnswer, kw_only=True):
    event_id: _Name
    voter: _Name | None = None


class _NamedAnswers(BatchAnswers):
    answers: Annotated[list[_NamedAnswer], _Places]  # type: ignore[assignment]


_COUNTED = {BatchChoose: _CountedRounds, BatchAnswers: _CountedAnswers}
_NAMED = {BatchChoose: _NamedRounds, BatchAnswers: _NamedAnswers}


def decoder(kind: Any) -> Callable[[bytes], Any]:
    """What decodes a request of this kind. A batch that is too long ends there: msgspec alone would make all of it.

    >>> decoder(BatchAnswers)(b'{"answers":[{"event_id":"visit-17","winner":"tie"}]}').answers[0].event_id
    'visit-17'
    """
    decode: Callable[[bytes], Any] = msgspec.json.Decoder(kind).decode
    if kind not in _COUNTED:
        return decode
    decode_named: Callable[[bytes], Any] = msgspec.json.Decoder(_NAMED[kind]).decode
    decode_counted: Callable[[bytes], Any] = msgspec.json.Decoder(_COUNTED[kind]).decode
    (field,) = kind.__struct_fields__

    def decode_batch(raw: bytes) -> Any:
        if raw.count(b"{") <= BATCH:
            # Every element has a brace, so there are not too many.
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                batch = decode_named(raw)
                if _are_fit(getattr(batch, field)):
                    return batch
            # Whatever is wrong with it is said here, in the order in which it stands there.
            return decode(raw)
        _left.places = BATCH
        try:
            return decode_counted(raw)
        finally:
            _left.places = math.inf

    return decode_batch


def _are_fit(elements: Sequence[_NamedRound | _NamedAnswer]) -> bool:
    """Whether all names are such as `EventId` and `Identifier` allow: msgspec calls Python to look at each of them."""
    events = [one.event_id for one in elements if one.event_id is not None]
    voters = [one.voter for one in elements if one.voter is not None]
    return _UNFIT.search("".join(events + voters)) is None and _ELSEWHERE.isdisjoint(events)
