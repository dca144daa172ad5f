"""A hundred thousand calls made to do harm: none is a fault of the server, and everything works after them."""

import asyncio
import json
import random
import shutil
import urllib.parse
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from service.nursery import Nursery

from . import machine, state
from .malicious import Files
from .mutator import damaged, mutated
from .target import Target
from .traffic import KEEPERS, REFUSED, raw, session

MEGABYTES = 1500.0
"""What the server may take at most, of which 256 are for models."""
_AT_ONCE = 16
_PLACES = [("GET", "/session"), ("GET", "/v1/models"), ("POST", "/v1/models"), ("POST", "/join"), ("POST", "/logout")]
_PART = 1000
_VECTORS = {"items": [{"id": "a", "vector": [1, 0]}, {"id": "b", "vector": [0, 1]}]}


def shares(total: int) -> dict[str, int]:
    """How many calls of each source.

    >>> shares(100_000)
    {'mutator': 78000, 'files': 15000, 'machine': 5000, 'cookies': 2000}
    """
    few, fewer = total // 20, total // 50
    return {"mutator": total - 4 * few - fewer, "files": 3 * few, "machine": few, "cookies": fewer}


def harmless(request: bytes) -> bool:
    """Whether it may be sent: no request deletes a model to keep, by whatever spelling."""
    line = urllib.parse.unquote_to_bytes(request.partition(b"\r\n")[0])
    return not (line[:6].upper() == b"DELETE" and any(name.encode() in line for name in KEEPERS))


async def _many(target: Target, source: str, first: int, count: int, make: Callable[[int], bytes]) -> None:
    numbers = iter(range(first, first + count))

    async def worker() -> None:
        for number in numbers:
            request = make(number)
            if not harmless(request):
                request = raw("GET", "/healthz", None)
            status = await target.send(request, source, number)
            if status == 201 and source == "files":
                await _try_out(target, f"file-{number % 20}", number)

    await asyncio.gather(*(worker() for _ in range(_AT_ONCE)))


async def _try_out(target: Target, name: str, number: int) -> None:
    """A model that came in as a file is used, and removed."""
    root = f"/v1/models/{name}"
    for method, path, body in (
        ("POST", f"{root}/choose", {**_VECTORS, "event_id": "e"}),
        ("POST", f"{root}/events/e/answer", {"winner": "a"}),
        ("POST", f"{root}/next", {"voter": "ann"}),
        ("GET", root, None),
        ("GET", f"{root}/file", None),
        ("GET", f"{root}/features", None),
        ("DELETE", root, None),
    ):
        await target.send(raw(method, path, body), "used", number)


def record(target: Target) -> list[bytes]:
    """A session over all routes, sent as it is: its requests."""
    found = []
    with target.client() as client:
        for method, path, body in session(client):
            content = body if isinstance(body, bytes) or body is None else json.dumps(body, ensure_ascii=False).encode()
            reply = client.request(method, path, content=content)
            if reply.status_code >= 400 and (method, path) not in REFUSED:
                target.fail(f"session-{len(found)}", reply.text, raw(method, path, body))
            found.append(raw(method, path, body))
    return found


def run(nursery: Nursery, out: Path, total: int, seed: int = 0, strict: bool = True) -> dict[str, Any]:
    """`total` calls; goes on where an earlier run was stopped, with a server of its own."""
    path = out / "fuzz.json"
    kept = state.load(path)
    if kept.get("seed") != seed:
        kept = {"seed": seed, "done": {}, "statuses": {}, "slowest": 0.0, "megabytes": 0.0, "failed": []}
    wanted = shares(total)
    while any(kept["done"].get(source, 0) < count for source, count in wanted.items()):
        folder = out / "fuzz-store"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        target = Target(nursery, folder.absolute(), out / "failures")
        try:
            _stretch(target, kept, wanted, path)
        finally:
            target.close()
    shutil.rmtree(out / "fuzz-store", ignore_errors=True)
    if strict and kept["slowest"] >= 0.1:
        kept["failed"].append(f"the slowest /healthz took {1000 * kept['slowest']:.0f} ms")
    if kept["megabytes"] >= MEGABYTES:
        kept["failed"].append(f"the server took {kept['megabytes']:.0f} MB, more than {MEGABYTES:.0f}")
    return kept


def _stretch(target: Target, kept: dict[str, Any], wanted: dict[str, int], path: Path) -> None:
    """All that is left to do, on one server; kept after every part."""
    seed, done = kept["seed"], kept["done"]
    recorded = record(target)
    with target.client() as client:
        files = Files(lambda address: client.get(address).raise_for_status().content)
        document = client.get("/openapi.json").json()
    makers = {
        "mutator": lambda number: mutated(random.Random(f"{seed} {number}"), recorded),
        "files": lambda number: files.request(random.Random(f"files {seed} {number}"), number),
    }
    total = sum(wanted.values())
    progress = state.Progress("fuzz", total, sum(done.values()))
    before = Counter(kept["statuses"])

    def keep() -> None:
        kept.update(statuses=dict(before + target.counts), megabytes=max(kept["megabytes"], target.memory()))
        kept["failed"] += target.failed
        target.failed.clear()
        state.keep(path, kept)
        progress.show(sum(done.values()), {"MB": round(kept["megabytes"]), "failed": len(kept["failed"])})

    for source, make in makers.items():
        while (first := done.get(source, 0)) < wanted[source]:
            count = min(_PART, wanted[source] - first)
            asyncio.run(_many(target, source, first, count, make))
            done[source] = first + count
            target.tidy()
            keep()
    while (first := done.get("machine", 0)) < wanted["machine"]:
        count = min(_PART, wanted["machine"] - first)

        def note(status: int, request: bytes) -> None:
            target.note(status, "machine", target.counts.total(), request)

        done["machine"] = first + max(1, machine.run(target.process.address, document, count, seed + first, note))
        target.tidy()
        keep()
    kept["slowest"] = max(kept["slowest"], target.slowest_health())
    target.failed += [f"not usable at the end: {one}" for one in target.usable("end")]
    keep()
    first = done.get("cookies", 0)
    if first < wanted["cookies"]:
        cookie = target.close_the_door()
        asyncio.run(_many(target, "cookies", first, wanted["cookies"] - first, lambda n: _with_cookie(seed, n, cookie)))
        done["cookies"] = wanted["cookies"]
        keep()


def _with_cookie(seed: int, number: int, cookie: bytes) -> bytes:
    """A page asked for with a session that somebody has tampered with."""
    rng = random.Random(f"cookies {seed} {number}")
    method, path = rng.choice(_PLACES)
    body = {"/v1/models": {"name": "spare"}, "/join": {"token": f"{number}", "name": "x"}}.get(path)
    request = raw(method, path, body, "X-Conquer-Token: @", "Cookie: @")
    return b"".join(
        part + value
        for part, value in zip(
            request.split(b"@"), (damaged(rng, cookie, cookie), damaged(rng, cookie, b"=;,"), b""), strict=True
        )
    )


def again(nursery: Nursery, out: Path, request: bytes) -> str:
    """Send one failing call to a fresh server; what came back, and what the server logged."""
    folder = out / "again"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    target = Target(nursery, folder.absolute(), folder / "failures")
    try:
        record(target)
        if request.startswith(b"curl"):
            return f"run this against a server of your own: {request.decode(errors='replace')}"
        status = asyncio.run(target.send(request, "again", 0))
        alive = httpx.get(f"{target.process.address}/readyz", timeout=60).status_code
        return f"status {status}, /readyz {alive}\n{target.process.errors.read_text()[-4000:]}"
    finally:
        target.close()
