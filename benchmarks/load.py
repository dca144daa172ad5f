"""A load generator in a process of its own: raw sockets, bodies encoded beforehand, so that it takes little time."""

import asyncio
import json
import random
import sys
import time
from collections.abc import Callable
from typing import Any

_HEAD = "POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"


def request(path: str, body: bytes) -> bytes:
    return _HEAD.format(path=path, size=len(body)).encode() + body


def between(data: bytes, before: bytes, start: int = 0) -> bytes:
    """The text after `before` up to the next quotation mark."""
    first = data.index(before, start) + len(before)
    return data[first : data.index(b'"', first)]


class Connection(asyncio.Protocol):
    """One connection that sends a request when the last one has been answered."""

    def __init__(self) -> None:
        self._waiting: asyncio.Future[bytes] | None = None
        self._data = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            return
        at = self._data.index(b"content-length: ") + 16
        size = int(self._data[at : self._data.index(b"\r\n", at)])
        if len(self._data) < end + 4 + size or self._waiting is None:
            return
        reply, self._data, waiting = self._data, b"", self._waiting
        if not reply.startswith(b"HTTP/1.1 200"):
            waiting.set_exception(RuntimeError(reply.decode(errors="replace")))
        else:
            waiting.set_result(reply[end + 4 :])

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_exception(ConnectionError("the server hung up"))

    def close(self) -> None:
        self._transport.close()

    def ask(self, data: bytes) -> "asyncio.Future[bytes]":
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(data)
        return self._waiting


def bodies(count: int, items: int, width: int, seed: int) -> list[bytes]:
    """Rounds of vectors as JSON: about 20 bytes an item and 6 a number."""
    rng = random.Random(seed)
    return [
        json.dumps(
            {
                "items": [
                    {"id": f"i{k}", "vector": [round(rng.gauss(0, 1), 2) for _ in range(width)]} for k in range(items)
                ]
            },
            separators=(",", ":"),
        ).encode()
        for _ in range(count)
    ]


async def pairs(
    port: int, seconds: float, connections: int, width: int, rate: float, model: str = ""
) -> dict[str, Any]:
    """Choose and answer in turn on every connection; `rate` above 0 paces all of them together."""
    loop = asyncio.get_running_loop()
    path = f"/v1/models/{model or f'bench-{width}'}"
    ready = [request(f"{path}/choose", body) for body in bodies(200, 5, width, 1)]
    took: list[float] = []
    end = time.perf_counter() + seconds

    async def client(number: int) -> int:
        _, link = await loop.create_connection(Connection, "127.0.0.1", port)
        rng, done = random.Random(number), 0
        due = time.perf_counter() + (number / rate if rate else 0)
        while time.perf_counter() < end or not done:
            if rate:
                await asyncio.sleep(max(0.0, due - time.perf_counter()))
                due += connections / rate
            start = time.perf_counter()
            reply = await link.ask(rng.choice(ready))
            middle = time.perf_counter()
            event = between(reply, b'"event_id":"').decode()
            winner = between(reply, b'"shown":[{"id":"')
            await link.ask(request(f"{path}/events/{event}/answer", b'{"winner":"' + winner + b'"}'))
            took.extend((middle - start, time.perf_counter() - middle))
            done += 1
        link.close()
        return done

    return await _counted([client(number) for number in range(connections)], took, len(ready[0]))


async def batches(port: int, seconds: float, connections: int, width: int, size: int) -> dict[str, Any]:
    """The same in batches of `size` rounds and `size` answers."""
    loop = asyncio.get_running_loop()
    rounds = bodies(200, 5, width, 2)
    rng = random.Random(0)
    ready = [
        request(
            f"/v1/models/bench-{width}/choose/batch",
            b'{"rounds":[' + b",".join(rng.choice(rounds) for _ in range(size)) + b"]}",
        )
        for _ in range(20)
    ]
    took: list[float] = []
    end = time.perf_counter() + seconds

    async def client(number: int) -> int:
        _, link = await loop.create_connection(Connection, "127.0.0.1", port)
        done = 0
        while time.perf_counter() < end or not done:
            start = time.perf_counter()
            reply = await link.ask(ready[(number + done) % len(ready)])
            parts = reply.split(b'"event_id":"')[1:]
            answers = [
                b'{"event_id":"'
                + part[: part.index(b'"')]
                + b'","winner":"'
                + between(part, b'"shown":[{"id":"')
                + b'"}'
                for part in parts
            ]
            await link.ask(request(f"/v1/models/bench-{width}/answers", b'{"answers":[' + b",".join(answers) + b"]}"))
            took.append(time.perf_counter() - start)
            done += size
        link.close()
        return done

    return await _counted([client(number) for number in range(connections)], took, len(ready[0]) // size)


async def _counted(clients: list[Any], took: list[float], size: int) -> dict[str, Any]:
    start, cpu = time.perf_counter(), time.process_time()
    done = sum(await asyncio.gather(*clients))
    seconds = time.perf_counter() - start
    took.sort()
    return {
        "done": done,
        "seconds": seconds,
        "pairs_per_second": done / seconds,
        "body_bytes": size,
        "load_cpu": (time.process_time() - cpu) / seconds,
        "p50_ms": 1e3 * took[len(took) // 2],
        "p99_ms": 1e3 * took[int(len(took) * 0.99)],
    }


def main() -> None:
    """Read one job as JSON from the command line, print one result as JSON."""
    import uvloop

    order = json.loads(sys.argv[1])
    works: dict[str, Callable[..., Any]] = {"pairs": pairs, "batches": batches}
    print(json.dumps(uvloop.run(works[order.pop("work")](**order))))


if __name__ == "__main__":
    main()
