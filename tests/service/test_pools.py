"""Questions for people: uploads, leases, resuming, repeats; and logs out and in."""

import asyncio
import contextlib
import itertools
import json

import numpy as np
import pytest

from conquer.service.engine.turn import Turn
from conquer.service.errors import Kind, RefusalError
from conquer.service.work import pair_coverage

from .conftest import read_groups
from .folds import slow_fold

LINES = b"\n".join(json.dumps({"id": f"i{k}", "text": f"word{k} and word{k % 3}"}).encode() for k in range(12))


@contextlib.asynccontextmanager
async def conversation(local, lines=LINES, **settings):
    app = local()
    async with app.running() as client:
        body = {"name": "m", "algorithm": "gnr", "features": {"dim": 1024}, **settings}
        assert (await client.post("/v1/models", json=body)).status_code == 201
        reply = await client.post("/v1/models/m/items", content=lines)
        assert reply.json() == {"items": 1 + lines.count(b"\n"), "groups": 1}
        yield client, app.server


async def ask(client, voter, **body):
    reply = await client.post("/v1/models/m/next", json={"voter": voter, **body})
    assert reply.status_code == 200, reply.text
    return reply.json()


async def tell(client, question, voter, winner=None):
    event = question["event"]["event_id"]
    body = {"winner": winner or question["event"]["left"], "voter": voter, "seconds": 1.5}
    reply = await client.post(f"/v1/models/m/events/{event}/answer", json=body)
    assert reply.status_code == 200, reply.text
    return reply.json()


def shown(question):
    return frozenset(one["id"] for one in question["event"]["shown"])


async def test_nobody_gets_what_another_is_answering(local):
    async with conversation(local) as (client, _server):
        questions = {voter: await ask(client, voter) for voter in ("ann", "bob", "cy", "di", "ed", "flo")}
        everything = [item for question in questions.values() for item in shown(question)]
        assert len(everything) == len(set(everything)) == 12
        for question in questions.values():
            assert {item["id"] for item in question["items"]} == shown(question)
            assert all(item["text"].startswith("word") for item in question["items"])
        assert await ask(client, "ann") == questions["ann"]
        await tell(client, questions["ann"], "ann")
        # Two items are free, and it is they who are asked about.
        last = await ask(client, "gus")
        assert shown(last) == shown(questions["ann"])
        await tell(client, questions["bob"], "bob")
        assert shown(await ask(client, "ann")) == shown(questions["bob"])


async def test_leases_of_others_leave_a_question_for_everybody(local):
    """Six people hold all twelve items: the seventh gets a shared question, and so does each after an answer."""
    async with conversation(local) as (client, _server):
        held = {voter: await ask(client, voter) for voter in ("ann", "bob", "cy", "di", "ed", "flo")}
        assert len({item for question in held.values() for item in shown(question)}) == 12
        seen = []
        while (question := await ask(client, "gus"))["event"] is not None:
            seen.append(shown(question))
            await tell(client, question, "gus")
        assert len(seen) == len(set(seen)) == 66
        assert question["done"] is True


async def test_an_answer_frees_its_pair_whether_it_names_the_voter_or_not(local):
    async with small_pool(local, count=2, quota=1) as (client, _server):
        for names in (True, False):
            question = await ask(client, f"ann{names}")
            assert (await ask(client, f"bob{names}"))["event"] is None
            event = question["event"]["event_id"]
            # What is skipped does not count towards the quota.
            body = {"winner": "skip", **({"voter": f"ann{names}"} if names else {})}
            assert (await client.post(f"/v1/models/m/events/{event}/answer", json=body)).status_code == 200
            freed = await ask(client, f"bob{names}")
            assert freed["event"] is not None
            await tell(client, freed, f"bob{names}", "skip")


async def test_planted_repeats_measure_agreement_and_are_not_learnt(local):
    async with conversation(local, planted=0.4) as (client, _server):
        seen = []
        for _ in range(60):
            question = await ask(client, "ann")
            seen.append(await tell(client, question, "ann", min(shown(question))))
        planted = sum(one.get("reason") == "planted" for one in seen)
        summary = (await client.get("/v1/models/m")).json()["summary"]
        assert planted > 5
        assert summary["planted"] == {"answers": planted, "agreement": 1.0}
        assert summary["answers"]["learnt"] == 60 - planted
        assert summary["seconds_per_answer"] == 1.5
        liked = (await client.get("/v1/models/m/features?count=3")).json()["liked"]
        assert liked
        assert liked[0]["weight"] > 0


