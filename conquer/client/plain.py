"""The client that waits for replies, over httpx."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx

from conquer.client import calls
from conquer.client.calls import Acknowledged, Items, Posed, Request, ServiceError, Word
from conquer.client.sending import LOST, Result, Sending


class Client:
    """The service at `address`. Calls that fail on the way, or find it busy, are sent again up to `retries` times.

    Every question has an event id, by which the service knows a call that came before: nothing is asked or learnt
    twice. `key`: for servers that want one. Use it as a context manager, or `close` it.

    >>> client = Client("http://127.0.0.1:8000")
    >>> client.close()
    """

    def __init__(self, address: str, *, key: str | None = None, timeout: float = 30.0, retries: int = 5) -> None:
        self._sending = Sending(address, key, timeout, retries)
        self._http = httpx.Client(**self._sending.options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def send(self, call: Request[Result]) -> Result:
        """Send a call until it is answered; a ServiceError for a no, httpx's own error where nobody can be reached."""
        for tried in range(self._sending.retries + 1):
            reply = None
            try:
                reply = self._http.request(**self._sending.request(call))
            except LOST:
                if self._sending.again(call, tried, None) is None:
                    raise
            seconds = self._sending.again(call, tried, reply)
            if reply is not None and seconds is None:
                return self._sending.result(call, reply)
            time.sleep(seconds or 0.0)
        raise AssertionError("the last try returns or raises")

    def models(self) -> list[dict[str, Any]]:
        """The models that this key may read."""
        return self.send(calls.models())

    def create(self, name: str, algorithm: str = "gnc", **settings: Any) -> dict[str, Any]:
        """Make a model. `settings`: parameters, features, seed, stop and the other fields of `POST /v1/models`."""
        return self.send(calls.create(name, algorithm, settings))

    def choose(
        self, name: str, items: Items, *, context: Any = None, event_id: str | None = None, voter: str | None = None
    ) -> Posed:
        """Which items to show, each a dict with an `id` and a `text`, `features` or a `vector`."""
        return self.send(calls.choose(name, items, context, event_id, voter))

    def choose_batch(self, name: str, rounds: Sequence[Mapping[str, Any]]) -> list[Posed | ServiceError]:
        """Many rounds in one commit, each a dict with the fields of `choose`; what was refused is a ServiceError."""
        return self.send(calls.choose_batch(name, rounds))

    def answer(
        self,
        name: str,
        event_id: str,
        winner: str,
        *,
        voter: str | None = None,
        kind: str | None = None,
        strength: float | None = None,
        seconds: float | None = None,
    ) -> Acknowledged:
        """Say which item won: its id, "tie", "both_bad" or "skip"."""
        more = {"voter": voter, "kind": kind, "strength": strength, "seconds": seconds}
        return self.send(calls.answer(name, event_id, winner, more))

    def answer_batch(self, name: str, answers: Sequence[Mapping[str, Any]]) -> list[Acknowledged | ServiceError]:
        """Many answers in one commit, each a dict with an `event_id`, a `winner` and what else `answer` takes."""
        return self.send(calls.answer_batch(name, answers))

    def undo(self, name: str, event_id: str, *, voter: str | None = None) -> Acknowledged:
        """Take an answer back; the reply comes when the model has been folded without it."""
        return self.send(calls.undo(name, event_id, voter))

    def next(self, name: str, voter: str, *, shared: bool = False) -> dict[str, Any]:
        """The next question of an uploaded pool for this person: the one they hold, or a new one."""
        return self.send(calls.next_question(name, voter, shared))

    def rank(self, name: str, items: Items, *, context: Any = None) -> dict[str, Any]:
        """These items by score, best first; no round is used."""
        return self.send(calls.rank(name, items, context))

    def board(self, name: str, **query: Word) -> dict[str, Any]:
        """Who wins and how sure that is: `delta`, `interval`, `stop`, `group`, `limit` as in the HTTP reference.

        `groups`, a feature: a board of the means of the items that share its value.
        """
        return self.send(calls.standing(name, "board", query))

    def voters(self, name: str) -> dict[str, Any]:
        """Each voter's pull to a side, agreement and weight."""
        return self.send(calls.standing(name, "voters", {}))

    def votes(self, name: str, contents: bytes | str, **query: Word) -> dict[str, Any]:
        """Learn a file of votes from elsewhere, once; `id`, `kind` and `things` as in the HTTP reference."""
        return self.send(calls.votes(name, contents, query))

    def upload(self, name: str, contents: bytes | str, **query: Word) -> dict[str, Any]:
        """Add a file of items to ask people about; `held_out` and `text` as in the HTTP reference."""
        return self.send(calls.upload(name, contents, query))

    def image(self, name: str, contents: bytes, *, file: str | None = None) -> str:
        """Add a picture: PNG, JPEG, WebP or GIF. Returns what an item's `image` says to show it."""
        return self.send(calls.image(name, contents, file))

    def log(self, name: str, **query: Word) -> str:
        """The log as text: `format` jsonl, preferences, ledger, answers or csv, `after` a position."""
        return str(self.send(calls.reading(name, "log", query)))

    def get(self, name: str, what: str = "", **query: Word) -> Any:
        """What `GET /v1/models/NAME/what` says: "" the model itself, "task", "features", "latest"."""
        return self.send(calls.reading(name, what, query))

    def delete(self, name: str) -> None:
        """Delete the model and its log."""
        self.send(calls.delete(name))
