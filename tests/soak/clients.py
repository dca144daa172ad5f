"""Clients that ask, answer, repeat, undo, batch and delete, through whatever happens to the servers."""

import asyncio
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from .history import ACKNOWLEDGED, INDETERMINATE, REFUSED, Call, History, Thing

Reply = dict[str, Any]
KINDS: tuple[dict[str, Any], ...] = (
    {"algorithm": "gnr", "features": {"dim": 4}},
    {"algorithm": "gnc", "features": {"dim": 64}},
    {"algorithm": "gnr", "model": "full", "features": {"dim": 4}},
)
_VOTERS = ("ann", "bob", "carl", "")
_SECONDS = 30.0


def shown(offer: Reply) -> str:
    """What a repeated choose must say again."""
    return " ".join([*(one["id"] for one in offer["shown"]), "|", offer["left"]])


class Crowd:
    """So many clients on some models; `addresses` says which servers are there now, none of them for a while perhaps.

    What gets no certain reply is tried again with the same ids, or now and then given up.
    """

    def __init__(self, history: History, addresses: Callable[[], Sequence[str]], seed: str) -> None:
        self.history, self.addresses, self.seed = history, addresses, seed
        self.rng = random.Random(seed)
        self.acknowledged, self.stopping = 0, False
        self._numbers = itertools.count()
        self.models: list[tuple[str, dict[str, Any]]] = []

    async def run(self, clients: int = 6) -> None:
        async with httpx.AsyncClient(timeout=_SECONDS, limits=httpx.Limits(max_connections=64)) as self.http:
            for kind in KINDS:
                await self._make(kind)
            await asyncio.gather(*(self._client() for _ in range(clients)))

    async def _make(self, kind: dict[str, Any]) -> None:
        name = f"m{next(self._numbers)}-{self.seed}"
        while not self.stopping:
            status, _ = await self._request("POST", "/v1/models", {"name": name, **kind})
            if status in (201, 409):
                self.models.append((name, kind))
                return

    async def _request(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """(status, reply); status 0 where the connection broke."""
        while not (there := self.addresses()):
            await asyncio.sleep(0.01)
        try:
            reply = await self.http.request(method, f"{self.rng.choice(there)}{path}", json=body)
        except httpx.ConnectError:
            # Nobody took it, and that is certain.
            return 503, {"error": {"code": "unreachable"}}
        except httpx.TransportError:
            return 0, None
        return reply.status_code, reply.json() if reply.content else None

    async def _try(self, things: Sequence[Thing], path: str, body: Any) -> list[Call]:
        """One attempt at some things in one request, written down before it is sent and when the reply is there."""
        calls = self.history.begin(things)
        method = "DELETE" if things[0][0] == "delete" else "POST"
        status, reply = await self._request(method, path, body)
        several = reply["results"] if status == 200 and "results" in reply else [reply]
        for call, one in zip(calls, itertools.cycle(several), strict=False):
            code = status
            if isinstance(one, dict) and "error" in one:
                code = one["error"].get("status", status)
            if code in (0, 504):
                self.history.end(call, INDETERMINATE)
            elif code >= 300:
                self.history.end(call, REFUSED, f"{code} {one['error']['code']}")
            else:
                self.history.end(call, ACKNOWLEDGED, shown(one) if call.kind == "choose" else call.wished)
                self.acknowledged += 1
                call.reply = one
        return calls

    async def _insist(self, things: Sequence[Thing], path: str, body: Any) -> list[Call] | None:
        """Tried until the outcome is known; None where it was given up, or there is no such model any more."""
        while True:
            calls = await self._try(things, path, body)
            if all(call.outcome == ACKNOWLEDGED for call in calls):
                return calls
            if any(call.outcome == REFUSED and not call.said.startswith(("429 ", "503 ")) for call in calls):
                return None
            if any(call.outcome == INDETERMINATE for call in calls) and self.rng.random() < 0.15:
                return None
            await asyncio.sleep(0.01 + 0.02 * self.rng.random())

    async def _client(self) -> None:
        while not self.stopping:
            model, kind = self.rng.choice(self.models)
            drawn = self.rng.random()
            if drawn < 0.0015:
                await self._delete(model, kind)
            elif drawn < 0.06:
                await self._batch(model)
            else:
                await self._pair(model)

    def _event(self) -> str:
        return f"e{next(self._numbers)}-{self.seed}"

    def _round(self, event: str) -> Reply:
        rng = self.rng
        items: list[Reply] = [{"id": f"i{k}", "vector": [rng.gauss(0, 1) for _ in range(4)]} for k in range(4)]
        return {"items": items, "event_id": event}

    async def _pair(self, model: str) -> None:
        event, rng = self._event(), self.rng
        choose = [("choose", model, event, "", "")], f"/v1/models/{model}/choose", self._round(event)
        calls = await self._insist(*choose)
        if calls is None or calls[0].reply["query"] == "none":
            return
        if rng.random() < 0.05:
            await self._insist(*choose)
        for voter in rng.sample(_VOTERS, 1 + (rng.random() < 0.2)):
            await self._answer(model, event, voter, calls[0].reply)

    async def _answer(self, model: str, event: str, voter: str, offer: Reply) -> None:
        winner = self.rng.choice(offer["shown"])["id"]
        body = {"winner": winner, **({"voter": voter} if voter else {})}
        path = f"/v1/models/{model}/events/{event}"
        answer = [("answer", model, event, voter, winner)], f"{path}/answer", body
        first = await self._try(*answer)
        calls = first if first[0].outcome == ACKNOWLEDGED else await self._insist(*answer)
        if calls is None:
            return
        if self.rng.random() < 0.05:
            await self._insist(*answer)
        # Only what went well at once is undone: an answer still on its way somewhere might come after the undo.
        elif calls is first and self.rng.random() < 0.03:
            await self._insist([("undo", model, event, voter, "")], f"{path}/undo", {"voter": voter} if voter else {})

    async def _batch(self, model: str) -> None:
        events = [self._event() for _ in range(self.rng.randint(2, 6))]
        things = [("choose", model, event, "", "") for event in events]
        rounds = {"rounds": [self._round(event) for event in events]}
        calls = await self._insist(things, f"/v1/models/{model}/choose/batch", rounds)
        asked = [call for call in calls or () if call.reply["query"] != "none"]
        if asked:
            answers = [{"event_id": call.event, "winner": call.reply["shown"][0]["id"]} for call in asked]
            things = [("answer", model, one["event_id"], "", one["winner"]) for one in answers]
            await self._insist(things, f"/v1/models/{model}/answers", {"answers": answers})

    async def _delete(self, model: str, kind: dict[str, Any]) -> None:
        if (model, kind) in self.models:
            self.models.remove((model, kind))
            await self._make(kind)
            await self._insist([("delete", model, "", "", "")], f"/v1/models/{model}", None)
