"""What both clients decide alike: headers, which replies are final, and how long to wait before the next try."""

import random
from typing import Any, TypeVar

import httpx

from conquer.checks import number, whole
from conquer.client import calls
from conquer.client.calls import AGAIN, NOTHING_DONE, Request

Result = TypeVar("Result")
_LONGEST = 30.0
"""Seconds between two tries at most."""
LOST = (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError, httpx.ProxyError)
"""What happens on the way. Other errors of httpx are of the call itself, and would come again."""


class Sending:
    """How calls are sent to one address, with one key."""

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
        query = {key: value for key, value in call.query.items() if value is not None}
        return {"method": call.method, "url": call.path, "params": query or None, **body}

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
                return call.read(_told(reply))
            except (ValueError, KeyError, TypeError, AttributeError):
                raise calls.unreadable(reply.status_code, reply.text) from None
        try:
            told = reply.json()
        except ValueError:
            told = None
        raise calls.refusal(reply.status_code, told, reply.text)


def _told(reply: httpx.Response) -> Any:
    """JSON as it is meant, files as bytes, everything else as text; nothing is an empty object."""
    kind = reply.headers.get("content-type", "")
    if reply.status_code == 204:
        return {}
    if kind.startswith("application/octet-stream"):
        return reply.content
    return reply.json() if kind.startswith("application/json") else reply.text
