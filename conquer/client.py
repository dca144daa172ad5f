"""An HTTP client of the service: ask which items to show, tell which one was picked.

Every question carries an event id, by which the service recognises a request it has seen, so a request that is sent
again after a lost connection is neither asked nor learnt twice.
"""

import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from urllib.parse import quote

from conquer.checks import number, whole

try:
    import httpx
except ModuleNotFoundError:
    raise ImportError("conquer.client needs httpx; run: pip install 'conquer-bandits[client]'") from None

__all__ = ["Client", "Receipt", "RemoteOffer", "ServiceError"]

Reply = TypeVar("Reply")
Items = Sequence[Mapping[str, Any]]
QueryValue = str | float | bool | None
"""The value of a query parameter; None is left out."""

_NOTHING_DONE = frozenset({429, 503})
"""Statuses that say that the request had no effect: any request may be sent again."""
_UNKNOWN = frozenset({502, 504})
"""Statuses that leave open whether the request had an effect: only idempotent requests are sent again."""
_LONGEST_WAIT = 30.0
"""Seconds between two attempts at most."""
_LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)
"""Failures of the connection. Other httpx errors are caused by the request itself and would repeat."""


class ServiceError(Exception):
    """A request that the service refused: the HTTP status, the error's code and its message.

    >>> str(ServiceError(404, "unknown_model", "there is no model 'teas'"))
    "404 unknown_model: there is no model 'teas'"
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(status, code, message)  # keeps the exception picklable
        self.status, self.code, self.message = status, code, message

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.message}"


@dataclass(frozen=True, slots=True)
class RemoteOffer:
    """The items to show for one round.

    Attributes
    ----------
    id
        The event id, which `Client.tell` takes.
    query
        "duel": which of the items is better; "best": is the item the best; "none": nothing is asked.
    shown
        The ids of the items to show, the learner's first choice first.
    left
        The id of the item for the left-hand side.
    scores
        The learner's score of every item of the round, in the order of the request.
    chance
        The probability of this choice, where it is known.
    done
        Whether the model's stopping tolerance is reached for these items.
    """

    id: str
    query: Literal["duel", "best", "none"]
    shown: tuple[str, ...]
    left: str
    scores: tuple[float, ...]
    chance: float | None = None
    done: bool = False

    @property
    def asks(self) -> bool:
        """Whether an answer is wanted."""
        return self.query != "none"


@dataclass(frozen=True, slots=True)
class Receipt:
    """The outcome of an answer: status "learnt", "repeat" or "ignored", and for "ignored" the reason."""

    status: Literal["learnt", "repeat", "ignored"]
    reason: str | None = None


class Client:
    """A connection to the service at `address`. Use it as a context manager, or call `close`.

    A request that meets a lost connection or a busy server is sent again after a growing pause. The client is
    thread-safe; an asynchronous program calls it through `asyncio.to_thread`. A method that returns a dict returns the
    JSON body of the reply; its fields are listed at /docs of the running service.

    Parameters
    ----------
    address
        The service's root, beginning with http:// or https://.
    key
        The secret of an API key, for servers that require one.
    timeout
        Seconds to wait for each reply.
    retries
        How many times a request is sent again.

    Raises
    ------
    ServiceError
        By every method, when the service refuses the request.
    httpx.TransportError
        By every method, when the service cannot be reached.

    Examples
    --------
    >>> with Client("http://127.0.0.1:8000", retries=2) as client:
    ...     client.address
    'http://127.0.0.1:8000'
    """

    def __init__(self, address: str, *, key: str | None = None, timeout: float = 30.0, retries: int = 5) -> None:
        if not isinstance(address, str) or not address.startswith(("http://", "https://")):
            raise ValueError(f"address must begin with http:// or https://, got {address!r}")
        self.address = address.rstrip("/")
        self._retries = whole("retries", retries, 0, 1000)
        self._http = httpx.Client(
            base_url=self.address,
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeout=number("timeout", timeout, 0, 1e6, above=True),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def models(self) -> list[dict[str, Any]]:
        """List the models that the key may read."""
        return self._get("/v1/models", lambda reply: list(reply["models"]))

    def create(self, name: str, algorithm: str = "gnr", **settings: Any) -> dict[str, Any]:
        """Create a model; `settings` are the other fields of `POST /v1/models`, such as parameters and stop."""
        body = {"name": name, "algorithm": algorithm, **settings}
        return self._post("/v1/models", _fields, body, repeats=False)

    def ask(
        self, name: str, items: Items, *, context: Any = None, event_id: str | None = None, voter: str | None = None
    ) -> RemoteOffer:
        """Ask which of `items` to show; each is a dict with an `id` and a `text`, `features` or a `vector`."""
        body = {"items": list(items), "context": context, "event_id": event_id, "voter": voter}
        return self._post(_path(name, "/choose"), _offer, _round(body))

    def ask_batch(self, name: str, rounds: Sequence[Mapping[str, Any]]) -> list[RemoteOffer | ServiceError]:
        """Ask for many rounds in one commit, each a dict with the arguments of `ask`; refused ones are errors."""
        body = {"rounds": [_round(each) for each in rounds]}
        return self._post(_path(name, "/choose/batch"), lambda reply: _batch(reply, _offer), body)

    def tell(
        self,
        name: str,
        offer: RemoteOffer | str,
        winner: str,
        *,
        voter: str | None = None,
        kind: Literal["person", "judge"] | None = None,
        strength: float | None = None,
        seconds: float | None = None,
    ) -> Receipt:
        """Send the answer to an offer, given as the offer or its id.

        Parameters
        ----------
        winner
            The id of the better item, "tie", "both_bad" or "skip"; for a "best" query also "yes" or "no".
        voter, kind
            Who answers: a name, and whether it is a person or a judge.
        strength
            How much better the winner is, in [0, 1].
        seconds
            How long the person took.
        """
        more = {"voter": voter, "kind": kind, "strength": strength, "seconds": seconds}
        event = offer.id if isinstance(offer, RemoteOffer) else offer
        return self._post(
            _path(name, f"/events/{_segment(event)}/answer"), _receipt, _given({"winner": winner, **more})
        )

    def tell_batch(self, name: str, answers: Sequence[Mapping[str, Any]]) -> list[Receipt | ServiceError]:
        """Answer many questions in one commit, each a dict with `event_id`, `winner` and the options of `tell`."""
        return self._post(_path(name, "/answers"), lambda reply: _batch(reply, _receipt), {"answers": list(answers)})

    def undo(self, name: str, event_id: str, *, voter: str | None = None) -> Receipt:
        """Withdraw an answer; the reply comes after the model has been replayed without it."""
        path = _path(name, f"/events/{_segment(event_id)}/undo")
        return self._post(path, _receipt, _given({"voter": voter}), repeats=False)

    def next(self, name: str, voter: str, *, shared: bool = False) -> dict[str, Any]:
        """Get a person's next question about the uploaded items: the open one, or a new one."""
        return self._post(_path(name, "/next"), _fields, {"voter": voter, "shared": shared})

    def rank(self, name: str, items: Items, *, context: Any = None) -> dict[str, Any]:
        """Rank items by score, best first, without using a round."""
        return self._post(_path(name, "/rank"), _fields, _given({"items": list(items), "context": context}))

    def board(self, name: str, **query: QueryValue) -> dict[str, Any]:
        """Get the board: scores with intervals. `delta`, `interval`, `stop`, `group`, `groups` and `limit` select."""
        return self._get(_path(name, "/board"), _fields, query)

    def voters(self, name: str) -> dict[str, Any]:
        """Get each voter's bias towards a side, agreement and weight."""
        return self._get(_path(name, "/voters"), _fields)

    def votes(self, name: str, contents: bytes | str, **query: QueryValue) -> dict[str, Any]:
        """Learn a file of votes, once; `id`, `kind` and the other query parameters are in the HTTP reference."""
        return self._post(_path(name, "/votes"), _fields, content=contents, query=query)

    def upload(self, name: str, contents: bytes | str, **query: QueryValue) -> dict[str, Any]:
        """Add a file of items to ask people about; `text` names the column of the texts."""
        return self._post(_path(name, "/items"), _fields, content=contents, query=query, repeats=False)

    def image(self, name: str, contents: bytes, *, file: str | None = None) -> str:
        """Upload a PNG, JPEG, WebP or GIF image; returns the value for an item's `image` field."""
        path = _path(name, "/images")
        return self._post(path, lambda reply: str(reply["image"]), content=contents, query={"file": file})

    def log(self, name: str, **query: QueryValue) -> str:
        """Get the log as text: `format` jsonl, preferences, ledger, answers or csv, `after` a position."""
        return self._get(_path(name, "/log"), str, query)

    def get(self, name: str, what: str = "", **query: QueryValue) -> Any:
        """Get `/v1/models/NAME/what`: "" for the model itself, "task", "features" or "latest"."""
        return self._get(_path(name, f"/{what}" if what else ""), lambda reply: reply, query)

    def delete(self, name: str) -> None:
        """Delete the model and its log."""
        self._send({"method": "DELETE", "url": _path(name)}, lambda _: None, repeats=False)

    def _get(self, path: str, read: Callable[[Any], Reply], query: Mapping[str, QueryValue] | None = None) -> Reply:
        return self._send({"method": "GET", "url": path, "params": _given(query or {})}, read)

    def _post(
        self,
        path: str,
        read: Callable[[Any], Reply],
        body: Mapping[str, Any] | None = None,
        *,
        content: bytes | str | None = None,
        query: Mapping[str, QueryValue] | None = None,
        repeats: bool = True,
    ) -> Reply:
        payload = {"json": body} if body else {"content": content}
        return self._send({"method": "POST", "url": path, "params": _given(query or {}), **payload}, read, repeats)

    def _send(self, request: Mapping[str, Any], read: Callable[[Any], Reply], repeats: bool = True) -> Reply:
        """Send a request until there is a final reply; `repeats`: sending it twice has the effect of once."""
        for attempt in range(self._retries + 1):
            last = attempt == self._retries
            try:
                reply = self._http.request(**request)
            except _LOST:
                if last or not repeats:
                    raise
                time.sleep(_pause(attempt))
                continue
            wanted = reply.headers.get("retry-after", "")
            wait = float(wanted) if wanted.isdecimal() else 0.0
            passing = reply.status_code in (_NOTHING_DONE | _UNKNOWN if repeats else _NOTHING_DONE)
            if last or not passing or wait > _LONGEST_WAIT:
                return _result(reply, read)
            time.sleep(max(_pause(attempt), wait))
        raise AssertionError("the last attempt returns or raises")


