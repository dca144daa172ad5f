"""Verdicts say no more than their intervals: both ways where it is clear, nothing where algorithms are alike."""

import json
from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
import pytest

from conquer.study.reviews import claims
from conquer.study.reviews.claims import FAILS, HOLDS, OPEN, PARTLY
from conquer.study.reviews.comparison import Facts

SIZES = (5, 10, 15, 20)
NAMES = ("ttg", "gnr", "gnu", "gnc", "ttu", "unr", "confidit", "banditron", "gnc-always")
Level = float | Mapping[int, float]


def crafted(
    changes: Mapping[str, Level] | None = None,
    *,
    seed: int = 0,
    noise: float = 0.004,
    domains: int = 10,
    trials: int = 1,
) -> Facts:
    """Every algorithm errs by 0.2, but for `changes`, plus what a domain adds to all and noise of its own."""
    rng = np.random.default_rng(seed)
    levels = dict.fromkeys(NAMES, 0.2) | dict(changes or {})
    rows = [
        {
            "domain": f"d{domain}", "items": items, "repetition": repetition, "algorithm": name,
            "error": (level if isinstance(level, float) else level[items]) + 0.01 * domain + noise * rng.normal(),
            "parameters": json.dumps({"eta": 1.0}), "equal_pairs": 0.2, "equal_in_sets": 0.2, "query_rate": 0.9,
            "unique_in_sets": {5: 0.57, 10: 0.29, 15: 0.13, 20: 0.06}[items],
        }
        for domain in range(domains) for items in SIZES for repetition in range(trials)
        for name, level in levels.items()
    ]  # fmt: skip
    return Facts(pl.DataFrame(rows))


def growing(step: float, start: float = 0.2) -> dict[int, float]:
    return {items: start + step * i for i, items in enumerate(SIZES)}


def only(rules: tuple[str, ...], level: Level) -> dict[str, Level]:
    return dict.fromkeys(rules, level)


RULES, BOUNDS = NAMES[:6], ("gnu", "gnc", "ttu", "unr")
FAR = {"confidit": 0.3, "banditron": 0.4}


def test_intervals_cover_what_they_say() -> None:
    """Over ten domains 95 % of the intervals, give or take four deviations, hold the true difference."""
    count, rng = 800, np.random.default_rng(0)
    errors = rng.normal(size=(10, count, 2))
    names = [f"{side}{i}" for i in range(count) for side in "ab"]
    rows = pl.DataFrame(
        {
            "domain": np.repeat([f"d{d}" for d in range(10)], len(names)), "items": 5, "repetition": 0,
            "algorithm": names * 10, "error": errors.ravel(),
        }
    )  # fmt: skip
    facts = Facts(rows)
    gaps = [facts.difference([f"a{i}"], [f"b{i}"]) for i in range(count)]
    missed = np.mean([gap.low > 0 or gap.high < 0 for gap in gaps])
    assert abs(missed - 0.05) < 4 * np.sqrt(0.05 * 0.95 / count)
    assert {(gap.units, gap.unit) for gap in gaps} == {(10, "domains")}


