"""Stores of other versions stay as they are, and a disk that fails while it commits leaves the outcome unknown."""

import contextlib
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import time

import httpx
import pytest

from conquer import cli
from conquer.service import admin
from conquer.service.store.database import Database

from .attacks import make
from .conftest import free_port

FAULTS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
static int broken(void) { const char *flag = getenv("BROKEN"); return flag && access(flag, F_OK) == 0; }
int fsync(int file) {
    if (broken()) { errno = EIO; return -1; }
    return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(file);
}
int fdatasync(int file) {
    if (broken()) { errno = EIO; return -1; }
    return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(file);
}
"""
"""A library that lets every sync fail with an I/O error while a file exists."""


def digest(folder):
    """Of what a store's files say; an empty journal says nothing."""
    found = [folder / name for name in ("store.db", "store.db-wal", "store.db-journal")]
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in found if path.exists() and path.stat().st_size]


def conquer(monkeypatch, capsys, *words):
    """(exit status, output) of a command."""
    monkeypatch.setattr("sys.argv", ["conquer", *words])
    status, captured = cli.main(), capsys.readouterr()
    return status, captured.out + captured.err


def kept(folder):
    """A store with a key, a backup and a ledger."""
    address = f"sqlite:///{folder}/store.db"
    admin.keys_add("me", roles=["admin"], store=address)
    admin.backup(folder / "old.db", store=address)
    (folder / "ledger.jsonl").write_text('{"kind": "open", "body": {"settings": {"algorithm": "gnr"}}}\n')
    return address


@pytest.mark.parametrize("command", ["restore FOLDER/old.db", "erase ann", "serve --port 0"])
def test_a_command_that_needs_the_store_for_itself_leaves_a_served_one_as_it_is(monkeypatch, capsys, tmp_path, command):
    address = kept(tmp_path)
    with contextlib.closing(Database(address)) as served:
        served.claim()
        before = digest(tmp_path)
        words = command.replace("FOLDER", str(tmp_path)).split()
        status, said = conquer(monkeypatch, capsys, *words, "--store", address)
        assert status == 2
        assert "is being served by process" in said
        assert digest(tmp_path) == before


@pytest.mark.parametrize("options", [["--host", "0.0.0.0"], ["--host", "no.such.host.invalid"], ["--items", "gone"]])
def test_a_refused_start_leaves_a_store_as_it_is(monkeypatch, capsys, tmp_path, options):
    address = kept(tmp_path)
    with contextlib.closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as connection:
        connection.execute("DELETE FROM keys")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = digest(tmp_path)
    assert conquer(monkeypatch, capsys, "serve", "--port", "0", *options, "--store", address)[0] == 2
    assert digest(tmp_path) == before


@contextlib.contextmanager
def breakable(folder):
    """A server whose syncs fail while the file that is yielded beside its address exists."""
    compiler = shutil.which("cc")
    if compiler is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no C compiler")
    library, flag, port = folder / "faults.so", folder / "broken", free_port()
    (folder / "faults.c").write_text(FAULTS)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, folder / "faults.c", "-ldl"], check=True)
    command = [sys.executable, "-m", "conquer", "serve", "--port", str(port), "--store", f"sqlite:///{folder}/store.db"]
    environ = {**os.environ, "LD_PRELOAD": str(library), "BROKEN": str(flag)}
    with (folder / "errors.log").open("w") as errors:
        process = subprocess.Popen(command, env=environ, stdout=errors, stderr=errors)
    address, give_up = f"http://127.0.0.1:{port}", time.monotonic() + 100
    try:
        while True:
            assert process.poll() is None, (folder / "errors.log").read_text()
            assert time.monotonic() < give_up
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{address}/readyz").status_code == 200:
                    break
            time.sleep(0.05)
        yield address, flag
    finally:
        process.kill()
        process.wait()


def test_a_sync_that_fails_at_a_commit_has_an_unknown_outcome(start, tmp_path):
    """The row may be on the disk or not: a kill later brings it back or loses it, and only 504 allows for both."""
    items = [{"id": "a", "vector": [1, 0, 0, 0]}, {"id": "b", "vector": [0, 1, 0, 0]}]
    with breakable(tmp_path) as (address, flag):
        make(address)
        choose, answer = f"{address}/v1/models/m/choose", f"{address}/v1/models/m/events/e/answer"
        assert httpx.post(choose, json={"items": items, "event_id": "e"}).status_code == 200
        flag.touch()
        reply = httpx.post(answer, json={"winner": "a"})
        assert reply.status_code == 504, reply.text
        assert reply.json()["error"]["code"] == "indeterminate"
        flag.unlink()
        # The same server goes on once its disk does.
        give_up = time.monotonic() + 60
        while (reply := httpx.post(answer, json={"winner": "a"})).status_code != 200:
            assert reply.status_code in (503, 504), reply.text
            assert time.monotonic() < give_up
            time.sleep(0.1)
        assert reply.json()["status"] in ("learnt", "repeat")
    server = start()
    path = f"{server.address}/v1/models/m"
    assert httpx.post(f"{path}/events/e/answer", json={"winner": "a"}).json()["status"] == "repeat"
    assert httpx.get(path).json()["summary"]["answers"]["learnt"] == 1
