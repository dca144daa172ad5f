"""HTTP, session and simulation make the same choices and the same weights, bit for bit, at once and with delay."""

import numpy as np
import pytest

from conquer.answers import shares_of
from conquer.judges import LawJudge
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
    shown = [k for k in trace.shown[t] if k >= 0]
    shares = shares_of(trace.answers[t], len(shown))
    return "both_bad" if shares[-1] > 0 else str(shown[int(shares.argmax())])


def order(delay: int):
    """("ask", t) and ("tell", t) in the order in which a delay lets them happen."""
    for t in range(COUNT):
        yield "ask", t
        if t >= delay:
            yield "tell", t - delay
    for t in range(max(0, COUNT - delay), COUNT):
        yield "tell", t


async def over_http(app, rounds: Rounds, winners: list, delay: int, settings: dict):
    """(what was shown, which was on the left, what became of each answer, the learner)"""
    dense = [rounds[t].items.dense().tolist() for t in range(COUNT)]
    shown, left, statuses, events = [], [], [], {}
    async with app.running() as client:
        made = await client.post(
            "/v1/models", json={"name": "m", "features": {"dim": DIM}, "believe": None, **settings}
        )
        assert made.status_code == 201, made.text
        for what, t in order(delay):
            if what == "ask":
                items = [{"id": str(k), "vector": row} for k, row in enumerate(dense[t])]
                offer = (await client.post("/v1/models/m/choose", json={"items": items})).json()
                events[t] = offer["event_id"]
                shown.append([int(one["id"]) for one in offer["shown"]])
                left.append(offer["left"])
                # Half of the time the server forgets everything and reads it back.
                if t % 7 == 3:
                    app.server.engine.models.clear()
            elif (winner := winners[t]) is not None:
                reply = await client.post(f"/v1/models/m/events/{events[t]}/answer", json={"winner": winner})
                statuses.append(reply.json().get("status", reply.text))
        await client.get("/v1/models/m")
        return shown, left, statuses, app.server.engine.models["m"].learner.learner


def in_session(learner, rounds: Rounds, winners: list, delay: int):
    """The same with a Session, which the learner is trained in."""
    session, offers, statuses = Session(learner, seed=0), {}, []
    for what, t in order(delay):
        if what == "ask":
            offers[t] = session.ask(rounds[t].items, ids=[str(k) for k in range(ITEMS)])
        elif (winner := winners[t]) is not None:
            statuses.append(session.tell(offers[t].id, winner))
    return [list(map(int, offers[t].shown)) for t in range(COUNT)], [offers[t].left for t in range(COUNT)], statuses


def same_state(one, two) -> bool:
    left, right = one.arrays(), two.arrays()
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("delay", [0, 7])
@pytest.mark.parametrize(
    "settings",
    [
        {"algorithm": "gnc", "parameters": {"eta": 1.0}},
        {"algorithm": "gnt"},
        {"algorithm": "ttg", "model": "full"},
        {"algorithm": "gnu"},
        {"algorithm": "confidit"},
        {"algorithm": "banditron"},
        *(
            {"algorithm": name, "model": model, "parameters": {"show": show, **more}}
            for name, model, more in (
                ("rank-breaking", "full", {}),
                ("ucb-mnl", "diagonal", {}),
                ("cppl", "full", {}),
            )
            for show in (2, 3, 5)
        ),
    ],
    ids=lambda settings: f"{settings['algorithm']}-{settings.get('parameters', {}).get('show', '')}".strip("-"),
)
def test_bit_identical(local, settings, delay):
    rounds = world()
    parameters = {"model": settings.get("model", "diagonal"), **settings.get("parameters", {})}
    judge = LawJudge("linear", outside=True)
    trace = simulate(settings["algorithm"], rounds, judge=judge, seed=0, delay=delay, **parameters)
    winners = [said(trace, t) for t in range(COUNT)]
    if settings["algorithm"] == "ucb-mnl":
        assert "both_bad" in winners
    expected = [[int(k) for k in row if k >= 0] for row in trace.shown]
    shown, left, statuses, learner = run(over_http(local(), rounds, winners, delay, settings))
    assert set(statuses) == {"learnt"}
    assert shown == expected
    assert same_state(learner, trace.learner)
    own = make(settings["algorithm"], dim=DIM, **parameters)
    assert in_session(own, rounds, winners, delay) == (expected, left, statuses)
    assert same_state(own, learner)


@pytest.mark.parametrize("show", [2, 3, 5])
def test_both_bad_teaches_nothing_where_the_learner_has_no_answer_for_it(local, show):
    rounds, settings = world(), {"algorithm": "rank-breaking", "model": "full", "parameters": {"show": show}}
    own = make("rank-breaking", dim=DIM, model="full", show=show)
    winners = ["both_bad"] * COUNT
    shown, left, statuses, learner = run(over_http(local(), rounds, winners, 0, settings))
    assert set(statuses) == {"ignored"}
    told = in_session(own, rounds, winners, 0)
    assert told == (shown, left, ["skipped"] * COUNT)
    assert same_state(own, learner)
    assert own.fresh
    assert len({one.index(int(side)) for one, side in zip(shown, left, strict=True)}) == show
