"""Whom to believe over HTTP: the session's weights, logged, shown, and computed anew without an erased voter."""

import json

import numpy as np
import pytest

from conquer.registry import make
from conquer.service.model import pick_learner, pick_settings
from conquer.service.work import boards
from conquer.session import Session

NAMES = ["ash", "birch", "cedar", "elm", "fir"]
ITEMS = [{"id": name, "vector": [float(name == other) for other in NAMES]} for name in NAMES]
VOTERS = ["ann", "bob", "lefty", "cy", None]


def same(one, two):
    return one.keys() == two.keys() and all(np.array_equal(one[key], two[key]) for key in one)


async def answered(client, rounds, **settings):
    """Everyone picks the alphabetically first, but lefty the left; returns (offers, winners)."""
    body = {"name": "m", "algorithm": "gnr", "model": "full", "features": {"dim": 5}, **settings}
    made = await client.post("/v1/models", json=body)
    assert made.status_code == 201, made.text
    said = []
    for k in range(rounds):
        voter = VOTERS[k % 5]
        offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS})).json()
        shown = [one["id"] for one in offer["shown"]]
        winner = offer["left"] if voter == "lefty" else min(shown)
        kind = "judge" if voter == "cy" else "person"
        answer = {"winner": winner, "kind": kind, **({} if voter is None else {"voter": voter})}
        reply = await client.post(f"/v1/models/m/events/{offer['event_id']}/answer", json=answer)
        assert reply.json()["status"] == "learnt", reply.text
        said.append((shown, winner, voter, kind))
    return said


@pytest.mark.parametrize("believe", ["voters", "people", None])
@pytest.mark.parametrize("model", ["full", "diagonal"])
async def test_http_is_the_session_with_voters_weighed_or_not(local, believe, model):
    app = local()
    async with app.running() as client:
        said = await answered(client, 60, believe=believe, model=model)
        held = app.server.engine.models["m"].learner.learner.arrays()
        app.server.engine.models.clear()
        await client.get("/v1/models/m")
        said, live, state = said, held, app.server.engine.models["m"].learner.learner.arrays()
    assert same(live, state)
    session = Session(make("gnr", dim=5, model=model, **({} if believe is None else {"believe": believe})), seed=0)
    for shown, winner, voter, kind in said:
        offer = session.ask(np.eye(5), ids=NAMES)
        assert list(offer.shown) == shown
        session.tell(offer.id, winner, voter=voter, kind=kind)
    assert same(session.learner.arrays(), live)


async def test_new_models_weigh_voters_where_they_can(local):
    app = local()
    async with app.running() as client:
        found = {}
        for name, settings in {
            "plain": {},
            "off": {"believe": None},
            "single": {"algorithm": "confidit"},
            "rival": {"algorithm": "vacdb"},
        }.items():
            await client.post("/v1/models", json={"name": name, "features": {"dim": 8}, **settings})
            found[name] = (await client.get(f"/v1/models/{name}")).json()["settings"].get("believe")
        assert found == {"plain": "voters", "off": None, "single": None, "rival": None}
        assert (await client.get("/v1/models/off/voters")).json()["error"]["code"] == "no_voters"


async def test_voters_are_shown_and_the_doubtful_flagged(local):
    app = local()
    async with app.running() as client:
        await answered(client, 200)
        told = (await client.get("/v1/models/m/voters")).json()
        by_name = {one["name"]: one for one in told["voters"]}
        assert [one["name"] for one in told["voters"]] == ["ann", "bob", "lefty", "cy"]
        assert by_name["lefty"]["doubtful"] is True
        assert by_name["lefty"]["left"] == 1.0
        assert by_name["ann"]["doubtful"] is False
        assert by_name["lefty"]["weight"] < by_name["ann"]["weight"]
        assert by_name["cy"]["kind"] == "judge"
        anonymous = {"winner": "ash", "kind": "judge"}
        offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS})).json()
        answer = f"/v1/models/m/events/{offer['event_id']}/answer"
        assert (await client.post(answer, json={**anonymous, "winner": offer["left"]})).status_code == 422


