"""The least that a request can cost here: bare uvicorn that decodes a body with msgspec and sends it back.

    python -m conquer.bench.echo PORT

The service is measured beside it, in turns, so that a slow machine or a busy hour does not count against either.
"""

import sys
from typing import Any

import msgspec
import uvicorn

from conquer.service.settings import Settings

_decode = msgspec.json.Decoder().decode


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """The ASGI application: no routes, no keys, no store, no metrics."""
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    _decode(body)
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": head})
    await send({"type": "http.response.body", "body": body})


def main() -> None:
    """Serve until told to stop, with what the service tells uvicorn too."""
    settings = Settings()
    uvicorn.run(
        echo,
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=settings.access_log,
        timeout_keep_alive=int(settings.idle_seconds),
        proxy_headers=bool(settings.proxy),
        server_header=False,
    )


if __name__ == "__main__":
    main()
