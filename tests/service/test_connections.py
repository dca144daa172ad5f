"""Connections within bounds, against a real server over bare sockets: heads, bodies, how long and how many."""

import contextlib
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable

import httpx
import pytest

from .conftest import free_port
from .nursery import Process

HOST = b"Host: 127.0.0.1\r\n"


def talk(server: Process, *parts: bytes) -> bytes:
    """What the server says to these bytes until it closes, or has nothing more to say for a minute."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for part in parts:
                client.sendall(part)
        return said(client)


def said(client: socket.socket) -> bytes:
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := client.recv(1 << 16):
            found += part
    return found


def healthy(client: socket.socket) -> bool:
    """Whether the server answers once more on this connection."""
    client.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
    found = b""
    while not found.endswith(b"}") and (part := client.recv(1000)):
        found += part
    return found.startswith(b"HTTP/1.1 200") and found.endswith(b'{"status":"ok"}')


def until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < give_up, "it never came true"
        time.sleep(0.02)


def memory(server: Process) -> int:
    """The process's bytes in memory, in megabytes."""
    with open(f"/proc/{server.pid}/status") as file:
        return next(int(line.split()[1]) >> 10 for line in file if line.startswith("VmRSS"))


def established(server: Process) -> bool:
    """Whether the server holds a connection (state 01, or 08: closed by the client alone)."""
    with open(f"/proc/{server.pid}/net/tcp") as file:
        rows = [line.split() for line in file][1:]
    return any(row[1].endswith(f":{server.port:04X}") and row[3] in ("01", "08") and row[9] != "0" for row in rows)


def test_heads_are_bounded(start):
    """Many headers, long ones, one without an end, an endless URL: the connection is closed before they add up."""
    server = start(probe="/healthz", read_seconds=5)
    get = b"GET /healthz HTTP/1.1\r\n" + HOST
    before = memory(server)
    endless = [b"y" * (1 << 16)] * 300
    # The second has its reply before its body, which is read and dropped.
    refused = b"POST /nothing HTTP/1.1\r\n" + HOST + b"Content-Length: 9\r\n\r\n"
    for parts in (
        [get, *([b"a:\r\n" * 8192] * 200)],
        [refused, b"x" * 9, get, *([b"a:\r\n" * 8192] * 200)],
        [get, b"X: ", *endless],
        [get, *endless],
        [b"GET /", *endless],
        [get, *([b"X-1: y\r\n" * 9000] * 300)],
    ):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                for part in parts:
                    client.sendall(part)
            assert memory(server) - before < 50, parts[0][:60]
            assert not said(client).startswith(b"HTTP/1.1 200"), parts[0][:60]
    assert talk(server, b"NONSENSE\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert talk(server, get, b"X: " + b"y" * 20_000 + b"\r\nConnection: close\r\n\r\n").startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_body_that_never_comes_ends(start, method):
    """Read by the route or not, before or after the reply: the connection goes, and nobody else is kept waiting."""
    server = start(probe="/healthz", read_seconds=0.5, idle_seconds=1, connections=40)
    path = "/v1/models" if method == "POST" else "/healthz"
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60)) for _ in range(30)
        ]
        for client in clients:
            client.sendall(head)
        replies = [said(client) for client in clients]
    expected = b"HTTP/1.1 408" if method == "POST" else b"HTTP/1.1 200"
    assert {reply[:12] for reply in replies} == {expected}
    assert httpx.get(f"{server.address}/healthz").status_code == 200


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("part", [b"\r\n", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_a_head_that_never_comes_ends(start, part, first):
    """The first one and a later one; a line end is none."""
    server = start(probe="/healthz", read_seconds=0.5, idle_seconds=100)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        assert first or healthy(client)
        client.sendall(part)
        assert said(client) == b""


def test_a_body_that_trickles_ends(start):
    """A byte now and then is progress, but not enough: 32 KB a second are wanted in the long run."""
    server = start(probe="/healthz", read_seconds=0.5)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
        client.sendall(b"POST /v1/models HTTP/1.1\r\n" + HOST + b"Content-Length: 100000\r\n\r\n")
        client.settimeout(0.05)
        reply = b""
        give_up = time.monotonic() + 100
        while not reply and time.monotonic() < give_up:
            with contextlib.suppress(TimeoutError):
                client.sendall(b" ")
                reply = client.recv(1000)
    assert reply.startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("chunked", [False, True])
def test_an_early_reply_arrives_although_the_body_goes_on(start, chunked):
    """Closing with bytes unread would take the reply away: they are read and dropped, then the connection ends."""
    server = start(probe="/healthz", body_bytes=1000, read_seconds=1)
    length, part = b"Content-Length: 9000000", b"x" * 100_000
    if chunked:
        length, part = b"Transfer-Encoding: chunked", b"%x\r\n%b\r\n" % (len(part), part)
    head = b"POST /v1/models HTTP/1.1\r\n" + HOST + length + b"\r\n\r\n"
    for _ in range(5):
        reply = talk(server, head, *([part] * 90))
        assert reply.startswith(b"HTTP/1.1 413")
        assert json.loads(reply.partition(b"\r\n\r\n")[2])["error"]["code"] == "too_large"


def test_one_request_after_another_on_one_connection(start):
    """Bounds and deadlines are of one request: the next starts anew."""
    server = start(probe="/healthz", read_seconds=5)
    with httpx.Client(base_url=server.address, timeout=60) as client:
        client.post("/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 4}}).raise_for_status()
        ports = set()
        for k in range(150):
            reply = client.post("/v1/models", content=b"x" * (k * 500))
            assert reply.status_code == 400
            ports.add(reply.extensions["network_stream"].get_extra_info("client_addr"))
    assert len(ports) == 1
    request = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
    last = b"GET /healthz HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
    assert talk(server, request * 20 + last).count(b"HTTP/1.1 200") == 21


def test_a_proxys_connection_is_kept_and_takes_large_bodies(start):
    """Behind a proxy the client's address is a header's; deadlines are of the proxy's connections, of any number."""
    options = {"connections_per_address": 1, "read_seconds": 1, "round_bytes": 1 << 20}
    server = start(probe="/healthz", proxy="10.0.0.0/8, 127.0.0.1", **options)
    with httpx.Client(base_url=server.address, timeout=60, headers={"X-Forwarded-For": "1.2.3.4"}) as client:
        made = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
        assert client.post("/v1/models", json=made).status_code == 201
        items = [{"id": f"i{k}", "vector": [1, 2]} for k in range(800)]
        body = json.dumps({"items": [{**item, "text": "tea " * 100} for item in items]}).encode()
        ports = set()
        for _ in range(3):
            reply = client.post("/v1/models/m/choose", content=body)
            assert reply.status_code == 200, reply.text
            ports.add(reply.extensions["network_stream"].get_extra_info("client_addr"))
            time.sleep(0.6)
            assert httpx.get(f"{server.address}/healthz").status_code == 200
    assert len(ports) == 1


def test_one_address_has_its_share(start):
    """One that opens hundreds is told so; the others, and its own open ones, go on."""
    server = start(probe="/healthz", connections_per_address=20)
    # Those that asked whether it is there have left; the one that asks now is one.
    until(lambda: "conquer_connections 1.0" in httpx.get(f"{server.address}/metrics").text)
    until(lambda: not established(server))
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=60)) for _ in range(20)
        ]
        assert all(healthy(client) for client in clients)
        assert talk(server).startswith(b"HTTP/1.1 503")
        other = stack.enter_context(socket.socket())
        other.bind(("127.0.0.2", 0))
        other.connect(("127.0.0.1", server.port))
        assert healthy(other)
        assert healthy(clients[0])
    until(lambda: httpx.get(f"{server.address}/healthz").status_code == 200)


