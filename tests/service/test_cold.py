"""The very first start, with nothing compiled: every kind of model answers while the kernels are being made."""

import os
import signal
import subprocess
import sys

import httpx
import pytest

from .conftest import free_port
from .test_connections import until

KINDS = {"d": ("gnr", "diagonal"), "f": ("gnc", "full"), "k": ("gnu", "kernel")}
TREE = "".join(f"{k}\tword{k}\t_\tNOUN\t_\t_\t{k - 1}\tdep\t_\t_\n" for k in range(1, 5)) + "\n"


@pytest.fixture
def cold(tmp_path):
    """The address of a server that has never run on this machine."""
    port = free_port()
    env = {**os.environ, "CONQUER_CACHE": str(tmp_path / "cache"), "CONQUER_TIER": "auto"}
    command = [sys.executable, "-m", "conquer", "serve", "--port", str(port), "--store", f"sqlite:///{tmp_path}/s.db"]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        assert server.poll() is None, (tmp_path / "log").read_text()
        try:
            return httpx.get(f"{address}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    until(answers)
    yield address
    server.send_signal(signal.SIGTERM)
    assert server.wait(120) == 0, (tmp_path / "log").read_text()


def test_every_kind_of_model_answers_while_kernels_are_being_compiled(cold):
    with httpx.Client(base_url=cold, timeout=120) as client:
        for name, (algorithm, model) in KINDS.items():
            made = {"name": name, "algorithm": algorithm, "model": model, "features": {"dim": 64}}
            assert client.post("/v1/models", json=made).status_code == 201
            for items in (
                [{"id": "a", "vector": [1.0] * 8}, {"id": "b", "vector": [0.0] * 7 + [1.0]}],
                [{"id": "a", "text": "a word or two"}, {"id": "b", "text": "quite another"}],
            ):
                offer = client.post(f"/v1/models/{name}/choose", json={"items": items}).json()
                if offer["query"] != "none":
                    said = {"winner": offer["shown"][0]["id"]}
                    reply = client.post(f"/v1/models/{name}/events/{offer['event_id']}/answer", json=said)
                    assert reply.status_code == 200, reply.text
        made = {"name": "p", "algorithm": "parser", "task": "parse", "parameters": {"bits": 6}}
        assert client.post("/v1/models", json=made).status_code == 201
        assert client.post("/v1/models/p/items", content=TREE.encode()).status_code in (200, 201)
        question = client.post("/v1/models/p/next", json={"voter": "v"})
        assert question.status_code == 200, question.text
        assert client.get("/readyz").json()["compiling"] > 0
        assert client.get("/healthz").status_code == 200
