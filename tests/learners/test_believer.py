"""Learners that learn whom to believe: the equations, that nothing else changes, and files."""

import numpy as np
import pytest

from conquer.learners.believer import believer
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.registry import make
from conquer.saving import dumps, loads
from conquer.types import Choice, Query, Source

MODELS = [
    {"model": "full"},
    {"model": "kernel", "kernel": "linear"},
    {"model": "diagonal"},
    {"model": "diagonal", "update": "coordinate"},
]
DIM, PLACES = 4, 3


def answers(count, seed=0, kinds=("person",)):
    """Items, choices, answers and sources of a small crowd; voter 4 has no place of their own, None no name."""
    rng = np.random.default_rng(seed)
    for ticket in range(count):
        X = rng.normal(size=(3, DIM))
        m, n = rng.permutation(3)[:2].tolist()
        voter = [None, "ann", "bob", "cid", "dan"][rng.integers(5)]
        kind = "person" if voter is None else kinds[ord(voter[0]) % len(kinds)]
        source = Source(voter, int(rng.integers(-1, 2)), kind)
        yield X, Choice((m, n), Query.DUEL, ticket, {}), float(rng.choice([-1.0, 1.0, 0.0, 0.4])), source


def taught(count=60, seed=0, kinds=("person",), **parameters):
    settings = {"model": "full", "believe": "voters", "voters": PLACES, **parameters}
    learner, weights = make("gnr", dim=DIM, lam=0.7, **settings), []
    for X, choice, answer, source in answers(count, seed, kinds):
        weights.append(learner.weigh(X, choice, source))
        learner.learn(X, choice, answer, source)
    return learner, weights


class Oracle:
    """The record's equations in plain numpy, every model solved anew from its rows."""

    def __init__(self, people=False, nuisance=(), lam=0.7):
        self.people, self.nuisance, self.lam = people, list(nuisance), lam
        self.order, self.sums, self.whole, self.half, self.made = [], {}, [], ([], []), False

    def solved(self, rows):
        width = DIM + 1 + PLACES + 2 * len(self.nuisance)
        A, b = self.lam * np.eye(width), np.zeros(width)
        for u, y in rows:
            A, b = A + np.outer(u, u), b + y * u
        return np.linalg.solve(A, b)

    def learn(self, X, choice, y, source):
        """Returns rho."""
        item, extra = np.zeros(len(self.solved([]))), np.zeros(len(self.solved([])))
        m, n = choice.shown
        item[:DIM] = (X[m] - X[n]) / 2
        extra[DIM] = source.side / 2
        key = (source.kind, source.voter)
        if source.voter is None:
            self.whole.append((item + extra, y))
            return 1.0
        if key not in self.order:
            self.order.append(key)
            self.sums[key] = np.zeros(4)
        place = self.order.index(key)
        if place < PLACES:
            extra[DIM + 1 + place] = source.side / 2
        if source.kind == "judge":
            judge = [one for one in self.order if one[0] == "judge"].index(key)
            start = DIM + 1 + PLACES + judge * len(self.nuisance)
            extra[start : start + len(self.nuisance)] = item[self.nuisance] / 2
        together, squares, noise, count = self.sums[key]
        s2 = (1 + noise) / (1 + count)
        rho = float(np.clip((s2 + together) / (s2 + squares) + np.sqrt(s2 / (s2 + squares)), 0, 1))
        taking = [one for one in self.order if not (self.people and one[0] == "judge")]
        if len(self.order) == 2 and not self.made:
            self.made = True
            if len(self.whole) == self.sums[self.order[0]][3] and self.order[0] in taking:
                self.half[0].extend(self.whole)
        if key in taking:
            half = taking.index(key) % 2
            other = self.half[1 - half]
        else:
            half, other = None, self.half[int(len(self.half[1]) > len(self.half[0]))]
        p = float(np.clip(item @ self.solved(other), -1, 1)) if len(self.order) > 1 else 0.0
        net = y - float(np.clip(extra[: DIM + 1 + PLACES] @ self.solved(self.whole)[: DIM + 1 + PLACES], -1, 1))
        self.sums[key] += (net * p, p * p, net * net, 1)
        row = rho * item + extra, y
        self.whole.append(row)
        if half is not None and len(self.order) > 1:
            self.half[half].append(row)
        return rho


