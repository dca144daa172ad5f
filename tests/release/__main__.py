"""`python -m tests.release [part]`: the wheel in an empty environment, and the steps of the image without Docker."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from tests.release.test_habits import stages

ROOT = Path(__file__).parents[2]
SMOKE = "import conquer, numpy as np; print(conquer.make('gnc', dim=3).choose(np.eye(3), 0).query.name)"
CONSUMER = """
import conquer
import numpy as np

learner = conquer.make("gnc", dim=3)
choice: conquer.Choice = learner.choose(np.eye(3), 0)
shown: tuple[int, ...] = choice.shown
reveal_type(learner.scores(np.eye(3)))
wrong: int = choice.query.name
"""


def call(command: str | list[str], **options: object) -> str:
    """The output of a command; its errors are shown where it fails."""
    done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(f"{command}\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def without_path() -> dict[str, str]:
    """The environment without PYTHONPATH, through which pip would take a clone for an installed package."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def environment(place: Path, wheel: Path) -> Path:
    """A fresh virtual environment with the wheel; its python."""
    call([sys.executable, "-m", "venv", str(place)])
    command = [str(place / "bin" / "pip"), "install", "-q", "-c", str(ROOT / "constraints.txt"), str(wheel)]
    call(command, env=without_path())
    return place / "bin" / "python"


def typed(folder: Path) -> None:
    """The wheel alone runs, and a strict mypy of a consumer sees its types: it knows them and finds an error."""
    (wheel,) = (ROOT / "dist").glob("*.whl")
    python = environment(folder / "alone", wheel)
    call([str(python), "-c", SMOKE], cwd=folder, env=without_path())
    (folder / "consumer.py").write_text(CONSUMER)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "consumer.py"]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    if "float64" not in said or "Found 1 error" not in said or "[assignment]" not in said:
        raise SystemExit(f"a consumer's mypy must find one error and know the type of scores:\n{said}")
    print("a consumer's mypy sees the types", flush=True)


def image(folder: Path) -> None:
    """The Dockerfile's RUN, CMD and HEALTHCHECK in a clean folder: /src, /opt and /data are folders of ours."""
    build, final = stages()
    source, home = folder / "src", folder / "home"
    for place in (source, home, folder / "data"):
        place.mkdir()
    for names in (rest.split() for word, rest in build if word == "COPY"):
        for name in names[:-1]:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, source / name)

    def here(text: str) -> str:
        return text.replace("/opt/", f"{folder}/opt/").replace("sqlite:////data", f"sqlite:///{folder}/data")

    set_in_image = dict(part.split("=", 1) for part in dict(final)["ENV"].split() if "=" in part)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    known = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHONPATH", "CONQUER_"))}
    known |= {key: here(value).replace("$PATH", os.environ["PATH"]) for key, value in set_in_image.items()}
    # Only loopback is served without a key.
    known |= {"HOME": str(home), "CONQUER_PORT": str(port), "CONQUER_HOST": "127.0.0.1"}
    for place, stage in ((source, build), (folder / "data", final)):
        for command in (rest for word, rest in stage if word == "RUN" and not rest.startswith("useradd")):
            start = time.monotonic()
            call(here(command), cwd=place, env=known)
            print(f"RUN {command}: {time.monotonic() - start:.0f} s", flush=True)
    server = subprocess.Popen(eval(here(dict(final)["CMD"])), cwd=folder / "data", env=known)
    try:
        check = eval(here(dict(final)["HEALTHCHECK"].partition("CMD ")[2]).replace(":8000", f":{port}"))
        wait_until_healthy(check, known)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as reply:
            print(f"CMD and HEALTHCHECK: {reply.read().decode()}", flush=True)
    finally:
        server.terminate()
        server.wait(60)


def wait_until_healthy(check: list[str], known: dict[str, str]) -> None:
    """The health check ends with 0 within a minute."""
    for _ in range(60):
        if subprocess.run(check, env=known, capture_output=True, check=False).returncode == 0:
            return
        time.sleep(1)
    raise SystemExit("the health check never passed")


def uv(folder: Path) -> None:
    """uv makes an environment and installs the wheel with the versions of constraints.txt, as pip does."""
    from importlib.util import find_spec

    if find_spec("uv") is None:
        print("uv: not installed, left out (pip install uv)")
        return
    (wheel,) = (ROOT / "dist").glob("*.whl")
    program, place = [sys.executable, "-m", "uv"], folder / "uv"
    indexes = call([sys.executable, "-m", "pip", "config", "list"])
    told = {}
    for line in indexes.splitlines():
        key, _, value = line.partition("=")
        for ending, name in (("index-url", "UV_EXTRA_INDEX_URL"), ("find-links", "UV_FIND_LINKS")):
            if key.endswith(ending):
                told[name] = value.strip("'\"").replace("\\n", " ")
    known = {**os.environ, **told, "UV_INDEX_STRATEGY": "unsafe-best-match"}
    call([*program, "venv", "-q", "--python", sys.executable, str(place)], env=known)
    # Named: `python -m uv` would install into the environment that runs these tests, whatever VIRTUAL_ENV says.
    target = ["--python", str(place / "bin" / "python")]
    call([*program, "pip", "install", "-q", *target, "-c", str(ROOT / "constraints.txt"), str(wheel)], env=known)
    call([str(place / "bin" / "python"), "-c", SMOKE], cwd=folder, env=without_path())
    print("uv installs it and it runs", flush=True)


PARTS = {"typed": typed, "image": image, "uv": uv}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory() as scratch:
            PARTS[part](Path(scratch))