async def test_logs_go_out_and_a_ledger_trains_another_model(local, tmp_path):
    async with conversation(local) as (client, server):
        for turn in range(8):
            question = await ask(client, f"v{turn % 2}")
            await tell(client, question, f"v{turn % 2}", "tie" if turn == 3 else None)
        undone = question["event"]["event_id"]
        await client.post(f"/v1/models/m/events/{undone}/undo", json={"voter": "v1"})
        rows = [json.loads(line) for line in (await client.get("/v1/models/m/log")).text.splitlines()]
        assert [row["position"] for row in rows] == list(range(1, 18))
        pairs = [json.loads(x) for x in (await client.get("/v1/models/m/log?format=preferences")).text.splitlines()]
        assert len(pairs) == 6
        assert all(pair["chosen"] != pair["rejected"] for pair in pairs)
        ledger = (await client.get("/v1/models/m/log?format=ledger")).content
        for name, algorithm in (("same", "gnr"), ("other", "ttg")):
            made = {"name": name, "algorithm": algorithm, "features": {"dim": 1024}}
            await client.post("/v1/models", json=made)
            reply = await client.post(f"/v1/models/{name}/log", content=ledger)
            assert (reply.json()["rounds"], reply.json()["learnt"]) == (8, 7), reply.text
        weights = {name: server.engine.models[name].learner.learner.model.weights() for name in ("m", "same")}
        assert np.array_equal(weights["m"], weights["same"])
        assert (await client.post("/v1/models/same/log", content=ledger)).status_code == 409


async def test_erasing_a_voter_is_the_fold_without_their_rows(local, tmp_path):
    async with conversation(local) as (client, server):
        for turn in range(12):
            voter = ("ann", "bob", "cy")[turn % 3]
            await tell(client, await ask(client, voter), voter)
        reply = await client.post("/v1/models/m/erase", json={"voter": "bob"})
        assert reply.json() == {"rows": 8}
        assert (await client.post("/v1/models/m/erase", json={"voter": "bob"})).json() == {"rows": 0}
        text = (await client.get("/v1/models/m/log")).text
        assert "bob" not in text
        summary = (await client.get("/v1/models/m")).json()["summary"]
        assert summary["answers"]["learnt"] == 8
        weights = server.engine.models["m"].learner.learner.model.weights()
        question = await ask(client, "ann")
        assert question["event"]["ordinal"] == 12
    assert np.array_equal(weights, slow_fold(f"sqlite:///{tmp_path}/store.db", "m"))
    assert b"bob" not in (tmp_path / "store.db").read_bytes()


@pytest.mark.parametrize(
    "data",
    [b"", b"  ", b"{", b"\xff\xfe\x00", b"id,text\na,b,c\n", b"id,text\na,one\n",
     b'{"id":"tie","text":"x"}\n{"text":"y"}',
     b'{"text":"x"}\n[]', b'{"items":[]}', b'{"items":5}', b'{"prompt":[[1]],"items":["a","b"]}', b"[" * 9999,
     b'{"id":"a","text":"x"}\n{"id":"a","text":"y"}', b'{"id":"a"}\n{"id":"b"}'],
)  # fmt: skip
def test_files_that_make_no_questions_are_refused(data):
    with pytest.raises(RefusalError) as caught:
        read_groups(data)
    assert caught.value.kind is Kind.INVALID


def test_prompts_keep_their_answers_together():
    data = b'{"prompt":"p","responses":["x","y","z"]}\n'
    data += b'{"prompt":"q","items":[{"id":"s","text":"1"},{"id":"t","text":"2"}]}'
    groups = read_groups(data)
    assert [(group.context, len(group.items)) for group in groups] == [("p", 3), ("q", 2)]


# A pool comes to an end: no pair returns to a person, a quota is met exactly, and what was taken back comes again.


WORDS = ["ash", "birch", "cedar", "elm", "fir", "hazel", "larch"]


def small_pool(local, count=7, **settings):
    lines = "\n".join(json.dumps({"id": word, "text": f"{word} tree"}) for word in WORDS[:count])
    return conversation(local, lines.encode(), **settings)


EVERY = set(map(frozenset, itertools.combinations(WORDS, 2)))


