"""HTTP, session and simulation make the same choices and the same weights, bit for bit, at once and with delay."""

import numpy as np
import pytest

from conquer.registry import make
from conquer.rows import Rounds
from conquer.session import Session
from conquer.simulation import simulate
from conquer.types import Query

from .conftest import run

DIM, COUNT, ITEMS = 12, 60, 5


def world() -> Rounds:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, DIM))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    sets = np.array([rng.choice(80, ITEMS, replace=False) for _ in range(COUNT)])
    return Rounds(X, sets, np.clip(X @ rng.normal(size=DIM), -1, 1))


def said(trace, t) -> str | None:
    """The trace's answer as a winner's id; None where nothing was asked."""
    if trace.query[t] == Query.NONE:
        return None
    if trace.query[t] == Query.BEST:
        return str(trace.shown[t, 0]) if trace.answers[t] > 0 else "both_bad"
    return "tie" if trace.answers[t] == 0 else str(trace.shown[t, 0 if trace.answers[t] > 0 else 1])


def order(delay: int):
    """("ask", t) and ("tell", t) in the order in which a delay lets them happen."""
    for t in range(COUNT):
        yield "ask", t
        if t >= delay:
            yield "tell", t - delay
    for t in range(max(0, COUNT - delay), COUNT):
        yield "tell", t


async def over_http(app, rounds: Rounds, trace, delay: int, settings: dict):
    dense = [rounds[t].items.dense().tolist() for t in range(COUNT)]
    shown, events = [], {}
    async with app.running() as client:
        made = await client.post("/v1/models", json={"name": "m", "features": {"dim": DIM}, **settings})
        assert made.status_code == 201, made.text
        for what, t in order(delay):
            if what == "ask":
                items = [{"id": str(k), "vector": row} for k, row in enumerate(dense[t])]
                offer = (await client.post("/v1/models/m/choose", json={"items": items})).json()
                events[t] = offer["event_id"]
                shown.append([int(one["id"]) for one in offer["shown"]])
                # Half of the time the server forgets everything and reads it back.
                if t % 7 == 3:
                    app.server.writer.models.clear()
            elif (winner := said(trace, t)) is not None:
                reply = await client.post(f"/v1/models/m/events/{events[t]}/answer", json={"winner": winner})
                assert reply.json()["status"] == "learnt", reply.text
        await client.get("/v1/models/m")
        return shown, app.server.writer.models["m"].brain.learner.model


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize(
    "settings",
    [
        {"algorithm": "gnc", "parameters": {"eta": 1.0}},
        {"algorithm": "gnt"},
        {"algorithm": "ttg", "model": "full"},
        {"algorithm": "gnu", "covariance": "on-show"},
        {"algorithm": "confidit"},
        {"algorithm": "banditron"},
    ],
    ids=lambda settings: settings["algorithm"],
)
def test_bit_identical(local, settings, delay):
    rounds = world()
    parameters = {"model": settings.get("model", "diagonal"), **settings.get("parameters", {})}
    covariance = settings.get("covariance", "on-answer")
    trace = simulate(settings["algorithm"], rounds, seed=0, delay=delay, covariance=covariance, **parameters)
    shown, model = run(over_http(local(), rounds, trace, delay, settings))
    expected = [[int(k) for k in row if k >= 0] for row in trace.shown]
    assert shown == expected
    assert np.array_equal(model.weights(), trace.learner.model.weights())
    session = Session(make(settings["algorithm"], dim=DIM, **parameters), seed=0, covariance=covariance)
    offers = {}
    for what, t in order(delay):
        if what == "ask":
            offers[t] = session.ask(rounds[t].items, ids=[str(k) for k in range(ITEMS)])
        elif (winner := said(trace, t)) is not None:
            session.tell(offers[t].id, "no" if winner == "both_bad" else winner)
    assert [list(map(int, offers[t].shown)) for t in range(COUNT)] == expected
    assert np.array_equal(session.learner.model.weights(), model.weights())
