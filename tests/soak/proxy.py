"""Between servers and PostgreSQL: bytes both ways, until a commit is let through and its reply is not."""

import asyncio
import contextlib


class Cutter:
    """A proxy to a port. `armed` cuts the connection of the next COMMIT: it arrives, its reply does not.

    With `at_once` the connection ends with the commit on its way, else when PostgreSQL has replied to it.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self.armed = self.at_once = False
        self.cuts = 0

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        self._open: set[asyncio.WriteTransport] = set()

    async def close(self) -> None:
        self._server.close()
        for transport in self._open:
            transport.abort()
        while self._open:
            await asyncio.sleep(0.001)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer.transport)
        try:
            with contextlib.suppress(OSError):
                await self._carry(reader, writer)
        finally:
            self._open.discard(writer.transport)
            writer.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, onward = await asyncio.open_connection("127.0.0.1", self._target)
        cut = asyncio.Event()

        async def forth() -> None:
            while data := await reader.read(1 << 16):
                doomed = self.armed and b"COMMIT" in data
                if doomed:
                    self.armed = False
                    cut.set()
                onward.write(data)
                await onward.drain()
                if doomed and self.at_once:
                    return

        async def back() -> None:
            while data := await there.read(1 << 16):
                if cut.is_set():
                    return
                writer.write(data)
                await writer.drain()

        pumps = [asyncio.create_task(forth()), asyncio.create_task(back())]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.cuts += cut.is_set()
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            onward.close()
