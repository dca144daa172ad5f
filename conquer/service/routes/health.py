"""For those who run it: health, readiness, metrics, the OpenAPI document."""

import asyncio
from typing import Any

import msgspec

from conquer.service.errors import Kind, RefusalError
from conquer.service.http.messages import Reply
from conquer.service.http.routing import Call, Endpoint


class Health(msgspec.Struct):
    status: str


async def healthz(call: Call) -> Health:
    """The process is alive."""
    return Health("ok")


async def readyz(call: Call) -> Health:
    """Kernels are warm and the store takes a transaction."""
    if not call.server.ready:
        raise RefusalError(Kind.UNAVAILABLE, "starting", "kernels are being compiled", retry_after=1)
    await call.server.writer.call(None, lambda connection: connection.exec_driver_sql("SELECT 1").scalar())
    return Health("ready")


async def metrics(call: Call) -> Reply:
    server = call.server
    meters, writer = server.meters, server.writer
    meters.waiting.set(writer.waiting)
    meters.commits.set(writer.batches.commits)
    loaded = list(writer.models.values())
    meters.models.set(len(loaded))
    meters.model_bytes.set(sum(folded.size for folded in loaded))
    used = await asyncio.get_running_loop().run_in_executor(None, server.database.bytes_used)
    meters.store_bytes.set(used)
    return Reply(meters.text(), kind="text/plain; version=0.0.4; charset=utf-8")


async def openapi(call: Call) -> dict[str, Any]:
    return call.server.document


ENDPOINTS = (
    Endpoint("GET", "/healthz", None, "The process is alive", healthz, reply=Health),
    Endpoint("GET", "/readyz", None, "Ready to serve", readyz, reply=Health),
    Endpoint("GET", "/metrics", "read", "Metrics for Prometheus", metrics, kind="text/plain"),
    Endpoint("GET", "/openapi.json", None, "This document", openapi, reply=dict[str, Any]),
)
