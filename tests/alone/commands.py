"""What each extra is for, as commands; each says what went wrong, or nothing."""

import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

Fault = str | None
Command = Callable[[Path, Path, Mapping[str, str]], Fault]

_ROWS = (("1", "Dogs", "NOUN", "2"), ("2", "chase", "VERB", "0"), ("3", "cats", "NOUN", "2"))
_TREES = "".join(
    "".join(f"{number}\t{word}{k}\t_\t{tag}\t_\t_\t{head}\t_\t_\t_\n" for number, word, tag, head in _ROWS) + "\n"
    for k in range(6)
)
_EXAMPLE = """
import conquer
session = conquer.Session(conquer.make("gnr", dim=2**10), seed=1)
offer = session.ask(["good tea", "bad tea", "cold tea"])
session.tell(offer.id, "first")
print(session.rank(["good tea", "bad tea"]))
"""

_CLIENT = """
import http.server, json, threading
from conquer.client import Client

class Busy(http.server.BaseHTTPRequestHandler):
    asked = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        Busy.asked += 1
        self.send_response(200 if Busy.asked == 2 else 503)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"status": "learnt", "event_id": "e"}).encode())

server = http.server.HTTPServer(("127.0.0.1", 0), Busy)
threading.Thread(target=server.serve_forever, daemon=True).start()
with Client(f"http://127.0.0.1:{server.server_port}") as client:
    assert client.tell("teas", "e", "a").status == "learnt"
"""
_ROOT = Path(__file__).parents[2]


def _run(programs: Path, room: Path, environ: Mapping[str, str], *words: str) -> tuple[int, str]:
    command = [str(programs / words[0]), *words[1:]]
    done = subprocess.run(command, cwd=room, env=dict(environ), capture_output=True, text=True, timeout=900)
    return done.returncode, done.stdout + done.stderr


def _works(programs: Path, room: Path, environ: Mapping[str, str], *words: str) -> Fault:
    status, said = _run(programs, room, environ, *words)
    return f"exit {status}: {said[-2000:]}" if status else None


def library(programs: Path, room: Path, environ: Mapping[str, str]) -> Fault:
    return _works(programs, room, environ, "python", "-c", _EXAMPLE)


def what_is_missing(programs: Path, room: Path, environ: Mapping[str, str]) -> Fault:
    """Every command of an extra that is not there names it, in one line."""
    for words, extra in ((("serve",), "serve"), (("study",), "study"), (("parse", "study"), "study")):
        status, said = _run(
            programs, room, environ, "conquer", *words, *(("--treebank", "x") if words[0] == "parse" else ())
        )
        if status != 2 or f"[{extra}]" not in said or said.count("\n") != 1:
            return f"{words}: exit {status}: {said}"
    return None


def study(programs: Path, room: Path, environ: Mapping[str, str]) -> Fault:
    words = ("--domains", "android", "--reviews", "8250", "--items", "3", "--algorithms", "ttg,random")
    fault = _works(programs, room, environ, "conquer", "study", *words, "--repetitions", "1", "--out", "s")
    return fault or (None if (room / "s" / "report.html").exists() else "no report")


def arena(programs: Path, room: Path, environ: Mapping[str, str]) -> Fault:
    words = ("--algorithms", "ttg,random", "--rounds", "200", "--repetitions", "2", "--out", "a")
    return _works(programs, room, environ, "conquer", "arena", *words)


