"""Single trials: exact ridge on duels against a plain solver, pairs by brute force."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from study.studies import tiny

from conquer.study.reviews import outcomes, rounds, trials
from conquer.study.reviews.spec import CEILING
from conquer.study.reviews.trials import Trial, domains, trial

SPEC = tiny(domains=("android",), repetitions=2, minimum=50, features="idf")


def few_columns() -> Trial:
    """A trial whose n-grams share 128 columns."""
    domain = next(domains(SPEC))
    given = trial(SPEC, domain, 0, 4)
    return replace(given, part=rounds.restricted(domain, given.part.learning, given.part.evaluation, "idf", 7))


def test_exact_ridge_on_duels_is_a_plain_solvers() -> None:
    small = few_columns()
    part = small.part
    sets, rng = small.course.sets[:40], np.random.default_rng(3)
    pairs, chances = sets[:, :2], rng.random(40)
    dense, rewards = part.X.dense(), (part.stars - 3) / 2
    U = np.array([(dense[m] - dense[n]) / 2 for m, n in pairs])
    first = [chance < 0.5 + (rewards[m] - rewards[n]) / 4 for chance, (m, n) in zip(chances, pairs, strict=True)]
    y = np.where(first, 1.0, -1.0)
    scores = [dense @ np.linalg.solve(lam * np.eye(part.X.dim) + U.T @ U, U.T @ y) for lam in trials.PENALTIES]
    wanted = np.concatenate([small.development, part.evaluation])
    ours = outcomes.ridge_scores(
        trials.half_differences(part.X, pairs), np.arange(40), y, trials.PENALTIES, part.X, wanted
    )  # fmt: skip
    assert np.abs(ours[:, wanted] - np.array(scores)[:, wanted]).max() < 1e-4 * np.abs(scores).max()
    errors = [rounds.test_error(part, small.development_sets, each) for each in scores]
    expected = rounds.test_error(part, small.course.tests, scores[int(np.argmin(errors))])
    assert trials.duel_error(small, pairs, chances) == pytest.approx(expected)


SETS = st.integers(2, 6).flatmap(
    lambda k: st.lists(st.permutations(range(8)).map(lambda p: p[:k]), min_size=1, max_size=12)
)


@given(SETS, st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=8, max_size=8))
def test_pairs_by_brute_force(sets: list[list[int]], stars: list[float]) -> None:
    rewards, shown = np.array(stars), Counter[int]()
    made = {name: rule(np.array(sets), rewards) for name, rule in trials.PAIRS.items()}
    for t, members in enumerate(sets):
        best, worst = made["best and worst"][t]
        assert best != worst
        assert rewards[best] == max(rewards[i] for i in members)
        assert rewards[worst] == min(rewards[i] for i in members)
        assert made["two at random"][t].tolist() == members[:2]
        pair = made["least shown"][t].tolist()
        assert sorted(shown[i] for i in pair) == sorted(shown[i] for i in members)[:2]
        assert len(set(pair) & set(members)) == 2
        shown.update(pair)


def test_the_table_has_a_row_a_domain_their_mean_and_its_ratio() -> None:
    table = trials.limits(SPEC, items=3)
    assert table.columns == ["domain", CEILING, "1/2 of it", "1/4 of it", "1/8 of it", *trials.PAIRS]
    assert table["domain"].to_list() == ["android", "mean", "of full information"]
    single, mean, ratio = table.drop("domain").iter_rows()
    assert single == mean
    assert ratio == pytest.approx([value / mean[0] for value in mean])
    domain = next(domains(SPEC))
    cells = [trials.errors(trial(SPEC, domain, number, 3), SPEC.penalties) for number in range(2)]
    assert mean == pytest.approx([np.mean([cell[name] for cell in cells]) for name in table.columns[1:]])


def test_stars_teach_more_than_duels_and_more_of_them_more() -> None:
    spec = tiny(domains=("books", "kindle"), repetitions=4, test_sets=300, minimum=300)
    table = trials.limits(spec, items=4).filter(pl.col("domain") == "mean").to_dicts()[0]
    assert table[CEILING] < 0.7 * table["1/8 of it"]
    assert table[CEILING] < 0.9 * min(table[name] for name in trials.PAIRS)


def test_domains_that_are_all_too_small_are_named() -> None:
    with pytest.raises(ValueError, match=r"every domain needs at least 500 reviews after balancing, got android \d+"):
        trials.limits(tiny(domains=("android",), repetitions=1))
