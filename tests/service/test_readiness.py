"""What an operator is told: ready, degraded or not, alarms, failures in the background; and that a stop always ends."""

import asyncio
import contextlib
import sqlite3
import time

import httpx

from conquer.service.admin import keys_add
from conquer.service.alarms import Alarms
from conquer.service.errors import Kind, RefusalError
from conquer.service.jobs.upkeep import Job

from .conftest import run
from .test_connections import until

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}


@contextlib.contextmanager
def write_lock(tmp_path):
    """Another process's transaction that does not end."""
    with contextlib.closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None, timeout=100)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def test_not_ready_while_somebody_else_holds_the_store(start, tmp_path):
    """The reply does not wait for the store; health does not ask it."""
    server = start()
    with write_lock(tmp_path):
        # The first may still be told what was found within the last second.
        until(lambda: httpx.get(f"{server.address}/readyz", timeout=15).status_code == 503)
        for _ in range(20):
            assert httpx.get(f"{server.address}/healthz", timeout=15).status_code == 200
    until(lambda: httpx.get(f"{server.address}/readyz", timeout=60).status_code == 200)


def test_many_who_ask_share_one_write(local):
    async def go() -> None:
        app = local()
        async with app.running() as client:
            await client.get("/readyz")
            before, began = app.server.engine.commits, time.monotonic()
            for _ in range(20):
                replies = await asyncio.gather(*(client.get("/readyz") for _ in range(10)))
                assert {reply.status_code for reply in replies} == {200}
            assert app.server.engine.commits - before <= 2 + (time.monotonic() - began)

    run(go())


def test_alarms_are_shown_and_names_kept_from_strangers(local, tmp_path):
    store = f"sqlite:///{tmp_path}/store.db"
    secrets = {name: keys_add(name, roles=["read"], models=[name], store=store)[1] for name in ("*", "shop")}

    async def go() -> None:
        app = local()
        async with app.running() as client:
            alarms = app.server.alarms
            alarms.raise_("quarantine:shop", "2 rows of shop cannot be read")
            alarms.raise_("drift", "servers disagree on cellar")

            async def shown(name: str | None) -> list[tuple[str, str]]:
                headers = {} if name is None else {"Authorization": f"Bearer {secrets[name]}"}
                body = (await client.get("/readyz", headers=headers)).json()
                assert body["status"] == "degraded"
                return [(one["kind"], one["message"]) for one in body["alarms"]]

            whole = [("quarantine:shop", "2 rows of shop cannot be read"), ("drift", "servers disagree on cellar")]
            assert await shown("*") == whole
            assert await shown("shop") == [whole[0], ("drift", "")]
            assert await shown(None) == [("quarantine", ""), ("drift", "")]
            headers = {"Authorization": f"Bearer {secrets['*']}"}
            text = (await client.get("/metrics", headers=headers)).text
            assert 'conquer_alarms{kind="quarantine"} 1.0' in text
            alarms.clear("drift")
            text = (await client.get("/metrics", headers=headers)).text
            assert 'kind="drift"' not in text

    run(go())


def test_work_that_fails_goes_on_and_says_so(local):
    """A refusal or a full disk in the background ends nothing: it stands as an alarm, is counted, and clears."""

    async def go() -> None:
        app = local()
        async with app.running() as client:
            alarms, calls, go_well, done = app.server.alarms, [], asyncio.Event(), asyncio.Event()
            loop = asyncio.get_running_loop()

            def work() -> None:
                calls.append(1)
                if len(calls) == 1:
                    raise RefusalError(Kind.UNKNOWN, "unknown_model", "gone")
                if not go_well.is_set():
                    raise OSError("no space left on device")
                loop.call_soon_threadsafe(done.set)

            task = asyncio.create_task(Job("prune", 0.001, work, "test").repeat(app.server.engine))
            while len(calls) < 3:
                await asyncio.sleep(0.01)
            assert alarms.standing() == [("job:prune", "prune failed: OSError: no space left on device")]
            assert "conquer_job_failures_total" in (await client.get("/metrics")).text
            go_well.set()
            await asyncio.wait_for(done.wait(), 60)
            while alarms.standing():
                await asyncio.sleep(0.01)
            assert alarms.failures()["prune"] >= 2
            task.cancel()

    run(go())


def test_a_deleted_model_ends_its_own_alarms_and_no_jobs():
    alarms = Alarms()
    for kind in ("job:prune", "load:prune", "load:other"):
        alarms.raise_(kind, "it fails")
    alarms.forget("prune")
    assert sorted(kind for kind, _ in alarms.standing()) == ["job:prune", "load:other"]


def test_alarms_are_bounded_and_logged_once(caplog):
    alarms = Alarms()
    for _ in range(3):
        alarms.raise_("disk", "full")
    assert len(caplog.records) == 1
    for k in range(3000):
        alarms.raise_(f"kind:{k}", "x" * 10_000)
    assert len(alarms.standing()) == 1000
    assert max(len(message) for _, message in alarms.standing()) == 500


def test_a_stop_ends_although_the_writer_hangs(start, tmp_path):
    """Told to stop while somebody else holds the store: the process is gone before they let go."""
    server = start(stop_seconds=2)
    httpx.post(f"{server.address}/v1/models", json=MADE).raise_for_status()
    with write_lock(tmp_path):
        with contextlib.suppress(httpx.TransportError):
            httpx.post(f"{server.address}/v1/models", json={**MADE, "name": "n"}, timeout=0.5)
        began = time.monotonic()
        server.terminate()
        assert server.wait() in (0, 1)
        assert time.monotonic() - began < 20
    again = start()
    assert httpx.get(f"{again.address}/v1/models/m").status_code == 200