def test_more_connections_than_open_files(tmp_path):
    """1,100 idle connections at 512 open files: those there is no room for get a 503, everyone else is served."""
    port = free_port()
    options = {
        "PORT": port, "STORE": f"sqlite:///{tmp_path}/s.db", "CONNECTIONS_PER_ADDRESS": 0, "READ_SECONDS": 300,
        "IDLE_SECONDS": 300,
    }  # fmt: skip
    environ = {f"CONQUER_{name}": str(value) for name, value in options.items()}
    code = "from conquer.service.serve import serve; serve()"
    with (tmp_path / "errors.log").open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, **environ},
            stderr=errors,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (400, 512)),
        )
    try:
        # Its one connection is kept however long the others take to open: a new one would find no room.
        kept = httpx.Limits(keepalive_expiry=None)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, limits=kept) as client:

            def up() -> bool:
                with contextlib.suppress(httpx.TransportError):
                    return client.get("/readyz").status_code == 200
                return False

            until(up)
            with contextlib.ExitStack() as stack:
                for _ in range(1100):
                    stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
                body = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
                assert client.post("/v1/models", json=body).status_code == 201
                items = [{"id": name, "vector": [1, 2]} for name in "ab"]
                statuses = {client.post("/v1/models/m/choose", json={"items": items}).status_code for _ in range(20)}
                statuses |= {client.get(path).status_code for path in ("/readyz", "/metrics", "/v1/models")}
                assert statuses == {200}
                with pytest.raises((httpx.TransportError, AssertionError)):
                    assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
            until(up)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, (tmp_path / "errors.log").read_text()
