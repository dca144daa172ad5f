"""Rounds of a dozen megabytes: what reads many of them at once stays within bounds, and loses nothing."""

import json
import threading
from functools import partial

from conquer.service.engine import loading
from conquer.service.model import counts as counted
from conquer.service.model.contents import bytes_of
from conquer.service.model.schemas import Item
from conquer.service.model.state import ModelState
from conquer.service.model.vectors import read_vectors
from conquer.service.settings import Limits
from conquer.service.store import log

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

    def keep(state, event):
        counted.Counted.keep(state, event)
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


def test_a_batch_of_answers_about_large_rounds_is_done_in_parts(local, monkeypatch):
    async def go():
        app = local()
        async with app.running() as client:
            await filled(client, 40)
            app.server.engine.models["m"].trim(0)
            monkeypatch.setattr("conquer.service.web.routes.batches._MOST_READ", 1)
            monkeypatch.setattr(log, "events_within", partial(log.events_within, most=1))
            answers = [{"event_id": f"e{number}", "winner": "a", "voter": "late"} for number in range(40)]
            replies = (await client.post("/v1/models/m/answers", json={"answers": answers})).json()["results"]
            codes = {one["error"]["code"] for one in replies if "error" in one}
            assert codes == {"large_rounds"}
            monkeypatch.undo()
            again = (await client.post("/v1/models/m/answers", json={"answers": answers})).json()["results"]
            assert not [one for one in again if "error" in one]

    run(go())


def test_an_answer_about_a_large_round_is_learnt_beside_the_loop(local, monkeypatch):
    """The round has to be read again: `/healthz` must not wait for it."""
    read: list[str] = []
    round_of = ModelState.round_of

    def noted(self, event):
        read.append(threading.current_thread().name)
        return round_of(self, event)

    async def go():
        app = local()
        async with app.running() as client:
            await filled(client, 2)
            monkeypatch.setattr(ModelState, "round_of", noted)
            state = app.server.engine.models["m"]
            said = {"winner": state.events["e0"].shown[0], "voter": "new"}
            state.trim(0)
            assert (await client.post("/v1/models/m/events/e0/answer", json=said)).is_success
            assert set(read) == {"conquer-engine"}

    run(go())


def test_items_are_counted_as_what_they_take():
    item = Item("a", text="x", features={"k": "x" * 100_000}, meta={"words": ["w" * 200] * 60})
    assert bytes_of(item) > 200_000 + 60 * 400


def test_a_key_that_stands_twice_goes_the_long_way():
    for raw in (b'[{"id":"","id":"z","vector":[2.5]}]', b'[{"id":"z","vector":[1e300],"vector":[1]}]'):
        assert read_vectors(raw, 2, Limits()) is None
