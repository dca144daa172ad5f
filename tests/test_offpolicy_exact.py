"""Off-policy estimates in a world that is enumerated: every pair and answer as often as its chance says, exactly.

The log of such a world has no noise, so each estimate must equal the target's true value up to rounding.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from conquer.offpolicy import Logged, OverlapError, check_overlap, compare_targets, evaluate, matches
from conquer.offpolicy import read_log as read
from conquer.rows import as_rows
from conquer.tickets import stream, tickets
from conquer.types import Choice, Query

ITEMS = as_rows(np.eye(3), 3)
PAIRS = list(itertools.permutations(range(3), 2))
LOGGING = dict(zip(PAIRS, (4, 2, 2, 2, 1, 1), strict=True))
"""Twelfths: the chance with which each ordered pair is logged."""
WINS = dict(zip(PAIRS, (1, 3, 2, 4, 0, 3), strict=True))
"""Quarters: the chance that the first of the pair wins."""
VALUE = {pair: WINS[pair] / 2 - 1 for pair in PAIRS}
"""E[y] of each pair."""


def population(copies=2):
    """Every (pair, answer) in proportion to its chance; copies are adjacent, so that both halves are the same."""
    log = []
    for pair in PAIRS:
        for quarter in range(4):
            outcome = 1.0 if quarter < WINS[pair] else -1.0
            log += [Logged(ITEMS, pair, LOGGING[pair] / 12, outcome)] * (LOGGING[pair] * copies)
    return log


class Target:
    """Shows one of its pairs, by the ticket."""

    def __init__(self, *pairs):
        self.pairs = pairs

    def choose(self, rows, ticket):
        return Choice(self.pairs[ticket % len(self.pairs)], Query.DUEL, ticket)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("method", ["ips", "snips", "dr"])
def test_the_value_of_a_certain_target_is_exact(method, pair):
    log = population()
    estimate = evaluate(log, Target(pair), method=method, least=2)
    assert estimate.value == pytest.approx(VALUE[pair], abs=1e-12)
    matched = sum(entry.shown == pair for entry in log)
    assert (estimate.method, estimate.rounds, estimate.used) == (method, len(log), matched)
    assert estimate.effective == pytest.approx(matched)


@pytest.mark.parametrize("pair", PAIRS)
def test_intervals_are_those_of_the_terms(pair):
    """1.96 standard errors of the weighted outcomes, for snips of their residuals over the mean weight."""
    log = population()
    weights = np.array([12 / LOGGING[pair] * (entry.shown == pair) for entry in log])
    outcomes = np.array([entry.outcome for entry in log])
    ips, snips = (evaluate(log, Target(pair), method=method, least=2) for method in ("ips", "snips"))
    for estimate, terms in ((ips, weights * outcomes), (snips, weights * (outcomes - VALUE[pair]))):
        half = 1.959964 * terms.std() / math.sqrt(len(log))
        assert (estimate.low, estimate.high) == pytest.approx((estimate.value - half, estimate.value + half))


def test_snips_divides_by_the_weights_that_came():
    """A log that shows the pair too seldom by chance: ips shrinks to 0, snips does not."""
    log = [Logged(ITEMS, (0, 1), 0.5, 1.0)] * 40 + [Logged(ITEMS, (1, 0), 0.5, -1.0)] * 50
    ips, snips = (evaluate(log, Target((0, 1)), method=method) for method in ("ips", "snips"))
    assert ips.value == pytest.approx(80 / 90)
    assert snips.value == pytest.approx(1.0)
    mixed = [Logged(ITEMS, entry.shown, entry.chance, entry.outcome * (-1) ** k) for k, entry in enumerate(log)]
    snips = evaluate(mixed, Target((0, 1)), method="snips")
    weights = np.array([2.0 * (entry.shown == (0, 1)) for entry in mixed])
    terms = weights * (np.array([entry.outcome for entry in mixed]) - snips.value) / weights.mean()
    assert snips.high - snips.low == pytest.approx(2 * 1.959964 * math.sqrt((terms**2).sum()) / len(mixed))


def test_a_model_narrows_the_doubly_robust_estimate_and_never_moves_it():
    """Where the lower position always wins, residuals of the fitted model are far smaller than answers."""
    better = {pair: 1.0 if pair[0] < pair[1] else -1.0 for pair in PAIRS}
    log = [Logged(ITEMS, pair, 1 / 6, better[pair]) for pair in PAIRS for _ in range(100)]
    ips, dr = (evaluate(log, Target((0, 2)), method=method) for method in ("ips", "dr"))
    assert ips.value == pytest.approx(dr.value) == pytest.approx(1.0)
    assert dr.high - dr.low < 0.5 * (ips.high - ips.low)


def test_each_half_is_judged_by_the_model_of_the_other():
    """In even rounds item 0 wins, in odd ones item 1: the other half's model is wrong and widens the interval."""
    log = []
    for k in range(200):
        won = 1.0 - 2.0 * (k % 2)
        log.append(Logged(ITEMS, (0, 1), 0.5, won) if k // 2 % 2 else Logged(ITEMS, (1, 0), 0.5, -won))
    ips, dr = (evaluate(log, Target((0, 1)), method=method) for method in ("ips", "dr"))
    assert ips.value == pytest.approx(dr.value) == pytest.approx(0.0, abs=1e-9)
    assert dr.high - dr.low > 1.2 * (ips.high - ips.low)


def test_a_target_that_draws_is_weighed_by_its_share():
    pairs, samples = (PAIRS[0], PAIRS[3]), 400
    log = population()
    shares, choices = matches(log, Target(*pairs), samples=samples)
    own = tickets(stream("target", 0), 0, len(log) * samples).reshape(len(log), samples)
    for entry, share, chosen, drawn in zip(log, shares, choices, own, strict=True):
        assert [choice.ticket for choice in chosen] == drawn.tolist()
        assert share == np.mean([pairs[ticket % 2] == entry.shown for ticket in drawn.tolist()])
    for method in ("ips", "snips", "dr"):
        estimate = evaluate(log, Target(*pairs), method=method, samples=samples)
        assert estimate.value == pytest.approx((VALUE[pairs[0]] + VALUE[pairs[1]]) / 2, abs=0.03)


def test_targets_are_compared_by_round():
    log = population()
    one, two = Target(PAIRS[1]), Target(PAIRS[4])
    gap = compare_targets(log, one, two, least=2)
    assert gap.value == pytest.approx(VALUE[PAIRS[1]] - VALUE[PAIRS[4]], abs=1e-12)
    assert gap.used == sum(entry.shown in (PAIRS[1], PAIRS[4]) for entry in log)
    least = min(evaluate(log, each, least=2).effective for each in (one, two))
    assert gap.effective == compare_targets(log, two, one, least=2).effective == least
    same = compare_targets(log, one, one, least=2)
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)


