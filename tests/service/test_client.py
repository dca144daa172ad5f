"""The Python client against a running server: every call, every refusal, and a network that fails half of the time."""

import asyncio

import httpx
import pytest

from conquer.client import Client, Receipt, ServiceError

ITEMS = [{"id": "a", "vector": [1.0, 0.0]}, {"id": "b", "vector": [0.0, 1.0]}]


class Flaky(httpx.HTTPTransport):
    """Sends everything to the server, and loses requests before it and replies after it, in turn."""

    calls = 0

    def handle_request(self, request):
        self.calls += 1
        if self.calls % 3 == 1:
            raise httpx.ConnectError("lost on the way there")
        reply = super().handle_request(request)
        if self.calls % 3 == 2:
            reply.read()
            reply.close()
            raise httpx.ReadError("lost on the way back")
        return reply


def test_a_model_from_its_making_to_its_end(start):
    with Client(start().address) as client:
        assert client.create("teas", "gnr", features={"dim": 2})["name"] == "teas"
        assert client.log("teas") == ""
        question = client.ask("teas", ITEMS, event_id="one", voter="ann")
        assert question.query == "duel"
        assert question.asks
        assert sorted(question.shown) == ["a", "b"]
        assert question.left in question.shown
        assert client.ask("teas", ITEMS, event_id="one", voter="ann") == question
        assert client.tell("teas", "one", "a", voter="ann", seconds=1.5).status == "learnt"
        assert client.tell("teas", "one", "a", voter="ann", seconds=1.5).status == "repeat"
        assert client.get("teas")["summary"]["answers"]["learnt"] == 1
        with pytest.raises(ServiceError, match="409 answered") as refused:
            client.tell("teas", "one", "b", voter="ann")
        assert (refused.value.status, refused.value.code) == (409, "answered")
        client.delete("teas")
        with pytest.raises(ServiceError, match="404 unknown_model"):
            client.get("teas")


def test_many_at_once_each_standing_for_itself(start):
    with Client(start().address) as client:
        client.create("teas", "gnr", features={"dim": 2})
        first, second, refused = client.ask_batch(
            "teas", [{"items": ITEMS, "event_id": "one"}, {"items": ITEMS}, {"items": []}]
        )
        assert first.id == "one"
        assert len(second.id) == 32
        assert isinstance(refused, ServiceError)
        assert (refused.status, refused.code) == (422, "invalid")
        told = client.tell_batch(
            "teas", [{"event_id": "one", "winner": "a"}, {"event_id": second.id, "winner": "skip"}]
        )
        assert told == [Receipt("learnt"), Receipt("ignored", "skip")]
        assert [one["name"] for one in client.models()] == ["teas"]
        assert client.log("teas", format="csv").count("\n") == 3
        assert isinstance(client.get("teas", "file"), bytes)


def test_votes_make_a_board_and_people_are_asked(start):
    votes = "left,right,winner,voter\nblue,red,left,ann\nred,green,tie,bob\ngreen,blue,right,ann\n"
    with Client(start().address) as client:
        client.create("mugs", "gnr", model="full", features={"dim": 64})
        assert client.votes("mugs", votes)["learnt"] == 3
        assert client.votes("mugs", votes.encode())["repeated"] == 3
        board = client.board("mugs", interval="fixed", limit=1, stop=None)
        assert [one["id"] for one in board["items"]] == ["blue"]
        assert board["stop"] is None
        assert [one["name"] for one in client.voters("mugs")["voters"]] == ["ann", "bob"]
        with pytest.raises(ServiceError, match="409 no_group: groups must name a feature of every item"):
            client.board("mugs", groups="brand")
        assert {one["id"]: one["count"] for one in client.board("mugs", groups="id")["items"]} == dict.fromkeys(
            ("blue", "red", "green"), 1
        )
        client.create("teas")
        assert client.upload("teas", "id,text\nx,green tea\ny,black tea\n")["items"] == 2
        question = client.next("teas", "ann")
        assert client.next("teas", "ann")["event"] == question["event"]
        event = question["event"]
        assert client.tell("teas", event["event_id"], event["left"], voter="gpt", kind="judge").status == "learnt"


def test_an_answer_is_taken_back_and_a_picture_added(start):
    with Client(start().address) as client:
        client.create("teas", "gnr", features={"dim": 2})
        question = client.ask("teas", ITEMS)
        client.tell("teas", question, question.shown[0], voter="ann")
        assert client.undo("teas", question.id, voter="ann").reason == "undone"
        with pytest.raises(ServiceError, match="409 not_answered"):
            client.undo("teas", question.id)
        picture = client.image("teas", b"GIF89a", file="dot.gif")
        assert client.image("teas", b"GIF89a") == picture == "610f5ae4d76e332636a17bd357fd6ce9.gif"
        assert client.ask("teas", [{**item, "image": picture} for item in ITEMS]).shown


def test_a_flaky_network_asks_and_learns_once(start):
    server = start()
    with Client(server.address) as client:
        client.create("teas", "gnr", features={"dim": 2})
    with Client(server.address, retries=8) as client:
        client._http = httpx.Client(transport=Flaky(), base_url=client.address)
        for _ in range(6):
            question = client.ask("teas", ITEMS)
            assert client.tell("teas", question.id, question.shown[0]).status in ("learnt", "repeat")
        summary = client.get("teas")["summary"]
    assert summary["answers"]["learnt"] == 6
    assert summary["rounds"] == 6


def test_what_may_not_be_repeated_is_sent_once(start):
    with Client(start().address, retries=8) as client:
        flaky = Flaky()
        client._http = httpx.Client(transport=flaky, base_url=client.address)
        with pytest.raises(httpx.ConnectError):
            client.create("teas")
        assert flaky.calls == 1


@pytest.mark.parametrize(("status", "sent"), [(429, 3), (502, 1), (503, 3), (504, 1)])
def test_a_call_that_may_not_be_repeated_goes_again_only_where_nothing_has_happened(status, sent):
    asked = []
    answers = httpx.MockTransport(lambda request: asked.append(request) or httpx.Response(status, text="<h1>no</h1>"))
    with Client("http://shop.example", retries=2) as client:
        client._http = httpx.Client(transport=answers, base_url=client.address)
        with pytest.raises(ServiceError, match=f"{status} unknown: <h1>no"):
            client.create("teas")
        assert len(asked) == sent
        with pytest.raises(ServiceError):
            client.get("teas")
        assert len(asked) == sent + 3


def test_an_asynchronous_program_calls_it_in_threads(start):
    async def answered(client):
        question = await asyncio.to_thread(client.ask, "teas", ITEMS)
        return await asyncio.to_thread(client.tell, "teas", question, question.shown[0], strength=0.5)

    async def play(client):
        return await asyncio.gather(*(answered(client) for _ in range(20)))

    with Client(start().address) as client:
        client.create("teas", "gnr", features={"dim": 2})
        assert {receipt.status for receipt in asyncio.run(play(client))} == {"learnt"}
        assert client.get("teas")["summary"]["answers"]["learnt"] == 20


def test_settings_are_checked():
    with pytest.raises(ValueError, match="retries"):
        Client("http://127.0.0.1:1", retries=-1)
    with pytest.raises(ValueError, match="timeout"):
        Client("http://127.0.0.1:1", timeout=0)
