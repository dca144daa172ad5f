"""One typed table of routes: dispatch, the OpenAPI document and the tests of roles all read it."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

from conquer.service.errors import Kind, RefusalError
from conquer.service.http.budget import Hold
from conquer.service.http.keys import Key
from conquer.service.http.messages import Scope, address_of, headers_of
from conquer.service.log.transaction import Turn
from conquer.service.server import Server
from conquer.service.writer.work import Generation

Target = TypeVar("Target")
Result = TypeVar("Result")
# No segment has a slash, so no path can spell these keys.
_ANY, _HERE = "/any", "/here"
_TRIES = 8
"""Erasures one after the other that an answer waits for."""


@dataclass(slots=True)
class Call:
    """One request on its way to a handler: checked, decoded, and by somebody who may make it."""

    server: Server
    key: Key
    path: dict[str, str]
    body: Any
    scope: Scope
    hold: Hold

    @property
    def model(self) -> str:
        return self.path["name"]

    def on_model(
        self,
        work: Callable[[Turn], Result],
        events: tuple[str, ...] = (),
        light: bool = False,
        reads: bool = False,
        rounds: int = 1,
    ) -> "asyncio.Future[Result]":
        """Have the writer do it on the model of the path; see `Writer.call`."""
        return self.server.writer.call(self.model, work, events, light, reads=reads, rounds=rounds)

    async def together(self, short: "Short") -> Any:
        """Have the writer do it on the model of the path, with others of its kind."""
        request, events, light = short.asks(self.server, self.path, self.body)
        found = await self.server.writer.call(self.model, short.work, events, light, request=request)
        if found is not None:
            short.count(self.server, self.model, found)
        return found

    async def when_settled(self, work: Callable[[Turn], Result]) -> Result:
        """Have it read from the model without the answers that have been taken back by now, here or elsewhere."""

        def settled(turn: Turn) -> tuple[Generation, Result | None]:
            here = (turn.folded.id, turn.folded.position)
            return here, None if turn.folded.stale else work(turn)

        here, result = await self.on_model(settled, reads=True)
        if result is not None:
            return result
        found: Result = await self.server.writer.call(self.model, work, generation=here, reads=True)
        return found

    async def copied(self, copy: Callable[[Turn], Result]) -> Result:
        """Have it copied from the settled model; refused before it is made where there is no room for one more."""
        self.hold.reply(await self.on_model(lambda turn: turn.folded.learner.size, reads=True))
        return await self.when_settled(copy)

    async def when_weighed(
        self, work: Callable[[Turn], Result], events: tuple[str, ...] = (), light: bool = False, rounds: int = 1
    ) -> Result:
        """Have answers learnt; where voters are weighed, not before an erased one has been unlearnt."""
        weighed, generation, call = _once_unlearnt(work), None, self.server.writer.call
        for _ in range(_TRIES):
            generation, result = await call(self.model, weighed, events, light, generation, rounds=rounds)
            if generation is None:
                found: Result = result
                return found
        raise _still_erasing()

    def weighed_now(self, work: Callable[[Turn], Any]) -> Any:
        """`when_weighed` from another thread than the loop's, which waits."""
        weighed, generation = _once_unlearnt(work), None
        for _ in range(_TRIES):
            generation, result = self.server.writer.call_now(self.model, weighed, generation=generation)
            if generation is None:
                return result
        raise _still_erasing()

    async def folded_with(self, generation: Generation) -> None:
        """Wait until the model of the path has been folded again with the correction of this id and position.

        That row has been committed. If the model is deleted meanwhile, or cannot be folded now, whoever reads it next
        folds it with that row: what was asked for is done.
        """
        with contextlib.suppress(RefusalError):
            await self.server.writer.call(self.model, lambda turn: None, generation=generation)

    async def beside(self, threads: Executor, work: Callable[[], Result]) -> Result:
        """Have long work on the model of the path done in one of a few threads, once the model is in memory.

        Whoever waited in such a thread for a model to be folded would keep it from everybody else.
        """
        await self.on_model(lambda turn: None, reads=True)
        return await asyncio.get_running_loop().run_in_executor(threads, work)

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True))

    @property
    def address(self) -> str:
        return address_of(self.scope)

    @property
    def headers(self) -> dict[str, str]:
        return headers_of(self.scope)