async def test_a_person_meets_every_pair_once_and_then_it_is_over(local):
    async with small_pool(local) as (client, _server):
        seen = []
        while (question := await ask(client, "ann"))["event"] is not None:
            seen.append(shown(question))
            await tell(client, question, "ann", "skip" if len(seen) % 5 == 0 else None)
        assert len(seen) == 21
        assert set(seen) == EVERY
        assert (question["done"], question["reason"]) == (True, "you have answered about every pair")
        assert (await ask(client, "bob"))["event"] is not None


async def test_seven_items_with_three_answers_a_pair_take_63_answers(local):
    async with small_pool(local, quota=3) as (client, _server):
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
                asked[voter].append(shown(question))
                votes[shown(question)] += 1
                await tell(client, question, voter)
        assert set(votes.values()) == {3}
        assert all(len(set(pairs)) == len(pairs) for pairs in asked.values())
        last = await ask(client, "eve")
        assert (last["done"], last["reason"]) == (True, "every pair has its 3 answers")


async def test_what_was_skipped_or_taken_back_does_not_count(local):
    async with small_pool(local, count=2, quota=1) as (client, _server):
        first = (await tell(client, await ask(client, "ann"), "ann", "skip"))["event_id"]
        question = await ask(client, "bob")
        assert question["event"] is not None
        second = (await tell(client, question, "bob"))["event_id"]
        assert (await ask(client, "cy"))["done"]
        assert (await client.post(f"/v1/models/m/events/{second}/undo", json={"voter": "bob"})).status_code == 200
        again = await ask(client, "bob")
        assert shown(again) == shown(question)
        assert first != second


async def test_a_planted_question_may_come_again(local):
    async with small_pool(local, planted=0.4) as (client, _server):
        seen = []
        for _ in range(40):
            question = await ask(client, "ann")
            if question["event"] is None:
                break
            seen.append(shown(question))
            await tell(client, question, "ann")
        assert len(seen) > len(set(seen))


async def test_pairs_of_others_wait_and_the_pool_is_not_over(local):
    async with small_pool(local, count=2, quota=1) as (client, _server):
        await ask(client, "ann")
        waiting = await ask(client, "bob")
        assert (waiting["event"], waiting.get("done", False)) == (None, False)
        assert "others" in waiting["reason"]


async def test_a_long_log_is_read_in_several_turns_and_after_an_erasure_anew(local, monkeypatch):
    monkeypatch.setattr(pair_coverage, "SLICE", 3)
    monkeypatch.setattr(pair_coverage, "ROUNDS", 2)
    monkeypatch.setattr(Turn, "is_over", True)
    async with small_pool(local) as (client, server):
        seen = set()
        for _ in range(10):
            question = await ask(client, "ann")
            seen.add(shown(question))
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


async def test_a_quota_counts_the_pairs_that_are_being_answered(local):
    """Questions that several may be answering at once do not add up to more answers than wanted."""
    async with small_pool(local, count=3, quota=2) as (client, _server):
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
            said.append(shown(question))
        assert sorted(said.count(one) for one in set(said)) == [2, 2, 2]
        question = await ask(client, "late")
        assert (question["done"], question["reason"]) == (True, "every pair has its 2 answers")


async def test_a_finished_pool_is_looked_through_once(local, monkeypatch):
    looks = []
    has_met = pair_coverage.PairCoverage.has_met
    monkeypatch.setattr(pair_coverage.PairCoverage, "has_met", lambda *given: looks.append(given) or has_met(*given))
    async with small_pool(local) as (client, _server):
        while (question := await ask(client, "ann"))["event"] is not None:
            event = (await tell(client, question, "ann"))["event_id"]
        looks.clear()
        for _ in range(3):
            assert (await ask(client, "ann"))["done"] is True
        assert not looks
        await client.post(f"/v1/models/m/events/{event}/undo", json={"voter": "ann"})
        assert (await ask(client, "ann"))["event"] is not None


async def test_a_long_log_that_is_read_for_a_question_lets_others_through(local, monkeypatch):
    monkeypatch.setattr(pair_coverage, "ROUNDS", 1)
    monkeypatch.setattr(Turn, "is_over", True)
    async with small_pool(local) as (client, server):
        for _ in range(12):
            await tell(client, await ask(client, "ann"), "ann")
        server.engine.models["m"].asked = None
        reading = asyncio.create_task(ask(client, "bob"))
        while server.engine.models["m"].asked is None:
            await asyncio.sleep(0)
        await server.engine.call("m", lambda turn: None, reads=True)
        assert not reading.done(), "the log was read in one turn"
        assert (await reading)["event"] is not None
