"""The JavaScript client: its types are the service's own, its tests run under Node against a running server."""

import http.server
import json
import os
import re
import runpy
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

import conquer
from conquer.client import Client

from .test_pages import BROWSER, browser, page  # noqa: F401 - fixtures

FOLDER = Path(__file__).resolve().parents[2] / "clients" / "javascript"
TOOLS = Path("/usr/local/lib/conquer-tests/node_modules/typescript/bin/tsc")
"""Where `make test-deps` puts the TypeScript compiler."""
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="needs Node: make test-deps")


def test_the_types_are_those_of_the_service():
    made = runpy.run_path(str(FOLDER / "generate.py"))["text"]()
    same = (FOLDER / "service.d.ts").read_text() == made
    assert same, "the service has changed: run `python clients/javascript/generate.py` and commit service.d.ts"


def test_it_has_the_version_of_the_package():
    package = json.loads((FOLDER / "package.json").read_text())
    assert package["version"] == conquer.__version__
    assert set(package["files"]) == {path.name for path in FOLDER.glob("*.*ts")} | {"client.js"}
    assert "dependencies" not in package


def test_both_clients_have_the_same_calls():
    typed = (FOLDER / "client.d.ts").read_text().partition("class Client {")[2]
    names = {
        re.sub("[A-Z]", lambda one: f"_{one[0].lower()}", name) for name in re.findall(r"^  (\w+)[(<]", typed, re.M)
    }
    assert {name for name in vars(Client) if not name.startswith("_")} - {"close"} == names - {"constructor", "send"}


@needs_node
def test_the_client_under_node(start):
    done = subprocess.run(
        [str(NODE), "--test", "test/client.test.js"], cwd=FOLDER, env={**os.environ, "SERVER": start().address},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    assert re.search(r"^\S+ pass 1\d$", done.stdout, re.M), done.stdout


@needs_node
@pytest.mark.skipif(not TOOLS.exists(), reason="needs the TypeScript compiler: make test-deps")
@pytest.mark.parametrize("resolution", ["nodenext", "bundler"])
def test_what_the_types_allow(tmp_path, resolution):
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "conquer-client").symlink_to(FOLDER)
    shutil.copy(FOLDER / "test" / "sample.ts", tmp_path)
    strict = ["--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--target", "es2022"]
    module = ["--module", "nodenext" if resolution == "nodenext" else "esnext", "--moduleResolution", resolution]
    done = subprocess.run(
        [str(NODE), str(TOOLS), "--noEmit", *strict, *module, "--lib", "es2022,dom", "sample.ts"], cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


class Shop(http.server.SimpleHTTPRequestHandler):
    """A page of another origin, with the client's file beside it."""

    def __init__(self, *arguments):
        super().__init__(*arguments, directory=str(FOLDER))

    def log_message(self, *_):
        pass


@pytest.fixture
def shop():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


IN_A_PAGE = """async ({ server, key }) => {
  const { Client, ServiceError } = await import("/client.js");
  const client = new Client(server, { key, timeout: 120 });
  await client.create("teas", "gnr", { features: { dim: 2 } });
  const question = await client.ask("teas", [{ id: "a", vector: [1, 0] }, { id: "b", vector: [0, 1] }]);
  const { status } = await client.tell("teas", question.event_id, question.left);
  const refused = await client.get("none").catch((error) => error);
  const stranger = await new Client(server, { key: "wrong" }).get("teas").catch((error) => error);
  return [status, refused instanceof ServiceError, refused.code, stranger.status];
}"""


@pytest.mark.skipif(not Path(BROWSER).exists(), reason=f"needs Chromium at {BROWSER}")
@pytest.mark.filterwarnings("default")
def test_the_client_in_a_browser_on_a_page_of_another_origin(page, start, shop):  # noqa: F811
    key = "k" * 40
    server = start(cors=shop, key=key)
    page.goto(f"{shop}/package.json")
    assert page.evaluate(IN_A_PAGE, {"server": server.address, "key": key}) == ["learnt", True, "unknown_model", 401]
