"""Voters in a session: what its rows hold, that a replay is exact, and that an erased voter has never been there."""

import numpy as np
import pytest

from conquer.registry import make
from conquer.session import MemoryLedger, Session
from conquer.session.ledger import replay
from conquer.session.session_file import restore

MODELS = [{"model": "full"}, {"model": "diagonal"}, {"model": "kernel", "kernel": "linear"}]
SETTINGS = [{**model, "believe": believe} for model in MODELS for believe in ("voters", "people")]


def told(session, count, seed=0, only=None, start=0):
    """Answer `count` offers; the items, voters and answers are the same whoever is left out by `only`."""
    rng = np.random.default_rng(seed)
    for ordinal in range(count):
        X, draw = rng.normal(size=(4, 5)), rng.integers(0, 6)
        voter = [None, "ann", "bob", "cid", "dan", "gpt"][draw]
        word = ["first", "second", "tie", "skip"][rng.choice(4, p=[0.4, 0.4, 0.1, 0.1])]
        if ordinal < start:
            continue
        offer = session.ask(X)
        if only is None or voter in only:
            session.tell(offer.id, word, voter=voter, kind="judge" if voter == "gpt" else "person")


def same(one, two):
    mine, theirs = one.arrays(), two.arrays()
    return mine.keys() == theirs.keys() and all(mine[name].tobytes() == theirs[name].tobytes() for name in mine)


@pytest.mark.parametrize("settings", SETTINGS)
def test_a_replay_is_exact_and_so_is_a_file_in_the_middle(settings):
    session = Session(make("gnu", dim=5, explore=0.1, **settings), seed=1, ledger=MemoryLedger())
    told(session, 40)
    later = restore(session.dumps(), ledger=MemoryLedger())
    assert same(later.learner, session.learner)
    for one in (session, later):
        told(one, 80, start=40)
    assert same(later.learner, session.learner)
    assert same(replay(session.ledger), session.learner)
    assert same(replay(later.ledger), session.learner)


def test_rows_hold_who_said_it_and_with_what_weight():
    session = Session(make("gnr", dim=5, model="full", believe="voters"), seed=1, ledger=MemoryLedger())
    offer = session.ask(np.eye(5)[:3])
    session.tell(offer.id, "first", voter="ann")
    row = list(session.ledger.rows())[-1]
    said = {"kind": "tell", "id": "0", "answer": 1.0, "voter": "ann"}
    assert row == {**said, "voter_kind": "person", "weight": 1.0}
    assert session.learner.voters()[0].left == (offer.left == offer.shown[0])
    assert session.tell(offer.id, "first", voter="bob") == "repeat"
    session.tell(session.ask(np.eye(5)[:3]).id, "first")
    assert "voter" not in list(session.ledger.rows())[-1]
    plain = Session(make("gnr", dim=5), seed=1, ledger=MemoryLedger())
    plain.tell(plain.ask(np.eye(5)[:3]).id, "first", voter="ann", kind="judge")
    assert list(plain.ledger.rows())[-1] == {**said, "voter_kind": "judge"}
    assert same(replay(plain.ledger), plain.learner)


def test_a_bad_voter_is_refused_and_the_offer_stays_open():
    session = Session(make("gnr", dim=5, believe="voters"), seed=1)
    offer = session.ask(np.eye(5)[:3])
    for voter, kind in (("", "person"), ("x" * 10_000, "person"), (3, "person"), ("ann", "robot"), (None, "judge")):
        with pytest.raises(ValueError, match="voter|judge"):
            session.tell(offer.id, "first", voter=voter, kind=kind)
    assert session.pending == (offer.id,)
    assert session.tell(offer.id, "first", voter="ann") == "learnt"


@pytest.mark.parametrize("settings", SETTINGS)
def test_an_erased_voter_has_never_been_there(settings):
    # Pairs are drawn without looking at what was learnt, so both sessions ask the same.
    everyone, others = [None, "ann", "bob", "cid", "dan", "gpt"], [None, "bob", "cid", "dan", "gpt"]
    learner = {"dim": 5, "explore": 1.0, **settings}
    whole, without = (Session(make("gnr", **learner), seed=2, ledger=MemoryLedger()) for _ in range(2))
    told(whole, 120, only=everyone)
    told(without, 120, only=others)
    assert not same(whole.learner, without.learner)
    assert same(replay(whole.ledger, without=["ann"]), without.learner)
    weights = [row["weight"] for row in whole.ledger.rows() if row.get("voter") == "bob"]
    anew = [row["weight"] for row in without.ledger.rows() if row.get("voter") == "bob"]
    assert len(weights) == len(anew)
    assert weights != anew


def test_another_learner_weighs_the_same_answers_by_itself():
    session = Session(make("gnr", dim=5, model="full"), seed=1, ledger=MemoryLedger())
    told(session, 60)
    believing = replay(session.ledger, make("gnr", dim=5, model="full", believe="voters"))
    assert {voter.kind for voter in believing.voters()} == {"person", "judge"}
    assert all(voter.left is not None for voter in believing.voters())
    # The same pairs in a session that believes from the start.
    drawn = {"dim": 5, "model": "full", "explore": 1.0}
    plain = Session(make("gnr", **drawn), ledger=MemoryLedger())
    from_the_start = Session(make("gnr", believe="voters", **drawn))
    told(plain, 60)
    told(from_the_start, 60)
    anew = replay(plain.ledger, make("gnr", believe="voters", **drawn))
    assert same(anew, from_the_start.learner)
