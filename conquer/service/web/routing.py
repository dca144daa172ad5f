"""One typed table of routes: the application, the OpenAPI document and the tests of roles all read it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack
from urllib.parse import parse_qsl

from sqlalchemy import Connection
from starlette.types import Receive, Scope

from conquer.service.engine.long_work import Job
from conquer.service.engine.queue import Generation, Waits
from conquer.service.engine.turn import Turn
from conquer.service.errors import RefusalError
from conquer.service.store.keys import Key
from conquer.service.web.limits import Hold
from conquer.service.web.messages import ClientGoneError, address_of, disconnected, headers_of
from conquer.service.web.server import Server, as_steps

Result = TypeVar("Result")


@dataclass(slots=True)
class Call:
    """A request on its way to a handler: admitted, read and decoded.

    `path` holds the values of the path's braces, `body` what the endpoint's type was decoded to, `hold` what the
    request takes of the budget of bytes.
    """

    server: Server
    key: Key
    path: dict[str, str]
    body: Any
    scope: Scope
    hold: Hold
    receive: Receive

    @property
    def model(self) -> str:
        return self.path["name"]

    @property
    def owner(self) -> str:
        """The tenant that work and bytes are charged to."""
        return self.hold.owner

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(self.scope["query_string"].decode("latin-1"), keep_blank_values=True))

    @property
    def address(self) -> str:
        return address_of(self.scope)

    @property
    def headers(self) -> dict[str, str]:
        return headers_of(self.scope)

    async def decide(self, request: Any) -> Any:
        """The reply to one choose or answer on the model of the path. Raises RefusalError if it is refused."""
        (found,) = await self.decide_all([request])
        if isinstance(found, RefusalError):
            raise found
        return found

    def decide_all(self, requests: Sequence[Any]) -> "asyncio.Future[list[Any]]":
        """A reply or a RefusalError for each choose or answer, in order."""
        return self.server.engine.decide(self.model, requests, self.owner)

    def on_model(self, work: Callable[[Turn], Result], **waits: Unpack[Waits]) -> "asyncio.Future[Result]":
        """Run work on the model of the path in the engine's thread; `waits` are those of `engine.queue.Work`."""
        return self.server.engine.call(self.model, work, owner=self.owner, **waits)

    def run_now(self, work: Callable[[Turn], Any]) -> Any:
        """`on_model` from inside long work, which waits for it."""
        return self.server.engine.call_now(self.model, work, owner=self.owner)

    def learn_now(self, work: Callable[[Turn], Any]) -> Any:
        """Learn answers from inside long work, which waits for it."""
        return self.server.engine.call_now(self.model, work, owner=self.owner, learns=True)

    async def copied(self, copy: Callable[[Turn], Result]) -> Result:
        """A copy of the settled model. Raises RefusalError before it is made if the budget has no room for it."""
        self.hold.reply(await self.on_model(lambda turn: turn.state.learner.size, reads=True))
        return await self.on_model(copy, reads=True, settled=True)

    async def replayed(self, generation: Generation) -> None:
        """Wait until the model has been replayed with a committed correction.

        If the model is deleted meanwhile or cannot be replayed now, the correction still counts at the next load.
        """
        with contextlib.suppress(RefusalError):
            await self.server.engine.call(self.model, lambda turn: None, after=generation)

    async def on_store(self, work: Callable[[Connection], Result]) -> Result:
        """Run `work(connection)` in the engine's thread, in the transaction of its batch."""
        result: Result = await self.server.engine.call(None, work, owner=self.owner)
        return result

    async def long(self, job: "Job | Callable[[], Result]", urgent: bool = False) -> Any:
        """Run a generator, or a call of one short slice, as long work of the caller's.

        It is closed before its next slice when the client hangs up. Raises RefusalError if the caller has too many
        waiting.
        """
        work = self.server.engine.long.run(self.owner, as_steps(job), urgent)
        gone = asyncio.ensure_future(disconnected(self.receive))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ClientGoneError
            return work.result()
        finally:
            gone.cancel()
            work.cancel()

    def brief(self, work: "Job | Callable[[], Any]") -> "asyncio.Future[Any]":
        """Run a short job, or a call, off the event loop and the engine. The caller's long work does not delay it."""
        return self.server.brief(f"{self.owner} reads", work)

    def read(self, work: Callable[[Connection], Result]) -> "asyncio.Future[Result]":
        """Run `work(connection)` on a connection that reads the store; see `brief`."""

        def reading() -> Result:
            with self.server.database.reading() as connection:
                return work(connection)

        return self.brief(reading)

    def stream(self, chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
        """The chunks of a download, each made as long work once the one before it has been sent."""
        return self.server.engine.long.stream(self.owner, chunks)


Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A row of the table.

    - `role`: needed to call it; None: no key is needed.
    - `body`: the type that the request's body is decoded to; `bytes` leaves it as it came; `document` describes it to
      readers where that differs.
    - `items`: the body is a round of items, bounded by `round_bytes`; `upload`: by `upload_bytes`; `limit`: by this
      number. Without a key the limit must be at most `limits.SMALL`.
    - `query`: the names of its parameters.
    - `page`: not part of the OpenAPI document.
    - `answers`: the body holds answers, which are counted also when they are refused.
    - `kind`: media type of the reply.
    - `example`: a body for the documents, as JSON or, of bytes, as text; tests decode it.
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
