"""Own rules: made inline, saved by their import paths, loaded only with the functions handed in."""

import json
import sys

import numpy as np
import pytest

import conquer
from conquer.extending import rival
from conquer.files import FileError, pack, unpack
from conquer.learners.conquer import Conquer
from conquer.models.diagonal import Diagonal
from conquer.models.full import Full
from conquer.models.kernel import Kernel
from conquer.policies import ALONE, CONFIDENT, GREEDY, RELATIVE_UCB, UCB, Policy
from conquer.rivals.contextual.gradient import PreferencePerceptron
from conquer.saving import dumps, loads

X = np.random.default_rng(0).normal(size=(6, 3))


def widest(model, X, first, eta, ticket):
    """The item whose comparison with the first is known least."""
    return model.contrasts(X, first)


def often(model, X, first, second, eta):
    return bool(model.contrasts(X, first)[second] > 0.01)


PATH = f"{__name__}:widest"
RULES = {PATH: widest, f"{__name__}:often": often}
MODELS = [Full(3, lam=0.5), Diagonal(3, update="margin", lam=2.0), Kernel(3, kernel="poly", degree=3)]


def played(session: conquer.Session, rounds: int) -> list[tuple[str, ...]]:
    shown = []
    for _ in range(rounds):
        offer = session.ask(X)
        shown.append(offer.shown)
        if offer.choice.query != conquer.Query.NONE:
            session.tell(offer.id, "first")
    return shown


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("rules", [RULES, {"widest": widest, "often": often}])
def test_a_session_with_ones_own_rules_goes_on_bit_for_bit(tmp_path, model, rules):
    fresh = type(model)(3, **model.settings)
    session = conquer.Session(Conquer(fresh, Policy(first=GREEDY, second=widest, gate=often, eta=2.0)), seed=4)
    played(session, 7)
    conquer.save(session, tmp_path / "mine.cnqr")
    again = conquer.load(tmp_path / "mine.cnqr", rules=rules)
    assert again.learner.policy == session.learner.policy
    assert again.learner.model.settings == fresh.settings
    assert played(again, 10) == played(session, 10)
    assert np.array_equal(again.learner.scores(X), session.learner.scores(X))


def test_no_rule_is_imported_from_a_file(tmp_path, monkeypatch):
    session = conquer.Session(Conquer(Full(3), Policy(first=GREEDY, second=widest)))
    conquer.save(session, tmp_path / "mine.cnqr")
    for rules in (None, {}, {"other": widest}, {"widest": None}):
        with pytest.raises(FileError, match=rf"the file needs your second rule '{PATH}': load\(path, rules="):
            conquer.load(tmp_path / "mine.cnqr", rules=rules)
    header, arrays = unpack((tmp_path / "mine.cnqr").read_bytes())
    header["learner"]["policy"]["second"] = "antigravity:fly"
    (tmp_path / "evil.cnqr").write_bytes(pack(header, arrays))
    with pytest.raises(FileError, match="the file needs your second rule 'antigravity:fly'"):
        conquer.load(tmp_path / "evil.cnqr")
    assert "antigravity" not in sys.modules


def test_a_policy_of_known_rules_needs_none(tmp_path):
    learner = Conquer(Full(3), Policy(first=UCB, second=RELATIVE_UCB, gate=CONFIDENT, eta=0.5), eta=0.7)
    for ticket in range(5):
        choice = learner.choose(X, ticket)
        if choice.query == conquer.Query.DUEL:
            learner.learn(X, choice, 1.0)
    conquer.save(learner, tmp_path / "mine.cnqr")
    again = conquer.load(tmp_path / "mine.cnqr")
    assert (again.eta, again.answers) == (0.7, learner.answers)
    assert [again.choose(X, t).shown for t in range(9)] == [learner.choose(X, t).shown for t in range(9)]


@pytest.mark.parametrize(
    "change",
    [
        {"second": 99}, {"second": True}, {"second": ALONE}, {"first": -3}, {"gate": 7}, {"reply": 9}, {"eta": "x"},
        {"second": ["a"]}, {"second": None},
    ],
)  # fmt: skip
def test_what_no_policy_is_is_refused(change):
    header, arrays = unpack(dumps(Conquer(Full(3), Policy(first=GREEDY, second=UCB, eta=0.1))))
    header = json.loads(json.dumps(header))
    header["learner"]["policy"] |= change
    with pytest.raises(FileError):
        loads(pack(header, arrays))


def test_what_has_no_file_form_says_so(tmp_path):
    unnamed = Policy(first=GREEDY, second=lambda model, X, first, eta, ticket: model.contrasts(X, first))
    with pytest.raises(ValueError, match="has no name to be saved under"):
        conquer.save(Conquer(Full(3), unnamed), tmp_path / "x")
    with pytest.raises(ValueError, match="can be saved if it shows two items"):
        conquer.save(Conquer(Full(3), conquer.Policy(first=UCB, second=ALONE, eta=0.1, reply=1)), tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("extra", [{}, {"explore": 0.5}, {"believe": "voters"}, {"explore": 0.5, "believe": "people"}])
@pytest.mark.parametrize("model", ["diagonal", "full"])
def test_an_own_policy_is_made_simulated_saved_and_loaded(tmp_path, model, extra):
    policy = Policy(first=GREEDY, second=widest, gate=often, eta=2.0)
    learner = conquer.make(policy, dim=3, model=model, lam=0.5, **extra)
    for ticket in range(20):
        choice = learner.choose(X, ticket)
        if choice.query == conquer.Query.DUEL:
            learner.learn(X, choice, 1.0)
    conquer.save(learner, tmp_path / "mine.cnqr")
    again = conquer.load(tmp_path / "mine.cnqr", rules={"widest": widest, "often": often})
    assert again.parameters == learner.parameters
    assert [again.choose(X, t) for t in range(30)] == [learner.choose(X, t) for t in range(30)]
    with pytest.raises(TypeError, match="no_such"):
        conquer.make(policy, dim=3, no_such=1)
    with pytest.raises(ValueError, match="a custom policy shows two items"):
        conquer.make(conquer.Policy(first=UCB, second=ALONE, eta=0.1, reply=1), dim=3)


def test_an_own_algorithm_is_made_saved_and_loaded_inline(tmp_path):
    row = rival("mine", "A perceptron on duels", lambda dim, model, values: PreferencePerceptron(dim))
    learner = conquer.make(row, dim=3)
    for ticket in range(5):
        learner.learn(X, learner.choose(X, ticket), 1.0)
    conquer.save(learner, tmp_path / "mine.cnqr")
    with pytest.raises(FileError, match="unknown algorithm 'mine'"):
        conquer.load(tmp_path / "mine.cnqr")
    again = conquer.load(tmp_path / "mine.cnqr", rules={"mine": row})
    assert np.array_equal(again.scores(X), learner.scores(X))