def test_a_verdict_by_several_intervals_is_wrong_no_more_often() -> None:
    wide, narrow = (crafted().difference(["gnc"], ["gnu"], 5, looks=looks) for looks in (10, 1))
    assert (wide.level, narrow.level) == (0.995, 0.95)
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    "claim",
    [claims.abstract, claims.relative, claims.bounds, claims.order, claims.growth, claims.ucb_first],
)
def test_nothing_is_said_of_equal_algorithms(claim: Callable) -> None:
    """At most 5 % of the frames have a verdict; four deviations of sixty frames are allowed."""
    count = 60
    verdicts = [claim(crafted(seed=seed)).verdict for seed in range(count)]
    assert sum(verdict != OPEN for verdict in verdicts) <= 0.05 * count + 4 * np.sqrt(0.05 * 0.95 * count)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        (FAR, HOLDS),
        (FAR | {"ttg": growing(0.04)}, PARTLY),
        (FAR | {"confidit": 0.2}, PARTLY),
        (FAR | {"confidit": 0.15}, FAILS),
        (FAR | {"confidit": {5: 0.3, 10: 0.1, 15: 0.1, 20: 0.1}}, FAILS),
        (FAR | {"confidit": {5: 0.3, 10: 0.3, 15: 0.1, 20: 0.1}}, PARTLY),
        (FAR | {"banditron": 0.1}, FAILS),
        # Better than four rules and worse than two, at every K: the mean of the six is clearly behind.
        (FAR | only(("ttg", "gnr", "gnu", "gnc"), 0.24) | {"confidit": 0.21}, FAILS),
    ],
)  # fmt: skip
def test_the_abstracts_claim(changes: dict[str, Level], verdict: str) -> None:
    assert claims.abstract(crafted(changes)).verdict == verdict


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        (only(BOUNDS, growing(0.02)), HOLDS),
        (only(BOUNDS[:3], growing(0.02)), PARTLY),
        (only(("ttg", "gnr"), growing(0.02)), FAILS),
    ],
)
def test_who_gets_worse_faster(changes: dict[str, Level], verdict: str) -> None:
    claim = claims.growth(crafted(changes))
    assert claim.verdict == verdict
    assert "over 10 domains" in claim.evidence


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"ttg": 0.16, "gnr": 0.18, "confidit": 0.22, "gnu": 0.24}, HOLDS),
        ({"confidit": 0.3}, PARTLY),  # clearly behind three as in the paper, and behind gnu
        ({"confidit": 0.1}, FAILS),
        ({"ttg": 0.24, "gnr": 0.22, "confidit": 0.18, "gnu": 0.16}, FAILS),
    ],
)
def test_the_order(changes: dict[str, Level], verdict: str) -> None:
    assert claims.order(crafted(changes)).verdict == verdict


@pytest.mark.parametrize(
    ("ttu", "unr", "verdict"),
    [
        (0.3, 0.3, HOLDS), (0.3, 0.2, PARTLY), (0.2, 0.3, PARTLY), (0.3, 0.1, OPEN), (0.1, 0.3, OPEN),
        (0.1, 0.2, FAILS), (0.1, 0.1, FAILS),
    ],
)  # fmt: skip
def test_a_first_item_by_upper_bound(ttu: float, unr: float, verdict: str) -> None:
    assert claims.ucb_first(crafted({"ttu": ttu, "unr": unr})).verdict == verdict


def test_banditron_is_worst_of_the_papers_own() -> None:
    held = claims.banditron(crafted({"banditron": 0.4, "gnt": 0.5, "gnw": 0.5}))
    assert held.verdict == HOLDS
    near = crafted({"banditron": 0.29996 - 0.045, "confidit": 0.255}, noise=0.0)
    claim = claims.banditron(near)
    assert claim.verdict == FAILS
    assert "0.29996 at K = 5" in claim.evidence
    assert "not the worst of the paper's algorithms (0.29996; confidit 0.30000)" in claim.evidence


def test_evidence_says_what_an_interval_is_over() -> None:
    tested = (claims.abstract, claims.relative, claims.bounds, claims.order, claims.growth,
              claims.ucb_first, claims.silence)  # fmt: skip
    few, many = crafted(domains=4, trials=3), crafted(domains=5, trials=3)
    for claim in tested:
        assert " trials, which share data and tuning" in claim(few).evidence
        assert "over 5 domains" in claim(many).evidence
        assert "over 5 domains" not in claim(few).evidence
    assert "over 12 trials" in claims.relative(few).evidence  # of one K
    assert "over 48 trials" in claims.bounds(few).evidence


def test_silence_is_put_beside_what_it_can_rightly_be() -> None:
    evidence = claims.silence_by_items(crafted()).evidence  # silent in 10 % of the rounds at every K
    assert "is in 57.00 % at K = 5, 29.00 % at K = 10, 13.00 % at K = 15, 6.00 % at K = 20; " in evidence
    assert "GNC exceeds this share at K = 20 by 4.00 points: silent between equally good items." in evidence
    seldom = crafted().results.with_columns(query_rate=pl.lit(0.95))
    assert "GNC never exceeds it." in claims.silence_by_items(Facts(seldom)).evidence


