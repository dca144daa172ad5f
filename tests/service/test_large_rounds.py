"""Rounds of a dozen megabytes: what reads many of them at once stays within bounds, and loses nothing."""

import json
import threading
from functools import partial

from conquer.service.engine import engine, loading
from conquer.service.model.reading import Reader
from conquer.service.model.schemas import FeatureSettings, Item, bytes_of
from conquer.service.model.state import ModelState
from conquer.service.settings import Limits
from conquer.service.store import log
from conquer.service.work import decisions

from .conftest import run

LONG = {"note": "x" * 2000, "words": ["w" * 200] * 60}


async def filled(client, rounds):
    await client.post("/v1/models", json={"name": "m", "features": {"dim": 4}})
    for number in range(rounds):
        items = [{"id": one, "vector": [1, 0, number % 3, 1], "meta": LONG} for one in "ab"]
        assert (await client.post("/v1/models/m/choose", json={"items": items, "event_id": f"e{number}"})).is_success
        said = {"winner": "ab"[number % 2], "voter": f"v{number}"}
        assert (await client.post(f"/v1/models/m/events/e{number}/answer", json=said)).is_success


def test_events_are_read_a_few_at_a_time_until_they_are_many_bytes(local, monkeypatch):
    async def go():
        app = local()
        async with app.running() as client:
            await filled(client, 40)
            with app.server.database.reading() as connection:
                model = log.headers(connection, ["m"])["m"].id
                ids = [f"e{number}" for number in range(40)]
                found, done, size = log.events_within(connection, model, [*ids, "nobody"])
                assert (set(found), done) == (set(ids), 41)
                assert size > 40 * len(json.dumps(LONG))
                some, done, _ = log.events_within(connection, model, ids, 1)
                assert (list(some), done) == (ids[:1], 1)
                assert len(log.latest(connection, model, "choose", 40)) == 40
                monkeypatch.setattr(log, "_BYTES", 1)
                assert len(log.latest(connection, model, "choose", 40)) == 1

    run(go())


def test_a_model_is_folded_with_few_of_its_rounds_in_memory_at_once(local, monkeypatch):
    """Answers are small and come in long slices; the rounds they speak of are read by and by."""
    most = [0]

    whole_keep = ModelState.keep

    def keep(state, event):
        whole_keep(state, event)
        most[0] = max(most[0], len(state.events))

    async def go():
        app = local()
        async with app.running() as client:
            await filled(client, 40)
            again = [{"event_id": f"e{number}", "winner": "a", "voter": "w"} for number in range(40)]
            assert (await client.post("/v1/models/m/answers", json={"answers": again})).is_success
            with app.server.database.reading() as connection:
                header = log.headers(connection, ["m"])["m"]
                whole = loading.load(connection, header, app.server.engine.build)
                monkeypatch.setattr(log, "events_within", partial(log.events_within, most=1))
                monkeypatch.setattr(loading.ModelState, "keep", keep)
                # Half of the rounds in one slice, all answers to them in another, as after a snapshot.
                early = loading.load(connection, header, app.server.engine.build, 80)
                early.trim(0)
                most[0] = 0
                loading.catch_up(connection, early, header.position, cached=0)
                assert early.digest() == whole.digest()
                assert 0 < most[0] <= 1

    run(go())


def test_an_export_in_small_pieces_says_the_same(local, monkeypatch):
    async def go():
        async with local().running() as client:
            await filled(client, 40)
            whole = {
                form: (await client.get(f"/v1/models/m/log?format={form}")).content for form in ("csv", "preferences")
            }
            assert whole["csv"].count(b"\n") == 41
            monkeypatch.setattr("conquer.service.work.exports._BYTES", 1)
            for form, text in whole.items():
                assert (await client.get(f"/v1/models/m/log?format={form}")).content == text

    run(go())


def test_a_batch_of_answers_about_large_rounds_takes_several_commits(local, monkeypatch):
    """A turn ends its reading of stored rounds at `read_bytes`; the other answers are learnt in the next ones."""

    async def go():
        app = local(read_bytes=1)
        async with app.running() as client:
            await filled(client, 40)
            app.server.engine.models["m"].trim(0)
            monkeypatch.setattr(log, "events_within", partial(log.events_within, most=1))
            answers = [{"event_id": f"e{number}", "winner": "a", "voter": "late"} for number in range(40)]
            before = app.server.engine.commits
            replies = (await client.post("/v1/models/m/answers", json={"answers": answers})).json()["results"]
            assert {one["status"] for one in replies} == {"learnt"}
            assert app.server.engine.commits - before > 5

    run(go())


def test_a_batch_of_costly_rounds_takes_several_commits(local, monkeypatch):
    """A turn that is over chooses for no more rounds than cost `_TOGETHER_COST`, however quick earlier ones were."""

    async def go():
        app = local()
        async with app.running() as client:
            await filled(client, 40)
            app.server.engine.models["m"].at_once = 16
            monkeypatch.setattr(engine, "_SLICE", 0.0)
            monkeypatch.setattr(decisions, "_TOGETHER_COST", 1)
            before = app.server.engine.commits
            rounds = {
                "rounds": [{"items": [{"id": name, "vector": [1, 0, 0, 1]} for name in "abc"]} for _ in range(30)]
            }
            replies = (await client.post("/v1/models/m/choose/batch", json=rounds)).json()["results"]
            assert all("event_id" in reply for reply in replies)
            assert app.server.engine.commits - before == 30

    run(go())


def test_an_answer_about_a_large_round_is_learnt_beside_the_loop(local, monkeypatch):
    """The round has to be read again: `/healthz` must not wait for it."""
    read: list[str] = []
    read_many = Reader.read_many

    def noted(self, rounds, room=None):
        read.append(threading.current_thread().name)
        return read_many(self, rounds, room)

    async def go():
        app = local()
        async with app.running() as client:
            await filled(client, 2)
            monkeypatch.setattr(Reader, "read_many", noted)
            state = app.server.engine.models["m"]
            said = {"winner": state.events["e0"].shown[0], "voter": "new"}
            state.trim(0)
            assert (await client.post("/v1/models/m/events/e0/answer", json=said)).is_success
            assert set(read) == {"conquer-engine"}

    run(go())


def test_items_are_counted_as_what_they_take():
    item = Item("a", text="x", features={"k": "x" * 100_000}, meta={"words": ["w" * 200] * 60})
    assert bytes_of(item) > 200_000 + 60 * 400


def test_an_item_with_a_key_twice_has_its_last_value():
    reader = Reader(FeatureSettings(dim=2), Limits())
    read = reader.read(b'[{"id":"z","vector":[2],"vector":[1]}]', b"null", 100)
    assert (read.ids, read.rows.dense().tolist()) == (["z"], [[1.0, 0.0]])