def _once_unlearnt(work: Callable[[Turn], Any]) -> Callable[[Turn], tuple[Generation | None, Any]]:
    """The work, with its result after None; or what to wait for first, while an erased voter is being unlearnt."""

    def weighed(turn: Turn) -> tuple[Generation | None, Any]:
        folded = turn.folded
        return ((folded.id, folded.position), None) if folded.unlearning else (None, work(turn))

    return weighed


def _still_erasing() -> RefusalError:
    return RefusalError(Kind.BUSY, "busy", "voters are being erased from this model; try again", retry_after=1)


Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Short:
    """What everyday requests of a kind have the writer do, with others of their kind (`QueuedWork`).

    `asks` makes of a path and a body the request, its events, and whether it is light. What was found is the reply,
    which `count` counts for the model; None: nothing was done, and the handler has to see to it.
    """

    work: Callable[[Turn, list[Any]], Sequence[Any]]
    asks: Callable[[Server, dict[str, str], Any], tuple[Any, tuple[str, ...], bool]]
    count: Callable[[Server, str, Any], None]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A row of the table. `role` None: for everyone. `body` decodes the request; `document` describes it if not `body`.

    `body=bytes` hands the bytes over as they came. `items`: the body is a round of items, which may be larger. `page`
    leaves a row out of the OpenAPI document. `answers`: what is sent there are answers, which are counted also when
    they are refused. `limit`: the largest body in bytes, where the settings do not say; what needs no key has one that
    passes uncounted (`budget.SMALL`). `example`: a body for the documents, as JSON or (of bytes) as a text; tests
    decode it. `short`: what the handler of a POST to a model has the writer do, for those who ask the writer
    themselves (`Visits`).
    """

    method: str
    path: str
    role: str | None
    summary: str
    handler: Handler
    body: Any = None
    reply: Any = None
    document: Any = None
    status: int = 200
    upload: bool = False
    items: bool = False
    limit: int = 0
    query: tuple[str, ...] = ()
    page: bool = False
    answers: bool = False
    kind: str = "application/json"
    example: Any = None
    short: Short | None = None


class Router(Generic[Target]):
    """From a path to its targets by method, in one dictionary step per segment. What answers GET answers HEAD.

    A segment in braces takes any one segment that is not empty. Routes of one path name its segments alike.

    >>> router = Router([("GET", "/v1/models/{name}", "look"), ("DELETE", "/v1/models/{name}", "delete")])
    >>> router.find("/v1/models/tea")
    ({'GET': 'look', 'HEAD': 'look', 'DELETE': 'delete'}, {'name': 'tea'})
    >>> router.find("/v1/models/tea/x") is None
    True
    """

    def __init__(self, routes: Iterable[tuple[str, str, Target]]) -> None:
        self._root: dict[str, Any] = {}
        for method, path, target in routes:
            node = self._root
            names = []
            for segment in path.split("/")[1:]:
                if segment.startswith("{"):
                    names.append(segment[1:-1])
                    segment = _ANY
                node = node.setdefault(segment, {})
            targets, known = node.setdefault(_HERE, ({}, tuple(names)))
            if known != tuple(names):
                raise ValueError(f"{path} names its segments {names}, another route {list(known)}")
            targets[method] = target
            if method == "GET":
                targets["HEAD"] = target

    def find(self, path: str) -> tuple[Mapping[str, Target], dict[str, str]] | None:
        """The path's targets by method and what stands in its braces, or None."""
        node = self._root
        values = []
        for segment in path.split("/")[1:]:
            inner = node.get(segment)
            if inner is None:
                inner = node.get(_ANY) if segment else None
                if inner is None:
                    return None
                values.append(segment)
            node = inner
        found = node.get(_HERE)
        return None if found is None else (found[0], dict(zip(found[1], values, strict=True)))
