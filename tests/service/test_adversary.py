"""Attempts to break the promises, each with a real server where it matters: races, kills, odd text, odd settings."""

import asyncio
import concurrent.futures as futures
import contextlib
import json
import random
import socket
import threading
import time
from pathlib import Path

import httpx
import numpy as np
import pytest

from conquer.service.jobs.retention import prune_all

from .conftest import read_groups, run
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
        assert replied == {"rows": 150}
        assert left == 0
    assert np.array_equal(loaded(sqlite(tmp_path), "m"), slow_fold(sqlite(tmp_path), "m"))
    again = start()
    gone = httpx.post(f"{again.address}/v1/models/m/erase", json={"voter": "bob"}).json()
    assert gone == {"rows": left}
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


# Input made to break things: depth, arithmetic, odd files, sizes, clocks and ids.


DEEP = "[" * 50_000 + "]" * 50_000
OBJECTS = '{"a":' * 50_000 + "1" + "}" * 50_000


@pytest.mark.parametrize("deep", [DEEP, OBJECTS])
def test_depth_is_refused_everywhere(local, deep):
    async def go():
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            good = json.dumps(items(random.Random(3)))
            bodies = {
                "/v1/models": [f'{{"name":"x","parameters":{{"lam":{deep}}}}}', deep],
                "/v1/models/m/choose": [
                    f'{{"items":{deep}}}', f'{{"items":{good},"context":{deep}}}', f'{{"items":[{{"id":{deep}}}]}}',
                ],
                "/v1/models/m/choose/batch": [f'{{"rounds":[{{"items":{deep}}}]}}'],
                "/v1/models/m/items": [deep, f'{{"text":{deep}}}', f'{{"prompt":{deep},"text":"a"}}'],
                "/v1/models/m/log": [f'{{"kind":"open","body":{deep}}}', deep],
            }  # fmt: skip
            for path, texts in bodies.items():
                for text in texts:
                    reply = await client.post(path, content=text.encode())
                    assert reply.status_code in (400, 422), (path, text[:40], reply.status_code, reply.text[:200])
            assert (await client.get("/v1/models/m")).json()["position"] == 0

    run(go())


