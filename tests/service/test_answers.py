"""What may be said to an event over HTTP: ids of its items and three words; all else is refused and not stored."""

import pytest

from .conftest import run

ITEMS = [{"id": name, "vector": [float(name == other) for other in "abcd"]} for name in "abcd"]
WORDS = ("first", "second", "left", "right", "yes", "no", "1", "0.5", "")


def conversation(local, work, **settings):
    async def go():
        async with local().running() as client:
            made = await client.post("/v1/models", json={"name": "m", "features": {"dim": 4}, **settings})
            assert made.status_code == 201, made.text
            await work(client)

    run(go())


async def choose(client, items=ITEMS):
    reply = await client.post("/v1/models/m/choose", json={"items": items})
    assert reply.status_code == 200, reply.text
    return reply.json()


async def tell(client, offer, winner, **more):
    return await client.post(f"/v1/models/m/events/{offer['event_id']}/answer", json={"winner": winner, **more})


@pytest.mark.parametrize(
    "settings",
    [
        {"algorithm": "gnr"},
        {"algorithm": "confidit"},
        {"algorithm": "rank-breaking", "parameters": {"show": 3}},
        {"algorithm": "ucb-mnl", "parameters": {"show": 3}},
    ],
    ids=lambda settings: settings["algorithm"],
)
def test_a_sessions_words_are_no_winners(local, settings):
    async def work(client):
        offer = await choose(client)
        for word in WORDS:
            reply = await tell(client, offer, word)
            assert (reply.status_code, reply.json()["error"]["code"]) == (422, "invalid"), word
        assert (await client.get("/v1/models/m")).json()["position"] == 1
        assert (await tell(client, offer, offer["shown"][-1]["id"])).json()["status"] == "learnt"

    conversation(local, work, **settings)


def test_a_word_that_is_an_items_id_names_the_item(local):
    async def work(client):
        items = [{"id": name, "vector": [float(name == other) for other in WORDS[:4]]} for name in WORDS[:4]]
        for _ in range(8):
            offer = await choose(client, items)
            shown = [one["id"] for one in offer["shown"]]
            for other in {*WORDS[:4]} - set(shown):
                assert (await tell(client, offer, other)).status_code == 422
            assert (await tell(client, offer, shown[1])).json()["status"] == "learnt"
            info = (await client.get(f"/v1/models/m/events/{offer['event_id']}")).json()
            assert [one["winner"] for one in info["answers"]] == [shown[1]]
        summary = (await client.get("/v1/models/m")).json()["summary"]
        assert summary["first_preferred"] == 0.0

    conversation(local, work, algorithm="gnr")


def test_of_one_item_any_other_of_the_round_means_no_and_strength_means_nothing(local):
    async def work(client):
        offer = await choose(client)
        shown = offer["shown"][0]["id"]
        assert (await tell(client, offer, shown, strength=0.5)).status_code == 422
        assert (await tell(client, offer, "tie")).status_code == 422
        other = next(name for name in "abcd" if name != shown)
        assert (await tell(client, offer, other)).json()["status"] == "learnt"
        assert (await client.get("/v1/models/m")).json()["summary"]["first_preferred"] == 0.0

    conversation(local, work, algorithm="confidit")


def test_of_three_there_is_no_tie(local):
    async def work(client):
        offer = await choose(client)
        reply = await tell(client, offer, "tie")
        assert reply.status_code == 422
        assert "tie" not in reply.json()["error"]["message"].partition(", got")[0]
        assert (await tell(client, offer, "skip")).json() == {
            "status": "ignored",
            "event_id": offer["event_id"],
            "reason": "skip",
        }

    conversation(local, work, algorithm="rank-breaking", parameters={"show": 3})
