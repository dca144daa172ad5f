"""Items with several parts over HTTP: the same choices as a session's, shown in questions, kept in exports."""

import csv
import io
import json

import numpy as np
import pytest

from conquer.features.featurizer import Featurizer
from conquer.registry import make
from conquer.session import Session

TEXTS = ["good green tea", "stale dust", "iron pot", "blue mug"]
rng = np.random.default_rng(3)
ITEMS = [
    {
        "id": f"i{k}",
        "text": text,
        "vector": rng.normal(size=4).round(3).tolist(),
        "features": {"price": k + 0.5, "brand": "xy"[k % 2]},
        "label": f"Label {k}",
        "meta": {"author": "ann", "year": 2000 + k, "tags": ["a", "b"], "none": None},
        "format": "markdown",
        "image": f"/pictures/{k}.png",
    }
    for k, text in enumerate(TEXTS)
]
SHOWN = {"label", "meta", "format", "image"}


def only(*parts):
    return [{name: item[name] for name in ("id", *parts)} for item in ITEMS]


async def play(client, items, name="m", rounds=12, context=None, **settings):
    """What was shown in some rounds, the first of the two winning each."""
    made = await client.post("/v1/models", json={"name": name, "algorithm": "gnr", "believe": None, **settings})
    assert made.status_code == 201, made.text
    shown = []
    for _ in range(rounds):
        reply = await client.post(f"/v1/models/{name}/choose", json={"items": items, "context": context})
        assert reply.status_code == 200, reply.text
        offer = reply.json()
        shown.append([one["id"] for one in offer["shown"]])
        answer = {"winner": shown[-1][0], "voter": "ann"}
        await client.post(f"/v1/models/{name}/events/{offer['event_id']}/answer", json=answer)
    return shown


CASES = {
    "vector": (("text", "vector"), {"dim": 4}, None),
    "vector alone": (("text", "vector", "features"), {"dim": 4, "learn": ["vector"]}, None),
    "vector and features": (("text", "vector", "features"), {"dim": 64}, None),
    "text": (("text", "vector"), {"dim": 64, "learn": ["text"]}, None),
    "text and features": (("text", "features"), {"dim": 64}, None),
    "context": (("text", "vector"), {"dim": 64}, [0.5, 1.0]),
    "matching": (("text", "vector"), {"dim": 8, "products": "matching"}, {"text": "q", "vector": [1.0, 0.5, 0, 2.0]}),
}


@pytest.mark.parametrize("case", CASES)
async def test_the_service_and_a_session_agree(local, case):
    """Also with labels and meta, which change nothing, and when everything is read back from the log."""
    parts, features, context = CASES[case]
    app = local()
    async with app.running() as client:
        shown = await play(client, only(*parts, *SHOWN), rounds=20, context=context, features=features)
        app.server.engine.models.clear()
        await client.get("/v1/models/m")
        weights = app.server.engine.models["m"].learner.learner.model.weights()
    # Without settings, vectors alone are learnt as they are by both.
    learn = {"learn": tuple(features["learn"])} if "learn" in features else {}
    unset = not learn and "products" not in features
    featurizer = None if unset or case == "vector alone" else Featurizer(**{**features, **learn})
    items = only("vector") if case == "vector alone" else only(*parts)
    session = Session(make("gnr", dim=features["dim"]), featurizer=featurizer, seed=0)
    for expected in shown:
        whole = [{name: value for name, value in item.items() if name != "id"} for item in items]
        if case == "vector alone":
            whole = [item["vector"] for item in items]
        offer = session.ask(whole, context, ids=[item["id"] for item in items])
        assert list(offer.shown) == expected
        session.tell(offer.id, expected[0], voter="ann")
    assert np.array_equal(session.learner.model.weights(), weights)