@pytest.mark.parametrize(
    "body",
    [
        {"parameters": {"lam": None}}, {"parameters": {"lam": [1]}}, {"parameters": {"eta": {}}},
        {"task": "parse", "algorithm": "gnr"}, {"task": "parse", "algorithm": "parser", "parameters": {"bits": 99}},
        {"features": {"ngrams": [3, 1]}},
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused_at_creation(local, body):
    async def go():
        async with local().running() as client:
            reply = await client.post("/v1/models", json={"name": "m", **body})
            assert reply.status_code == 422, reply.text
            assert (await client.get("/v1/models")).json() == {"models": []}

    run(go())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("algorithm", "parameters"), [("fgts", {"pace": 1e100}), ("kwik", {"threshold": 1e100})])
def test_arithmetic_that_breaks_is_a_refusal(local, algorithm, parameters):
    """Learners that overflow half-way say so, and the model in memory is again the one on disk."""

    async def go():
        app = local()
        async with app.running() as client:
            await client.post("/v1/models", json={**MADE, "algorithm": algorithm, "parameters": parameters})
            for _ in range(4):
                reply = await client.post("/v1/models/m/choose", json={"items": items(random.Random(5))})
                assert reply.status_code in (200, 422), reply.text
                if reply.status_code == 200 and reply.json()["query"] != "none":
                    path = f"/v1/models/m/events/{reply.json()['event_id']}/answer"
                    reply = await client.post(path, json={"winner": reply.json()["shown"][0]["id"]})
                    assert reply.status_code in (200, 422), reply.text
            summary = (await client.get("/v1/models/m")).json()["summary"]
            app.server.engine.models.clear()
            assert (await client.get("/v1/models/m")).json()["summary"] == summary

    run(go())


def test_files_with_odd_line_ends_and_odd_numbers():
    line = '{"id":"a","text":"one\u2028two\u0085three\u000b"}'.replace("\u000b", "\\u000b")
    groups = read_groups(f'{line}\r\n{{"id":"b","text":"x"}}'.encode())
    assert groups[0].items[0].text == "one\u2028two\u0085three\u000b"
    table = read_groups(b"id,price\na,nan\nb,-inf\nc,1e999\nd,2\n")
    assert [item.features["price"] for item in table[0].items] == ["nan", "-inf", "1e999", 2.0]


@pytest.mark.parametrize(
    "lines",
    [
        [{"text": "a"}, {"vector": [1, 2]}], [{"vector": [1, 2]}, {"vector": [1, 2, 3]}],
        [{"text": "a" * 200_001}, {"text": "b"}], [{"text": "\ud800"}, {"text": "b"}], [{"vector": []}, {"vector": []}],
        *([[{"text": f"{k}"} for k in range(size)] + [{"features": {"a": 1}}] for size in (499, 500, 501)]),
    ],
)  # fmt: skip
def test_items_that_no_question_could_be_made_of_are_refused(local, lines):
    data = "\n".join(json.dumps({"id": f"i{k}", **one}) for k, one in enumerate(lines))

    async def go():
        async with local().running() as client:
            await client.post("/v1/models", json={"name": "m", "algorithm": "gnr"})
            reply = await client.post("/v1/models/m/items", content=data.encode())
            assert reply.status_code == 422, reply.text
            assert (await client.get("/v1/models/m/task")).json()["items"] == 0

    run(go())


def test_large_rounds_do_not_pile_up_in_memory(local):
    """Cached events are bounded in bytes, not only in number; answers find theirs on disk."""

    async def go():
        app = local(cache_bytes=4_000_000)
        async with app.running() as client:
            await client.post("/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 64}})
            text = "word " * 20_000
            events = []
            for k in range(12):
                body = {"items": [{"id": "a", "text": f"{text}{k}"}, {"id": "b", "text": "x"}]}
                events.append((await client.post("/v1/models/m/choose", json=body)).json()["event_id"])
                # Replies come after the commit, and what is in memory is trimmed after the replies.
                held = await app.server.engine.call("m", lambda turn: turn.state, reads=True)
                assert held.event_bytes == sum(event.size for event in held.events.values()) <= 1_000_000
            for event in events:
                reply = await client.post(f"/v1/models/m/events/{event}/answer", json={"winner": "a"})
                assert reply.json()["status"] == "learnt"

    run(go())


def test_a_deleted_model_takes_only_its_own_numbers_along(local):
    async def go():
        async with local().running() as client:
            for name in ("m", "duel", "learnt", "GET", "200"):
                await client.post("/v1/models", json={**MADE, "name": name})
            offer = (await client.post("/v1/models/m/choose", json={"items": items(random.Random(2))})).json()
            await client.post(f"/v1/models/m/events/{offer['event_id']}/answer", json={"winner": "tie"})
            for name in ("duel", "learnt", "GET", "200"):
                await client.delete(f"/v1/models/{name}")
            text = (await client.get("/metrics")).text
            assert 'conquer_answers_total{model="m",outcome="learnt",reason=""} 1.0' in text
            assert 'conquer_choices_total{model="m",query="duel"} 1.0' in text

    run(go())


def _owned(pid: int, remote: str) -> bool:
    """Whether the process still has a socket open to that port of this machine."""
    lines = Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]
    return any(remote in line.split(None, 3)[2] + " " and line.split()[9] != "0" for line in lines)


def test_who_asks_and_never_reads_is_cut_off(start):
    """A log of ten megabytes to somebody who reads none of it: the connection does not stay for ever."""
    server = start()
    httpx.post(f"{server.address}/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 64}})
    text = "word " * 38_000
    rounds = [{"items": [{"id": name, "text": f"{text}{k}"} for name in "abcde"]} for k in range(12)]
    for part in (rounds[:6], rounds[6:]):
        httpx.post(f"{server.address}/v1/models/m/choose/batch", json={"rounds": part}).raise_for_status()
    whole = len(httpx.get(f"{server.address}/v1/models/m/log").content)
    assert server.stop() == 0
    # The short time is for the one who does not read; megabytes would not arrive within it on a busy machine.
    server = start(port=server.port, read_seconds=1.0)
    with socket.socket() as idle:
        idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        idle.connect(("127.0.0.1", server.port))
        idle.sendall(b"GET /v1/models/m/log HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        # Something of the reply is there: the server has begun to send, and finds nobody who takes the rest.
        assert idle.recv(1, socket.MSG_PEEK)
        port = f":{idle.getsockname()[1]:04X} "
        while _owned(server.pid, port):
            time.sleep(0.02)
        read = 0
        with contextlib.suppress(ConnectionResetError):
            while part := idle.recv(1 << 20):
                read += len(part)
        assert read < whole
    assert httpx.get(f"{server.address}/readyz").status_code == 200


def test_a_wrong_clock_makes_no_young_row_old(local):
    """A machine that boots in 1970 writes a row or two; retention then ends before them, not after."""

    async def go():
        app = local()
        now = [100 * 86400.0]
        app.server.engine.clock = lambda: now[0]
        async with app.running() as client:
            await client.post("/v1/models", json=MADE)
            for k in range(12):
                now[0] = 0.0 if k in (8, 9) else (40 + 10 * (k > 3)) * 86400.0
                await client.post("/v1/models/m/choose", json={"items": items(random.Random(k)), "event_id": f"e{k}"})
            now[0] = 75 * 86400.0
            loop = asyncio.get_running_loop()
            assert await loop.run_in_executor(None, prune_all, app.server.engine, 30.0, 1) == 4
            assert (await client.get("/v1/models/m/events/e4")).status_code == 200
            assert (await client.get("/v1/models/m/events/e3")).json()["error"]["code"] == "pruned"

    run(go())


@pytest.mark.parametrize("name", [".", ".."])
def test_ids_that_lead_elsewhere_are_refused(local, name):
    async def go():
        async with local().running() as client:
            await client.post("/v1/models", json=MADE)
            body = {"items": items(random.Random(0)), "event_id": name}
            assert (await client.post("/v1/models/m/choose", json=body)).status_code == 422
            body["event_id"] = f"{name}x"
            assert (await client.post("/v1/models/m/choose", json=body)).status_code == 200

    run(go())
