"""One row of the table of routes as an ASGI app: from a request to its handler, and from the result to a reply."""

import logging
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from starlette.types import Receive, Scope, Send

from conquer.service.errors import Kind, RefusalError
from conquer.service.model.batches import BatchAnswers, decoder
from conquer.service.model.decoding import check_query, decoded, for_no_body
from conquer.service.model.schemas import is_model_name
from conquer.service.store.keys import Key
from conquer.service.web.access import speak_as
from conquer.service.web.errors import failure, refused
from conquer.service.web.limits import Hold
from conquer.service.web.messages import (
    ClientGoneError,
    Reply,
    address_of,
    counted,
    encode,
    headers_of,
    read_body,
    send_json,
    send_reply,
)
from conquer.service.web.routing import Call, Endpoint
from conquer.service.web.server import Server

logger = logging.getLogger("conquer.service")
_MAX_IDENTIFIER = 200
# Nearly all requests name one of a few models.
_is_name = lru_cache(maxsize=256)(is_model_name)


_GONE = 499
"""Counted as the status of a request whose client hung up."""


def owner(key: Key, address: str) -> str:
    """The tenant that the work and the bytes of a request are charged to.

    People who came by one link share its id, so each of their addresses is a tenant.
    """
    return f"{key.id}:{address}" if key.voter is not None else key.id or address


class Dispatch:
    """Admits the caller, reads and decodes the body, calls the handler, replies, counts."""

    def __init__(self, endpoint: Endpoint, server: Server) -> None:
        self.endpoint, self.server = endpoint, server
        typed = endpoint.body is not None and endpoint.body is not bytes
        self._decode = decoder(endpoint.body) if typed else None
        limits = server.settings.limits
        usual = limits.round_bytes if endpoint.items else limits.body_bytes
        self._limit = endpoint.limit or (limits.upload_bytes if endpoint.upload else usual)
        # Probes and pages may have any parameters.
        self._known = frozenset(endpoint.query) if endpoint.path.startswith("/v1/") else None
        self._empty = for_no_body(self._decode)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint, started, status = self.endpoint, time.perf_counter(), _GONE
        path: dict[str, str] = scope["path_params"]
        hold = Hold(self.server.budget, endpoint.upload)
        # How many answers the body holds, once it is decoded.
        sent = [1]
        try:
            try:
                result = await self._result(scope, path, receive, hold, sent)
                reply = result if isinstance(result, Reply) else encode(result)
                # A committed write cannot be refused any more: its reply takes the place of its body in the budget.
                if endpoint.method == "GET":
                    hold.release()
                    hold.reply(len(reply.body if isinstance(reply, Reply) else reply))
                if isinstance(reply, Reply) and reply.chunks is not None:
                    reply.chunks = await counted(reply.chunks, hold)
            except ClientGoneError:
                self._count(path, "refused", "slow", sent[0])
                raise
            except Exception as error:  # noqa: BLE001 - every failure gets a reply
                reply = self._failed(path, error, sent[0])
            if isinstance(reply, Reply):
                await send_reply(send, reply, receive)
                status = reply.status
            else:
                await send_json(send, endpoint.status, reply)
                status = endpoint.status
        except ClientGoneError:
            # Returning without the end of a reply closes the connection.
            pass
        finally:
            hold.release()
            self.server.meters.request(endpoint.method, endpoint.path, status, time.perf_counter() - started)

    async def _result(self, scope: Scope, path: dict[str, str], receive: Receive, hold: Hold, sent: list[int]) -> Any:
        address = address_of(scope)
        key = self._admit(path, headers_of(scope), address)
        hold.owner = owner(key, address)
        if scope["query_string"] and self._known is not None:
            check_query(scope["query_string"], self._known)
        body: Any = None
        if self.endpoint.body is not None:
            seconds = self.server.settings.read_seconds
            raw = await read_body(scope, receive, self._limit, hold, seconds) or self._empty
            body = raw if self._decode is None else decoded(self._decode, raw, "the body")
            if isinstance(body, BatchAnswers):
                sent[0] = len(body.answers)
            if key.voter is not None:
                speak_as(key, body)
        return await self.endpoint.handler(Call(self.server, key, path, body, scope, hold, receive))

    def _admit(self, path: dict[str, str], headers: Mapping[str, str], address: str) -> Key:
        """The caller's key. Raises RefusalError if it may not make this request now."""
        endpoint, server = self.endpoint, self.server
        key = server.doorkeeper.identify(headers, endpoint.method, address)
        if server.buckets is not None:
            server.buckets.take(owner(key, address))
        role, name = endpoint.role, path.get("name")
        if role is not None and not key.may(role, name):
            if not key.roles:
                raise RefusalError(Kind.NO_KEY, "no_key", "this server needs a key: Authorization: Bearer KEY")
            raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", f"this key may not {role} here")
        if name is None and role is not None and key.voter is not None:
            raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", "a link gives access to one model's questions only")
        if name is not None and not _is_name(name):
            raise RefusalError(Kind.UNKNOWN, "unknown_model", f"{name[:80]!r} is not a valid model name")
        event_id = path.get("event_id", "")
        if len(event_id) > _MAX_IDENTIFIER or "\x00" in event_id:
            raise RefusalError(Kind.UNKNOWN, "unknown_event", "there is no such event")
        return key

    def _failed(self, path: dict[str, str], error: Exception, sent: int) -> Reply:
        """The reply to a request with `sent` answers that was not carried out."""
        if isinstance(error, RefusalError):
            self._count(path, "indeterminate" if error.kind is Kind.INDETERMINATE else "refused", error.code, sent)
            return refused(error)
        logger.error("%s %s failed", self.endpoint.method, self.endpoint.path, exc_info=error)
        self._count(path, "indeterminate", "internal", sent)
        return failure(500, "internal", "this is a fault of the server; it has been logged")

    def _count(self, path: dict[str, str], outcome: str, code: str, sent: int) -> None:
        """Count answers that were not carried out. A name that no model has makes no line of its own."""
        if self.endpoint.answers:
            name = path.get("name", "")
            known = name in self.server.engine.models and code not in ("no_key", "wrong_key", "not_allowed")
            self.server.meters.refused(name if known else "", outcome, code, sent)
