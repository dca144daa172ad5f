"""For those who run it: health, readiness, metrics, the OpenAPI document."""

from typing import Any, Literal

import msgspec

from conquer.kernels.core import background
from conquer.service.errors import Kind, RefusalError
from conquer.service.web.messages import Reply
from conquer.service.web.routing import Call, Endpoint


class Health(msgspec.Struct):
    status: str


class Alarm(msgspec.Struct):
    """Something an operator should look at. Who may not read what it is about is told its kind alone."""

    kind: str
    message: str


class Readiness(msgspec.Struct):
    status: Literal["ready", "degraded"]
    alarms: list[Alarm]
    compiling: int


async def healthz(call: Call) -> Health:
    """The process is alive."""
    return Health("ok")


async def readyz(call: Call) -> Readiness:
    """The store takes a write; `degraded` while alarms stand. `compiling`: kernels that are interpreted until then."""
    if not call.server.ready:
        raise RefusalError(Kind.UNAVAILABLE, "stopping", "the server is stopping", retry_after=1)
    try:
        await call.server.check_store()
    except RefusalError as refusal:
        raise RefusalError(Kind.UNAVAILABLE, refusal.code, refusal.message, retry_after=1) from None
    alarms = [_shown(call, kind, message) for kind, message in call.server.alarms.standing()]
    return Readiness("degraded" if alarms else "ready", alarms, background.pending())


def _shown(call: Call, kind: str, message: str) -> Alarm:
    word, _, subject = kind.partition(":")
    return Alarm(kind, message) if call.key.may("read", subject) else Alarm(word, "")


async def metrics(call: Call) -> Reply:
    server = call.server
    meters, engine = server.meters, server.engine
    meters.waiting.set(engine.waiting)
    meters.commits.set(engine.commits)
    loaded = list(engine.models.values())
    meters.models.set(len(loaded))
    meters.model_bytes.set(sum(state.size for state in loaded))
    meters.quarantined.set(sum(getattr(state.tally, "quarantined", 0) for state in loaded))
    meters.flight.set(server.budget.used)
    meters.connections.set(server.bounds.open)
    meters.standing([kind for kind, _ in server.alarms.standing()], server.alarms.failures())

    def write() -> bytes:
        # Thousands of lines, some tens of milliseconds: not on the event loop.
        meters.store_bytes.set(server.database.bytes_used())
        return meters.text(lambda model: call.key.may("read", model))

    text = await call.brief(write)
    return Reply(text, kind="text/plain; version=0.0.4; charset=utf-8")


async def openapi(call: Call) -> dict[str, Any]:
    return call.server.document


ENDPOINTS = (
    Endpoint("GET", "/healthz", None, "The process is alive", healthz, reply=Health),
    Endpoint("GET", "/readyz", None, "Ready to serve", readyz, reply=Readiness),
    Endpoint("GET", "/metrics", "read", "Metrics for Prometheus", metrics, kind="text/plain"),
    Endpoint("GET", "/openapi.json", None, "This document", openapi, reply=dict[str, Any]),
)
