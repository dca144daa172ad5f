"""Features that need a corpus: fitted once by an upload or in a file, part of the fold, refused when unfitted."""

import json
import threading

import numpy as np
import pytest

import conquer
from conquer.data.votes import read_votes
from conquer.features.featurizer import Featurizer
from conquer.files import pack, unpack
from conquer.service import admin
from conquer.service.errors import Kind, RefusalError
from conquer.service.store import snapshots
from conquer.service.work import pool

from .folds import rows_of, sqlite

TEXTS = ["good tea", "bad tea", "good leaf", "old leaf tea", "tea and tea", "a good pot"]
LINES = b"\n".join(json.dumps({"id": f"i{k}", "text": text}).encode() for k, text in enumerate(TEXTS))
ITEMS = [{"id": f"i{k}", "text": text} for k, text in enumerate(TEXTS)]
MADE = {"name": "m", "algorithm": "gnr", "believe": None}


async def some_answers(client, count: int) -> None:
    for _ in range(count):
        question = (await client.post("/v1/models/m/next", json={"voter": "ann"})).json()
        path = f"/v1/models/m/events/{question['event']['event_id']}/answer"
        assert (await client.post(path, json={"winner": question["event"]["left"], "voter": "ann"})).status_code == 200


@pytest.mark.parametrize("features", [{"kind": "tfidf"}, {"kind": "idf"}, {"kind": "tfidf", "columns": "vocabulary"}])
async def test_fitted_by_the_first_upload_and_folded_to_the_same_bits(local, tmp_path, features):
    features = {"dim": 256, **features}
    app = local(snapshot_every=7)
    async with app.running() as client:
        assert (await client.post("/v1/models", json={**MADE, "features": features})).status_code == 201
        early = await client.post("/v1/models/m/choose", json={"items": ITEMS})
        assert (early.status_code, early.json()["error"]["code"]) == (409, "unfitted")
        assert (await client.post("/v1/models/m/items", content=LINES)).status_code == 200
        await some_answers(client, 12)
        more = b'{"id":"x","text":"never seen"}\n{"id":"y","text":"good tea"}'
        assert (await client.post("/v1/models/m/items", content=more)).status_code == 200
        await some_answers(client, 4)
        served = app.server.engine.models["m"].learner
        app.server.engine.models.clear()
        await client.get("/v1/models/m")
        again = app.server.engine.models["m"].learner
        assert again is not served
        assert np.array_equal(again.learner.model.weights(), served.learner.model.weights())
        weights = again.learner.model.weights()
    # By hand: the library's own featurizer, fitted to the first upload, and every answer in order.
    by_hand = Featurizer(columns=features.get("columns", "hashing"), dim=256, kind=features["kind"]).fit(TEXTS)
    learner = conquer.make("gnr", dim=256)
    offers = {}
    for row in rows_of(sqlite(tmp_path), "m")[1]:
        if row.kind == "choose":
            offers[row.event] = row.body
        elif row.kind == "answer":
            body = offers[row.event]
            rows = by_hand([item["text"] for item in json.loads(bytes(body.items))])
            choice = conquer.Choice(tuple(body.shown), conquer.Query(body.query), body.ticket, body.memo)
            learner.learn(rows, choice, row.body.value)
    assert np.array_equal(weights, learner.model.weights())


@pytest.mark.parametrize("kind", ["tfidf", "idf"])
async def test_a_ledger_trains_another_model_fitted_to_the_same_items(local, tmp_path, kind):
    features = {"dim": 256, "kind": kind}
    app = local()
    async with app.running() as client:
        for name in ("m", "n", "o"):
            await client.post("/v1/models", json={**MADE, "name": name, "features": features})
        for name in ("m", "n"):
            await client.post(f"/v1/models/{name}/items", content=LINES)
        await some_answers(client, 6)
        ledger = (await client.get("/v1/models/m/log?format=ledger")).content
        (tmp_path / "ledger").write_bytes(ledger)
        assert (await client.post("/v1/models/n/log", content=ledger)).json()["learnt"] == 6
        assert (await client.post("/v1/models/n/log", content=ledger)).json()["error"]["code"] == "not_fresh"
        assert (await client.post("/v1/models/o/log", content=ledger)).json()["error"]["code"] == "unfitted"
        one, two = (app.server.engine.models[name].learner.learner.model.weights() for name in ("m", "n"))
        assert np.array_equal(one, two)
    fresh = f"sqlite:///{tmp_path}/fresh.db"
    with pytest.raises(ValueError, match="upload the same items"):
        admin.replay(tmp_path / "ledger", name="again", store=fresh)


