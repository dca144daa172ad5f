"""Many sessions, many joins by one link, many models of one key: a share of the server, not all of it."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import httpx

from .attacks import processor, store, tenants

ITEMS = "\n".join(json.dumps({"id": f"i{k}", "text": f"word{k} tea"}) for k in range(300)).encode()


def idle(server, seconds: float = 3.0) -> float:
    """Seconds of processor time that a server without requests takes."""
    began = processor(server.pid)
    time.sleep(seconds)
    return processor(server.pid) - began


def test_ended_sessions_cost_nothing_while_they_are_kept(start, tmp_path):
    """Every refresh read all sessions that ended within the last week."""
    server = start()
    with tenants(server, tmp_path, "ann"):
        without = idle(server)
        with store(tmp_path) as beside:
            beside.execute("BEGIN")
            until = time.time() + 6 * 86400
            rows = ((f"{k:032x}", until) for k in range(400_000))
            beside.executemany("INSERT INTO ended (session, until) VALUES (?, ?)", rows)
            beside.execute("COMMIT")
        time.sleep(2.5)
        assert idle(server) < without + 0.3


def test_joining_again_and_again_takes_few_places(start, tmp_path):
    """One address opens one link in fifty browsers, and each takes a question of its own."""
    server = start()
    with tenants(server, tmp_path, "teas") as (lead,):
        assert lead.post("/v1/models", json={"name": "teas", "algorithm": "gnr"}).status_code == 201
        assert lead.post("/v1/models/teas/items", content=ITEMS).status_code == 200
        made = lead.post("/v1/models/teas/invitations", json={})
        assert made.status_code == 201, made.text
        link = made.json()["path"].partition("#")[2]
        came, refused = 0, 0
        for _ in range(50):
            with httpx.Client(base_url=server.address, timeout=60) as guest:
                token = guest.get("/session").json()["token"]
                reply = guest.post("/join", json={"token": link, "name": ""}, headers={"X-Conquer-Token": token})
                assert reply.status_code in (200, 429), reply.text
                came, refused = came + (reply.status_code == 200), refused + (reply.status_code == 429)
        assert came >= 5
        assert refused >= 10


def test_one_key_does_not_make_all_the_models(start, tmp_path):
    server = start()
    with tenants(server, tmp_path, "greedy", "other") as (greedy, other):

        def make(client, name):
            made = {"name": name, "algorithm": "gnr", "features": {"dim": 4}}
            return client.post("/v1/models", json=made).status_code

        with ThreadPoolExecutor(16) as pool:
            found = set(pool.map(lambda k: make(greedy, f"greedy{k}"), range(1000)))
        assert 201 in found
        refused = found - {201}
        assert refused
        assert refused <= {409, 422, 429}
        assert make(other, "other") == 201
