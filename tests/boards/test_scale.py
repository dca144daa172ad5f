"""The slope and the ties that generated the answers are found; mean votes cover; the test of the fit by hand."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from benchmarks.boards import misfit, play, world
from conquer import Session, make
from conquer.boards.evidence import Answers
from conquer.boards.lack_of_fit import REMEDIES, fit_of
from conquer.boards.mean_votes import mean_votes
from conquer.boards.scale import LINEAR, Slope, calibrated


def forecasts(gap, answer):
    n, zero = len(gap), np.zeros(len(gap))
    return Answers(
        zero.astype(int), zero.astype(int), gap, zero, zero + np.nan, np.full(n, 2), np.full(n, -1), zero + 1, answer
    )


@pytest.mark.parametrize(("c", "ties"), [(0.7, 0.0), (2.5, 0.0), (1.5, 0.8)])
def test_the_slope_is_where_the_likelihood_is_largest(c, ties):
    rng = np.random.default_rng(0)
    gap = rng.normal(size=8000)
    t = c * gap / 2
    total = np.exp(t) + np.exp(-t) + ties
    draw = rng.random(8000)
    y = np.where(draw < np.exp(t) / total, 1.0, np.where(draw < (np.exp(t) + ties) / total, 0.0, -1.0))
    found = calibrated(forecasts(gap, y))
    late, later = gap[4000:], y[4000:]

    def loss(x):
        t, tie = math.exp(x[0]) * late / 2, math.exp(x[1]) if ties else 0.0
        chosen = np.where(later == 0, math.log(tie) if ties else 0.0, t * later)
        return (np.log(np.exp(t) + np.exp(-t) + tie) - chosen).sum() + x[0] ** 2 / 2

    best = minimize(loss, [0.0, 0.0]).x
    assert found.c == pytest.approx(math.exp(best[0]), rel=1e-3)
    assert found.ties == pytest.approx(math.exp(best[1]) if ties else 0.0, rel=1e-3)
    assert found.c == pytest.approx(c, rel=0.1)
    assert found.answers == 4000


def test_a_slope_without_forecasts_is_the_laws_and_with_few_near_it():
    nothing = forecasts(np.zeros(20), np.ones(20))
    assert calibrated(nothing) == LINEAR
    few = calibrated(forecasts(np.full(4, 0.5), np.ones(4)))
    assert 1.0 < few.c < 3.0
    assert LINEAR.chance(np.array([0.01]))[0] == pytest.approx(0.5 + 0.01 / 4, abs=1e-6)
    assert Slope(2.0, 1.0, 9).chance(np.array([-5.0, 0.0, 5.0])).sum() == pytest.approx(1.5)


def test_strong_pairs_are_calibrated_where_the_law_is_logistic():
    """The score says .98 where .88 is observed; the slope is within .03."""
    truth, means = world("bradley-terry 1", 12, 3)
    found = play(0, means, truth, "random", horizon=6000)
    learner = make("gnr", dim=12, model="full")
    session = Session(learner)
    session.evidence.extend(list(range(12)), found.answers())
    for i, j, y in zip(found.first.tolist(), found.second.tolist(), found.answer, strict=True):
        learner.model.update(np.eye(12)[[i, j]], {0: 0.5, 1: -0.5}, y)
    board = session.board(dict(enumerate(np.eye(12))))
    observed, strong = 0.5 + 0.5 * means, board.wins > 0.8
    assert abs((board.wins - observed)[strong].mean()) < 0.03


@pytest.mark.parametrize("rule", ["random", "gnr"])
def test_mean_votes_cover_whatever_the_law_is(rule):
    """Intransitive answers, pairs mixed with uniform ones: all intervals hold in at least 95 % of runs."""
    count, share, wrong, narrow = 4, 0.5 if rule == "gnr" else 1.0, 0, []
    for run in range(20):
        _, means, _, _ = misfit("intransitive", count, run, 1)
        truth = means[0].sum(axis=1) / (count - 1)
        session = Session(make("gnr", dim=count, model="full", explore=share), seed=run)
        rng, X = np.random.default_rng(run), dict(enumerate(np.eye(count)))
        for _ in range(300):
            offer = session.ask(X)
            i, j = offer.shown
            session.tell(offer, "first" if rng.random() < 0.5 + 0.5 * means[0, i, j] else "second")
        board = session.board(X, target="mean vote")
        wrong += bool(((truth < board.low) | (truth > board.high)).any())
        narrow.append((board.high - board.low).mean())
        assert np.abs(board.scores - truth).max() < 0.6
    assert wrong <= 4  # 20 runs at 5 %: more with a chance of 0.003
    assert np.mean(narrow) < 1.9


def test_mean_votes_need_chances():
    session = Session(make("gnr", dim=3, model="full"))
    items = dict(enumerate(np.eye(3)))
    session.tell(session.ask(items), "first")
    with pytest.raises(ValueError, match="make the learner with explore= above 0"):
        session.board(items, target="mean vote")
    mixed = Session(make("gnr", dim=3, model="full", explore=0.5))
    mixed.tell(mixed.ask(items), "first")
    board = mixed.board(items, target="mean vote")
    assert board.target == "mean vote"
    assert board.win == pytest.approx(0.5 + board.scores / 2)
    with pytest.raises(ValueError, match="no chances of single pairs"):
        board.wins  # noqa: B018 - a property
    assert "mean vote" in repr(board)
    mixed.tell(mixed.ask({k: items[k] for k in (0, 1)}), "first")
    with pytest.raises(ValueError, match="every question to be about the same 3 items"):
        mixed.board(items, target="mean vote")
    with pytest.raises(ValueError, match="need the recorded answers"):
        mixed.learner.board(np.eye(3), target="mean vote")


def test_mean_votes_refuse_a_chance_below_the_smallest():
    told = forecasts(np.zeros(1), np.ones(1))._replace(second=np.array([1]), chance=np.array([0.01]))
    with pytest.raises(ValueError, match="below 0.25"):
        mean_votes(told, 2, 0.5, 0.05)


def test_the_fit_of_pairs_is_a_mixture_over_effects_less_the_best_scores():
    rng = np.random.default_rng(0)
    count, n = 4, 400
    first = rng.integers(0, count, n)
    second = (first + rng.integers(1, count, n)) % count
    y = rng.choice([-1.0, 0.0, 1.0], n)
    told = forecasts(np.zeros(n), y)._replace(first=first, second=second)
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    Z, U = np.zeros((n, len(pairs))), np.zeros((n, count))
    for t in range(n):
        i, j = first[t], second[t]
        Z[t, pairs.index((min(i, j), max(i, j)))] = 1.0 if i < j else -1.0
        U[t, i], U[t, j] = 0.5, -0.5
    logs = []
    for deviation in (0.1, 0.2, 0.4):
        c = deviation**-2
        kernel = Z @ np.linalg.inv(Z.T @ Z + c * np.eye(len(pairs))) @ Z.T
        w = np.linalg.lstsq(U.T @ kernel @ U, U.T @ kernel @ y, rcond=None)[0]
        r = y - U @ w
        logs.append(0.5 * r @ kernel @ r - 0.5 * np.linalg.slogdet(np.eye(len(pairs)) + Z.T @ Z / c)[1])
    assert fit_of(told, count).values["pairs"] == pytest.approx(np.log(np.mean(np.exp(logs))), rel=1e-8)


def test_features_that_span_the_items_cannot_be_wrong():
    told = play(0, *world("linear", 5, 1)[::-1], "random", horizon=500).answers()
    assert "features" not in fit_of(told, 5, np.random.default_rng(0).normal(size=(5, 5))).values
    assert "features" in fit_of(told, 5, np.random.default_rng(0).normal(size=(5, 2))).values
    assert fit_of(told, 5).kind is None


@pytest.mark.parametrize("name", ["intransitive", "tastes", "drift", "features"])
def test_a_warning_names_what_does_not_fit(name):
    truth, means, schedule, rows = misfit(name, 10, 1, 10_000)
    found = play(2, means, truth, "random", horizon=10_000, schedule=schedule)
    fit = fit_of(found.answers(schedule if name == "tastes" else None), 10, rows)
    expected = {"intransitive": "pairs", "tastes": "voters", "drift": "time", "features": "features"}[name]
    assert fit.kind == expected
    what, remedy = REMEDIES[expected]
    assert fit.text.startswith(f"{what} (p ")
    assert fit.text.endswith(f"): {remedy}")
    assert fit.p < 0.05
