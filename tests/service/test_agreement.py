"""Servers of one PostgreSQL store compare what they make of the same rows."""

import contextlib
import hashlib
from collections import deque

import msgspec
import pytest

from conquer.service.alarms import Alarms
from conquer.service.engine.engine import Engine
from conquer.service.jobs.upkeep import look_around
from conquer.service.model.schemas import BatchAnswer, ChooseRequest, FeatureSettings, ModelSettings
from conquer.service.settings import Settings
from conquer.service.store.database import Database
from conquer.service.work.decisions import decide
from conquer.service.work.tasks import build, create

from . import cluster

pytestmark = pytest.mark.skipif(cluster.programs() is None, reason="needs PostgreSQL's server programs")
ITEMS = msgspec.json.encode([{"id": "a", "vector": [1, 0, 0, 0]}, {"id": "b", "vector": [0, 1, 0, 0]}])


def learn(turn, event):
    decide(turn, [ChooseRequest(items=msgspec.Raw(ITEMS), event_id=event), BatchAnswer("a", event_id=event)])


@contextlib.contextmanager
def two_writers(address):
    with contextlib.ExitStack() as stack:
        writers = []
        for _ in range(2):
            database = stack.enter_context(contextlib.closing(Database(address, create=True)))
            # Two in one process: each must be known by a name of its own.
            database.identity = f"server {len(writers)}"
            writers.append(Engine(database, build, Settings(store=address)))
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
            state = writers[1].models[name]
            event = state.events["e1"]
            state.learner.learn(state.round_of(event), event.choice, -1.0)
        found = []
        for engine in writers:
            digest = engine.call_now(name, lambda turn: hashlib.sha256(turn.state.dumps()).hexdigest())
            found.append(deque([(model, 12, 0, digest)]))
        for engine, one in zip(writers, found, strict=True):
            look_around(engine.database, alarms, one)
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
    monkeypatch.setattr("conquer.service.store.servers._KEPT", 10)
    alarms = Alarms()
    with two_writers(postgres) as writers:
        engine = writers[0]
        model = engine.call_now(None, lambda connection: create(connection, "n", ModelSettings(algorithm="gnr")))
        look_around(engine.database, alarms, deque((model, at, 0, "x") for at in range(5, 105, 5)))
        look_around(engine.database, alarms, deque([(model + 1000, 5, 0, "x")]))
        with engine.database.reading() as connection:
            kept = connection.exec_driver_sql(
                "SELECT position FROM digests WHERE model_id >= %s ORDER BY position", (model,)
            )
            assert kept.scalars().all() == [90, 95, 100]