async def test_what_cannot_be_learnt_is_one_plain_line(local):
    rounds = {
        "expected text or features or vector": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}],
        "the same parts of all items are learnt, vector of the first; 'b' has text": [
            {"id": "a", "vector": [1.0]},
            {"id": "b", "text": "x"},
        ],
        "dim must exceed 4, got 4": only("vector", "features"),
        "path beginning with one slash": [{"id": "a", "text": "x", "image": "//evil.example/x.png"}],
        "1000000000000000.0": [{"id": "a", "text": "x", "vector": [1e300]}],
        "length <= 500": [{"id": "a", "text": "x", "label": "x" * 501}],
    }
    contexts = {"room for a text, got 'user'": {"vector": [1.0], "user": "a"}, "'x' must be a text": {"x": [1.0]}}
    async with local().running() as client:
        await client.post("/v1/models", json={"name": "m", "algorithm": "gnr", "features": {"dim": 4}})
        for message, items in rounds.items():
            reply = await client.post("/v1/models/m/choose", json={"items": items})
            assert (reply.status_code, message in reply.json()["error"]["message"]) == (422, True), reply.text
        for message, context in contexts.items():
            reply = await client.post("/v1/models/m/choose", json={"items": only("text"), "context": context})
            assert (reply.status_code, message in reply.json()["error"]["message"]) == (422, True), reply.text
        reply = await client.post("/v1/models", json={"name": "n", "features": {"learn": ["text", "vector"]}})
        assert (reply.status_code, "not both" in reply.text) == (422, True)
        told = (await client.get("/v1/models/m")).json()["summary"]
        assert told["rounds"] == 0


async def test_exports_hold_texts_labels_meta_and_images(local):
    async with local().running() as client:
        context = {"text": "for two", "vector": [1.0]}
        await play(client, only("text", "vector", *SHOWN), rounds=3, context=context, features={"dim": 64})
        read = {form: (await client.get(f"/v1/models/m/log?format={form}")).text for form in ("preferences", "csv")}
        preferences = [json.loads(line) for line in read["preferences"].splitlines()]
        latest = (await client.get("/v1/models/m/latest")).json()["rows"]
        ledger = (await client.get("/v1/models/m/log?format=ledger")).content
        await client.post("/v1/models", json={"name": "again", "algorithm": "gnr", "features": {"dim": 64}})
        replayed = (await client.post("/v1/models/again/log", content=ledger)).json()
        erased = await client.post("/v1/models/m/erase", json={"voter": "ann"})
        left = (await client.get("/v1/models/m/log")).text
    table = list(csv.DictReader(io.StringIO(read["csv"])))
    by_text = {item["text"]: item for item in ITEMS}
    for one in preferences:
        assert one["prompt"] == "for two"
        for role in ("chosen", "rejected"):
            item = by_text[one[role]]
            assert all(one[f"{role}_{name}"] == item[name] for name in ("label", "meta", "image"))
    for row in table:
        assert row["context"] == "for two"
        for role in ("first", "second"):
            item = by_text[row[role]]
            assert (row[f"{role}_label"], row[f"{role}_image"]) == (item["label"], item["image"])
            assert json.loads(row[f"{role}_meta"]) == item["meta"]
    assert latest[0]["context"] == "for two"
    assert {one["label"] for one in latest[0]["items"]} <= {item["label"] for item in ITEMS}
    assert (len(preferences), len(table), replayed["learnt"]) == (3, 3, 3)
    assert erased.status_code == 200
    assert "ann" not in left.replace('"author":"ann"', "")


async def test_plain_items_export_what_they_did(local):
    async with local().running() as client:
        await play(client, only("text"), rounds=1, features={"dim": 64})
        exported = (await client.get("/v1/models/m/log?format=preferences")).json()
        assert not {f"{role}_{name}" for role in ("chosen", "rejected") for name in SHOWN} & {*exported}


async def test_a_pool_shows_everything_and_learns_its_part(local):
    async with local().running() as client:
        await client.post("/v1/models", json={"name": "m", "algorithm": "gnr", "format": "code"})
        lines = "\n".join(map(json.dumps, only("text", "vector", *SHOWN)))
        reply = (await client.post("/v1/models/m/items", content=lines.encode())).json()
        question = (await client.post("/v1/models/m/next", json={"voter": "ann"})).json()
        task = (await client.get("/v1/models/m/task")).json()
    assert (reply["items"], reply.get("unused"), reply.get("features")) == (4, None, None)
    assert {*reply["shown"]} == SHOWN
    by_id = {item["id"]: item for item in only("text", "vector", *SHOWN)}
    assert len(question["items"]) == 2
    assert all(item == by_id[item["id"]] for item in question["items"])
    assert task["format"] == "code"
