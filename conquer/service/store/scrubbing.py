"""Old versions of rows that were emptied or deleted, taken from the disk as far as a store can."""

import time

from sqlalchemy import Engine

from conquer.service.store.connections import WAIT, wait_for

_TRIES = 40
_MOMENT = 0.02
"""Seconds: whoever writes waits meanwhile."""


def cut_log(engine: Engine, tries: int = _TRIES) -> bool:
    """Cut SQLite's log to nothing; False: somebody was reading an older state, or writing, all the time."""
    connection = engine.raw_connection()
    try:
        wait_for(connection, _MOMENT)
        for attempt in range(tries):
            if attempt:
                time.sleep(2 * _MOMENT)
            cursor = connection.cursor()
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            ((busy, *_),) = cursor.fetchall()
            if not busy:
                return True
        return False
    finally:
        wait_for(connection, WAIT)
        connection.close()


def vacuum(engine: Engine) -> None:
    """Have PostgreSQL mark the room of old versions as free."""
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        try:
            connection.exec_driver_sql("SET statement_timeout = 0")
            connection.exec_driver_sql("VACUUM log, snapshots, leases, items, images")
        finally:
            # The settings of a session outlive its return to the pool.
            connection.invalidate()
