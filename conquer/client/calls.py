"""What the client asks of the service and what it makes of the replies, without a network."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

Reply = TypeVar("Reply")
Items = Sequence[Mapping[str, Any]]
Word = str | float | bool | None
"""What may stand in a query; None is not sent."""
NOTHING_DONE = frozenset({429, 503})
"""Statuses that say that nothing has happened: any call may be sent again."""
AGAIN = NOTHING_DONE | {502, 504}
"""Statuses after which a call that repeats may be sent again: whether it was done is not known."""


class ServiceError(Exception):
    """What the service said no to: its status, the code of the error and its message.

    >>> str(ServiceError(404, "unknown_model", "there is no model 'teas'"))
    "404 unknown_model: there is no model 'teas'"
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(status, code, message)  # what a copy in another process is made of
        self.status, self.code, self.message = status, code, message

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.message}"


@dataclass(frozen=True, slots=True)
class Posed:
    """A question: show `shown` (ids, the learner's first choice first), `left` on the left-hand side.

    `query`: "duel", which of two; "best", whether the one is the best; "none", nothing is asked. `scores` follow the
    items. `done`: the model's tolerance is reached for these items, so that asking may stop.
    """

    event_id: str
    query: str
    shown: tuple[str, ...]
    left: str
    scores: tuple[float, ...]
    chance: float | None = None
    done: bool = False


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What became of an answer: "learnt", "repeat", or "ignored" with the reason."""

    status: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Request(Generic[Reply]):
    """One request and how its reply is read. `repeats`: sending it twice does what sending it once does."""

    method: str
    path: str
    read: Callable[[Any], Reply]
    body: Any = None
    content: bytes | None = None
    query: Mapping[str, Word] = field(default_factory=dict)
    repeats: bool = True


def model_path(name: str, rest: str = "") -> str:
    """The path of a model's route, whatever its name holds.

    >>> model_path("teas", "/events/a b/answer")
    '/v1/models/teas/events/a b/answer'
    """
    return f"/v1/models/{segment(name)}{rest}"


def segment(name: str) -> str:
    """A name as one part of a path. Dots alone are escaped too: a path with them would lead elsewhere.

    >>> segment("a/b"), segment("..")
    ('a%2Fb', '%2E%2E')
    """
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")


def models() -> Request[list[dict[str, Any]]]:
    """All models that the key may read."""
    return Request("GET", "/v1/models", lambda reply: list(reply["models"]))


def create(name: str, algorithm: str, settings: Mapping[str, Any]) -> Request[dict[str, Any]]:
    """Make a model; `settings` are the other fields of `POST /v1/models`."""
    return Request("POST", "/v1/models", fields, {"name": name, "algorithm": algorithm, **settings}, repeats=False)


def choose(name: str, items: Items, context: Any, event_id: str | None, voter: str | None) -> Request[Posed]:
    """Ask which items to show. Without an event id it is given one here, so that it can be sent again."""
    body = {"items": list(items), "context": context, "event_id": event_id, "voter": voter}
    return Request("POST", model_path(name, "/choose"), asked, _round(body))


def choose_batch(name: str, rounds: Sequence[Mapping[str, Any]]) -> Request[list[Posed | ServiceError]]:
    """Ask for many rounds, each as of `choose`."""
    body = {"rounds": [_round(one) for one in rounds]}
    return Request("POST", model_path(name, "/choose/batch"), lambda reply: _each(reply, asked), body)


def _round(body: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: value for key, value in body.items() if value is not None}
    return {"event_id": uuid.uuid4().hex} | given


def answer(name: str, event_id: str, winner: str, more: Mapping[str, Any]) -> Request[Acknowledged]:
    """Say which item won: its id, "tie", "both_bad" or "skip"."""
    body = {"winner": winner} | {key: value for key, value in more.items() if value is not None}
    return Request("POST", model_path(name, f"/events/{segment(event_id)}/answer"), answered, body)


def answer_batch(name: str, answers: Sequence[Mapping[str, Any]]) -> Request[list[Acknowledged | ServiceError]]:
    """Answer many events, each with its `event_id`, `winner` and what else `answer` takes."""
    body = {"answers": list(answers)}
    return Request("POST", model_path(name, "/answers"), lambda reply: _each(reply, answered), body)


def undo(name: str, event_id: str, voter: str | None) -> Request[Acknowledged]:
    """Take an answer back."""
    body = {} if voter is None else {"voter": voter}
    return Request("POST", model_path(name, f"/events/{segment(event_id)}/undo"), answered, body, repeats=False)


def next_question(name: str, voter: str, shared: bool) -> Request[dict[str, Any]]:
    """The question that the voter holds, or a new one: asked twice, it is the same."""
    return Request("POST", model_path(name, "/next"), fields, {"voter": voter, "shared": shared})


def rank(name: str, items: Items, context: Any) -> Request[dict[str, Any]]:
    """Rank items by score without using a round."""
    body = {"items": list(items)} | ({} if context is None else {"context": context})
    return Request("POST", model_path(name, "/rank"), fields, body)


def reading(name: str, what: str, query: Mapping[str, Word]) -> Request[Any]:
    """What the model says of itself: an object, a text or bytes."""
    return Request("GET", model_path(name, f"/{what}" if what else ""), lambda reply: reply, query=query)


def standing(name: str, what: str, query: Mapping[str, Word]) -> Request[dict[str, Any]]:
    """What the model says of its items or voters."""
    return Request("GET", model_path(name, f"/{what}"), fields, query=query)


def votes(name: str, contents: bytes | str, query: Mapping[str, Word]) -> Request[dict[str, Any]]:
    """Learn a file of votes; the service knows one that it has learnt."""
    return Request("POST", model_path(name, "/votes"), fields, content=_file(contents), query=query)


def upload(name: str, contents: bytes | str, query: Mapping[str, Word]) -> Request[dict[str, Any]]:
    """Add a file of items to ask people about."""
    return Request("POST", model_path(name, "/items"), fields, content=_file(contents), query=query, repeats=False)


def image(name: str, contents: bytes, file: str | None) -> Request[str]:
    """Add a picture of an item; the same picture is kept once."""
    query: Mapping[str, Word] = {} if file is None else {"file": file}
    return Request(
        "POST", model_path(name, "/images"), lambda reply: str(reply["image"]), content=contents, query=query
    )


def _file(contents: bytes | str) -> bytes:
    return contents.encode() if isinstance(contents, str) else contents


def delete(name: str) -> Request[None]:
    """Delete a model and its log."""
    return Request("DELETE", model_path(name), lambda _: None, repeats=False)


def fields(reply: Any) -> dict[str, Any]:
    """A reply that is an object, as it is."""
    if not isinstance(reply, dict):
        raise TypeError(f"expected an object, got {reply!r:.60}")
    return reply


def asked(reply: Mapping[str, Any]) -> Posed:
    """A reply to choose.

    >>> asked({"event_id": "e", "query": "duel", "shown": [{"id": "a"}, {"id": "b"}], "left": "b", "scores": [0, 0]})
    Posed(event_id='e', query='duel', shown=('a', 'b'), left='b', scores=(0.0, 0.0), chance=None, done=False)
    """
    return Posed(
        reply["event_id"],
        reply["query"],
        tuple(one["id"] for one in reply["shown"]),
        reply["left"],
        tuple(map(float, reply["scores"])),
        reply.get("chance"),
        bool(reply.get("done", False)),
    )


def answered(reply: Mapping[str, Any]) -> Acknowledged:
    """A reply to answer."""
    return Acknowledged(reply["status"], reply.get("reason"))


def _each(reply: Mapping[str, Any], read: Callable[[Any], Reply]) -> list[Reply | ServiceError]:
    """What became of each part of a batch."""
    return [refusal(one["error"]["status"], one, "") if "error" in one else read(one) for one in reply["results"]]


def unreadable(status: int, text: str) -> ServiceError:
    """What is said of a success that is no reply of the service.

    >>> str(unreadable(200, "<html>Sign in</html>"))
    '200 unreadable: this is no reply of the service; does its address lead there? It says: <html>Sign in</html>'
    """
    message = "this is no reply of the service; does its address lead there? It says: "
    return ServiceError(status, "unreadable", message + (text[:200] or "nothing"))


def refusal(status: int, reply: Any, text: str) -> ServiceError:
    """An error as the service told it, or as whatever stands before it did."""
    error = reply.get("error") if isinstance(reply, dict) else None
    if isinstance(error, dict):
        return ServiceError(status, str(error.get("code", "unknown")), str(error.get("message", "")))
    return ServiceError(status, "unknown", text[:200])
