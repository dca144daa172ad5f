"""The benchmark's load generator talks to a real server."""

import asyncio

import httpx
import pytest

from conquer.bench import cluster, servers, service, steady
from conquer.bench.load import batches, echoes, pairs, rounds


def test_pairs_and_batches_are_counted(start):
    server = start()
    httpx.post(f"{server.address}/v1/models", json={"name": "bench-8", "algorithm": "gnr", "features": {"dim": 8}})
    one = asyncio.run(pairs(server.port, 0.3, 4, 8, 0))
    many = asyncio.run(batches(server.port, 0.3, 2, 8, 20))
    long = asyncio.run(rounds(server.port, 0.3, 10, 8))
    found = httpx.get(f"{server.address}/v1/models/bench-8").json()["summary"]
    assert found["answers"]["learnt"] == one["done"] + many["done"] >= 4 + 2 * 20
    assert found["rounds"] == found["answers"]["learnt"] + long["done"]
    for result in (one, many, long):
        assert result["pairs_per_second"] > 0
        assert 0 < result["p50_ms"] <= result["p99_ms"]


def test_the_service_is_measured_beside_an_echo(tmp_path):
    with servers.running(tmp_path) as server, servers.echoing(tmp_path) as echo:
        bare = asyncio.run(echoes(echo[0], 0.2, 4, 32))
        results, ratios = service._beside_echo(server, echo, 0.2, 1)
    assert bare["done"] > 0
    assert 900 <= bare["body_bytes"] <= 1200
    assert list(ratios) == [name for name in results if not name.startswith("echo")]
    pairs_, requests = (results[name]["pairs_per_second"] for name in (*list(ratios)[:1], next(iter(results))))
    assert ratios["pairs, 1 KB bodies"].median == pairs_ / (requests / 2)
    goals = service.goal_rows([service.Goal("pairs", ratios["pairs, 1 KB bodies"], 0.55, 0.7, True)])
    lines = service.table({"results": results, "goals": goals, "notes": ["a note"]}).splitlines()
    assert len(lines) == 1 + 3 + 1 + 1


@pytest.mark.skipif(cluster.programs() is None, reason="needs PostgreSQL's server programs")
def test_one_server_and_two_share_a_postgresql():
    with service._shared_store() as (first, second):
        steady.make_model(first[0], 32)
        steady.ask(first[0], "/v1/models", {"name": "other", "algorithm": "gnr", "features": {"dim": 32}})
        for pair in ((first, first), (first, second)):
            both = service._together(*pair, 0.3)
            assert both["done"] >= 2 * 16
        learnt = [
            steady.ask(second[0], f"/v1/models/{name}")["summary"]["answers"]["learnt"]
            for name in ("bench-32", "other")
        ]
    assert all(one >= 2 * 16 for one in learnt)


def test_a_log_grown_by_hand_is_one_that_the_server_goes_on_with(tmp_path):
    with steady.crowded(tmp_path, None, 3, 1000) as (port, process):
        found = steady.ask(port, "/v1/models/bench-32")
        assert found["position"] == 1000
        turn = steady.measure(port, process, 0.3)
        assert steady.ask(port, "/v1/models/bench-32")["position"] >= 1002
        assert [one["name"] for one in steady.ask(port, "/v1/models")["models"]] == ["bench-32", "other-1", "other-2"]
    assert all(value > 0 for value in turn.values())
    lines = steady.table({"3 models": {"old": [turn, turn], "new": [turn, turn]}}).splitlines()
    assert [line.split()[2] for line in lines[1:]] == ["old", "new", "new", "old"]
