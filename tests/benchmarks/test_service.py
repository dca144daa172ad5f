"""The load generator talks to real servers."""

import asyncio

import pytest

from benchmarks import service
from benchmarks.load import batches, pairs
from benchmarks.servers import ask, make_model, peer, running


def test_pairs_and_batches_are_counted(tmp_path):
    with running(tmp_path) as (port, _):
        make_model(port, 8)
        one = asyncio.run(pairs(port, 0.3, 4, 8, 0))
        many = asyncio.run(batches(port, 0.3, 2, 8, 20))
        found = ask(port, "/v1/models/bench-8")["summary"]
    assert found["answers"]["learnt"] == found["rounds"] == one["done"] + many["done"] >= 4 + 2 * 20
    for result in (one, many):
        assert 0 < result["p50_ms"] <= result["p99_ms"]


def test_the_plain_peer_answers_the_same_load(tmp_path):
    with peer(tmp_path) as place:
        assert service.pairs(place, 0.3)["done"] >= 32


def test_the_targets_compare_turn_by_turn():
    rates = {"plain peer": [100, 50], "pairs, SQLite": [500, 300], "batches of 100, SQLite": [3000, 2000]}
    found = {name: [{"pairs_per_second": value} for value in values] for name, values in rates.items()}
    assert [goal.ratio.median for goal in service.goals(found)] == [pytest.approx(5.5), pytest.approx(35.0)]


def test_a_server_continues_a_log_grown_by_hand(tmp_path):
    with running(tmp_path) as (port, _):
        make_model(port, service.WIDTH)
        service._answer(port, "bench-32")
    service.grow(tmp_path / "bench.db", 1000)
    with running(tmp_path) as server:
        assert ask(server[0], "/v1/models/bench-32")["position"] == 1000
        service.pairs(server, 0.3)
        assert ask(server[0], "/v1/models/bench-32")["position"] >= 1002
