"""How few votes hold a board up, and what makes a difference: against fits without these votes."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import conquer

NAMES = ("tea", "mug", "pot", "cup")
VOTES = st.lists(
    st.tuples(st.permutations(NAMES).map(lambda p: p[:2]), st.sampled_from([1.0, -1.0, 0.0]),
              st.sampled_from(["ann", "bob", "eve", None]), st.sampled_from([1.0, 0.5])),
    min_size=4, max_size=40,
)  # fmt: skip


def rows(votes):
    return [{"left": one, "right": two, "answer": value, "voter": voter, "weight": weight, "question_id": k}
            for k, ((one, two), value, voter, weight) in enumerate(votes)]  # fmt: skip


def without(votes, removed):
    """The votes less those of a `Fragility`, which names pairs in either order."""
    left = Counter()
    for first, second, value, count in removed:
        key = (first, second, value) if first < second else (second, first, -value + 0.0)
        left[key] += count
    kept = []
    for vote in votes:
        one, two, value = vote["left"], vote["right"], vote["answer"]
        key = (one, two, value) if one < two else (two, one, -value + 0.0)
        if left[key]:
            left[key] -= 1
        else:
            kept.append(vote)
    assert not +left
    return kept


def refit(kept):
    """The scores of all names by a fit of these votes."""
    known = [{"left": one, "right": two, "answer": 0.0, "weight": 0.0} for one, two in pairwise(NAMES)]
    return conquer.fit([*kept, *known]).scores()


@given(VOTES)
@settings(max_examples=60)
def test_without_these_votes_the_leader_is_another(votes):
    votes = [vote for vote in rows(votes) if vote["weight"] == 1.0]
    if not votes:
        return
    board = conquer.fit(votes).board(interval="fixed")
    found = board.fragile()
    if found.rival < 0:
        assert not found.votes
        return
    scores = refit(without(votes, found.removed))
    assert sum(count for *_, count in found.removed) == found.votes
    assert scores[board.name(found.rival)] > scores[board.name(found.leader)] - 1e-9
    assert found.text.startswith(f"without {found.votes} of the {len(votes)} votes {board.name(found.rival)} would be")
    if found.voters:
        scores = refit([vote for vote in votes if vote["voter"] not in found.voters])
        assert max(scores, key=scores.get) != board.name(found.leader) or sorted(scores.values())[-2] > max(
            scores.values()) - 1e-9  # fmt: skip


def test_the_fewest_votes_are_found_where_they_are_known():
    votes = [("tea", "mug", "tea")] * 5 + [("mug", "tea", "mug")] * 3
    board = conquer.fit(votes).board()
    found = board.fragile()
    assert (found.votes, found.neighbours, found.answers) == (3, (3,), 8)
    assert found.removed == (("tea", "mug", 1.0, 3),)


@given(VOTES)
@settings(max_examples=60)
def test_votes_voters_and_features_add_up_to_the_last_digit(votes):
    board = conquer.fit(rows(votes)).board(interval="fixed")
    one, other = board.names[:2]
    found = board.why(one, other)
    assert found.gap == pytest.approx(board.scores[0] - board.scores[1], abs=1e-12)
    for parts in (found.votes, found.voters, found.features):
        assert sum(part[-1] for part in parts) == sum(part[-1] for part in parts[::-1]) == found.gap
    assert sum(count for *_, count, _ in found.votes) == len(votes)
    assert {name for name, _ in found.features} == {one, other}
    assert {name for name, _ in found.voters} == {vote[2] for vote in votes}


def test_texts_name_their_features_and_vectors_their_columns():
    votes = [{"text_a": "green tea", "text_b": "a blue mug", "winner": "a"}] * 3
    session = conquer.fit(votes, dim=256)
    found = session.board(interval="fixed").why("green tea", "a blue mug")
    assert {"green tea", "blue", "length of the text"} <= {name for name, _ in found.features}
    vectors = {"tea": [1.0, 0.0], "mug": [0.0, 1.0]}
    found = conquer.fit([("tea", "mug", "tea")] * 3, vectors).board(interval="fixed").why("tea", "mug")
    assert dict(found.features) == pytest.approx({"feature 0": 0.6, "feature 1": 0.6})


def test_a_board_of_other_votes_is_refused(tmp_path):
    session = conquer.fit([("tea", "mug", "tea")] * 3)
    session.tell(session.ask(["tea", "mug"]), "first")
    with pytest.raises(ValueError, match="not the votes that the model was made of"):
        session.board().fragile()
    weighed = conquer.fit(
        rows([(("tea", "mug"), 1.0, name, 1.0) for name in ("ann", "bob")]), believe="voters", model="full"
    )
    with pytest.raises(ValueError, match="only a full model without believe="):
        weighed.board().why("tea", "mug")
    conquer.save(session, tmp_path / "m")
    with pytest.raises(ValueError, match="does not know its votes"):
        conquer.load(tmp_path / "m").board().why("tea", "mug")
    with pytest.raises(ValueError, match="does not know its votes"):
        conquer.make("gnr", dim=2, model="full").board(np.eye(2)).fragile()


def test_a_session_with_a_ledger_knows_its_votes():
    session = conquer.Session(conquer.make("gnr", dim=4, model="full"), ledger=conquer.MemoryLedger())
    items = dict(zip(NAMES, np.eye(4).tolist(), strict=True))
    with pytest.raises(ValueError, match="no answers yet"):
        session.board(items).fragile()
    for turn in range(40):
        offer = session.ask(items)
        best = min(offer.shown, key=NAMES.index)
        session.tell(offer, "tie" if turn % 5 == 0 else None if turn % 7 == 0 else best, voter=f"v{turn % 3}")
    board = session.board(items)
    why = board.why("tea", "cup")
    assert sum(share for *_, share in why.votes) == sum(share for _, share in why.voters) == why.gap
    assert {name for name, _ in why.voters} == {"v0", "v1", "v2"}
    found = board.fragile()
    assert found.answers == session.learner.answers
    assert 0 < found.votes < found.answers
    assert {item for first, second, *_ in found.removed for item in (first, second)} <= {*NAMES}
