"""Pages elsewhere, a key from the environment, and what a server says on a terminal."""

import os
import pty
import re
import signal
import subprocess
import sys

import pytest

from conquer.service.admin import keys_list, keys_revoke
from conquer.service.settings import Settings
from conquer.service.store.database import StoreError
from conquer.service.web.access import origins_of
from conquer.service.web.server import Server

from .conftest import run

SHOP, EVIL = "https://shop.example", "https://evil.example"
SECRET = "x" * 40
ASKED = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
MADE = {"name": "m", "algorithm": "gnr"}


def test_origins_are_origins():
    assert origins_of(" https://a.example/ ,*") == {"https://a.example", "*"}
    assert origins_of("") == frozenset()
    for wrong in ("shop.example", "https://shop.example/path", "ftp://shop.example", "https://"):
        with pytest.raises(ValueError, match="CONQUER_CORS must be origins"):
            origins_of(wrong)


def test_a_named_origin_may_call_and_others_may_not(local):
    async def go():
        async with local(cors=SHOP).running() as client:
            reply = await client.options("/v1/models", headers={"Origin": SHOP, **ASKED})
            assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (200, SHOP)
            assert "POST" in reply.headers["access-control-allow-methods"]
            assert "authorization" in reply.headers["access-control-allow-headers"]
            assert "access-control-allow-credentials" not in reply.headers
            reply = await client.post("/v1/models", json=MADE, headers={"Origin": SHOP, "Sec-Fetch-Site": "cross-site"})
            assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (201, SHOP)
            refused = await client.options("/v1/models", headers={"Origin": EVIL, **ASKED})
            assert refused.status_code == 400
            for reply in (refused, await client.post("/v1/models", json=MADE, headers={"Origin": EVIL})):
                assert "access-control-allow-origin" not in reply.headers
            assert reply.json()["error"]["code"] == "cross_site"
            # Errors can be read too.
            reply = await client.get("/v1/models/none", headers={"Origin": SHOP})
            assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (404, SHOP)

    run(go())


def test_any_origin_needs_a_key_of_its_own(local):
    """Without keys, `*` would let every page on the web drive a server on this machine."""

    async def go():
        for cors in ("*", f"*,{SHOP}"):
            with pytest.raises(StoreError, match="CONQUER_CORS without"):
                local(cors=cors)
        async with local(cors="*", key=SECRET).running() as client:
            headers = {"Origin": EVIL, "Authorization": f"Bearer {SECRET}"}
            reply = await client.post("/v1/models", json=MADE, headers=headers)
            assert (reply.status_code, reply.headers["access-control-allow-origin"]) == (201, "*")

    run(go())


def test_a_key_from_the_environment_opens_every_address(tmp_path):
    store = f"sqlite:///{tmp_path}/s.db"
    with pytest.raises(StoreError, match="or give one of your own as CONQUER_KEY"):
        Server(Settings(host="0.0.0.0", store=store))
    for _ in range(2):  # a container that starts again
        server = Server(Settings(host="0.0.0.0", store=store, key=SECRET))
        assert [(key.name, key.roles) for key in server.access.keys.values()] == [("CONQUER_KEY", {"admin"})]
        server.database.close()
    keys_revoke(keys_list(store=store)[0].id, store=store)
    with pytest.raises(ValueError, match="was revoked: give another"):
        Server(Settings(host="0.0.0.0", store=store, key=SECRET))
    for short in ("short", "x" * 31, "x y" * 20):
        with pytest.raises(ValueError, match="at least 32 printable characters"):
            Server(Settings(store=store, key=short))
    assert SECRET not in repr(Settings(key=SECRET))


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_gets_plain_lines_and_a_log_gets_times(tmp_path, terminal):
    (tmp_path / "teas.csv").write_text("Review,Date\ngood,1\nbad,2\n")
    command = [sys.executable, "-m", "conquer", "serve", "--port", "0", "--items", "teas.csv"]
    mine, theirs = pty.openpty() if terminal else os.pipe()
    server = subprocess.Popen(command, cwd=tmp_path, stderr=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    said = b""
    try:
        while not re.search(rb"http://127\.0\.0\.1:\d+", said):
            piece = os.read(mine, 4096)
            assert piece, said
            said += piece
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
        os.close(mine)
    lines = said.decode().replace("\r", "").splitlines()
    if terminal:
        assert lines[0] == "2 items from teas.csv: text from 'Review'; not used: Date"
        assert re.fullmatch(r"CONQUER is at http://127\.0\.0\.1:\d+ \(Ctrl-C stops it\)", lines[1])
    else:
        assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d+ [A-Z]+ [\w.]+: ", line) for line in lines)
        assert "text from 'Review'; not used: Date" in lines[0]
