"""One row of the table of routes at work: from a request to its handler, and from the result to a reply."""

import logging
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from conquer.service.errors import Kind, RefusalError
from conquer.service.http.auth import speak_as
from conquer.service.http.batches import BatchAnswers, decoder
from conquer.service.http.budget import Hold
from conquer.service.http.decoding import check_query, decoded, for_no_body
from conquer.service.http.errors import failure, refused
from conquer.service.http.keys import Key
from conquer.service.http.messages import (
    Receive,
    Reply,
    Scope,
    Send,
    address_of,
    counted,
    encode,
    headers_of,
    read_body,
    send_json,
    send_reply,
)
from conquer.service.http.routing import Call, Endpoint
from conquer.service.http.schemas import is_model_name
from conquer.service.server import Server

logger = logging.getLogger("conquer.service")
_MAX_IDENTIFIER = 200
# Nearly all requests are about a few models: how their names read is remembered.
_is_name = lru_cache(maxsize=256)(is_model_name)


def owner(key: Key, address: str) -> str:
    """To whom the work and the bytes of a request are counted.

    Those who came by one link share its id; one of them must not use up what the others may.
    """
    return f"{key.id}:{address}" if key.voter is not None else key.id or address


class Dispatch:
    """Lets the caller in, reads and decodes the body, calls the handler, replies.

    `admit`, `decode` and `failed` are also the steps of a request that comes by the short way (`Visits`).
    """

    def __init__(self, endpoint: Endpoint, server: Server) -> None:
        self.endpoint, self.server = endpoint, server
        typed = endpoint.body is not None and endpoint.body is not bytes
        self._decode = decoder(endpoint.body) if typed else None
        limits = server.settings.limits
        usual = limits.round_bytes if endpoint.items else limits.body_bytes
        self.limit = endpoint.limit or (limits.upload_bytes if endpoint.upload else usual)
        # Other people's protocols, probes and pages may bring what they like.
        self._known = frozenset(endpoint.query) if endpoint.path.startswith("/v1/") else None
        self._instead = for_no_body(self._decode)

    async def __call__(self, scope: Scope, path: dict[str, str], receive: Receive, send: Send) -> None:
        endpoint, started, status = self.endpoint, time.perf_counter(), 500
        hold = Hold(self.server.budget, endpoint.upload)
        # How many answers came, as far as that can be told.
        sent = [1]
        try:
            try:
                result = await self._result(scope, path, receive, hold, sent)
                reply = result if isinstance(result, Reply) else encode(result)
                # What was done cannot be refused any more: replies to writes go with their bodies, which are counted.
                if endpoint.method == "GET":
                    hold.release()
                    hold.reply(len(reply.body if isinstance(reply, Reply) else reply))
                if isinstance(reply, Reply) and reply.chunks is not None:
                    reply.chunks = await counted(reply.chunks, hold)
            except Exception as error:  # noqa: BLE001 - whatever it was, whoever asked gets a reply
                reply = self.failed(path, error, sent[0])
            if isinstance(reply, Reply):
                status = reply.status
                await send_reply(send, reply, receive)
            else:
                status = endpoint.status
                await send_json(scope, send, status, reply)
        finally:
            hold.release()
            self.server.meters.request(endpoint.method, endpoint.path, status, time.perf_counter() - started)

    async def _result(self, scope: Scope, path: dict[str, str], receive: Receive, hold: Hold, sent: list[int]) -> Any:
        address = address_of(scope)
        key = self.admit(path, headers_of(scope), address)
        hold.owner = owner(key, address)
        if scope["query_string"] and self._known is not None:
            check_query(scope["query_string"], self._known)
        body: Any = None
        if self.endpoint.body is not None:
            body = self.decode(await read_body(scope, receive, self.limit, hold))
            if isinstance(body, BatchAnswers):
                sent[0] = len(body.answers)
            if key.voter is not None:
                speak_as(key, body)
        return await self.endpoint.handler(Call(self.server, key, path, body, scope, hold))

    def admit(self, path: dict[str, str], headers: Mapping[str, str], address: str) -> Key:
        """Who asks, if they may ask that here and now; a RefusalError if not."""
        endpoint, server = self.endpoint, self.server
        key = server.doorkeeper.identify(headers, endpoint.method, address)
        if server.buckets is not None:
            server.buckets.take(owner(key, address))
        role, name = endpoint.role, path.get("name")
        if role is not None and not key.may(role, name):
            if not key.roles:
                raise RefusalError(Kind.NO_KEY, "no_key", "this server wants a key: Authorization: Bearer KEY")
            raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", f"this key may not {role} here")
        if name is None and role is not None and key.voter is not None:
            raise RefusalError(Kind.NOT_ALLOWED, "not_allowed", "a link leads to the questions of one model alone")
        if name is not None and not _is_name(name):
            raise RefusalError(Kind.UNKNOWN, "unknown_model", f"{name[:80]!r} cannot be a model's name")
        event_id = path.get("event_id", "")
        if len(event_id) > _MAX_IDENTIFIER or "\x00" in event_id:
            raise RefusalError(Kind.UNKNOWN, "unknown_event", "there is no such event")
        return key

    def decode(self, raw: bytes) -> Any:
        """What the body holds, whoever sent it."""
        body = raw or self._instead
        return body if self._decode is None else decoded(self._decode, body, "the body")

    def failed(self, path: dict[str, str], error: Exception, sent: int = 1) -> Reply:
        """What is sent when a request, with so many answers, is not carried out, for whatever reason."""
        if isinstance(error, RefusalError):
            self._count(path, "indeterminate" if error.kind is Kind.INDETERMINATE else "refused", error.code, sent)
            return refused(error)
        logger.error("%s %s failed", self.endpoint.method, self.endpoint.path, exc_info=error)
        self._count(path, "indeterminate", "internal", sent)
        return failure(500, "internal", "this is a fault of the server; it has been logged")

    def _count(self, path: dict[str, str], outcome: str, code: str, sent: int) -> None:
        """Answers that were not carried out. A name nobody has given to a model makes no line of its own."""
        if self.endpoint.answers:
            name = path.get("name", "")
            known = name in self.server.writer.models and code not in ("no_key", "wrong_key", "not_allowed")
            self.server.meters.refused(name if known else "", outcome, code, sent)
