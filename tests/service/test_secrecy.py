"""Who can read a store: modes of its files, what a backup leaves out, one lock whatever the store is called."""

import contextlib
import os
import stat
from pathlib import Path

import httpx
import pytest

from conquer.service import admin
from conquer.service.store.database import Database, StoreError
from conquer.service.store.keys import cookie_secret

from .folds import sqlite


@pytest.fixture(autouse=True)
def generous_mask():
    """As for many users: what is made without a word about its mode can be read by all."""
    old = os.umask(0o022)
    yield
    os.umask(old)


def modes(folder: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if "store" in path.name}


def test_a_served_store_is_its_owners_alone(start, tmp_path):
    server = start()
    httpx.post(f"{server.address}/v1/models", json={"name": "m", "algorithm": "gnr"}).raise_for_status()
    found = modes(tmp_path)
    assert {"store.db", "store.db-wal", "store.db-shm", "store.db.lock", "store.db.secret"} <= found.keys()
    assert set(found.values()) == {0o600}, found


def test_files_that_others_could_read_are_tightened_and_it_is_said(tmp_path, caplog):
    Database(sqlite(tmp_path), create=True).close()
    (tmp_path / "store.db.lock").touch()
    for path in tmp_path.iterdir():
        path.chmod(0o644)
    database = Database(sqlite(tmp_path), create=True)
    with contextlib.closing(database):
        database.claim()
        assert set(modes(tmp_path).values()) == {0o600}
    assert "store.db could be read or written by others (mode 644)" in caplog.text
    assert "store.db.lock could be read" in caplog.text


def test_a_backup_is_private_and_a_restore_leaves_it_as_it_was(tmp_path):
    Database(sqlite(tmp_path), create=True).close()
    copy = tmp_path / "store-copy.db"
    admin.backup(copy, store=sqlite(tmp_path))
    assert modes(tmp_path)["store-copy.db"] == 0o600
    before = copy.read_bytes()
    admin.restore(copy, store=f"sqlite:///{tmp_path}/again-store.db")
    assert copy.read_bytes() == before
    assert set(modes(tmp_path).values()) == {0o600}
    assert not list(tmp_path.glob("store-copy.db?*"))


def test_a_backup_holds_no_cookie_secret(tmp_path):
    database = Database(sqlite(tmp_path), create=True)
    with contextlib.closing(database):
        signs = cookie_secret(database)
        with database.writing() as connection:
            connection.exec_driver_sql("INSERT INTO ended VALUES (1, 's', 1.0)")
            connection.exec_driver_sql("INSERT INTO servers VALUES ('s', 1, 1.0)")
        assert signs not in Path(f"{database.path}").read_bytes().decode("latin-1")
    copy = tmp_path / "copy.db"
    counts = admin.backup(copy, store=sqlite(tmp_path))
    assert not {"servers", "digests", "ended", "secrets"} & counts.keys()
    assert signs.encode() not in copy.read_bytes()
    again = Database(f"sqlite:///{copy}")
    with contextlib.closing(again):
        assert cookie_secret(again) != signs


def test_a_secret_that_is_too_short_is_refused(tmp_path):
    database = Database(sqlite(tmp_path), create=True)
    with contextlib.closing(database):
        (tmp_path / "store.db.secret").write_text("")
        with pytest.raises(ValueError, match="store.db.secret must be at least 32 printable characters"):
            cookie_secret(database)


def test_another_name_for_a_store_is_the_same_store(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "link.db").symlink_to(tmp_path / "store.db")
    (tmp_path / "folder").symlink_to(tmp_path)
    one = Database(sqlite(tmp_path), create=True)
    with contextlib.closing(one):
        one.claim()
        for name in ("elsewhere/link.db", "folder/store.db"):
            other = Database(f"sqlite:///{tmp_path}/{name}")
            with contextlib.closing(other), pytest.raises(StoreError, match="is being served by process"):
                other.claim()
    with pytest.raises(StoreError, match="sqlite:///FILE"):
        Database(f"sqlite:///file:{tmp_path}/store.db?uri=true")
