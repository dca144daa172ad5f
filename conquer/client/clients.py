"""The two clients: the same calls over httpx, waiting for replies or awaiting them."""

import asyncio
import random
import time
from types import TracebackType
from typing import Any, Self, TypeVar

try:
    import httpx
except ImportError:
    raise ImportError("conquer.client needs httpx; run: pip install 'conquer-bandits[client]'") from None

from conquer.checks import number, whole
from conquer.client import calls
from conquer.client.calls import AGAIN, NOTHING_DONE, Acknowledged, Items, Posed, Request

Result = TypeVar("Result")
_LONGEST = 30.0
"""Seconds between two tries at most."""
_LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)
"""What happens on the way. Other errors of httpx are of the call itself, and would come again."""


class _Sending:
    """What both clients decide alike: headers, which replies are final, and how long to wait before the next try."""

    def __init__(self, address: str, key: str | None, timeout: float, retries: int) -> None:
        if not isinstance(address, str) or not address.startswith(("http://", "https://")):
            raise ValueError(f"address must begin with http:// or https://, got {address!r}")
        self.retries = whole("retries", retries, 0, 1000)
        headers = {"authorization": f"Bearer {key}"} if key else {}
        seconds = number("timeout", timeout, 0, 1e6, above=True)
        self.options: dict[str, Any] = {"base_url": address.rstrip("/"), "headers": headers, "timeout": seconds}

    def request(self, call: Request[Any]) -> dict[str, Any]:
        """The keyword arguments of httpx's request."""
        body = {"content": call.content} if call.content is not None else {"json": call.body} if call.body else {}
        return {"method": call.method, "url": call.path, "params": dict(call.query) or None, **body}

    def again(self, call: Request[Any], tried: int, reply: httpx.Response | None) -> float | None:
        """Seconds until the next try; None: this was the last one."""
        # A call that may not be repeated goes again only where the server says that nothing has happened.
        passing = AGAIN if call.repeats else NOTHING_DONE
        if tried >= self.retries or (reply is None and not call.repeats):
            return None
        if reply is not None and reply.status_code not in passing:
            return None
        said = "" if reply is None else reply.headers.get("retry-after", "")
        wanted = float(said) if said.isdecimal() else 0.0
        # Half of it by chance: many clients that failed together do not come back together.
        waits: float = min(_LONGEST, 0.1 * 2**tried) * random.uniform(0.5, 1.0)
        # Who is told to stay away for longer is told so at once, and does not knock in between.
        return max(waits, wanted) if wanted <= _LONGEST else None

    def result(self, call: Request[Result], reply: httpx.Response) -> Result:
        """The reply as the call reads it; a ServiceError where the service said no."""
        if reply.is_success:
            try:
                return call.read(reply.json() if reply.content else {})
            except (ValueError, KeyError, TypeError, AttributeError):
                raise calls.unreadable(reply.status_code, reply.text) from None
        try:
            told = reply.json()
        except ValueError:
            told = None
        raise calls.refusal(reply.status_code, told, reply.text)


class Client:
    """The service at `address`. Calls that fail on the way, or find it busy, are sent again up to `retries` times.

    Every question has an event id, by which the service knows a call that came before: nothing is asked or learnt
    twice. `key`: for servers that want one. Use it as a context manager, or `close` it.

    >>> client = Client("http://127.0.0.1:8000")
    >>> client.close()
    """

    def __init__(self, address: str, *, key: str | None = None, timeout: float = 30.0, retries: int = 5) -> None:
        self._sending = _Sending(address, key, timeout, retries)
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
            except _LOST:
                if self._sending.again(call, tried, None) is None:
                    raise
            seconds = self._sending.again(call, tried, reply)
            if reply is not None and seconds is None:
                return self._sending.result(call, reply)
            time.sleep(seconds or 0.0)
        raise AssertionError("the last try returns or raises")

    def create(self, name: str, algorithm: str = "gnc", **settings: Any) -> dict[str, Any]:
        """Make a model. `settings`: parameters, features, seed, stop and the other fields of `POST /v1/models`."""
        return self.send(calls.create(name, algorithm, settings))

    def choose(
        self, name: str, items: Items, *, context: Any = None, event_id: str | None = None, voter: str | None = None
    ) -> Posed:
        """Which items to show, each a dict with an `id` and a `text`, `features` or a `vector`."""
        return self.send(calls.choose(name, items, context, event_id, voter))

    def answer(
        self,
        name: str,
        event_id: str,
        winner: str,
        *,
        voter: str | None = None,
        strength: float | None = None,
        seconds: float | None = None,
    ) -> Acknowledged:
        """Say which item won: its id, "tie", "both_bad" or "skip"."""
        more = {"voter": voter, "strength": strength, "seconds": seconds}
        return self.send(calls.answer(name, event_id, winner, more))

    def rank(self, name: str, items: Items, *, context: Any = None) -> dict[str, Any]:
        """These items by score, best first; no round is used."""
        return self.send(calls.rank(name, items, context))

    def get(self, name: str, what: str = "", **query: str) -> Any:
        """What `GET /v1/models/NAME/what` says: "" the model itself, "board", "voters", "features", "task"."""
        return self.send(calls.reading(name, what, query))

    def delete(self, name: str) -> None:
        """Delete the model and its log."""
        self.send(calls.delete(name))


class AsyncClient:
    """`Client` for programs that await: the same calls, to be used with `async with`."""

    def __init__(self, address: str, *, key: str | None = None, timeout: float = 30.0, retries: int = 5) -> None:
        self._sending = _Sending(address, key, timeout, retries)
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
            except _LOST:
                if self._sending.again(call, tried, None) is None:
                    raise
            seconds = self._sending.again(call, tried, reply)
            if reply is not None and seconds is None:
                return self._sending.result(call, reply)
            await asyncio.sleep(seconds or 0.0)
        raise AssertionError("the last try returns or raises")

    async def create(self, name: str, algorithm: str = "gnc", **settings: Any) -> dict[str, Any]:
        """Make a model, as `Client.create`."""
        return await self.send(calls.create(name, algorithm, settings))

    async def choose(
        self, name: str, items: Items, *, context: Any = None, event_id: str | None = None, voter: str | None = None
    ) -> Posed:
        """Which items to show, as `Client.choose`."""
        return await self.send(calls.choose(name, items, context, event_id, voter))

    async def answer(
        self,
        name: str,
        event_id: str,
        winner: str,
        *,
        voter: str | None = None,
        strength: float | None = None,
        seconds: float | None = None,
    ) -> Acknowledged:
        """Say which item won, as `Client.answer`."""
        more = {"voter": voter, "strength": strength, "seconds": seconds}
        return await self.send(calls.answer(name, event_id, winner, more))

    async def rank(self, name: str, items: Items, *, context: Any = None) -> dict[str, Any]:
        """These items by score, best first; no round is used."""
        return await self.send(calls.rank(name, items, context))

    async def get(self, name: str, what: str = "", **query: str) -> Any:
        """What `GET /v1/models/NAME/what` says, as `Client.get`."""
        return await self.send(calls.reading(name, what, query))

    async def delete(self, name: str) -> None:
        """Delete the model and its log."""
        await self.send(calls.delete(name))
