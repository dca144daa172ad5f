"""Boards of groups over HTTP: the library's own means, for pools and rounds, and what they refuse."""

import json

import pytest

from conquer import Session, make
from conquer.service.work import boards

from .test_boards import serving

BRANDS = {"ash": "north", "birch": "south", "cedar": "north", "elm": "south", "fir": "east"}
ITEMS = [
    {"id": name, "features": {"brand": brand, "size": float(k), "own": k == 2}}
    for k, (name, brand) in enumerate(BRANDS.items())
]
SETTINGS = {"features": {"dim": 256}}


def better(first, second):
    """The brand decides, then the name."""
    order = ["east", "north", "south"]
    return min(first, second, key=lambda name: (order.index(BRANDS[name]), name))


async def answered(client, session, count):
    """The same rounds and answers over HTTP and in a session."""
    asked = {item["id"]: item["features"] for item in ITEMS}
    for _ in range(count):
        offer = (await client.post("/v1/models/m/choose", json={"items": ITEMS})).json()
        shown = [one["id"] for one in offer["shown"]]
        winner = better(*shown)
        await client.post(f"/v1/models/m/events/{offer['event_id']}/answer", json={"winner": winner})
        mine = session.ask(asked)
        assert list(mine.shown) == shown
        session.tell(mine.id, winner)
    return asked


@pytest.mark.parametrize("model", ["full", "kernel"])
async def test_the_board_of_groups_is_the_sessions(local, model):
    async with serving(local, model=model, **SETTINGS) as (client, _server):
        session = Session(make("gnr", dim=256, model=model))
        asked = await answered(client, session, 60)
        for interval in ("proved", "fixed"):
            told = (await client.get(f"/v1/models/m/board?groups=brand&interval={interval}&delta=0.1&stop=0.5")).json()
            board = session.board(asked, groups=BRANDS, interval=interval, delta=0.1)
            assert [one["id"] for one in told["items"]] == [board.names[k] for k in board.order]
            for rank, (one, k) in enumerate(zip(told["items"], board.order, strict=True), 1):
                assert (one["score"], one["low"], one["high"]) == (board.scores[k], board.low[k], board.high[k])
                assert (one["better"], one["best"], one["rank"]) == (board.better[k].sum(), k in board.best, rank)
                assert one["count"] == list(BRANDS.values()).count(one["id"])
            assert told["pairs"] == [int(board.better.sum()), 3]
            assert told["mean"] == board.scores.mean()
            assert told["stop"]["text"] == board.stop(0.5).text
            assert told["groups"] == "brand"
        alone = (await client.get("/v1/models/m/board")).json()
        assert (len(alone["items"]), alone["groups"], alone["items"][0]["count"]) == (5, None, None)
        # Numbers and booleans name groups as they stood in the request.
        sizes = (await client.get("/v1/models/m/board?groups=size&limit=5")).json()["items"]
        assert sorted(one["id"] for one in sizes) == ["0", "1", "2", "3", "4"]
        owned = (await client.get("/v1/models/m/board?groups=own")).json()["items"]
        assert {one["id"]: one["count"] for one in owned} == {"true": 1, "false": 4}


async def test_a_pool_may_be_larger_than_a_board_of_items(local, monkeypatch):
    monkeypatch.setattr(boards, "MOST", 4)
    async with serving(local, **SETTINGS) as (client, _server):
        lines = "\n".join(json.dumps(item) for item in ITEMS)
        assert (await client.post("/v1/models/m/items", content=lines.encode())).json()["items"] == 5
        refused = (await client.get("/v1/models/m/board")).json()["error"]
        assert refused["code"] == "too_many_items"
        told = (await client.get("/v1/models/m/board?groups=brand")).json()
        assert {one["id"]: one["count"] for one in told["items"]} == {"north": 2, "south": 2, "east": 1}
        assert all(one["low"] is None for one in told["items"])
        refused = (await client.get("/v1/models/m/board?groups=size")).json()["error"]
        assert refused == {"code": "too_many_items", "message": "a board has at most 4 groups, 'size' has 5 values"}


async def test_a_kernel_model_compares_all_items_first(local, monkeypatch):
    monkeypatch.setattr(boards, "MOST", 4)
    async with serving(local, model="kernel", **SETTINGS) as (client, _server):
        await client.post("/v1/models/m/items", content=json.dumps(ITEMS).encode())
        refused = await client.get("/v1/models/m/board?groups=brand")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "too_many_items")


async def test_what_has_no_group_is_named(local):
    async with serving(local, **SETTINGS) as (client, _server):
        items = [*ITEMS, {"id": "oak", "features": {"brand": " ", "size": 1.0}}]
        await client.post("/v1/models/m/choose", json={"items": items})
        for feature, lacking in (("brand", "oak"), ("colour", "ash")):
            reply = await client.get(f"/v1/models/m/board?groups={feature}")
            assert reply.status_code == 409
            assert reply.json()["error"] == {
                "code": "no_group",
                "message": f"groups must name a feature of every item, '{lacking}' has no '{feature}'",
            }
        assert (await client.get("/v1/models/m/board?groups=")).status_code == 422
        assert (await client.get(f"/v1/models/m/board?groups={'x' * 201}")).status_code == 422
