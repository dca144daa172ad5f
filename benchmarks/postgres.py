"""A PostgreSQL cluster in a temporary folder, for benchmarks and tests."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """Where PostgreSQL's server programs are, or None."""
    known = [Path(found).parent for found in [shutil.which("initdb")] if found]
    known += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in known if (folder / "initdb").exists()), None)


class Cluster:
    """A cluster in a new or existing folder. PostgreSQL refuses to run as root, so root runs it as `postgres`."""

    def __init__(self, port: int, folder: Path | None = None) -> None:
        found = programs()
        if found is None:
            raise FileNotFoundError("PostgreSQL's server programs (initdb, pg_ctl) are not installed")
        self._programs, self.port = found, port
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
def running(port: int) -> Iterator[str]:
    """The address of a fresh database."""
    cluster = Cluster(port)
    cluster.start()
    try:
        yield cluster.address
    finally:
        cluster.stop()
        shutil.rmtree(cluster.folder)
