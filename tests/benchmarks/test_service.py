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


def test_another_app_takes_the_place_of_the_plain_peer(tmp_path):
    code = "import sys\nfrom fastapi import FastAPI\napp = FastAPI()\n"
    code += "@app.get('/store')\ndef store() -> str:\n    return sys.argv[1]\n"
    (tmp_path / "other.py").write_text(code)
    with peer(tmp_path, tmp_path / "other.py") as place:
        assert ask(place.port, "/store") == str(tmp_path / "peer.db")


def test_the_targets_compare_turn_by_turn():
    rates = {
        "plain peer": [100, 50],
        "pairs, SQLite": [500, 300],
        "batches of 100, SQLite": [3000, 2000],
        "100 models": [90, 110],
        "fresh beside 100 models": [100, 100],
    }
    found = {name: [{"pairs_per_second": value} for value in values] for name, values in rates.items()}
    found["750 pairs a second, SQLite"] = [{"p99_ms": 5.0}, {"p99_ms": 7.0}]
    found["replay"] = [{"rows_per_second": 30_000}, {"rows_per_second": 10_000}]
    reached = {goal.what.partition(" / ")[0]: goal.ratio.median for goal in service.goals(found)}
    assert reached == {
        "pairs, SQLite": pytest.approx(5.5),
        "batches of 100, SQLite": pytest.approx(35.0),
        "100 models": pytest.approx(1.0),
        "750 pairs a second, SQLite, p99 in ms": pytest.approx(6.0),
        "replay, rows a second": pytest.approx(20_000),
    }


def test_growth_and_replay_are_measured(tmp_path):
    size = service.Size(0.3, 1, (3,), (500,), 500)
    found = service._growth(size, tmp_path)
    assert set(found) == {"3 models", "fresh beside 3 models", "500 rows", "fresh beside 500 rows"}
    (row,) = service._replay(size, tmp_path / "replay")
    assert row["rows"] >= 500
    assert row["rows_per_second"] > 0