@pytest.mark.parametrize("model", MODELS[:2], ids=["full", "kernel"])
@pytest.mark.parametrize("people", [False, [3, 1], "all"], ids=["voters", "people", "taste"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_weights_and_reliabilities_are_those_of_the_extended_ridge(model, people, seed):
    extra = {"believe": "people", "nuisance": people} if people else {}
    kinds = ("person", "judge") if people else ("person",)
    learner, weights = taught(60, seed, kinds, **model, **extra)
    oracle = Oracle(bool(people), range(DIM) if people == "all" else sorted(people or ()))
    expected = [oracle.learn(*one) for one in answers(60, seed, kinds)]
    np.testing.assert_allclose(weights, expected, atol=1e-9)
    np.testing.assert_allclose(learner.model.weights(), oracle.solved(oracle.whole), atol=1e-9)
    assert min(weights) < 0.9 < max(weights)


def test_the_first_voters_answers_are_not_lost_where_nobody_else_has_answered():
    learner, oracle = make("gnr", dim=DIM, model="full", lam=0.7, believe="voters", voters=PLACES), Oracle()
    weights, expected = [], []
    for place, (X, choice, y, source) in enumerate(answers(40, 5)):
        source = Source("ann" if place < 20 else "bob", source.side)
        weights.append(learner.weigh(X, choice, source))
        learner.learn(X, choice, y, source)
        expected.append(oracle.learn(X, choice, y, source))
    np.testing.assert_allclose(weights, expected, atol=1e-9)
    assert weights[-1] < 1
    assert len(oracle.half[0]) == 20


def test_statistics_add_in_any_order_once_the_weights_are_given():
    one, weights = taught(50, update="coordinate", model="diagonal")
    other = make("gnr", dim=DIM, lam=0.7, model="diagonal", update="coordinate", believe="voters", voters=PLACES)
    rows = list(zip(answers(50), weights, strict=True))
    seen = list(believer(one).table.names)
    # Places are given in the order of appearance, so the crowd is presented first.
    rows.sort(key=lambda row: seen.index(("person", row[0][3].voter)) if row[0][3].voter else len(seen))
    for (X, choice, answer, source), weight in rows:
        other.learn(X, choice, answer, Source(source.voter, source.side, source.kind, weight))
    np.testing.assert_allclose(one.model.weights(), other.model.weights(), atol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=["full", "kernel", "implicit", "coordinate"])
@pytest.mark.parametrize("rule", ["gnc", "gnt", "ttu"])
def test_without_a_source_everything_is_as_without_belief(model, rule):
    plain, believing = make(rule, dim=DIM, **model), make(rule, dim=DIM, believe="voters", **model)
    rng = np.random.default_rng(3)
    for ticket in range(40):
        X = rng.normal(size=(4, DIM))
        choice = plain.choose(X, ticket)
        assert believing.choose(X, ticket) == choice
        if choice.query is Query.DUEL:
            answer = float(rng.choice([-1.0, 1.0]))
            plain.learn(X, choice, answer)
            believing.learn(X, choice, answer)
        assert plain.scores(X).tobytes() == believing.scores(X).tobytes()
        assert believing.choose_and_score(X, ticket)[1].tobytes() == plain.scores(X).tobytes()
    assert believing.voters() == ()
    assert believing.answers == plain.answers


def test_learners_without_belief_take_a_source_and_leave_it():
    for name, model in (("gnr", "full"), ("maxinp", None), ("gnr", "diagonal")):
        one, two = make(name, dim=DIM, model=model), make(name, dim=DIM, model=model, explore=0.2)
        other = make(name, dim=DIM, model=model)
        for X, _, answer, source in answers(10):
            choice = one.choose(X, 5)
            one.learn(X, choice, answer, source)
            two.learn(X, choice, answer, source)
            other.learn(X, choice, answer)
        assert one.scores(X).tobytes() == other.scores(X).tobytes() == two.scores(X).tobytes()
        with pytest.raises(ValueError, match="believe="):
            two.voters()


@pytest.mark.parametrize("model", MODELS, ids=["full", "kernel", "implicit", "coordinate"])
@pytest.mark.parametrize("people", [False, True], ids=["voters", "people"])
@pytest.mark.parametrize("count", [0, 1, 3, 30])
def test_a_file_continues_bit_for_bit(model, people, count):
    extra = {"believe": "people", "explore": 0.3} if people else {"nuisance": [2]}
    kinds = ("person", "judge")
    learner, _ = taught(count, 7, kinds, **model, **extra)
    again = loads(dumps(learner))[0]
    assert again.parameters == learner.parameters
    assert again.dim == DIM
    for X, choice, answer, source in answers(20, 8, kinds):
        assert again.weigh(X, choice, source) == learner.weigh(X, choice, source)
        learner.learn(X, choice, answer, source)
        again.learn(X, choice, answer, source)
    assert again.voters() == learner.voters()
    if model["model"] != "diagonal":
        assert again.worth() == learner.worth()
    assert dumps(again) == dumps(learner)


def test_weighing_changes_nothing_and_a_logged_weight_is_taken_as_it_is():
    learner, _ = taught(30)
    X, choice, answer, _ = next(iter(answers(1, 9)))
    before = dumps(learner)
    learner.weigh(X, choice, Source("new"))
    assert dumps(learner) == before
    one, two = loads(before)[0], loads(before)[0]
    one.learn(X, choice, answer, Source("ann", 1))
    two.learn(X, choice, answer, Source("ann", 1, weight=0.125))
    assert believer(one).table.sums[0, 0] == believer(two).table.sums[0, 0]
    assert one.scores(X).tobytes() != two.scores(X).tobytes()
    three = loads(before)[0]
    three.learn(X, choice, answer, Source("ann", 0, weight=0.0))  # no weight and no side: heard, and nothing moves
    assert three.answers == learner.answers + 1
    assert three.scores(X).tobytes() == learner.scores(X).tobytes()


def test_columns_do_not_reach_the_kernels_for_choosing():
    learner = make("gnc", dim=DIM, model="diagonal", believe="voters")
    assert isinstance(learner.model, Diagonal)
    assert learner.model.dim == DIM + 65
    full = make("gnc", dim=DIM, model="full", believe="people", voters=2, nuisance=(0, 1))
    assert isinstance(full.model, Full)
    assert full.model.dim == DIM + 1 + 2 + 2 * 2
    with pytest.raises(ValueError, match="4 features"):
        full.scores(np.eye(DIM + 1))


@pytest.mark.parametrize("believe", ["voters", "people"])
def test_a_voter_of_ties_alone_is_reported(believe):
    learner, X = make("gnr", dim=2, model="full", lam=0.01, believe=believe), np.eye(2)
    choice = Choice((0, 1), Query.DUEL, 0, {})
    for _ in range(40):
        learner.learn(X, choice, 1.0, Source("ann", 1))
    for _ in range(40):
        learner.learn(X, choice, 0.0, Source("eve", 1, "judge"))
    eve = {voter.name: voter for voter in learner.voters()}["eve"]
    assert eve.agreement is None
    assert eve.doubtful
    assert eve.reason == "agrees with the others in none of 40 answers"
