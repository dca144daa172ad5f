"""Fitted sessions go into the service, and what comes out of it can be fitted."""

import numpy as np

import conquer
from conquer.data.votes import read_votes

from .conftest import run

TEXTS = {"a": "green leaf tea", "b": "a blue mug", "c": "an old iron pot"}
ITEMS = [{"id": name, "text": text} for name, text in TEXTS.items()]


def test_a_fitted_session_is_served(local, tmp_path):
    texts = conquer.fit([(TEXTS["a"], TEXTS["b"], 1), (TEXTS["b"], TEXTS["c"], 1)], content="texts", dim=64)
    ids = conquer.fit([("tea", "mug", "tea"), ("mug", "pot", "mug")])
    conquer.save(texts, tmp_path / "texts")
    conquer.save(ids, tmp_path / "ids")

    async def go():
        async with local().running() as client:
            reply = await client.put("/v1/models/m/file", content=(tmp_path / "texts").read_bytes())
            assert reply.status_code == 201, reply.text
            offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS})).json()
            assert offer["scores"] == texts.learner.scores(texts.featurizer(list(TEXTS.values()))).tolist()
            reply = await client.put("/v1/models/n/file", content=(tmp_path / "ids").read_bytes())
            assert reply.status_code == 201, reply.text

    run(go())


def test_what_the_service_exports_can_be_fitted(local, tmp_path):
    async def go():
        async with local().running() as client:
            made = {"name": "m", "algorithm": "gnr", "features": {"dim": 64}}
            await client.post("/v1/models", json=made)
            for k, said in enumerate([0, 1, 0, "tie", "skip", "both_bad", 1, 0]):
                offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS, "voter": f"v{k % 2}"})).json()
                winner = said if isinstance(said, str) else offer["shown"][said]["id"]
                path = f"/v1/models/m/events/{offer['event_id']}/answer"
                assert (await client.post(path, json={"winner": winner, "voter": f"v{k % 2}"})).status_code == 200
            ledger = (await client.get("/v1/models/m/log?format=ledger")).text
            pairs = (await client.get("/v1/models/m/log?format=preferences")).text
            model = (await client.get("/v1/models/m/file")).content
            return ledger, pairs, model

    ledger, pairs, model = run(go())
    (tmp_path / "ledger").write_text(ledger)
    (tmp_path / "pairs").write_text(pairs)
    (tmp_path / "model").write_bytes(model)
    reading = read_votes(tmp_path / "ledger")
    votes = list(reading)
    assert (reading.content, len(votes), reading.tally.ties) == ("texts", 6, 1)
    assert (reading.tally.skips, reading.tally.both_bad) == (1, 1)
    assert {vote.voter for vote in votes} == {"v0", "v1"}
    preferences = read_votes(tmp_path / "pairs")
    assert len(list(preferences)) == 5
    fitted = conquer.fit(tmp_path / "ledger", model="diagonal", dim=64, believe="voters")
    expected = conquer.load(tmp_path / "model")
    assert np.array_equal(fitted.learner.model.weights(), expected.model.weights())
