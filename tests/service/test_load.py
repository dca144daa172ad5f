"""The benchmark's load generator talks to a real server."""

import asyncio

import httpx

from conquer.bench import steady
from conquer.bench.load import batches, pairs
from conquer.bench.service import table


def test_pairs_and_batches_are_counted(start):
    server = start()
    httpx.post(f"{server.address}/v1/models", json={"name": "bench-8", "algorithm": "gnr", "features": {"dim": 8}})
    one = asyncio.run(pairs(server.port, 0.3, 4, 8, 0))
    many = asyncio.run(batches(server.port, 0.3, 2, 8, 20))
    answers = httpx.get(f"{server.address}/v1/models/bench-8").json()["summary"]["answers"]
    assert answers["learnt"] >= 4 + 2 * 20
    for result in (one, many):
        result["server_cpu"] = 0.5
        assert result["pairs_per_second"] > 0
        assert 0 < result["p50_ms"] <= result["p99_ms"]
    assert len(table({"results": {"one": one, "many": many}}).splitlines()) == 3


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
