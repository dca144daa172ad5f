"""A PostgreSQL store that servers share: they start together, and one that is frozen does not stop the others."""

import contextlib
import os
import signal
import threading
import time

import httpx
import pytest
from sqlalchemy.exc import DBAPIError

from conquer.service.store.database import Database
from conquer.service.store.schema import metadata
from conquer.service.store.secrecy import cookie_secret, marks_secret

from . import cluster

pytestmark = pytest.mark.skipif(cluster.programs() is None, reason="needs PostgreSQL's server programs")
MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
ITEMS = [{"id": "a", "vector": [1, 0, 0, 0]}, {"id": "b", "vector": [0, 1, 0, 0]}]


@pytest.fixture(scope="module")
def postgres():
    with cluster.running() as address:
        yield address


@pytest.fixture
def empty(postgres):
    """A database without a single table."""
    database = Database(postgres)
    with contextlib.closing(database), database.writing() as connection:
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    return postgres


def test_servers_that_start_together_on_a_new_store_agree(empty):
    count, rounds = 4, 8
    for _ in range(rounds):
        barrier, found, errors = threading.Barrier(count), [], []

        def begin(barrier=barrier, found=found, errors=errors):
            try:
                database = Database(empty)
                with contextlib.closing(database):
                    # All at the point where each sees that there is no secret yet.
                    barrier.wait(60)
                    with database.writing() as connection:
                        marks = marks_secret(connection)
                    found.append((cookie_secret(database), marks))
            except Exception as error:  # noqa: BLE001 - told below, whatever it was
                errors.append(error)
                barrier.abort()

        threads = [threading.Thread(target=begin) for _ in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert len(set(found)) == 1
        database = Database(empty)
        with contextlib.closing(database), database.writing() as connection:
            for name in [*(table.name for table in metadata.sorted_tables), "migrations"]:
                connection.exec_driver_sql(f"DROP TABLE {name}")


def test_two_writers_of_one_secret_take_the_first(empty):
    """The same race one step at a time: the second has looked before the first commits."""
    one, two = Database(empty), Database(empty)
    with contextlib.closing(one), contextlib.closing(two), one.writing() as first, two.writing() as second:
        second.exec_driver_sql("SELECT 1 FROM secrets")
        said = marks_secret(first)
        later: list[str] = []
        waiting = threading.Thread(target=lambda: later.append(marks_secret(second)))
        waiting.start()
        first.commit()
        waiting.join()
        assert later == [said]


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
    frozen = Database(empty)
    with contextlib.closing(frozen):
        connection = frozen.engine.connect()
        connection.begin()
        connection.exec_driver_sql("SELECT * FROM models WHERE name = 'm' FOR UPDATE")
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
    database = Database(empty)
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


def test_rows_of_a_program_that_says_no_version_are_refused(empty):
    """What a program of before wrote: seven columns. It must not go on with weights that have drifted apart."""
    database = Database(empty)
    with contextlib.closing(database), pytest.raises(DBAPIError, match="format"), database.writing() as connection:
        connection.exec_driver_sql(
            "INSERT INTO log (model_id, position, kind, event_id, voter, at, body)"
            " VALUES (1, 1, 'activate', 'e', NULL, 0.0, '{}')"
        )
