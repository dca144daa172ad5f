"""Servers of one PostgreSQL store compare what they make of the same rows."""

import contextlib
import hashlib
from collections import deque

import msgspec
import pytest

from conquer.service.alarms import Alarms
from conquer.service.commands.answering import answer
from conquer.service.commands.choosing import choose
from conquer.service.commands.creation import create
from conquer.service.http.schemas import AnswerRequest, ChooseRequest, FeatureSettings, ModelSettings
from conquer.service.jobs.agreement import compare
from conquer.service.settings import Settings
from conquer.service.store.database import Database
from conquer.service.tasks import build
from conquer.service.writer.queue import Writer

from . import cluster

pytestmark = pytest.mark.skipif(cluster.programs() is None, reason="needs PostgreSQL's server programs")
ITEMS = msgspec.json.encode([{"id": "a", "vector": [1, 0, 0, 0]}, {"id": "b", "vector": [0, 1, 0, 0]}])


def learn(turn, event):
    choose(turn, ChooseRequest(items=msgspec.Raw(ITEMS), event_id=event))
    answer(turn, event, AnswerRequest(winner="a"))


@pytest.fixture(scope="module")
def postgres():
    with cluster.running() as address:
        yield address


@contextlib.contextmanager
def two_writers(address):
    with contextlib.ExitStack() as stack:
        writers = []
        for _ in range(2):
            database = stack.enter_context(contextlib.closing(Database(address)))
            # Two in one process: each must be known by a name of its own.
            database.presence = type(database.presence)(about=f"server {len(writers)}")
            writers.append(Writer(database, build, Settings(store=address)))
            writers[-1].start()
            stack.callback(writers[-1].stop)
        yield writers


@pytest.mark.parametrize("poked", [False, True])
def test_an_alarm_names_both_servers_whose_weights_differ(postgres, poked):
    alarms, name = Alarms(), f"m{poked}"
    with two_writers(postgres) as writers:
        settings = ModelSettings(algorithm="gnr", features=FeatureSettings(dim=4))
        model = writers[0].call_now(None, lambda connection: create(connection, name, settings))
        for k in range(6):
            writers[k % 2].call_now(name, lambda turn, k=k: learn(turn, f"e{k}"))
        if poked:
            folded = writers[1].models[name]
            event = folded.events["e1"]
            folded.learner.learn(folded.round_of(event), event.choice, -1.0)
        found = []
        for writer in writers:
            digest = writer.call_now(name, lambda turn: hashlib.sha256(turn.folded.dumps()).hexdigest())
            found.append(deque([(model, 12, 0, digest)]))
        counts = [compare(w.database, one, alarms.raise_) for w, one in zip(writers, found, strict=True)]
        assert counts == [0, 1]
        assert found == [deque(), deque()]
    if poked:
        ((kind, message),) = alarms.standing()
        assert kind == f"diverged:{name}"
        assert "server 0" in message
        assert "server 1" in message
        assert "position 12" in message
    else:
        assert alarms.standing() == []


def test_digests_do_not_grow_without_bound_nor_of_models_that_are_gone(postgres, monkeypatch):
    monkeypatch.setattr("conquer.service.jobs.agreement._KEPT", 10)
    alarms = Alarms()
    with two_writers(postgres) as writers:
        writer = writers[0]
        model = writer.call_now(None, lambda connection: create(connection, "n", ModelSettings(algorithm="gnr")))
        compare(writer.database, deque((model, at, 0, "x") for at in range(5, 105, 5)), alarms.raise_)
        compare(writer.database, deque([(model + 1000, 5, 0, "x")]), alarms.raise_)
        with writer.database.reading() as connection:
            kept = connection.exec_driver_sql(
                "SELECT position FROM digests WHERE model_id >= %s ORDER BY position", (model,)
            )
            assert kept.scalars().all() == [90, 95, 100]
