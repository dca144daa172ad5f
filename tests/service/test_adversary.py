"""Attempts to break the promises, each with a real server where it matters: races, kills, odd text, odd settings."""

import concurrent.futures as futures
import random
import threading

import httpx
import numpy as np
import pytest

from .conftest import run
from .folds import loaded, rows_of, slow_fold, sqlite

MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
NAMES = "abcd"


def items(rng: random.Random) -> list:
    return [{"id": name, "vector": [rng.gauss(0, 1) for _ in range(4)]} for name in NAMES]


def at_once(work, count: int) -> list:
    """Call `work(k)` from many threads that set off together."""
    gate = threading.Barrier(count)

    def go(k: int):
        gate.wait()
        return work(k)

    with futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(go, range(count)))


def test_one_event_id_with_many_bodies_at_once(start, tmp_path):
    server = start()
    httpx.post(f"{server.address}/v1/models", json=MADE)
    rng = random.Random(0)
    bodies = [items(rng) for _ in range(4)]
    for event in range(10):

        def work(k: int, event: int = event) -> tuple[int, str]:
            body = {"items": bodies[k % 4], "event_id": f"e{event}"}
            reply = httpx.post(f"{server.address}/v1/models/m/choose", json=body, timeout=60)
            return reply.status_code, reply.text

        replies = at_once(work, 12)
        won = {k % 4 for k, (status, _) in enumerate(replies) if status == 200}
        assert len(won) == 1, "the first body owns the event"
        assert len({text for status, text in replies if status == 200}) == 1
        assert all(status == 409 for k, (status, _) in enumerate(replies) if k % 4 not in won)
    server.kill()
    _, rows = rows_of(sqlite(tmp_path), "m")
    assert [row.event for row in rows] == [f"e{event}" for event in range(10)]


def test_answers_and_undos_race(start, tmp_path):
    """Many people answer and take back the same few events; what stands is what the log says, bit for bit."""
    server = start(snapshot_every=15)
    httpx.post(f"{server.address}/v1/models", json=MADE)
    rng = random.Random(1)
    shown = {}
    for event in ("e0", "e1", "e2"):
        body = {"items": items(rng), "event_id": event}
        offer = httpx.post(f"{server.address}/v1/models/m/choose", json=body).json()
        shown[event] = [one["id"] for one in offer["shown"]]

    def work(k: int) -> list[int]:
        own = random.Random(k)
        found = []
        with httpx.Client(base_url=f"{server.address}/v1/models/m/events", timeout=60) as client:
            for _ in range(12):
                event, voter = own.choice(list(shown)), f"v{own.randrange(3)}"
                if own.random() < 0.5:
                    reply = client.post(f"/{event}/answer", json={"winner": own.choice(shown[event]), "voter": voter})
                else:
                    reply = client.post(f"/{event}/undo", json={"voter": voter})
                found.append(reply.status_code)
        return found

    statuses = {status for found in at_once(work, 6) for status in found}
    assert statuses <= {200, 409}
    summary = httpx.get(f"{server.address}/v1/models/m").json()["summary"]["answers"]
    server.kill()
    _, rows = rows_of(sqlite(tmp_path), "m")
    undone = [row.body.undone for row in rows if row.kind == "correction"]
    standing = [(row.event, row.voter) for row in rows if row.kind == "answer" and row.position not in undone]
    assert len(undone) == len(set(undone)) == summary["undone"] > 0
    assert len(standing) == len(set(standing)) == summary["learnt"]
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


@pytest.mark.parametrize("seed", range(4))
def test_killed_while_erasing(start, tmp_path, seed):
    """All of a person's rows or none: then the model is the fold of what is left."""
    server = start(snapshot_every=40)
    httpx.post(f"{server.address}/v1/models", json=MADE)
    rng = random.Random(seed)
    rounds = [{"items": items(rng), "event_id": f"e{k}", "voter": ("ann", "bob")[k % 2]} for k in range(150)]
    httpx.post(f"{server.address}/v1/models/m/choose/batch", json={"rounds": rounds}).raise_for_status()
    answers = [{"event_id": f"e{k}", "winner": "tie" if k % 5 else "skip"} for k in range(150)]
    httpx.post(f"{server.address}/v1/models/m/answers", json={"answers": answers}).raise_for_status()
    killer = threading.Timer(rng.random() * 0.05, server.kill)
    killer.start()
    replied = None
    try:
        replied = httpx.post(f"{server.address}/v1/models/m/erase", json={"voter": "bob"}, timeout=60).json()
    except httpx.TransportError:
        replied = None
    killer.join()
    _, rows = rows_of(sqlite(tmp_path), "m")
    left = sum(row.voter == "bob" for row in rows)
    assert left in (0, 150)
    if replied is not None:
        assert replied == {"rows": 150, "remaining": 0}
        assert left == 0
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))
    again = start()
    gone = httpx.post(f"{again.address}/v1/models/m/erase", json={"voter": "bob"}).json()
    assert gone == {"rows": left, "remaining": 0}
    again.kill()
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))


VOTERS = [
    "Zoë", "Zoe\u0308", "\u202eevil", "a\u200bb", "ab", "ann ", "ann", "ANN", "李雷", "👩‍👩‍👧", "x" * 200, "😀" * 200,
    "\u2028", "\u0085", "%00", "'; DROP TABLE log; --", "null", "0", "\ufeffann", "a\u0301" * 100,
]  # fmt: skip


def test_voters_of_every_script_are_themselves(local, tmp_path):
    async def go():
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            offer = (await client.post("/v1/models/m/choose", json={"items": items(random.Random(3))})).json()
            path = f"/v1/models/m/events/{offer['event_id']}/answer"
            for voter in VOTERS:
                reply = await client.post(path, json={"winner": "tie", "voter": voter})
                assert reply.json()["status"] == "learnt", (voter, reply.text)
            for voter in VOTERS:
                assert (await client.post(path, json={"winner": "tie", "voter": voter})).json()["status"] == "repeat"
            for bad in ("", "a\x00", "a\nb", "a\x7f", "x" * 201, "a/b", "\x1f"):
                assert (await client.post(path, json={"winner": "tie", "voter": bad})).status_code == 422
            for raw in (b'{"winner":"tie","voter":"\\ud800"}', b'{"winner":"tie","voter":"\xff"}'):
                assert (await client.post(path, content=raw)).status_code in (400, 422)
            assert set((await client.get("/v1/models/m")).json()["summary"]["voters"]) == set(VOTERS)
            for left, voter in reversed(list(enumerate(VOTERS))):
                gone = (await client.post("/v1/models/m/erase", json={"voter": voter})).json()
                assert gone["rows"] == 1, voter
                assert (await client.get("/v1/models/m")).json()["summary"]["answers"]["learnt"] == left

    run(go())