@pytest.mark.parametrize("kind", ["answered", "fitted", "ids"])
async def test_a_saved_session_is_served_with_its_featurizer(local, tmp_path, kind):
    if kind == "answered":
        fitted = Featurizer(dim=256, kind="tfidf").fit(TEXTS)
        session = conquer.Session(conquer.make("ttg", dim=256), featurizer=fitted)
        for k in range(6):
            session.tell(session.ask(TEXTS).id, "first" if k % 2 else "second")
    elif kind == "fitted":
        session = conquer.fit([(*TEXTS[:2], 1), (*TEXTS[1:3], 1)], content="texts", dim=64)
    else:
        session = conquer.fit([("tea", "mug", "tea"), ("mug", "pot", "mug")])
    conquer.save(session, tmp_path / "file")
    async with local().running() as client:
        reply = await client.put("/v1/models/m/file", content=(tmp_path / "file").read_bytes())
        assert reply.status_code == 201, reply.text
        assert (reply.json()["settings"]["features"].get("kind") == "tfidf") == (kind == "answered")
        if kind != "ids":
            offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS})).json()
            assert offer["scores"] == session.learner.scores(session.featurizer(TEXTS)).tolist()
            file = (await client.get("/v1/models/m/file")).content
            assert (await client.put("/v1/models/n/file", content=file)).status_code == 201
            again = (await client.post("/v1/models/n/choose", json={"items": ITEMS})).json()
            assert again["scores"] == offer["scores"]


async def test_what_cannot_be_fitted_is_refused_and_changes_nothing(local):
    async with local().running() as client:
        for bad in ({"ngrams": [3, 1]}, {"kind": "tf"}, {"columns": "words"}):
            assert (await client.post("/v1/models", json={**MADE, "features": bad})).status_code == 422
        await client.post("/v1/models", json={**MADE, "features": {"dim": 64, "kind": "tfidf"}})
        vectors = b'{"id":"a","vector":[1,2]}\n{"id":"b","vector":[3,4]}'
        assert (await client.post("/v1/models/m/items", content=vectors)).status_code == 422
        assert (await client.get("/v1/models/m/task")).json()["items"] == 0
        items = [{"id": "a", "vector": [1.0]}, {"id": "b", "vector": [2.0]}]
        assert (await client.post("/v1/models/m/choose", json={"items": items})).status_code == 200
        assert (await client.post("/v1/models/m/items", content=LINES)).json()["error"]["code"] == "not_fresh"
        assert (await client.get("/v1/models/m/task")).json()["items"] == 0


async def test_what_a_fit_stores_is_made_apart_and_written_in_pieces(local, monkeypatch):
    """Compressing a large model takes seconds: the engine's thread writes a piece in a turn, and compresses none."""
    turns, threads = [], []
    write, pack_up = pool._write_piece, snapshots.pieces
    monkeypatch.setattr(snapshots, "_PIECE", 100)
    monkeypatch.setattr(pool, "_write_piece", lambda turn, *a, **b: turns.append(turn) or write(turn, *a, **b))
    monkeypatch.setattr(
        snapshots, "pieces", lambda data: threads.append(threading.current_thread().name) or pack_up(data)
    )
    app = local()
    async with app.running() as client:
        await client.post("/v1/models", json={**MADE, "features": {"dim": 256, "kind": "tfidf"}})
        engine = await app.server.engine.call("m", lambda turn: threading.current_thread().name)
        assert (await client.post("/v1/models/m/items", content=LINES)).status_code == 200
        assert len(set(map(id, turns))) == len(turns) > 5
        assert threads
        assert engine not in threads
        offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS})).json()
        await some_answers(client, 3)
        app.server.engine.models.clear()
        assert (await client.get("/v1/models/m")).json()["position"] == 8
        event = (await client.get(f"/v1/models/m/events/{offer['event_id']}")).json()["event"]
        assert event["scores"] == offer["scores"]


