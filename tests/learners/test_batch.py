"""Many rounds in one call: the choices, scores, bits and refusals of the calls one by one."""

import threading
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as given_by
from strategies import histories

from conquer.learners.batch import batch_learner
from conquer.learners.conquer import Conquer
from conquer.models.full import Full
from conquer.policies import GREEDY, Policy
from conquer.registry import algorithms, make
from conquer.rows import SparseRows, as_rows
from conquer.types import Choice, Query, Source

DIM = 6
DUELLING = [row for row in algorithms() if row.policy is not None and make(row.name, dim=2).duels]
MODELS = [*({"update": update} for update in ("implicit", "margin", "coordinate")), {"model": "full"}]


def learners():
    """Every duelling algorithm with every model that can, alone and told whom to believe."""
    for row, model, believe in product(DUELLING, MODELS, (None, "voters")):
        known = {one.name for one in row.parameters if model.get("model", "diagonal") in one.models}
        if set(model) - {"model"} <= known and (believe is None or row.name != "random"):
            yield pytest.param(row.name, model | ({} if believe is None else {"believe": believe}))


def rounds(seed, count=24, wild=1e95):
    """(X, starts): 2 to 12 items each, some alike, some zero; one of a single item, one of values beyond learning."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 13, count)
    sizes[5] = 1
    parts = [rng.normal(size=(size, DIM)) * (rng.random((size, DIM)) < 0.7) / 2 for size in sizes]
    for part in parts[::3]:
        part[-1] = part[0]
    for part in parts[1::4]:
        part[rng.integers(len(part))] = 0.0
    parts[7][:] = 1.0  # nothing but ties
    parts[9] *= wild
    return as_rows(np.concatenate(parts), DIM), [0, *np.cumsum(sizes).tolist()]


def duels(starts, seed):
    """Pairs of rows, each within its round, with their answers, sides and tickets."""
    rng = np.random.default_rng(seed)
    bounds = [(a, b) for a, b in pairwise(starts) if b - a > 1]
    pairs = np.array([rng.choice(np.arange(a, b), 2, replace=False) for a, b in bounds])
    answers = rng.choice([-1.0, 0.0, 1.0, 0.3], len(pairs)).tolist()
    return pairs, answers, rng.integers(-1, 2, len(pairs)).tolist(), rng.integers(0, 2**63, len(pairs)).tolist()


def learn_one(learner, X, pair, answer, side, ticket):
    source = None if isinstance(learner, Conquer) else Source(None, side, "person", 1.0)
    learner.learn(X.take(pair), Choice((0, 1), Query.DUEL, ticket), answer, source)


def learn_each(learner, X, *answers):
    """One by one; what could not be learnt, and why."""
    refused = []
    for t, one in enumerate(zip(*answers, strict=True)):
        try:
            learn_one(learner, X, *one)
        except (ValueError, TypeError, ArithmeticError) as error:
            refused.append((t, str(error)))
    return refused


def learn_many(learner, X, *answers):
    """In as few calls as there are refusals, as callers do it."""
    refused, at = [], 0
    while at < len(answers[0]):
        at += learner.learn_all(X, *(each[at:] for each in answers))
        if at < len(answers[0]):
            found = learn_each(learner, X, *(each[at : at + 1] for each in answers))
            refused += [(at, error) for _, error in found]
            at += 1
    return refused


def same(one, two):
    first, second = one.arrays(), two.arrays()
    assert list(first) == list(second)
    assert [array.tobytes() for array in first.values()] == [array.tobytes() for array in second.values()]


def check_choices(learner, X, starts, tickets):
    """How many rounds could be chosen for; all are as `choose_and_score` has them."""
    choices, scores = learner.choose_all(X, starts, tickets)
    assert len(choices) == len(tickets)
    assert scores.shape == (len(X),)
    for t, choice in enumerate(choices):
        rows = slice(starts[t], starts[t + 1])
        if choice is None:
            assert np.isnan(scores[rows]).all()
            with pytest.raises((ValueError, TypeError, ArithmeticError)):
                learner.choose_and_score(X.take(range(rows.start, rows.stop)), tickets[t])
        else:
            expected, own = learner.choose_and_score(X.take(range(rows.start, rows.stop)), tickets[t])
            assert choice == expected
            assert repr(choice) == repr(expected)
            assert scores[rows].tobytes() == own.tobytes()
    return sum(choice is not None for choice in choices)


@pytest.mark.parametrize(("name", "settings"), list(learners()))
def test_many_rounds_are_the_rounds_one_by_one(name, settings):
    one, two = (make(name, dim=DIM, **settings) for _ in range(2))
    assert batch_learner(one) is one
    for seed in range(3):
        X, starts = rounds(seed)
        answers = duels(starts, seed)
        refused = learn_each(one, X, *answers)
        assert learn_many(two, X, *answers) == refused
        assert (len(refused) > 0) == (name != "random")
        same(one, two)
        tickets = np.random.default_rng(seed).integers(0, 2**64, len(starts) - 1, np.uint64).tolist()
        assert check_choices(two, X, starts, tickets) == len(tickets) - 1
        same(one, two)


@given(histories(), given_by.booleans(), given_by.randoms(use_true_random=False))
def test_any_history_is_learnt_to_the_bit(history, believing, random):
    dim, steps = history
    one, two = (make("gnc", dim=dim, **({"believe": "voters"} if believing else {})) for _ in range(2))
    X = as_rows(np.concatenate([each for each, *_ in steps]), dim)
    starts = [0, *np.cumsum([len(each) for each, *_ in steps]).tolist()]
    pairs = np.array([[starts[t] + a, starts[t] + b] for t, (_, a, b, _) in enumerate(steps)])
    sides = [random.choice([-1, 0, 1]) for _ in steps]
    answers = pairs, [answer for *_, answer in steps], sides, [random.getrandbits(64) for _ in steps]
    assert learn_many(two, X, *answers) == learn_each(one, X, *answers)
    same(one, two)
    check_choices(two, X, starts, answers[-1])


@pytest.mark.parametrize("believe", [{}, {"believe": "people"}], ids=str)
def test_rows_in_any_order_and_arrays_with_more_than_the_rows_are_read_alike(believe):
    one, two = (make("gnu", dim=DIM, **believe) for _ in range(2))
    whole, starts = rounds(1, wild=1.0)
    X = whole.take(np.random.default_rng(0).permutation(len(whole)))
    answers = duels(starts, 1)
    assert learn_many(two, X, *answers) == learn_each(one, X, *answers) == []
    loose = SparseRows([0, 1, 3], [0, 1, 2, 3], [1.0, 2.0, 3.0, 4.0], DIM)  # the last entry is no row's
    assert one.learn_all(loose, np.array([[1, 0]]), [1.0], [1], [0]) == 1
    learn_one(two, loose, [1, 0], 1.0, 1, 0)
    same(one, two)
    check_choices(two, X, starts, list(range(len(starts) - 1)))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *[(1, value) for value in (True, float("nan"), 1.5, 10**400, "1", None, np.float64(1.0))],
        *[(2, value) for value in (True, 2, -2, 10**30, 1.0, "1")],
        *[(3, value) for value in (-1, 2**64, 1.5, "1", np.int64(3))],
        *[(0, value) for value in ([0, 0], [-1, 0], [0, 8])],
    ],
)
def test_what_is_no_plain_number_is_left_to_learn(place, value):
    learner, other = (make("gnr", dim=DIM, believe="voters") for _ in range(2))
    X, parts = as_rows(np.eye(8)[:, :DIM], DIM), [[[0, 1], [2, 3], [4, 5]], [1, -1.0, 0.5], [1, -1, 0], [1, 2, 3]]
    assert other.learn_all(X, np.array(parts[0][:1]), *(each[:1] for each in parts[1:])) == 1
    parts[place][1] = value
    assert learner.learn_all(X, np.array(parts[0]), *parts[1:]) == 1
    same(learner, other)


def test_tickets_that_are_none_leave_the_other_rounds_alone():
    learner, X = make("gnr", dim=DIM), as_rows(np.eye(DIM), DIM)
    assert check_choices(learner, X, [0, 2, 4, 6], [1, -1, 2**64 - 1]) == 2
    choices, scores = learner.choose_all(X, [2, 4, 4, 6], [1, 2, "3"])
    assert [choice is None for choice in choices] == [False, True, True]
    assert np.isnan(scores).tolist() == [True, True, False, False, True, True]


def test_nothing_is_learnt_or_chosen_of_none():
    learner, X = make("gnr", dim=DIM), as_rows(np.eye(DIM), DIM)
    assert learner.learn_all(X, np.empty((0, 2), np.int64), [], [], []) == 0
    assert learner.choose_all(X, [0], [])[0] == []


def test_shapes_that_do_not_fit_are_refused_with_what_came():
    learner, X = make("gnr", dim=DIM), as_rows(np.eye(DIM), DIM)
    for starts, tickets in (
        ([0, 2], [1, 2]),
        ([0, 7], [1]),
        ([2, 0], [1]),
        ([-1, 2], [1]),
        ([0.0, 2.0], [1]),
        ([], []),
    ):
        with pytest.raises(ValueError, match=r"starts must .* got"):
            learner.choose_all(X, starts, tickets)
    for pairs, answers, sides in (([[0, 1]], [1, 1], [0, 0]), ([0, 1], [1], [0]), ([[0, 1]], [1], [])):
        with pytest.raises(ValueError, match="1 answers need|2 answers need"):
            make("gnr", dim=DIM, believe="voters").learn_all(X, np.array(pairs), answers, sides, [1] * len(answers))
    with pytest.raises(ValueError, match="6 features, got 3"):
        learner.choose_all(as_rows(np.eye(3), 3), [0, 2], [1])


def test_learners_that_cannot_say_so():
    own = Conquer(Full(DIM), Policy(first=GREEDY, second=lambda model, X, first, eta, ticket: model.scores(X)))
    kernel = make("gnr", dim=DIM, model="kernel")
    unable = [own, kernel, make("gnr", dim=DIM, explore=0.1), make("confidit", dim=DIM), make("banditron", dim=DIM)]
    unable += [
        make("gnr", dim=DIM, projection="exact"),
        make("gnr", dim=DIM, model="kernel", kernel="linear", believe="voters"),
    ]
    assert [batch_learner(learner) for learner in unable] == [None] * len(unable)
    with pytest.raises(ValueError, match="does not support batches"):
        kernel.choose_all(as_rows(np.eye(DIM), DIM), [0, 2], [1])


def test_another_thread_is_told():
    learner, X = make("gnr", dim=DIM, believe="voters"), as_rows(np.eye(DIM), DIM)
    learner.model.user = threading.get_ident() + 1  # another thread is inside
    for call in (
        lambda: learner.choose_all(X, [0, 3, 6], [1, 2]),
        lambda: learner.learn_all(X, np.array([[0, 1]]), [1.0], [1], [1]),
    ):
        with pytest.raises(RuntimeError, match="not thread-safe"):
            call()
    learner.model.user = 0
    assert learner.fresh
    assert learner.learn_all(X, np.array([[0, 1]]), [1.0], [1], [1]) == 1
    assert learner.model.user == 0
