"""Every wait ends: with a broken store, a stop half-way, work that fails oddly, or a client that does not read."""

import asyncio
import socket
import sqlite3
import threading

import pytest
import uvicorn
from uvicorn.server import ServerState

from conquer.service.annotation import pool as pools
from conquer.service.errors import RefusalError
from conquer.service.http.bounds import Bounds
from conquer.service.http.connection import BoundedProtocol
from conquer.service.jobs import expiry, retention
from conquer.service.log.loading import load
from conquer.service.routes import items as item_routes
from conquer.service.store.log_table import headers
from conquer.service.writer import queue as queues
from conquer.service.writer.failures import NotBegunError

from .conftest import run
from .test_fitting import ITEMS, LINES
from .test_rows import MADE, play, spoil
from .test_waiting import held_back

PATIENCE = 30.0
FITTED = {**MADE, "features": {"dim": 64, "kind": "tfidf"}}


async def soon(asked):
    """The reply, unless it takes as long as one that never comes."""
    return await asyncio.wait_for(asked, PATIENCE)


def test_a_log_without_its_last_rows_is_told_of(local, tmp_path) -> None:
    async def fill():
        async with local(snapshot_every=10**6).running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 3)

    async def again():
        app = local()
        async with app.running() as client:
            assert (await soon(client.get("/v1/models/m"))).status_code == 500
            assert "fold:m" in dict(app.server.alarms.standing())
            assert (await soon(client.delete("/v1/models/m"))).status_code == 204

    run(fill())
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("DELETE FROM snapshots")
    spoil(tmp_path, "DELETE FROM log WHERE position = 6")
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
            assert "fold:m" in dict(app.server.alarms.standing())
            assert (await soon(client.delete("/v1/models/m"))).status_code == 204

    run(fill())
    spoil(tmp_path, "UPDATE snapshots SET data = x'00ff00'")
    run(again())


def test_a_fold_that_missed_the_fit_is_not_stored(local) -> None:
    """It has no features: whoever read it later could do nothing with it."""

    async def first():
        app = local(snapshot_every=10**6)
        async with app.running() as client:
            await client.post("/v1/models", json=FITTED)
            writer = app.server.writer
            with app.server.database.reading() as connection:
                early = load(connection, headers(connection, ["m"])["m"], writer.build)
            await client.post("/v1/models/m/items", content=LINES)
            writer.models["m"] = early
            writer.batches._headers.pop("m")
            gate, begin = threading.Event(), writer._folding._fold

            def never(name):
                while not gate.wait(0.001):
                    yield
                return (yield from begin(name))

            writer._folding._fold = never
            asked = asyncio.create_task(client.get("/v1/models/m"))
            while not early.void:
                await asyncio.sleep(0.001)
        assert (await asked).status_code == 503

    async def again():
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
            folded = app.server.writer.models["m"]
            with pytest.raises(RefusalError, match="try again"):
                await soon(app.server.writer.call("m", lambda turn: None, generation=(folded.id, 100)))
            await play(client, 1, seed=1)

    run(go())


def test_a_model_that_others_have_pruned_beyond_is_read_again(local) -> None:
    """Another server of the store went on with it and forgot the rows that this one has not seen."""

    async def go():
        app, now = local(snapshot_every=10**6), [1e9]
        writer = app.server.writer
        writer.clock = lambda: now[0]
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await play(client, 2)
            with app.server.database.reading() as connection:
                early = load(connection, headers(connection, ["m"])["m"], writer.build)
            await play(client, 5, seed=1)
            now[0] += 86400 * 40
            await play(client, 1, seed=2)
            loop = asyncio.get_running_loop()
            assert await loop.run_in_executor(None, retention.prune_all, writer, 30.0, 1) == 14
            late = writer.models["m"].position
            writer.models["m"] = early
            writer.batches._headers.pop("m")
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
            slow = app.server.writer.call(None, lambda connection: gate.wait(60))
            await asyncio.sleep(0.05)
            queued = [app.server.writer.call(None, lambda connection: None) for _ in range(3)]
            stopping = asyncio.get_running_loop().run_in_executor(None, app.server.writer.stop)
            await soon(stopping)
            gate.set()
            assert await soon(slow)
            for one in queued:
                with pytest.raises(RefusalError, match="stopping"):
                    await soon(one)

    run(go())