@pytest.mark.parametrize("what", ["breaks off", "erasure"])
async def test_an_upload_that_did_not_fit_leaves_a_model_that_can_be_fitted(local, monkeypatch, what):
    monkeypatch.setattr(snapshots, "_PIECE", 100)
    write, count = pool._write_piece, 0

    def interrupted(turn, *given, **more):
        nonlocal count
        count += 1
        if count == 4 and what == "breaks off":
            raise RefusalError(Kind.UNAVAILABLE, "stopping", "the server is stopping")
        write(turn, *given, **more)
        if count == 4:
            snapshots.drop(turn.connection, turn.state.id, 0, 0)

    monkeypatch.setattr(pool, "_write_piece", interrupted)
    app = local()
    async with app.running() as client:
        await client.post("/v1/models", json={**MADE, "features": {"dim": 256, "kind": "tfidf"}})
        refused = await client.post("/v1/models/m/items", content=LINES)
        assert refused.json()["error"]["code"] == ("stopping" if what == "breaks off" else "uploaded")
        assert (await client.get("/v1/models/m")).json()["position"] == 0
        app.server.engine.models.clear()
        early = await client.post("/v1/models/m/choose", json={"items": ITEMS})
        assert early.json()["error"]["code"] == "unfitted"
        assert (await client.post("/v1/models/m/items", content=LINES)).status_code == 200
        app.server.engine.models.clear()
        await some_answers(client, 3)


async def test_an_imported_file_brings_no_names_and_no_counts(local):
    async with local().running() as client:
        await client.post("/v1/models", json=MADE)
        await client.post("/v1/models/m/items", content=LINES)
        await some_answers(client, 3)
        file = (await client.get("/v1/models/m/file")).content
        found = (await client.put("/v1/models/n/file", content=file)).json()["summary"]
        # Its log is empty: it counts its own answers.
        assert found["answers"]["learnt"] == 0
        assert found["voters"] == {}
        wrong = ({"task": "parse"}, {"algorithm": "gnc"}, {"features": {"dim": 99}}, {"seed": -1})
        for change in wrong:
            header, arrays = unpack(file)
            header["extra"]["service"]["settings"].update(change)
            reply = await client.put("/v1/models/o/file", content=pack(header, arrays))
            assert reply.status_code == 422, (change, reply.text)
        assert (await client.get("/v1/models")).status_code == 200


async def test_what_the_service_exports_can_be_fitted(local, tmp_path, monkeypatch):
    """With the service's features and penalty, and each vote weighed once, as it came."""
    monkeypatch.setattr("conquer.fitting.revision.REVISIONS", 0)
    async with local().running() as client:
        made = {"name": "m", "algorithm": "gnr", "features": {"dim": 64}}
        await client.post("/v1/models", json=made)
        for k, said in enumerate([0, 1, 0, "tie", "skip", "both_bad", 1, 0]):
            offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS[:3], "voter": f"v{k % 2}"})).json()
            winner = said if isinstance(said, str) else offer["shown"][said]["id"]
            path = f"/v1/models/m/events/{offer['event_id']}/answer"
            assert (await client.post(path, json={"winner": winner, "voter": f"v{k % 2}"})).status_code == 200
        ledger = (await client.get("/v1/models/m/log?format=ledger")).text
        pairs = (await client.get("/v1/models/m/log?format=preferences")).text
        model = (await client.get("/v1/models/m/file")).content
        ledger, pairs, model = ledger, pairs, model
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
    alike = {"model": "diagonal", "featurizer": Featurizer(dim=64), "lam": 1.0, "believe": "voters"}
    fitted = conquer.fit(tmp_path / "ledger", **alike)
    expected = conquer.load(tmp_path / "model")
    assert np.array_equal(fitted.learner.model.weights(), expected.model.weights())
