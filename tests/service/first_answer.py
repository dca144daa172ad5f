"""A new user's first minute, in a real browser: `make serve` on a store that does not exist yet, to the first answer.

python -m tests.service.first_answer            # prints the seconds, and the time from a key to the next question
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .conftest import free_port

ROOT = Path(__file__).resolve().parents[2]
BROWSER = "/usr/bin/chromium"
READY = "() => document.querySelector('#left') && !document.querySelector('#left').disabled"
ANSWER = """async (count) => {
  const found = [];
  for (let k = 0; k < count; k += 1) {
    const progress = document.querySelector("#progress"), before = progress.textContent, start = performance.now();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: k % 2 ? "1" : "2", bubbles: true }));
    const waiting = () => progress.textContent === before || document.querySelector("#left").disabled;
    while (waiting()) await new Promise(requestAnimationFrame);
    found.push(performance.now() - start);
    await new Promise((done) => setTimeout(done, 50));
  }
  return found;
}"""


def set_up() -> bool:
    """Whether `make serve` would start at once, without installing anything."""
    plan = subprocess.run(["make", "-n", "serve"], cwd=ROOT, capture_output=True, text=True, check=False)
    return plan.returncode == 0 and "pip install" not in plan.stdout


def first_answer(folder: Path, page: Any, more: int = 0) -> dict[str, Any]:
    """Seconds from `make serve` to the page and to the first saved answer; then milliseconds to each next question."""
    from playwright.sync_api import Error

    port = free_port()
    environ = {**os.environ, "CONQUER_STORE": f"sqlite:///{folder}/store.db", "CONQUER_PORT": str(port)}
    page.set_default_timeout(120_000)
    start = time.monotonic()
    with (folder / "serve.log").open("wb") as log:
        serving = subprocess.Popen(
            ["make", "serve"], cwd=ROOT, env=environ, stdout=log, stderr=log, start_new_session=True
        )
    try:
        while True:
            try:
                page.goto(f"http://127.0.0.1:{port}/")
                break
            except Error:
                if serving.poll() is not None:
                    raise RuntimeError((folder / "serve.log").read_text()) from None
                time.sleep(0.1)
        page.wait_for_selector("#models .note")
        opened = time.monotonic() - start
        page.click("#example")
        page.wait_for_url("**/pick/example")
        page.fill("#voter", "Ann")
        page.click("#who button")
        page.wait_for_function(READY)
        page.keyboard.press("1")
        page.wait_for_function("() => document.querySelector('#saved').textContent === 'Saved'")
        answered = time.monotonic() - start
        page.wait_for_function(READY)
        times = page.evaluate(ANSWER, more)
    finally:
        os.killpg(serving.pid, signal.SIGTERM)
        serving.wait()
    return {"page_seconds": opened, "answer_seconds": answered, "next_ms": times}


def main() -> None:
    from playwright.sync_api import sync_playwright

    flags = ["--headless", "--no-sandbox", "--disable-gpu"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = playwright.chromium.launch(executable_path=BROWSER, args=flags).new_page()
        found = first_answer(Path(folder), page, int(sys.argv[1]) if len(sys.argv) > 1 else 200)
    times = sorted(found.pop("next_ms"))
    found |= {"questions": len(times), "median_ms": statistics.median(times), "p95_ms": times[int(0.95 * len(times))]}
    print(json.dumps({name: round(value, 2) for name, value in found.items()}))


if __name__ == "__main__":
    main()