def _pause(attempt: int) -> float:
    """Seconds before the next attempt, half of them random so that clients that failed together spread out."""
    return min(_LONGEST_WAIT, 0.1 * 2.0**attempt) * random.uniform(0.5, 1.0)


def _result(reply: httpx.Response, read: Callable[[Any], Reply]) -> Reply:
    """Read a successful reply, or raise the ServiceError it holds."""
    if reply.is_success:
        try:
            return read(_content(reply))
        except (ValueError, KeyError, TypeError, AttributeError):
            hint = "this is not a reply of the service; check the address. It begins: "
            raise ServiceError(reply.status_code, "unreadable", hint + (reply.text[:200] or "(empty)")) from None
    try:
        body = reply.json()
    except ValueError:
        body = None
    raise _refusal(reply.status_code, body, reply.text)


def _content(reply: httpx.Response) -> Any:
    """JSON decoded, files as bytes, anything else as text; an empty reply is an empty object."""
    if reply.status_code == 204:
        return {}
    kind = reply.headers.get("content-type", "")
    if kind.startswith("application/octet-stream"):
        return reply.content
    return reply.json() if kind.startswith("application/json") else reply.text


def _refusal(status: int, body: Any, text: str) -> ServiceError:
    """The error of the service, or of a proxy before it."""
    error = body.get("error") if isinstance(body, dict) else None
    if isinstance(error, dict):
        return ServiceError(status, str(error.get("code", "unknown")), str(error.get("message", "")))
    return ServiceError(status, "unknown", text[:200])


