"""What one request may hold of the engine's thread: no board, no round beyond its cost, no turn without an end."""

import json
import threading

import pytest

from conquer.learners.conquer import Conquer
from conquer.service.engine import engine as engines
from conquer.service.engine.loading import load
from conquer.service.engine.turn import Turn
from conquer.service.model.pick_learner import PickLearner
from conquer.service.store.log import headers

from .engines import replace, soon
from .test_rows import MADE, play

POOL = b"\n".join(json.dumps({"id": f"i{k}", "vector": [k, 1, 0, 0]}).encode() for k in range(6))
FULL = {"name": "m", "algorithm": "gnr", "model": "full", "features": {"dim": 4}}


@pytest.fixture
def over(monkeypatch):
    """Every turn is over as soon as it has begun."""
    monkeypatch.setattr(Turn, "is_over", property(lambda turn: True))


async def test_no_board_is_worked_out_in_the_engines_thread(local, monkeypatch):
    threads, board = [], Conquer.board

    def noted(self, *given, **more):
        threads.append(threading.current_thread().name)
        return board(self, *given, **more)

    monkeypatch.setattr(Conquer, "board", noted)
    async with local().running() as client:
        await client.post("/v1/models", json=FULL)
        await client.post("/v1/models/m/items", content=POOL)
        assert (await client.get("/v1/models/m/board")).status_code == 200
        await client.post("/v1/models", json={**FULL, "name": "d", "model": "diagonal"})
        refused = await client.get("/v1/models/d/board")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no_board")
    assert threads
    assert not [name for name in threads if name.startswith("conquer-engine")]


async def test_ranking_and_pools_have_the_cost_of_choosing(local, monkeypatch):
    """Items that choose refuses are refused before anything is scored."""
    app = local(operations=50)
    async with app.running() as client:
        await client.post("/v1/models", json={**FULL, "algorithm": "gnc"})
        await client.post("/v1/models/m/items", content=POOL)

        def never(*given):
            raise AssertionError("it was scored")

        for name in ("choose", "choose_many", "scored"):
            monkeypatch.setattr(PickLearner, name, never)
        items = {"items": [json.loads(line) for line in POOL.splitlines()]}
        for path, body in (("choose", items), ("rank", items), ("next", {"voter": "ann"})):
            reply = await client.post(f"/v1/models/m/{path}", json=body)
            assert (reply.status_code, reply.json()["error"]["code"]) == (422, "too_costly"), path


async def test_a_round_of_a_pool_has_no_more_products_than_one_that_is_sent(local, monkeypatch):
    context = {f"c{k}": 1.0 for k in range(1100)}
    features = [{"id": name, "features": {f"f{k}": 1.0 for k in range(200)}} for name in "abcde"]
    async with local().running() as client:
        await client.post("/v1/models", json={"name": "m", "algorithm": "gnr"})
        group = {"items": features, "context": context}
        assert (await client.post("/v1/models/m/items", content=json.dumps(group).encode())).status_code == 200
        sent = await client.post("/v1/models/m/choose", json=group)
        drawn = await client.post("/v1/models/m/next", json={"voter": "ann"})
        assert (sent.status_code, drawn.status_code) == (422, 422)
        assert "expected at most 1000000" in drawn.json()["error"]["message"]


async def test_draws_from_a_pool_end_with_their_turn(local, over):
    app = local()
    async with app.running() as client:
        await client.post("/v1/models", json={**FULL, "algorithm": "gnc", "parameters": {"eta": 1e-12}})
        await client.post("/v1/models/m/items", content=POOL)
        for _ in range(6):
            before = (await client.get("/v1/models/m")).json()["position"]
            found = (await client.post("/v1/models/m/next", json={"voter": "ann"})).json()
            assert (await client.get("/v1/models/m")).json()["position"] - before <= 1
            if found["event"] is None:
                return
            body = {"winner": found["event"]["left"], "voter": "ann"}
            await client.post(f"/v1/models/m/events/{found['event']['event_id']}/answer", json=body)
        pytest.fail("every draw had a question")


async def test_a_ledger_is_written_turn_by_turn(local, over):
    async with local().running() as client:
        await client.post("/v1/models", json=MADE)
        await play(client, 5)
        ledger = (await client.get("/v1/models/m/log?format=ledger")).content
        await client.post("/v1/models", json={**MADE, "name": "n"})
        commits = (await client.get("/metrics")).text
        reply = await client.post("/v1/models/n/log", content=ledger)
        after = (await client.get("/metrics")).text
        assert (reply.status_code, reply.json()["rounds"], reply.json()["learnt"]) == (200, 5, 5)
        assert commits_in(after) - commits_in(commits) >= 10


def commits_in(text):
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith("conquer_commits "))


async def test_rows_of_another_server_are_replayed_for_a_moment_then_beside_the_engine(local, monkeypatch):
    """The model goes on from where the batch's time was up."""
    app = local(snapshot_every=10**6)
    async with app.running() as client:
        await client.post("/v1/models", json=MADE)
        engine = app.server.engine
        with app.server.database.reading() as connection:
            early = load(connection, headers(connection, ["m"])["m"], engine.build)
        await play(client, 30)
        late, steps, catch_up = engine.models["m"], [], engines.catch_up

        def slowly(*given):
            steps.append(given[-1])
            catch_up(*given)
            monkeypatch.setattr(engines, "_SLICE", 0.0)

        monkeypatch.setattr(engines, "catch_up", slowly)
        await replace(engine, "m", early)
        assert (await soon(client.get("/v1/models/m"))).json()["position"] == 60
        assert steps[0] == engines._STEP < 60
        assert engine.models["m"].dumps() == late.dumps()
