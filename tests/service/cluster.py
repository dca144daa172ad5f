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


class Cluster:
    """A cluster in a folder, which may be there already; PostgreSQL refuses to run as root: root becomes `postgres`."""

    def __init__(self, folder: Path | None = None) -> None:
        found = programs()
        assert found is not None, "needs PostgreSQL's server programs"
        self._programs, self.port = found, free_port()
        self.folder = folder or Path(tempfile.mkdtemp(prefix="conquer-pg-"))
        self._become = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if not (self.folder / "data").exists():
            if self._become:
                shutil.chown(self.folder, "postgres")
            self._go("initdb", "-A", "trust", "-U", "conquer", "--no-sync")

    def _go(self, program: str, *options: str, check: bool = True) -> None:
        command = [*self._become, str(self._programs / program), "-D", str(self.folder / "data"), *options]
        subprocess.run(command, check=check, capture_output=True, cwd=self.folder)

    @property
    def address(self) -> str:
        return self.at(self.port)

    @staticmethod
    def at(port: int) -> str:
        return f"postgresql://conquer@127.0.0.1:{port}/postgres"

    def start(self) -> None:
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1"
        self._go("pg_ctl", "-o", options, "-l", str(self.folder / "log"), "-w", "-t", "300", "start")

    def stop(self, check: bool = True) -> None:
        """At once, without finishing anything: the next start recovers from the log."""
        self._go("pg_ctl", "-m", "immediate", "-w", "-t", "300", "stop", check=check)


@contextmanager
def running() -> Iterator[str]:
    """The address of a fresh database."""
    cluster = Cluster()
    cluster.start()
    try:
        yield cluster.address
    finally:
        cluster.stop()
        shutil.rmtree(cluster.folder)
