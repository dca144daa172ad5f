"""Several servers on one PostgreSQL store: one order of rows for all, bit-identical weights, one of them killed."""

import asyncio
import contextlib
import random

import httpx
import numpy as np
import pytest

from conquer.files import unpack
from conquer.service.store.database import Database
from conquer.service.store.schema import metadata

from . import cluster
from .folds import loaded, rows_of, slow_fold
from .test_crashes import Diary

pytestmark = pytest.mark.skipif(cluster.programs() is None, reason="needs PostgreSQL's server programs")


@pytest.fixture
def store(postgres):
    """The module's cluster with nothing in it."""
    database = Database(postgres, create=True)
    with contextlib.closing(database), database.writing() as connection:
        for table in metadata.sorted_tables:
            if table.name not in ("secrets", "version"):
                connection.execute(table.delete())
    return postgres


async def client_of(servers, diary: Diary, count: int, undo: float) -> None:
    """Ask on one server, answer on another, now and then undo on a third; a dead server is not asked again."""
    async with httpx.AsyncClient(timeout=60) as client:

        async def post(path, body):
            while True:
                server = diary.rng.choice(servers)
                try:
                    return await client.post(f"{server.address}/v1/models/m/{path}", json=body)
                except httpx.TransportError:
                    if server.alive:
                        raise

        for _ in range(count):
            event, items = diary.next()
            reply = await post("choose", {"items": items, "event_id": event})
            assert reply.status_code == 200, reply.text
            winner = reply.json()["shown"][0]["id"]
            reply = await post(f"events/{event}/answer", {"winner": winner})
            assert reply.status_code == 200, reply.text
            assert reply.json()["status"] in ("learnt", "repeat")
            diary.answers[event] = winner
            diary.tick()
            if diary.rng.random() < undo:
                await post(f"events/{event}/undo", {})
                del diary.answers[event]


async def drive(servers, diary: Diary) -> None:
    diary.left, diary.enough = 60, asyncio.Event()
    clients = [asyncio.create_task(client_of(servers, diary, 30, 0.05)) for _ in range(6)]
    await diary.enough.wait()
    servers[1].kill()
    await asyncio.gather(*clients)


def weights_of(server) -> dict[str, np.ndarray]:
    _, arrays = unpack(httpx.get(f"{server.address}/v1/models/m/file").content)
    return arrays


def test_three_servers_one_killed_converge_bit_for_bit(start, store):
    servers = [start(store=store, snapshot_every=25) for _ in range(3)]
    made = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
    assert httpx.post(f"{servers[0].address}/v1/models", json=made).status_code == 201
    diary = Diary(random.Random(3))
    asyncio.run(drive(servers, diary))
    one, two = weights_of(servers[0]), weights_of(servers[2])
    assert one.keys() == two.keys()
    for name in one:
        assert np.array_equal(one[name], two[name]), name
    _, rows = rows_of(store, "m")
    undone = {row.body.undone for row in rows if row.kind == "correction"}
    standing = {row.event: row.body.winner for row in rows if row.kind == "answer" and row.position not in undone}
    assert standing == diary.answers
    assert np.array_equal(slow_fold(store, "m"), loaded(store, "m"))
    again = start(store=store)
    three = weights_of(again)
    for name in one:
        assert np.array_equal(one[name], three[name]), name


def test_erasing_on_one_server_reaches_the_other(start, store):
    servers = [start(store=store, snapshot_every=5) for _ in range(2)]
    made = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}
    httpx.post(f"{servers[0].address}/v1/models", json=made)
    diary = Diary(random.Random(4))
    for turn in range(20):
        event, items = diary.next()
        address = f"{servers[turn % 2].address}/v1/models/m"
        offer = httpx.post(f"{address}/choose", json={"items": items, "event_id": event}).json()
        body = {"winner": offer["shown"][0]["id"], "voter": "ann" if turn % 3 else "bob"}
        assert httpx.post(f"{address}/events/{event}/answer", json=body).status_code == 200
    gone = httpx.post(f"{servers[0].address}/v1/models/m/erase", json={"voter": "bob"}).json()
    assert gone == {"rows": 7}
    one, two = (weights_of(server) for server in servers)
    for name in one:
        assert np.array_equal(one[name], two[name])
    ids, weights = one["model.ids"], one["model.weights"]
    assert np.array_equal(slow_fold(store, "m")[ids], weights)
    assert httpx.delete(f"{servers[1].address}/v1/models/m").status_code == 204
    assert httpx.get(f"{servers[0].address}/v1/models/m").status_code == 404


def test_features_fitted_on_one_server_reach_the_other(start, store):
    servers = [start(store=store) for _ in range(2)]
    made = {"name": "m", "algorithm": "gnr", "features": {"dim": 64, "kind": "tfidf"}}
    httpx.post(f"{servers[0].address}/v1/models", json=made)
    items = [{"id": name, "text": f"word {name} and more"} for name in "abc"]
    for server in servers:
        early = httpx.post(f"{server.address}/v1/models/m/choose", json={"items": items})
        assert early.json()["error"]["code"] == "unfitted"
    lines = "\n".join(f'{{"id":"i{k}","text":"word{k} word"}}' for k in range(8))
    httpx.post(f"{servers[0].address}/v1/models/m/items", content=lines.encode()).raise_for_status()
    for turn in range(6):
        address = f"{servers[(turn + 1) % 2].address}/v1/models/m"
        offer = httpx.post(f"{address}/choose", json={"items": items}).json()
        body = {"winner": offer["shown"][0]["id"]}
        httpx.post(f"{address}/events/{offer['event_id']}/answer", json=body).raise_for_status()
    one, two = (weights_of(server) for server in servers)
    assert one.keys() == two.keys()
    assert "featurizer.idf" in one
    for name in one:
        assert np.array_equal(one[name], two[name])
    lists = [httpx.get(f"{server.address}/v1/models").json() for server in servers]
    assert lists[0] == lists[1]


def test_leases_hold_across_servers(start, store):
    servers = [start(store=store) for _ in range(2)]
    httpx.post(f"{servers[0].address}/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 64}})
    lines = "\n".join(f'{{"id":"i{k}","text":"word{k}"}}' for k in range(8))
    httpx.post(f"{servers[0].address}/v1/models/m/items", content=lines.encode())
    shown = []
    for k in range(4):
        reply = httpx.post(f"{servers[k % 2].address}/v1/models/m/next", json={"voter": f"v{k}"}).json()
        shown += [one["id"] for one in reply["event"]["shown"]]
    assert sorted(shown) == [f"i{k}" for k in range(8)]
