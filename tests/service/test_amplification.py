"""Little that becomes much: short requests with long results, and replies that nobody reads, are refused in time."""

import json

from conquer.service.http.metrics import Meters
from conquer.service.http.schemas import AnswerReply

from .conftest import run

RANK = "/personalizer/v1.0/rank"
MADE = {"name": "m", "algorithm": "gnr", "features": {"dim": 4}}


def test_names_are_counted_as_they_are_spelt_out(local):
    """A long key over a list stands in the name of each of its values, also where none of them is a feature."""
    key = "k" * 300
    bodies = {
        "long": {"actions": [{"id": "a", "features": [{key: [1] * 100}]}]},
        "empty": {"actions": [{"id": "a", "features": [{key: [None] * 100}]}]},
        "spread": {"actions": [{"id": f"a{k}", "features": [{key: [1] * 4}]} for k in range(20)]},
        "context": {"actions": [{"id": "a"}], "contextFeatures": [{key: [[]] * 100}]},
    }
    fair = {"actions": [{"id": "a", "features": [{key: [1] * 20}]}, {"id": "b"}]}

    async def go() -> None:
        async with local(body_bytes=10_000).running() as client:
            for name, body in bodies.items():
                assert len(json.dumps(body)) < 10_000, name
                reply = await client.post(RANK, json=body)
                assert (reply.status_code, "spelt out" in reply.text) == (422, True), (name, reply.text)
            assert (await client.post(RANK, json=fair)).status_code == 201

    run(go())


def test_features_are_counted_as_they_are_made(local):
    """Too many short ones are refused before a row is made of them, of an action and of the context."""
    many = [{"": [1] * 340_000}]

    async def go() -> None:
        async with local().running() as client:
            for body in (
                {"actions": [{"id": "a", "features": many}, {"id": "b"}]},
                {"actions": [{"id": "a"}, {"id": "b"}], "contextFeatures": many},
            ):
                reply = await client.post(RANK, content=json.dumps(body, separators=(",", ":")))
                assert reply.status_code == 422, reply.text
                assert "20000 features, spelt out" in reply.text

    run(go())


def test_answers_of_a_batch_that_may_have_been_learnt_are_counted_so():
    meters = Meters()
    errors = [{"error": {"code": code, "message": "", "status": status}} for code, status in (("a", 504), ("b", 409))]
    meters.answered_batch("m", [AnswerReply("learnt", "e"), *errors])
    text = meters.text(lambda model: True).decode()
    for outcome, reason in (("learnt", ""), ("indeterminate", "a"), ("refused", "b")):
        assert f'conquer_answers_total{{model="m",outcome="{outcome}",reason="{reason}"}} 1.0' in text