def test_the_effective_number_of_rounds():
    assert check_overlap(np.array([1.0, 1.0, 1.0, 1.0]), 4) == 4.0
    assert check_overlap(np.array([3.0, 1.0, 0.0, 0.0]), 1.6) == pytest.approx(16 / 10)
    with pytest.raises(OverlapError, match=r"only 1\.6 effective rounds match the target, 2 are needed"):
        check_overlap(np.array([3.0, 1.0, 0.0, 0.0]), 2)
    with pytest.raises(OverlapError, match=r"only 0\.0 effective"):
        check_overlap(np.zeros(5), 1)


def test_pairs_that_the_log_never_shows_are_noticed_by_the_mean_weight():
    """Half of the target's rounds are missing: the mean weight is 1/2, three standard errors are 3/(2 sqrt n)."""
    for n, refused in ((8, False), (400, True)):
        weights = np.tile([0.0, 1.0], n // 2)
        if refused:
            with pytest.raises(OverlapError, match=r"mean is 0\.50 .* in about 50 % of the rounds"):
                check_overlap(weights, 1)
        else:
            assert check_overlap(weights, 1) == n / 2


def asked(name, shown=(0, 1), query=Query.DUEL, items=ITEMS, **memo):
    return {"kind": "ask", "id": name, "query": query, "shown": shown, "memo": memo, "rows": items}


def told(name, answer):
    return {"kind": "tell", "id": name, "answer": answer}


def test_only_answered_duels_with_a_chance_are_read():
    ledger = [
        {"kind": "open"},
        asked("yes", chance=0.25), told("yes", -1.0), told("yes", 1.0),
        asked("skipped", chance=0.25), told("skipped", None),
        asked("open", chance=0.25),
        asked("silent", (0,), Query.NONE, chance=1.0), told("silent", 1.0),
        asked("single", (0,), Query.BEST, chance=1.0), told("single", 1.0),
        asked("three", (0, 1, 2), chance=1.0), told("three", 1.0),
        asked("unknown", chance=None), told("unknown", 1.0),
        told("never asked", 1.0),
        asked("strength", (2, 1), chance=0.5), told("strength", 0.5),
    ]  # fmt: skip
    log = read(ledger)
    assert [(entry.shown, entry.chance, entry.outcome) for entry in log] == [((0, 1), 0.25, -1.0), ((2, 1), 0.5, 0.5)]
    with pytest.raises(OverlapError, match="no answered duel has a recorded chance"):
        read(ledger, explored=True)


def test_explored_rounds_have_the_uniform_chance():
    ledger = [
        asked("drawn", explored=True, chance=None), told("drawn", 1.0),
        asked("own", explored=False, chance=0.9), told("own", 1.0),
    ]  # fmt: skip
    log = read(ledger, explored=True)
    assert [(entry.shown, entry.chance) for entry in log] == [((0, 1), 1 / 6)]


def test_other_methods_are_refused():
    with pytest.raises(ValueError, match="method must be one of ips, snips, dr, got 'best'"):
        evaluate(population(), Target((0, 1)), method="best")
    assert Counter(entry.shown for entry in population(1)) == {pair: 4 * LOGGING[pair] for pair in PAIRS}