def test_a_median_eta_is_one_that_was_chosen() -> None:
    results = crafted(domains=2).results
    etas = pl.when(pl.col("domain") == "d0").then(pl.lit('{"eta": 1.0}')).otherwise(pl.lit('{"eta": 10.0}'))
    assert Facts(results.with_columns(parameters=etas)).etas("gnc") == "gnc's median eta is 1"


def test_a_single_trial_is_no_evidence() -> None:
    alone = crafted({"gnc": 0.5}, domains=1)
    assert claims.relative(alone).verdict == OPEN
    assert "a single trial without an interval" in claims.relative(alone).evidence


def silent(rates: Mapping[int, float], changes: Mapping[str, Level] | None = None, **options) -> Facts:
    """GNC asks nothing in these percents of the rounds by K."""
    results = crafted(changes, **options).results
    rate = pl.col("items").replace_strict(dict(rates), return_dtype=pl.Float64)
    return Facts(results.with_columns(query_rate=1.0 - rate / 100.0))


@pytest.mark.parametrize(
    ("level", "noise", "verdict"),
    [(0.2, 0.001, HOLDS), (0.195, 0.001, HOLDS), (0.22, 0.001, FAILS), (0.2, 0.1, OPEN)],
)
def test_silence_is_judged_beside_the_same_rule_that_always_asks(level: float, noise: float, verdict: str) -> None:
    """gnu is far better here and decides nothing: it is another rule with another eta."""
    claim = claims.silence(crafted({"gnc": level, "gnu": 0.01}, noise=noise, seed=3))
    assert claim.verdict == verdict
    assert "With its gate off, at the same parameters: gnc" in claim.evidence


def test_what_silence_costs_where_there_is_much_of_it() -> None:
    evidence = claims.silence(
        silent({5: 50.0, 10: 1.0, 15: 1.0, 20: 1.0}, {"gnc": {5: 0.3, 10: 0.2, 15: 0.2, 20: 0.2}}, noise=1e-6)
    )
    assert "Of 40 cells 10 are silent in over 40 % of the rounds: there the difference is +0.1000." in evidence.evidence


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [
        ({5: 0.9, 10: 0.24, 15: 0.14, 20: 0.07}, HOLDS),
        ({5: 8.0, 10: 0.24, 15: 0.14, 20: 0.07}, PARTLY),
        ({5: 11.9, 10: 9.5, 15: 20.2, 20: 8.9}, FAILS),
    ],
)
def test_rates_of_silence_are_tested(rates: dict[int, float], verdict: str) -> None:
    claim = claims.silence_rates(silent(rates))
    assert claim.verdict == verdict
    assert f"The most is {max(rates.values()):.2f} %" in claim.evidence
    assert "in the paper's own table 15 and " in claim.evidence


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        (only(BOUNDS, 0.25), HOLDS),
        # Only the random second item differs: ttg is as bad as the rules with bounds.
        ({"gnr": 0.1, "unr": 0.1} | only(("gnu", "gnc", "ttu", "ttg"), 0.2), OPEN),
        ({"gnr": 0.1, "unr": 0.1, "ttg": 0.24} | only(("gnu", "gnc", "ttu"), 0.23), PARTLY),
    ],
)
def test_upper_bounds_are_compared_with_rules_alike(changes: dict[str, Level], verdict: str) -> None:
    claim = claims.bounds(crafted(changes, noise=0.001))
    if verdict == OPEN:  # overall clear, but neither comparison of like with like
        assert claim.verdict in (PARTLY, OPEN)
    else:
        assert claim.verdict == verdict
    assert "gnu, gnc, ttu less ttg: " in claim.evidence
    assert "unr less gnr: " in claim.evidence


def test_synthetic_domains_are_one_generator() -> None:
    facts = Facts(crafted().results.with_columns(kind=pl.lit("synthetic")))
    assert "over 10 domains of one generator" in claims.bounds(facts).evidence