def test_a_sweep_ends_though_its_model_is_read_again_each_time(local, monkeypatch) -> None:
    """As where there is no room to keep it: how far the sweep has looked is not of the model alone."""
    monkeypatch.setattr(expiry, "_ROWS", 2)

    async def go():
        app, now = local(sweep_seconds=1e6), [1000.0]
        writer = app.server.writer
        writer.clock = lambda: now[0]
        async with app.running() as client:
            await client.post("/v1/models", json={**MADE, "window_seconds": 60, "default_answer": -1})
            await play(client, 3)
            items = [{"id": name, "vector": [1, 2, 3, 4]} for name in "ab"]
            await client.post("/v1/models/m/choose", json={"items": items, "event_id": "open"})
            now[0] += 61
            call_now = writer.call_now

            def forgetting(name, *rest, **more):
                found = call_now(name, *rest, **more)
                call_now(None, lambda connection: writer.batches.forget("m"))
                return found

            monkeypatch.setattr(writer, "call_now", forgetting)
            await soon(asyncio.get_running_loop().run_in_executor(None, expiry.sweep, writer))
            assert (await client.get("/v1/models/m")).json()["summary"]["answers"]["expired"] == 1

    run(go())


@pytest.mark.parametrize("reads", [True, False])
def test_work_that_runs_out_of_what_it_iterates_is_a_failure_like_others(local, reads) -> None:
    """asyncio takes no StopIteration: whoever waited would have waited for ever, and the writer with them."""

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            with pytest.raises(RuntimeError):
                await soon(app.server.writer.call("m", lambda turn: next(iter(())), reads=reads))
            assert (await soon(client.get("/v1/models/m"))).status_code == 200

    run(go())


def test_a_model_is_there_for_whoever_made_it_while_another_looked_for_it(local) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            looked, gate, begin = threading.Event(), threading.Event(), app.server.writer._folding._fold

            def slowly(name):
                found = yield from begin(name)
                looked.set()
                while not gate.wait(0.001):
                    yield
                return found

            app.server.writer._folding._fold = slowly
            early = asyncio.create_task(client.get("/v1/models/m"))
            while not looked.is_set():
                await asyncio.sleep(0.001)
            made = asyncio.create_task(client.post("/v1/models", json=MADE))
            while app.server.writer.waiting < 2:
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


def test_a_failed_commit_of_nothing_tells_nobody(local) -> None:
    """Those whose model must be read first were not part of it: they wait on."""

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            writer = app.server.writer
            commit = writer.batches.commit

            def fails(prepared):
                writer.batches.commit = commit
                prepared.transaction.rollback()
                raise queues.UndoneError("gone")

            del writer.models["m"]
            # As where another server has changed the model since it was taken: only inside is it seen to be far.
            writer._waiting._batches.known = lambda name: object() if name == "m" else None
            writer.batches.commit = fails
            asked = client.get("/v1/models/m")
            task = asyncio.create_task(asked)
            while writer.batches.commit is fails:
                await asyncio.sleep(0.001)
            del writer._waiting._batches.known
            assert (await soon(task)).status_code == 200

    run(go())


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_connection_whose_last_bytes_nobody_takes_ends(loop, monkeypatch) -> None:
    """Closing waits until all is sent: what is too little to fill the buffer must not keep the connection open."""
    monkeypatch.setattr(BoundedProtocol, "bounds", Bounds(seconds=0.05))

    async def app(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"40000")]})
        await send({"type": "http.response.body", "body": bytes(40_000)})

    async def go() -> None:
        here, bounds = asyncio.get_running_loop(), BoundedProtocol.bounds
        config = uvicorn.Config(app, interface="asgi3", log_config=None, lifespan="off")
        config.load()
        config.timeout_keep_alive = 0.05
        listening, client = socket.create_server(("127.0.0.1", 0)), socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        state = ServerState()
        async with await here.create_server(lambda: BoundedProtocol(config, state, {}), sock=listening):
            with client:
                client.connect(listening.getsockname())
                client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
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
def test_who_waits_for_a_model_keeps_no_thread_from_others(local, method, path) -> None:
    async def go():
        app = local()
        async with app.running() as client:
            for name in ("m", "n"):
                await client.post("/v1/models", json={**MADE, "name": name})
            writer = app.server.writer
            gate = held_back(writer, "m")
            writer.batches.forget("m")
            body = {} if method == "GET" else {"content": BODIES.get(path, LINES)}
            waiting = [asyncio.create_task(client.request(method, f"/v1/models/m/{path}", **body)) for _ in range(40)]
            while not writer.waiting:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.05)
            try:
                assert (await soon(client.get("/v1/models"))).status_code == 200
                assert (await soon(client.post("/v1/models/n/items", content=LINES))).status_code == 200
            finally:
                gate.set()
            assert all(reply.status_code < 500 for reply in await asyncio.gather(*waiting))

    run(go())