def _serving(programs: Path, room: Path, environ: Mapping[str, str], *words: str) -> tuple[subprocess.Popen[str], str]:
    """A running server and its address, which it says itself."""
    command = [str(programs / "conquer"), "serve", "--port", "0", *words]
    server = subprocess.Popen(command, cwd=room, env=dict(environ), stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 120
    said = ""
    while time.monotonic() < end and server.stderr is not None and (line := server.stderr.readline()):
        said += line
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return server, found.group()
    server.kill()
    raise OSError(said[-2000:])


def _post(address: str, content: bytes, kind: str = "application/json") -> dict[str, object]:
    request = urllib.request.Request(address, content, {"Content-Type": kind})
    with urllib.request.urlopen(request, timeout=120) as reply:
        found: dict[str, object] = json.load(reply)
    return found


def serve_treebank(programs: Path, room: Path, environ: Mapping[str, str]) -> Fault:
    """From the shell and by an upload: a question about a word comes back."""
    (room / "news.conllu").write_text(_TREES)
    try:
        server, address = _serving(programs, room, environ, "--treebank", "news.conllu")
    except OSError as error:
        return str(error)
    try:
        _post(f"{address}/v1/models", json.dumps({"name": "more", "algorithm": "parser", "task": "parse"}).encode())
        _post(f"{address}/v1/models/more/items", _TREES.encode(), "text/plain")
        for name in ("news", "more"):
            if not (asked := _post(f"{address}/v1/models/{name}/next", b'{"voter": "ann"}')).get("event"):
                return f"no question: {asked}"
    except OSError as error:
        return f"{error}: {error.read()!r}" if hasattr(error, "read") else str(error)
    finally:
        server.kill()
        server.wait()
    return None


def serve_items(programs: Path, room: Path, environ: Mapping[str, str]) -> Fault:
    (room / "teas.csv").write_text("Review\ngood tea\nbad tea\ncold tea\n")
    try:
        server, address = _serving(programs, room, environ, "--items", "teas.csv")
    except OSError as error:
        return str(error)
    try:
        asked = _post(f"{address}/v1/models/teas/next", b'{"voter": "ann"}')
    finally:
        server.kill()
        server.wait()
    return None if asked.get("event") else f"no question: {asked}"


def parse_in_the_shell(programs: Path, room: Path, environ: Mapping[str, str]) -> Fault:
    (room / "news.conllu").write_text(_TREES)
    words = ("parse", "train", "--treebank", "news.conllu", "--model", "news.parser")
    return _works(programs, room, environ, "conquer", *words) or _works(
        programs, room, environ, "conquer", "parse", "predict", "news.conllu", "out.conllu", "--model", "news.parser"
    )


def a_store_that_is_not_there(programs: Path, room: Path, environ: Mapping[str, str]) -> Fault:
    status, said = _run(programs, room, environ, "conquer", "keys", "list", "--store", "postgresql://127.0.0.1:9/x")
    return None if status == 2 and "psycopg not installed" not in said else f"exit {status}: {said[-2000:]}"


def a_cluster(programs: Path, room: Path, environ: Mapping[str, str]) -> Fault:
    code = (
        "from distributed import LocalCluster\n"
        "from conquer.study.backends import choose\n"
        "if __name__ == '__main__':\n"
        "    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as c:\n"
        "        print(sorted(choose(1, c.scheduler_address)(len, ['a', 'bb'])))\n"
    )
    (room / "try.py").write_text(code)
    return _works(programs, room, environ, "python", "try.py")


def bench_imports(programs: Path, room: Path, environ: Mapping[str, str]) -> Fault:
    return _works(programs, room, {**environ, "PYTHONPATH": str(_ROOT)}, "python", "-m", "benchmarks", "--help")


def client_calls(programs: Path, room: Path, environ: Mapping[str, str]) -> Fault:
    """A call that finds the server busy is sent again, and its reply is read."""
    return _works(programs, room, environ, "python", "-c", _CLIENT)


def site(programs: Path, room: Path, environ: Mapping[str, str]) -> Fault:
    """The pages are gathered and built, as `make docs` does it."""
    words = ("build", "--quiet", "--strict", "--config-file", str(_ROOT / "mkdocs.yml"), "--site-dir", str(room))
    fault = _works(programs, room, environ, "python", str(_ROOT / "docs" / "site.py")) or _works(
        programs, room, environ, "mkdocs", *words
    )
    return fault or (None if (room / "index.html").exists() else "no pages")


COMMANDS: dict[str, tuple[Command, ...]] = {
    "": (library, what_is_missing),
    "study": (study, arena),
    "serve": (serve_treebank, serve_items, parse_in_the_shell),
    "parse": (parse_in_the_shell,),
    "postgres": (a_store_that_is_not_there,),
    "cluster": (a_cluster,),
    "client": (client_calls,),
    "bench": (bench_imports,),
    "docs": (site,),
    "lowest": (library, study, arena, serve_treebank, serve_items, parse_in_the_shell, client_calls),
}
