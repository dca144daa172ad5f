"""Every wait ends: with a broken store, a stop half-way, or work that fails oddly."""

import asyncio
import socket
import sqlite3
import threading

import pytest
import uvicorn
from uvicorn.server import ServerState

from conquer.service.engine import engine as queues
from conquer.service.engine.loading import load
from conquer.service.errors import RefusalError
from conquer.service.jobs import retention
from conquer.service.store.log import headers
from conquer.service.web.connections import Bounds, Guard, Requests

from .conftest import run
from .engines import held_back, losing, replace, soon
from .test_fitting import ITEMS, LINES
from .test_rows import MADE, play, spoil

FITTED = {**MADE, "features": {"dim": 64, "kind": "tfidf"}}


def test_a_log_without_one_of_its_rows_is_told_of(local, tmp_path) -> None:
    async def fill():
        async with local(snapshot_every=10**6).running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 3)

    async def again():
        app = local()
        async with app.running() as client:
            reply = await soon(client.get("/v1/models/m"))
            assert (reply.status_code, reply.json()["error"]["code"]) == (503, "unreadable_model")
            assert "load:m" in dict(app.server.alarms.standing())
            assert (await soon(client.delete("/v1/models/m"))).status_code == 204

    run(fill())
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("DELETE FROM snapshots")
    spoil(tmp_path, "DELETE FROM log WHERE position = 5")
    run(again())


def test_a_fitted_model_without_its_features_is_told_of(local, tmp_path) -> None:
    async def fill():
        async with local(snapshot_every=10**6).running() as client:
            await client.post("/v1/models", json=FITTED)
            assert (await client.post("/v1/models/m/items", content=LINES)).status_code == 200
            assert (await client.post("/v1/models/m/choose", json={"items": ITEMS})).status_code == 200

    async def again():
        app = local()
        async with app.running() as client:
            reply = await soon(client.get("/v1/models/m"))
            assert (reply.status_code, reply.json()["error"]["code"]) == (503, "unreadable_model")
            assert "load:m" in dict(app.server.alarms.standing())
            assert (await soon(client.delete("/v1/models/m"))).status_code == 204

    run(fill())
    spoil(tmp_path, "UPDATE snapshots SET data = x'00ff00'")
    run(again())


def test_a_fold_that_missed_the_fit_is_not_stored(local, monkeypatch) -> None:
    """It has no features: whoever read it later could do nothing with it."""

    async def first():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=FITTED)
            engine = app.server.engine
            with app.server.database.reading() as connection:
                early = load(connection, headers(connection, ["m"])["m"], engine.build)
            await client.post("/v1/models/m/items", content=LINES)
            await replace(engine, "m", early)
            held_back(monkeypatch, "m")
            asked = asyncio.create_task(client.get("/v1/models/m"))
            while not early.void:
                await asyncio.sleep(0.001)
        assert (await asked).status_code == 503

    async def again():
        monkeypatch.undo()
        async with local().running() as client:
            assert (await client.post("/v1/models/m/choose", json={"items": ITEMS})).status_code == 200

    run(first())
    run(again())


def test_who_waits_for_a_row_that_the_store_has_lost_is_told(local) -> None:
    """As where a standby takes over that lacks the last commits."""

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 1)
            state = app.server.engine.models["m"]
            with pytest.raises(RefusalError, match="try again"):
                await soon(app.server.engine.call("m", lambda turn: None, after=(state.id, 100)))
            await play(client, 1, seed=1)

    run(go())


def test_a_model_that_others_have_pruned_beyond_is_read_again(local) -> None:
    """Another server of the store went on with it and forgot the rows that this one has not seen."""

    async def go():
        app, now = local(snapshot_every=10**6), [1e9]
        engine = app.server.engine
        engine.clock = lambda: now[0]
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 2)
            with app.server.database.reading() as connection:
                early = load(connection, headers(connection, ["m"])["m"], engine.build)
            await play(client, 5, seed=1)
            now[0] += 86400 * 40
            await play(client, 1, seed=2)
            loop = asyncio.get_running_loop()
            assert await loop.run_in_executor(None, retention.prune_all, engine, 30.0, 1) == 14
            late = engine.models["m"].position
            await replace(engine, "m", early)
            found = [(await soon(client.get("/v1/models/m"))) for _ in range(2)]
            assert [reply.status_code for reply in found] == [200, 200]
            assert found[0].json()["position"] == late

    run(go())


