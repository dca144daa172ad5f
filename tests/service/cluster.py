"""A PostgreSQL cluster of the tests' own, in a temporary folder."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .conftest import free_port


def programs() -> Path | None:
    """Where initdb is, or None."""
    known = [Path(found).parent for found in [shutil.which("initdb")] if found]
    known += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in known if (folder / "initdb").exists()), None)


@contextmanager
def running() -> Iterator[str]:
    """The address of a fresh database; PostgreSQL refuses to run as root, so root becomes `postgres`."""
    folder = Path(tempfile.mkdtemp(prefix="conquer-pg-"))
    found, port = programs(), free_port()
    assert found is not None
    become = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        become = ["runuser", "-u", "postgres", "--"]

    def go(*command: str) -> None:
        subprocess.run([*become, *command], check=True, capture_output=True, cwd=folder)

    data = folder / "data"
    go(str(found / "initdb"), "-D", str(data), "-A", "trust", "-U", "conquer", "--no-sync")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    go(str(found / "pg_ctl"), "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start")
    try:
        yield f"postgresql://conquer@127.0.0.1:{port}/postgres"
    finally:
        go(str(found / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder)
