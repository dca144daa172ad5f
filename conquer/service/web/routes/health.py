"""Health, readiness and metrics."""

from typing import Literal

import msgspec
from starlette.responses import Response

from conquer.kernels.core import background
from conquer.service.errors import Kind, RefusalError
from conquer.service.web.access import may
from conquer.service.web.endpoint import Call, Routes, reply

routes = Routes()


class Health(msgspec.Struct):
    status: str


class Alarm(msgspec.Struct):
    """A problem for the operator; a caller who may not read its subject gets its kind alone."""

    kind: str
    message: str


class Readiness(msgspec.Struct):
    """`degraded` while there are alarms; `compiling`: kernels that are interpreted until they are compiled."""

    status: Literal["ready", "degraded"]
    alarms: list[Alarm]
    compiling: int


@routes.add("GET", "/healthz", None)
async def healthz(call: Call) -> Health:
    """The process is alive."""
    return Health("ok")


@routes.add("GET", "/readyz", None)
async def readyz(call: Call) -> Readiness:
    """Ready to serve: the store takes a write."""
    try:
        await call.server.check_store()
    except RefusalError as refusal:
        raise RefusalError(Kind.UNAVAILABLE, refusal.code, refusal.message, retry_after=1) from None
    alarms = [_shown(call, kind, message) for kind, message in call.server.alarms.standing()]
    return Readiness("degraded" if alarms else "ready", alarms, background.pending())


def _shown(call: Call, kind: str, message: str) -> Alarm:
    word, _, subject = kind.partition(":")
    return Alarm(kind, message) if may(call.key, "read", subject) else Alarm(word, "")


@routes.add("GET", "/metrics", "read", kind="text/plain")
async def metrics(call: Call) -> Response:
    """Metrics for Prometheus."""
    # Thousands of lines, some tens of milliseconds: not on the event loop.
    text = await call.brief(lambda: call.server.meters.text(lambda model: may(call.key, "read", model)))
    return reply(text, "text/plain; version=0.0.4; charset=utf-8")
