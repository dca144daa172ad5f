"""A pool comes to an end: no pair returns to a person, a quota is met exactly, and what was taken back comes again."""

import asyncio
import itertools
import json

from conquer.service.work import pair_coverage

from .conftest import run

WORDS = ["ash", "birch", "cedar", "elm", "fir", "hazel", "larch"]


def conversation(local, work, count=7, **settings):
    async def go():
        app = local()
        async with app.running() as client:
            body = {"name": "m", "algorithm": "gnr", "features": {"dim": 64}, **settings}
            assert (await client.post("/v1/models", json=body)).status_code == 201
            lines = "\n".join(json.dumps({"id": word, "text": f"{word} tree"}) for word in WORDS[:count])
            assert (await client.post("/v1/models/m/items", content=lines.encode())).status_code == 200
            return await work(client, app.server)

    return run(go())


async def ask(client, voter):
    reply = await client.post("/v1/models/m/next", json={"voter": voter})
    assert reply.status_code == 200, reply.text
    return reply.json()


async def tell(client, question, voter, winner=None):
    event = question["event"]["event_id"]
    body = {"winner": winner or min(pair(question)), "voter": voter}
    reply = await client.post(f"/v1/models/m/events/{event}/answer", json=body)
    assert reply.status_code == 200, reply.text
    return event


def pair(question):
    return frozenset(one["id"] for one in question["event"]["shown"])


EVERY = set(map(frozenset, itertools.combinations(WORDS, 2)))


def test_a_person_meets_every_pair_once_and_then_it_is_over(local):
    async def work(client, _server):
        seen = []
        while (question := await ask(client, "ann"))["event"] is not None:
            seen.append(pair(question))
            await tell(client, question, "ann", "skip" if len(seen) % 5 == 0 else None)
        assert len(seen) == 21
        assert set(seen) == EVERY
        assert (question["done"], question["reason"]) == (True, "you have answered about every pair")
        assert (await ask(client, "bob"))["event"] is not None

    conversation(local, work)


def test_seven_items_with_three_answers_a_pair_take_63_answers(local):
    async def work(client, _server):
        votes = dict.fromkeys(EVERY, 0)
        going = ["ann", "bob", "cy", "di"]
        asked = {voter: [] for voter in going}
        while going:
            for voter in list(going):
                question = await ask(client, voter)
                if question["event"] is None:
                    assert question["done"]
                    going.remove(voter)
                    continue
                asked[voter].append(pair(question))
                votes[pair(question)] += 1
                await tell(client, question, voter)
        assert set(votes.values()) == {3}
        assert all(len(set(pairs)) == len(pairs) for pairs in asked.values())
        last = await ask(client, "eve")
        assert (last["done"], last["reason"]) == (True, "every pair has its 3 answers")

    conversation(local, work, quota=3)


def test_what_was_skipped_or_taken_back_does_not_count(local):
    async def work(client, _server):
        first = await tell(client, await ask(client, "ann"), "ann", "skip")
        question = await ask(client, "bob")
        assert question["event"] is not None
        second = await tell(client, question, "bob")
        assert (await ask(client, "cy"))["done"]
        assert (await client.post(f"/v1/models/m/events/{second}/undo", json={"voter": "bob"})).status_code == 200
        again = await ask(client, "bob")
        assert pair(again) == pair(question)
        assert first != second

    conversation(local, work, count=2, quota=1)


def test_a_planted_question_may_come_again(local):
    async def work(client, _server):
        seen = []
        for _ in range(40):
            question = await ask(client, "ann")
            if question["event"] is None:
                break
            seen.append(pair(question))
            await tell(client, question, "ann")
        assert len(seen) > len(set(seen))

    conversation(local, work, planted=0.4)


def test_pairs_of_others_wait_and_the_pool_is_not_over(local):
    async def work(client, _server):
        await ask(client, "ann")
        waiting = await ask(client, "bob")
        assert (waiting["event"], waiting.get("done", False)) == (None, False)
        assert "others" in waiting["reason"]

    conversation(local, work, count=3)


def test_a_long_log_is_read_in_several_turns_and_after_an_erasure_anew(local, monkeypatch):
    monkeypatch.setattr(pair_coverage, "SLICE", 3)
    monkeypatch.setattr(pair_coverage, "ROUNDS", 2)
    monkeypatch.setattr(pair_coverage, "SECONDS", -1.0)

    async def work(client, server):
        seen = set()
        for _ in range(10):
            question = await ask(client, "ann")
            seen.add(pair(question))
            await tell(client, question, "ann")
        assert len(seen) == 10
        for _ in range(9):
            # Many more than one slice are left before the erasure.
            await tell(client, await ask(client, "bob"), "bob")
        assert (await client.post("/v1/models/m/erase", json={"voter": "ann"})).status_code == 200
        assert (await ask(client, "ann"))["event"] is not None
        known = server.engine.models["m"].asked
        assert sum(known.votes_of(*sorted(one)) for one in EVERY) == 9
        known.void = True
        assert (await ask(client, "ann"))["event"] is not None
        assert sum(server.engine.models["m"].asked.votes_of(*sorted(one)) for one in EVERY) == 9

    conversation(local, work)


def test_a_quota_counts_the_pairs_that_are_being_answered(local):
    """Questions that several may be answering at once do not add up to more answers than wanted."""

    async def work(client, _server):
        said, open_questions = [], []
        for number in range(30):
            reply = await client.post("/v1/models/m/next", json={"voter": f"v{number}", "shared": True})
            question = reply.json()
            if question["event"] is None:
                assert question["reason"] == "everything is being answered by others"
                assert "done" not in question
                break
            open_questions.append((question, f"v{number}"))
        for question, voter in open_questions:
            await tell(client, question, voter)
            said.append(pair(question))
        assert sorted(said.count(one) for one in set(said)) == [2, 2, 2]
        question = await ask(client, "late")
        assert (question["done"], question["reason"]) == (True, "every pair has its 2 answers")

    conversation(local, work, count=3, quota=2)


def test_a_finished_pool_is_looked_through_once(local, monkeypatch):
    looks = []
    has_met = pair_coverage.PairCoverage.has_met
    monkeypatch.setattr(pair_coverage.PairCoverage, "has_met", lambda *given: looks.append(given) or has_met(*given))

    async def work(client, _server):
        while (question := await ask(client, "ann"))["event"] is not None:
            event = await tell(client, question, "ann")
        looks.clear()
        for _ in range(3):
            assert (await ask(client, "ann"))["done"] is True
        assert not looks
        await client.post(f"/v1/models/m/events/{event}/undo", json={"voter": "ann"})
        assert (await ask(client, "ann"))["event"] is not None

    conversation(local, work)


def test_a_long_log_that_is_read_for_a_question_lets_others_through(local, monkeypatch):
    monkeypatch.setattr(pair_coverage, "ROUNDS", 1)
    monkeypatch.setattr(pair_coverage, "SECONDS", -1.0)

    async def work(client, server):
        for _ in range(12):
            await tell(client, await ask(client, "ann"), "ann")
        server.engine.models["m"].asked = None
        reading = asyncio.create_task(ask(client, "bob"))
        while server.engine.models["m"].asked is None:
            await asyncio.sleep(0)
        await server.engine.call("m", lambda turn: None, reads=True)
        assert not reading.done(), "the log was read in one turn"
        assert (await reading)["event"] is not None

    conversation(local, work)