def weights(text):
    rows = [json.loads(line) for line in text.splitlines()]
    return [row["body"].get("weight") for row in rows if row["kind"] in ("answer", "vote")]


async def test_erasing_a_voter_weighs_everyone_anew(local):
    """The same as a store fed the same rows without theirs."""
    app = local()
    async with app.running() as client:
        await answered(client, 100)
        votes = b"left,right,winner,voter\nash,elm,left,bob\nfir,elm,left,lefty\nash,fir,left,bob\nelm,ash,tie,cy\n"
        await client.post("/v1/models/m/items", content="\n".join(map(json.dumps, ITEMS)).encode())
        assert (await client.post("/v1/models/m/votes", content=votes)).json()["learnt"] == 4
        ledger = (await client.get("/v1/models/m/log?format=ledger")).text.splitlines()
        rows = [json.loads(line) for line in ledger]
        kept = [line for line, row in zip(ledger, rows, strict=True) if row.get("voter") != "lefty"]
        body = {"name": "n", "algorithm": "gnr", "model": "full", "features": {"dim": 5}}
        await client.post("/v1/models", json=body)
        fed = await client.post("/v1/models/n/log", content="\n".join(kept).encode())
        assert fed.status_code == 200, fed.text
        gone = (await client.post("/v1/models/m/erase", json={"voter": "lefty"})).json()
        assert gone == {"rows": 21}
        await client.get("/v1/models/m/voters")
        one, two = (app.server.engine.models[name].learner.learner.arrays() for name in "mn")
        assert same(one, two)
        assert "lefty" not in (await client.get("/v1/models/m/voters")).text
        app.server.engine.models.clear()
        await client.get("/v1/models/m")
        assert same(app.server.engine.models["m"].learner.learner.arrays(), two)


@pytest.mark.parametrize("model", ["diagonal", "full"])
async def test_voters_of_every_kind_of_model_are_told(local, model):
    """A diagonal model, the default, cannot say what judges were worth: null, and the model stays where it is."""
    app = local()
    async with app.running() as client:
        await answered(client, 10, model=model)
        held = app.server.engine.models["m"]
        reply = await client.get("/v1/models/m/voters")
        assert reply.status_code == 200, reply.text
        assert (reply.json()["worth"] is None) == (model == "diagonal")
        assert app.server.engine.models["m"] is held


async def test_names_beyond_the_most_share_the_side_of_all(local, monkeypatch):
    """Their answers count in full; neither the table nor what a board copies grows with them."""
    monkeypatch.setattr(pick_learner, "MOST_VOTERS", 3)
    app = local()
    async with app.running() as client:
        await answered(client, 20)
        assert [one["name"] for one in (await client.get("/v1/models/m/voters")).json()["voters"]] == VOTERS[:3]
        rows = [json.loads(line) for line in (await client.get("/v1/models/m/log")).text.splitlines()]
        assert {row["body"]["weight"] for row in rows if row["kind"] == "answer" and row.get("voter") == "cy"} == {1.0}
        state = app.server.engine.models["m"]
        live = state.learner
        copy = boards.copied_learner(live)()
        assert not any(name.startswith(("voters", "half")) for name in copy.learner.arrays())
        one, two = (learner.learner.board(np.eye(5)) for learner in (live, copy))
        assert np.array_equal(one.low, two.low)
        app.server.engine.models.clear()
        await client.get("/v1/models/m")
        assert same(live.learner.arrays(), app.server.engine.models["m"].learner.learner.arrays())


def test_the_largest_full_model_has_a_board():
    columns = pick_settings._LARGEST_SQUARE + 1 + 64
    assert 2 * 8 * columns**2 + 100 * columns < boards._LARGEST
