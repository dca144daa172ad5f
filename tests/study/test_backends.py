"""Work in several processes that is interrupted or killed ends without tracebacks and leaves no workers."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest

from conquer.study.backends import processes

INTERRUPTED = """
    import os, time
    from study.studies import interrupt_parent
    from conquer.study.backends import processes

    if __name__ == "__main__":
        try:
            list(processes(2)(interrupt_parent, [k == {number} for k in range(40)]))
        except KeyboardInterrupt:
            print("stopped")
"""
KILLED = """
    from study.studies import sleep_an_hour
    from conquer.study.backends import processes

    if __name__ == "__main__":
        list(processes(2)(sleep_an_hour, [{folder!r}] * 4))
"""


def started(code: str) -> subprocess.Popen[str]:
    paths = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", dedent(code)], stdout=pipe, stderr=pipe, text=True, env=environment)


@pytest.mark.parametrize("number", [0, 5, 20])
def test_interrupted_work_prints_no_traceback(number: int) -> None:
    assert started(INTERRUPTED.format(number=number)).communicate() == ("stopped\n", "")


def test_workers_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    process = started(KILLED.format(folder=str(tmp_path)))
    while process.poll() is None and len(list(tmp_path.iterdir())) < 2:
        time.sleep(0.05)
    workers = [int(path.name) for path in tmp_path.iterdir()]
    assert len(workers) == 2
    process.send_signal(signal.SIGKILL)
    process.communicate()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{worker}").exists() for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def test_workers_have_one_thread_and_the_parents_environment_is_unchanged() -> None:
    before = dict(os.environ)
    found = dict(processes(2)(os.getenv, ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "HOME"]))
    assert found == {0: "1", 1: "1", 2: os.environ.get("HOME")}
    assert dict(os.environ) == before
