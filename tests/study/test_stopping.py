"""Work in several processes that is stopped ends with its own words alone."""

import subprocess
import sys
from textwrap import dedent

STOPPED_AS_A_TASK_IS_HANDED_IN = """
    import os, signal, threading, time
    from joblib.externals.loky import process_executor
    from conquer.study.backends import processes

    hand_in = process_executor.ProcessPoolExecutor.submit

    def stop_now(executor, *task):
        future = hand_in(executor, *task)
        if threading.current_thread().name == "ExecutorManagerThread":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)
        return future

    process_executor.ProcessPoolExecutor.submit = stop_now
    try:
        list(processes(2)(abs, range(40)))
    except KeyboardInterrupt:
        print("stopped")
"""


def test_a_task_handed_in_as_the_work_is_stopped_prints_no_traceback() -> None:
    said = subprocess.run(
        [sys.executable, "-c", dedent(STOPPED_AS_A_TASK_IS_HANDED_IN)], capture_output=True, text=True, check=True
    )
    assert (said.stdout, said.stderr) == ("stopped\n", "")
