"""A thousand embeddings in one choose: within the limits of a body, of cells and of memory, alone and in a batch."""

import json

import numpy as np
import pytest

from conquer.registry import make
from conquer.service.commands.reading import Reader
from conquer.service.http.schemas import FeatureSettings
from conquer.service.settings import Limits
from conquer.session import Session

from .conftest import run

COUNT, WIDTH = 1000, 384


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """Unit vectors with all their digits, as embeddings come."""
    X = np.random.default_rng(1).normal(size=(COUNT, WIDTH))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def body(vectors) -> bytes:
    items = [{"id": f"i{k}", "vector": row, "text": f"text {k}"} for k, row in enumerate(vectors.tolist())]
    return json.dumps({"items": items}).encode()


@pytest.mark.parametrize("model", [None, "full"])
def test_a_thousand_embeddings_are_one_round(local, vectors, body, model):
    """The same two as a session shows, learnt from, and kept in the log."""
    assert 8 << 20 < len(body) < Limits().round_bytes

    async def go():
        async with local().running() as client:
            made = {"name": "m", "algorithm": "gnr", "model": model, "features": {"dim": WIDTH}, "believe": None}
            assert (await client.post("/v1/models", json=made)).status_code == 201
            shown = []
            for _ in range(3):
                reply = await client.post("/v1/models/m/choose", content=body)
                assert reply.status_code == 200, reply.text
                offer = reply.json()
                shown.append([one["id"] for one in offer["shown"]])
                answer = {"winner": shown[-1][1], "voter": "ann"}
                told = await client.post(f"/v1/models/m/events/{offer['event_id']}/answer", json=answer)
                assert told.json()["status"] == "learnt"
            ranked = await client.post("/v1/models/m/rank", content=body)
            batch = await client.post("/v1/models/m/choose/batch", content=b'{"rounds":[' + body + b"]}")
            exported = (await client.get("/v1/models/m/log?format=preferences")).text
            return shown, ranked, batch, exported

    shown, ranked, batch, exported = run(go())
    session = Session(make("gnr", dim=WIDTH, **({} if model is None else {"model": model})), seed=0)
    for expected in shown:
        offer = session.ask(vectors, ids=[f"i{k}" for k in range(COUNT)])
        assert list(offer.shown) == expected
        session.tell(offer.id, expected[1])
    assert len(ranked.json()["items"]) == COUNT
    assert batch.json()["results"][0]["shown"]
    assert [json.loads(line)["chosen"] for line in exported.splitlines()] == [f"text {one[1][1:]}" for one in shown]


def test_they_also_fit_with_a_context_vector_of_their_own_kind(vectors, body):
    """Matching products are as many numbers more; all products are refused before there is room made for them."""
    items = json.dumps(json.loads(body)["items"]).encode()
    context = json.dumps(vectors[0].tolist()).encode()
    reader = Reader(FeatureSettings(dim=2 * WIDTH, products="matching"), Limits())
    assert reader.read(items, context, Limits().cells).rows.dense().shape == (COUNT, 2 * WIDTH)
    with pytest.raises(Exception, match="147456000 products, expected at most 1000000"):
        Reader(FeatureSettings(dim=1 << 18), Limits()).read(items, context, Limits().cells)
