"""An undo leaves the weights in the log as they were given, and a model that never had the answer."""

import json

from .conftest import run
from .test_voters import answered, same, weights


def test_an_undo_gives_the_model_of_a_ledger_without_the_answer(local):
    async def go():
        app = local()
        async with app.running() as client:
            await answered(client, 100)
            log = (await client.get("/v1/models/m/log")).text
            rows = [json.loads(line) for line in log.splitlines()]
            gone = [row for row in rows if row["kind"] == "answer" and row.get("voter") == "lefty"][2]
            path = f"/v1/models/m/events/{gone['event_id']}/undo"
            assert (await client.post(path, json={"voter": "lefty"})).json()["reason"] == "undone"
            await client.get("/v1/models/m/voters")
            assert weights((await client.get("/v1/models/m/log")).text) == weights(log)
            ledger = (await client.get("/v1/models/m/log?format=ledger")).content
            body = {"name": "n", "algorithm": "gnr", "model": "full", "features": {"dim": 5}}
            await client.post("/v1/models", json=body)
            assert (await client.post("/v1/models/n/log", content=ledger)).status_code == 200
            place = [row["position"] for row in rows if row["kind"] == "answer"].index(gone["position"])
            old, new = weights(log), weights((await client.get("/v1/models/n/log")).text)
            del old[place]
            assert old[:place] == new[:place]
            assert old[place:] != new[place:]
            assert same(*(app.server.engine.models[name].learner.learner.arrays() for name in "mn"))

    run(go())
