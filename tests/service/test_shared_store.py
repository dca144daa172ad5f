"""A PostgreSQL store that servers share: they start together, and one that is frozen does not stop the others."""

import contextlib
import os
import signal
import threading
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlalchemy.exc import DBAPIError

from conquer.service.alarms import Alarms
from conquer.service.jobs.upkeep import look_around
from conquer.service.store import database as opening
from conquer.service.store.database import Database, StoreError
from conquer.service.store.keys import cookie_secret
from conquer.service.store.schema import metadata

from . import cluster
from .conftest import run

pytestmark = pytest.mark.skipif(cluster.programs() is None, reason="needs PostgreSQL's server programs")
MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
ITEMS = [{"id": "a", "vector": [1, 0, 0, 0]}, {"id": "b", "vector": [0, 1, 0, 0]}]


@pytest.fixture
def empty(postgres):
    """A database without a single table."""
    database = Database(postgres, create=True)
    with contextlib.closing(database), database.writing() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    return postgres


def test_servers_that_start_together_on_a_new_store_agree(empty):
    def begin(_):
        with contextlib.closing(Database(empty, create=True)) as database:
            return cookie_secret(database)

    for _ in range(8):
        with ThreadPoolExecutor(4) as pool:
            assert len(set(pool.map(begin, range(4)))) == 1
        database = Database(empty, create=True)
        with contextlib.closing(database), database.writing() as connection:
            metadata.drop_all(connection)


def test_two_writers_of_one_secret_take_the_first(empty):
    """The same race one step at a time: the second has looked before the first commits."""
    one, two = Database(empty, create=True), Database(empty, create=True)
    with contextlib.closing(one), contextlib.closing(two):
        later: list[str] = []
        waiting = threading.Thread(target=lambda: later.append(cookie_secret(two)))
        with one.writing() as first:
            first.exec_driver_sql(f"INSERT INTO secrets VALUES ('cookies', '{'s' * 40}')")
            waiting.start()
            time.sleep(0.2)
        waiting.join()
        assert later == ["s" * 40] == [cookie_secret(one)]


def until(work, seconds=90):
    """Call it until it is true."""
    give_up = time.monotonic() + seconds
    while not work():
        assert time.monotonic() < give_up
        time.sleep(0.2)


def choose(server, name="m"):
    return httpx.post(f"{server.address}/v1/models/{name}/choose", json={"items": ITEMS}, timeout=120)


def test_a_session_that_is_idle_inside_a_transaction_lets_go(start, empty):
    servers = [start(store=empty) for _ in range(2)]
    httpx.post(f"{servers[0].address}/v1/models", json=MADE).raise_for_status()
    frozen = Database(empty, create=True)
    with contextlib.closing(frozen):
        connection = frozen.engine.connect()
        connection.begin()
        # The next position of the model's log: whoever writes there has to wait.
        connection.exec_driver_sql(
            "INSERT INTO log SELECT id, 1, 'flag', 'e', NULL, 0.0, 1, NULL, '{}' FROM models WHERE name = 'm'"
        )
        replies = [choose(server) for server in servers]
        assert {reply.status_code for reply in replies} <= {200, 503}, [reply.text for reply in replies]
        until(lambda: all(choose(server).status_code == 200 for server in servers))
        with pytest.raises(DBAPIError):
            connection.exec_driver_sql("SELECT 1")
        connection.invalidate()
        connection.close()


def test_a_frozen_server_stops_nobody_else(start, empty):
    servers = [start(store=empty) for _ in range(2)]
    for name in ("m", "n"):
        httpx.post(f"{servers[0].address}/v1/models", json={**MADE, "name": name}).raise_for_status()
    os.kill(servers[1].pid, signal.SIGSTOP)
    try:
        for name in ("m", "n"):
            until(lambda name=name: choose(servers[0], name).status_code == 200)
    finally:
        os.kill(servers[1].pid, signal.SIGCONT)
    until(lambda: choose(servers[1]).status_code == 200)


def test_every_session_has_limits(empty):
    database = Database(empty, create=True)
    with contextlib.closing(database):
        with database.reading() as connection:
            found = {
                name: connection.exec_driver_sql(f"SHOW {name}").scalar()
                for name in ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
            }
        assert found == {
            "lock_timeout": "2s",
            "statement_timeout": "1min",
            "idle_in_transaction_session_timeout": "10s",
        }
        with database.reading(patient=True) as connection:
            assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == "0"
        assert database.scrub()
        with database.reading() as connection:
            assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == "1min"


def seen(database):
    with database.reading() as connection:
        return connection.exec_driver_sql("SELECT seen FROM servers").scalars().all()


def test_servers_of_other_rules_keep_each_other_out(start, empty, monkeypatch):
    server = start(store=empty)
    monkeypatch.setattr("conquer.service.store.servers.FOLD", 99)
    newer = Database(empty, create=True)
    with contextlib.closing(newer):
        until(lambda: len(seen(newer)) == 1)
        before = seen(newer)
        with pytest.raises(StoreError, match=rf"process {server.pid}, .*rules \d+, these are 99.*Stop those servers"):
            newer.claim()
        until(lambda: seen(newer) > before)
        assert server.stop() == 0
        assert seen(newer) == []
        newer.claim()
        later(newer, 3600)
        monkeypatch.undo()
        with pytest.raises(RuntimeError, match="these are"):
            start(store=empty)
    start(store=empty).kill()
    monkeypatch.setattr("conquer.service.store.servers.FOLD", 99)
    after = Database(empty, create=True)
    with contextlib.closing(after):
        later(after, 3600)
        with pytest.raises(StoreError, match="ten seconds"):
            after.claim()
        later(after, -3611)
        until(lambda: not is_refused(after))


def later(database, seconds):
    """As if all signs of life had been given at another time."""
    with database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE servers SET seen = seen + {seconds}")


def is_refused(database):
    try:
        database.claim()
    except StoreError:
        return True
    return False


def test_a_server_that_was_away_says_that_others_fold_by_other_rules(empty, monkeypatch):
    old, newer, alarms = Database(empty, create=True), Database(empty, create=True), Alarms()
    with contextlib.closing(old), contextlib.closing(newer):
        old.claim()
        look_around(old, alarms, deque())
        assert alarms.standing() == []
        later(old, -3600)
        monkeypatch.setattr("conquer.service.store.servers.FOLD", 99)
        newer.claim()
        monkeypatch.undo()
        look_around(old, alarms, deque())
        assert [kind for kind, _ in alarms.standing()] == ["mixed"]
        newer.close()
        look_around(old, alarms, deque())
        assert alarms.standing() == []


def test_a_fold_takes_its_time(local, empty, monkeypatch):
    """A large snapshot is decoded between two statements: a session that waits for that is not a frozen server's."""
    monkeypatch.setitem(opening._SESSION, "idle_in_transaction_session_timeout", "1s")

    async def go():
        app = local(store=empty)
        build = app.server.engine.build

        def slowly(*arguments):
            time.sleep(2)
            return build(*arguments)

        app.server.engine.build = slowly
        async with app.running() as client:
            reply = await client.post("/v1/models", json=MADE)
            assert reply.status_code == 201, reply.text

    run(go())