def _path(name: str, rest: str = "") -> str:
    """The path of a model's route, whatever characters its name has.

    >>> _path("a/b", "/rank")
    '/v1/models/a%2Fb/rank'
    """
    return f"/v1/models/{_segment(name)}{rest}"


def _segment(name: str) -> str:
    """A name as one segment of a path. Dots alone are escaped too, because "." and ".." change the path.

    >>> _segment("a/b"), _segment("..")
    ('a%2Fb', '%2E%2E')
    """
    return quote(name, safe="") if name.strip(".") else name.replace(".", "%2E")


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _round(body: Mapping[str, Any]) -> dict[str, Any]:
    """A round's body; an event id is added where there is none, so that the request can be repeated."""
    return {"event_id": uuid.uuid4().hex} | _given(body)


def _fields(reply: Any) -> dict[str, Any]:
    if not isinstance(reply, dict):
        raise TypeError(f"expected an object, got {reply!r:.60}")
    return reply


def _offer(reply: Mapping[str, Any]) -> RemoteOffer:
    return RemoteOffer(
        reply["event_id"],
        reply["query"],
        tuple(each["id"] for each in reply["shown"]),
        reply["left"],
        tuple(map(float, reply["scores"])),
        reply.get("chance"),
        bool(reply.get("done", False)),
    )


def _receipt(reply: Mapping[str, Any]) -> Receipt:
    return Receipt(reply["status"], reply.get("reason"))


def _batch(reply: Mapping[str, Any], read: Callable[[Any], Reply]) -> list[Reply | ServiceError]:
    """The outcome of each part of a batch."""
    return [_refusal(each["error"]["status"], each, "") if "error" in each else read(each) for each in reply["results"]]
