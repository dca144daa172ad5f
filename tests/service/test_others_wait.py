"""Nobody keeps others waiting: not with a thread, a connection, a place, memory, or a store that has gone."""

import asyncio
import socket
import threading

import pytest
import uvicorn
from uvicorn.server import ServerState

from conquer.service.errors import RefusalError
from conquer.service.web.connections import Bounds, Guard, Requests

from .conftest import run
from .engines import held_back, replace, soon
from .test_fitting import LINES
from .test_rows import MADE


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_connection_whose_last_bytes_nobody_takes_ends(loop) -> None:
    """Closing waits until all is sent: what is too little to fill the buffer must not keep the connection open."""

    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"40000")]})
        await send({"type": "http.response.body", "body": bytes(40_000)})

    async def go() -> None:
        here, bounds = asyncio.get_running_loop(), Bounds(seconds=0.05)
        config = uvicorn.Config(Requests(app, bounds), interface="asgi3", log_config=None, lifespan="off")
        config.load()
        config.timeout_keep_alive = 0.05
        guard = Guard.around(config.http_protocol_class, bounds)
        listening, client = socket.create_server(("127.0.0.1", 0)), socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        state = ServerState()
        async with await here.create_server(
            lambda: guard(config=config, server_state=state, app_state={}), sock=listening
        ):
            with client:
                client.connect(listening.getsockname())
                client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                async with asyncio.timeout(60):
                    while not state.total_requests:
                        await asyncio.sleep(0.001)
                for _ in range(500):
                    if not bounds.open:
                        return
                    await asyncio.sleep(0.01)
        pytest.fail("it never ended")

    with asyncio.Runner(
        loop_factory=pytest.importorskip("uvloop").new_event_loop if loop == "uvloop" else None
    ) as runner:
        runner.run(go())


BODIES = {"log": b'{"kind": "open"}', "erase": b'{"voter": "ann"}'}
PATHS = [("GET", "parser"), ("GET", "trees"), ("POST", "items"), ("POST", "votes"), ("POST", "log"), ("POST", "erase")]


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_who_waits_for_a_model_keeps_no_thread_from_others(local, monkeypatch, method, path) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            for name in ("m", "n"):
                await client.post("/v1/models", json={**MADE, "name": name})
            engine = app.server.engine
            gate = held_back(monkeypatch, "m")
            await replace(engine, "m")
            body = {} if method == "GET" else {"content": BODIES.get(path, LINES)}
            waiting = [asyncio.create_task(client.request(method, f"/v1/models/m/{path}", **body)) for _ in range(40)]
            while not engine.waiting:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.05)
            try:
                assert (await soon(client.get("/v1/models"))).status_code == 200
                assert (await soon(client.post("/v1/models/n/items", content=LINES))).status_code == 200
            finally:
                gate.set()
            assert all(reply.status_code < 500 for reply in await asyncio.gather(*waiting))

    run(go())


def test_a_store_that_has_gone_is_waited_for_once_not_by_each(local) -> None:
    """A batch fails with the store; retried one by one, each piece of work would wait for a connection in vain."""
    tried: list[str] = []

    class Gone:
        def connect(self):
            tried.append(threading.current_thread().name)
            raise OSError("gone")

    async def go():
        app = local()
        async with app.running():
            engine, gate = app.server.engine, threading.Event()
            store = engine.database.engine

            def breaks(connection):
                engine.database.engine = Gone()
                raise OSError("gone")

            began = threading.Event()
            first = engine.call(None, lambda connection: (began.set(), gate.wait(60)))
            while not began.is_set():
                await asyncio.sleep(0.001)
            works = [engine.call(None, work) for work in (breaks, *[lambda connection: None] * 20)]
            gate.set()
            await soon(first)
            for one in works:
                with pytest.raises(RefusalError, match="nothing was learnt"):
                    await soon(one)
            assert tried.count("conquer-engine") == 1
            engine.database.engine = store
            await soon(engine.call(None, lambda connection: None))

    run(go())


def test_readers_who_take_long_leave_a_connection_for_folds(local) -> None:
    """Erasures, pruning and readings of long logs hold one each for minutes, as many as there are threads for them."""

    async def go():
        app, gate, begun = local(), threading.Event(), threading.Event()

        def read():
            with app.server.database.reading(patient=True) as connection:
                connection.exec_driver_sql("SELECT COUNT(*) FROM log")
                begun.set()
                gate.wait(60)

        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            readers = [threading.Thread(target=read) for _ in range(12)]
            for one in readers:
                one.start()
            begun.wait(60)
            await asyncio.sleep(0.2)
            await replace(app.server.engine, "m")
            try:
                assert (await asyncio.wait_for(client.get("/v1/models/m"), 20)).status_code == 200
            finally:
                gate.set()
                for one in readers:
                    one.join()

    run(go())
