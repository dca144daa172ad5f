"""The client that awaits replies: the same calls over httpx."""

import asyncio
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx

from conquer.client import calls
from conquer.client.calls import Acknowledged, Items, Posed, Request, ServiceError, Word
from conquer.client.sending import LOST, Result, Sending


class AsyncClient:
    """`Client` for programs that await: the same calls, to be used with `async with`."""

    def __init__(self, address: str, *, key: str | None = None, timeout: float = 30.0, retries: int = 5) -> None:
        self._sending = Sending(address, key, timeout, retries)
        self._http = httpx.AsyncClient(**self._sending.options)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def send(self, call: Request[Result]) -> Result:
        """Send a call until it is answered; a ServiceError for a no, httpx's own error where nobody can be reached."""
        for tried in range(self._sending.retries + 1):
            reply = None
            try:
                reply = await self._http.request(**self._sending.request(call))
            except LOST:
                if self._sending.again(call, tried, None) is None:
                    raise
            seconds = self._sending.again(call, tried, reply)
            if reply is not None and seconds is None:
                return self._sending.result(call, reply)
            await asyncio.sleep(seconds or 0.0)
        raise AssertionError("the last try returns or raises")

    async def models(self) -> list[dict[str, Any]]:
        """The models that this key may read."""
        return await self.send(calls.models())

    async def create(self, name: str, algorithm: str = "gnc", **settings: Any) -> dict[str, Any]:
        """Make a model, as `Client.create`."""
        return await self.send(calls.create(name, algorithm, settings))

    async def choose(
        self, name: str, items: Items, *, context: Any = None, event_id: str | None = None, voter: str | None = None
    ) -> Posed:
        """Which items to show, as `Client.choose`."""
        return await self.send(calls.choose(name, items, context, event_id, voter))

    async def choose_batch(self, name: str, rounds: Sequence[Mapping[str, Any]]) -> list[Posed | ServiceError]:
        """Many rounds in one commit, each a dict with the fields of `choose`; what was refused is a ServiceError."""
        return await self.send(calls.choose_batch(name, rounds))

    async def answer(
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
        """Say which item won, as `Client.answer`."""
        more = {"voter": voter, "kind": kind, "strength": strength, "seconds": seconds}
        return await self.send(calls.answer(name, event_id, winner, more))

    async def answer_batch(self, name: str, answers: Sequence[Mapping[str, Any]]) -> list[Acknowledged | ServiceError]:
        """Many answers in one commit, each a dict with an `event_id`, a `winner` and what else `answer` takes."""
        return await self.send(calls.answer_batch(name, answers))

    async def undo(self, name: str, event_id: str, *, voter: str | None = None) -> Acknowledged:
        """Take an answer back; the reply comes when the model has been folded without it."""
        return await self.send(calls.undo(name, event_id, voter))

    async def next(self, name: str, voter: str, *, shared: bool = False) -> dict[str, Any]:
        """The next question of an uploaded pool for this person: the one they hold, or a new one."""
        return await self.send(calls.next_question(name, voter, shared))

    async def rank(self, name: str, items: Items, *, context: Any = None) -> dict[str, Any]:
        """These items by score, best first; no round is used."""
        return await self.send(calls.rank(name, items, context))

    async def board(self, name: str, **query: Word) -> dict[str, Any]:
        """Who wins and how sure that is: `delta`, `interval`, `stop`, `group`, `limit` as in the HTTP reference.

        `groups`, a feature: a board of the means of the items that share its value.
        """
        return await self.send(calls.standing(name, "board", query))

    async def voters(self, name: str) -> dict[str, Any]:
        """Each voter's pull to a side, agreement and weight."""
        return await self.send(calls.standing(name, "voters", {}))

    async def votes(self, name: str, contents: bytes | str, **query: Word) -> dict[str, Any]:
        """Learn a file of votes from elsewhere, once; `id`, `kind` and `things` as in the HTTP reference."""
        return await self.send(calls.votes(name, contents, query))

    async def upload(self, name: str, contents: bytes | str, **query: Word) -> dict[str, Any]:
        """Add a file of items to ask people about; `held_out` and `text` as in the HTTP reference."""
        return await self.send(calls.upload(name, contents, query))

    async def image(self, name: str, contents: bytes, *, file: str | None = None) -> str:
        """Add a picture: PNG, JPEG, WebP or GIF. Returns what an item's `image` says to show it."""
        return await self.send(calls.image(name, contents, file))

    async def log(self, name: str, **query: Word) -> str:
        """The log as text: `format` jsonl, preferences, ledger, answers or csv, `after` a position."""
        return str(await self.send(calls.reading(name, "log", query)))

    async def get(self, name: str, what: str = "", **query: Word) -> Any:
        """What `GET /v1/models/NAME/what` says, as `Client.get`."""
        return await self.send(calls.reading(name, what, query))

    async def delete(self, name: str) -> None:
        """Delete the model and its log."""
        await self.send(calls.delete(name))
