"""Ledgers are votes: they keep what a row says of an answer, and count what is left out."""

import json

import numpy as np
import pytest
from fits import tally_of

import conquer
from conquer.data.compression import DataError
from conquer.data.votes import VoteReading, VoteTally, read_votes
from conquer.session import MemoryLedger

ITEMS = [{"id": "tea", "text": "green tea"}, {"id": "mug", "text": "a blue mug"}, {"id": "pot", "text": "an old pot"}]


def choose(event, *names, **more):
    return {"kind": "choose", "event_id": event, "body": {"names": list(names), "items": ITEMS, **more}}


def answer(event, winner="tea", value=1.0, **more):
    return {"kind": "answer", "event_id": event, "voter": "ann", "body": {"winner": winner, "value": value, **more}}


OPEN = {"kind": "open", "body": {"name": "teas", "settings": {}}}
ROWS = [
    OPEN,
    choose("e1", "tea", "mug"),
    answer("e1", kind="judge", weight=0.25),
    choose("e2", "tea", "mug", planted="e1"),
    answer("e2", value=None, reason="planted"),
    choose("e3", "tea", "mug", "pot"),
    answer("e3"),
    choose("e4", "tea", "pot"),
    answer("e4", value=None, reason="late"),
    {"kind": "erasure", "body": {"first": 3, "rows": 2}},
    {"kind": "erased", "body": {"ordinal": 4}},
    {"kind": "vote", "position": 12, "voter": "bob", "body": {
        "items": ITEMS[:2], "names": ["tea", "mug"], "winner": "mug", "value": -1.0, "left": "mug", "weight": 0.5,
        "context": {"time": "noon"}}},
    {"kind": "vote", "position": 13, "voter": "bob", "body": {
        "items": ITEMS[1:], "names": ["mug", "pot"], "winner": "pot", "value": -1.0}},
    {"kind": "correction", "body": {"undone": 13}},
]  # fmt: skip


@pytest.mark.parametrize("from_file", [True, False])
def test_a_service_ledger_keeps_what_it_says_and_counts_what_it_leaves_out(from_file, tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    reading = read_votes(path) if from_file else VoteReading(ROWS)
    one, two = reading
    assert (one.first, one.value, one.voter, one.kind, one.weight) == ("green tea", 1.0, "ann", "judge", 0.25)
    assert (two.second, two.value, two.voter, two.kind, two.weight) == ("a blue mug", -1.0, "bob", "person", 0.5)
    assert (two.left, two.context, two.line) == ("second", {"time": "noon"}, 12)
    assert reading.tally.left_out == 3
    assert "3 not learnt by the service" in str(reading.tally)
    assert tally_of(path, dim=64).left_out == 3


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [OPEN, choose("e1", "tea", "mug"), answer("e1"), answer("e9")],
            "vote 4: an answer to 'e9', a question that",
        ),
        ([OPEN, {**choose("e1", "tea", "mug", items=None)}, answer("e1")], "vote 3: the ledger does not hold"),
        ([OPEN, {"kind": "dance"}], "vote 2: not a row of a ledger"),
    ],
)
def test_an_answer_to_nothing_is_refused_by_line(rows, message):
    with pytest.raises(DataError, match=message):
        list(VoteReading(rows))


def test_a_session_ledger_is_votes():
    session = conquer.Session(conquer.make("gnr", dim=3, model="full"), ledger=MemoryLedger())
    for said in ("first", "second", "tie", "skip"):
        session.tell(session.ask(np.eye(3)).id, said, voter="ann", kind="judge")
    tally = VoteTally()
    learnt = conquer.fit(list(session.ledger.rows()), model="full", tally=tally).learner.model
    assert (tally.votes, tally.ties, tally.skips) == (3, 1, 1)
    np.testing.assert_allclose(learnt.weights(), session.learner.model.weights(), atol=1e-9)
    assert {vote.kind for vote in VoteReading(session.ledger.rows())} == {"judge"}


def test_a_session_ledger_of_many_features_names_the_remedy():
    session = conquer.Session(conquer.make("gnr", dim=10_000), ledger=MemoryLedger())
    session.tell(session.ask(["green tea", "a mug"]).id, "first")
    with pytest.raises(DataError, match=r"vote [34]: .*replay"):
        conquer.fit(list(session.ledger.rows()))