def test_a_long_log_is_read_once_for_all_who_ask(local, monkeypatch) -> None:
    """Who answered about what is read beside the writer: forty at once would keep every thread from others."""
    monkeypatch.setattr(pools, "NEAR", 4)
    gate, read, begun = threading.Event(), item_routes.read_asked, []

    def slowly(*arguments):
        begun.append(arguments)
        gate.wait(60)
        return read(*arguments)

    monkeypatch.setattr(item_routes, "read_asked", slowly)

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            await client.post("/v1/models/m/items", content=LINES)
            await play(client, 3)
            waiting = [
                asyncio.create_task(client.post("/v1/models/m/next", json={"voter": f"v{k}", "shared": True}))
                for k in range(40)
            ]
            while not begun:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.05)
            try:
                assert (await soon(client.get("/v1/models"))).status_code == 200
            finally:
                gate.set()
            replies = await soon(asyncio.gather(*waiting))
            assert {reply.status_code for reply in replies} <= {200, 429}
            assert len(begun) < 40
            assert (await client.post("/v1/models/m/next", json={"voter": "last"})).status_code == 200

    run(go())


def test_a_sweep_leaves_a_model_alone_that_has_nothing_due(local) -> None:
    """Each sweep read it into memory again, where it took the room of models that are in use."""

    async def go():
        app, now = local(sweep_seconds=1e6), [1000.0]
        writer, seen = app.server.writer, {}
        writer.clock = lambda: now[0]

        async def sweep() -> bool:
            writer.batches.forget("m")
            await soon(asyncio.get_running_loop().run_in_executor(None, expiry.sweep, writer, seen))
            return "m" in writer.models

        async with app.running() as client:
            await client.post("/v1/models", json={**MADE, "window_seconds": 60, "default_answer": -1})
            await play(client, 3)
            items = [{"id": name, "vector": [1, 2, 3, 4]} for name in "ab"]
            now[0] += 100
            await client.post("/v1/models/m/choose", json={"items": items, "event_id": "open"})
            assert await sweep()
            assert not await sweep()
            now[0] += 61
            assert await sweep()
            assert not await sweep()
            assert (await client.get("/v1/models/m")).json()["summary"]["answers"]["expired"] == 1
            assert (await client.post("/v1/models/m/events/event-1/undo", json={})).status_code == 200
            assert await sweep()
            assert not await sweep()

    run(go())


def test_a_store_that_has_gone_is_waited_for_once_not_by_each(local) -> None:
    """A batch failed with the store, and its works are tried one by one: each would wait for a connection in vain."""
    tried: list[float] = []

    def gone(wait):
        tried.append(wait)
        raise NotBegunError("gone")

    async def go():
        app = local()
        async with app.running():
            writer = app.server.writer
            begin = writer.batches._begin

            def breaks(connection):
                writer.batches._begin = gone
                raise OSError("gone")

            works = [writer.call(None, work) for work in (breaks, *[lambda connection: None] * 20)]
            for one in works:
                with pytest.raises(RefusalError, match="did not take it"):
                    await soon(one)
            assert len(tried) == 1
            writer.batches._begin = begin
            await soon(writer.call(None, lambda connection: None))

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
            app.server.writer.batches.forget("m")
            try:
                assert (await asyncio.wait_for(client.get("/v1/models/m"), 20)).status_code == 200
            finally:
                gate.set()
                for one in readers:
                    one.join()

    run(go())