def test_all_who_are_queued_hear_of_a_stop_that_could_not_wait(local, monkeypatch) -> None:
    monkeypatch.setattr(queues, "_STOPPING", 0.05)

    async def go():
        app = local(batch=1)
        async with app.running():
            gate = threading.Event()
            slow = app.server.engine.call(None, lambda connection: gate.wait(60))
            await asyncio.sleep(0.05)
            queued = [app.server.engine.call(None, lambda connection: None) for _ in range(3)]
            stopping = asyncio.get_running_loop().run_in_executor(None, app.server.engine.stop)
            await soon(stopping)
            gate.set()
            assert await soon(slow)
            for one in queued:
                with pytest.raises(RefusalError, match="stopping"):
                    await soon(one)

    run(go())


@pytest.mark.parametrize("reads", [True, False])
def test_work_that_runs_out_of_what_it_iterates_is_a_failure_like_others(local, reads) -> None:
    """asyncio takes no StopIteration: whoever waited would have waited for ever, and the writer with them."""

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            with pytest.raises(RuntimeError):
                await soon(app.server.engine.call("m", lambda turn: next(iter(())), reads=reads))
            assert (await soon(client.get("/v1/models/m"))).status_code == 200

    run(go())


def test_a_model_is_there_for_whoever_made_it_while_another_looked_for_it(local, monkeypatch) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            looked, gate, begin = threading.Event(), threading.Event(), queues.load_in_slices

            def slowly(*arguments):
                found = yield from begin(*arguments)
                looked.set()
                while not gate.wait(0.001):
                    yield
                return found

            monkeypatch.setattr(queues, "load_in_slices", slowly)
            early = asyncio.create_task(client.get("/v1/models/m"))
            while not looked.is_set():
                await asyncio.sleep(0.001)
            made = asyncio.create_task(client.post("/v1/models", json=MADE))
            while app.server.engine.waiting < 2:
                await asyncio.sleep(0.001)
            gate.set()
            assert (await soon(made)).status_code == 201
            assert (await soon(early)).status_code in (200, 404)

    run(go())


@pytest.mark.parametrize("queue", [1, 3])
def test_a_short_queue_has_room_for_one_who_waits_for_a_model(local, queue) -> None:
    async def go():
        async with local(queue=queue).running() as client:
            assert (await soon(client.post("/v1/models", json=MADE))).status_code == 201

    run(go())


def test_a_failed_commit_of_nothing_tells_nobody(local, monkeypatch) -> None:
    """Work whose model must be loaded first is not part of it and waits on."""

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            with app.server.database.reading() as connection:
                early = load(connection, headers(connection, ["m"])["m"], app.server.engine.build)
            await play(client, 1)
            gate = held_back(monkeypatch, "m")
            await replace(app.server.engine, "m", early)
            # Only inside the transaction is the model seen to be far behind.
            monkeypatch.setattr(queues, "_NEAR", -1)
            with losing(app.server.database, made=False) as lost:
                asked = asyncio.create_task(client.get("/v1/models/m"))
                while not lost:
                    await asyncio.sleep(0.001)
            monkeypatch.setattr(queues, "_NEAR", 2000)
            gate.set()
            assert (await soon(asked)).status_code == 200

    run(go())


# Nobody keeps others waiting: not with a thread, a connection, a place, memory, or a store that has gone.


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
        listening, client = socket.create_server(("127.0.0.1", 0)), socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        state = ServerState()
        async with await here.create_server(
            lambda: Guard(bounds, config=config, server_state=state, app_state={}), sock=listening
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
PATHS = [("GET", "trees"), ("POST", "items"), ("POST", "votes"), ("POST", "log"), ("POST", "erase")]


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
            readers = [app.server.engine.long.submit(f"tenant {number}", read) for number in range(12)]
            begun.wait(60)
            await asyncio.sleep(0.2)
            await replace(app.server.engine, "m")
            try:
                assert (await asyncio.wait_for(client.get("/v1/models/m"), 20)).status_code == 200
            finally:
                gate.set()
                for one in readers:
                    one.result(60)

    run(go())
