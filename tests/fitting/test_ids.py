"""What names an item in a vote: a whole number is an id before it is a strength, in tuples, mappings and files."""

import json

import numpy as np
import pytest

import conquer
from conquer.data.compression import DataError
from conquer.data.votes import VoteReading


def best(session):
    return str(session.catalog.names[session.learner.scores(session.catalog.rows).argmax()])


@pytest.mark.parametrize("winner", [0, 1, np.int64(1)])
def test_a_whole_number_that_is_an_id_names_that_item_in_every_form(winner, tmp_path):
    path, lines = tmp_path / "votes.csv", tmp_path / "votes.jsonl"
    path.write_text(f"first,second,winner\n0,1,{winner}\n")
    lines.write_text(json.dumps({"first": 0, "second": 1, "winner": int(winner)}))
    row = {"first": 0, "second": 1, "winner": winner}
    for votes in ([(0, 1, winner)], [(1, 0, winner)], [row], path, lines, [("0", "1", winner)]):
        assert best(conquer.fit(votes)) == str(winner)


@pytest.mark.parametrize(("winner", "value"), [(1.0, 1.0), (-0.5, -0.5), (0.0, 0.0), ("tie", 0.0), ("second", -1.0)])
def test_among_whole_number_ids_a_float_is_a_strength(winner, value):
    (vote,) = VoteReading([(0, 1, winner)])
    assert (vote.first, vote.second, vote.value) == (0, 1, value)


@pytest.mark.parametrize("winner", [-1, 1, 0, 2, np.int64(1)])
def test_a_whole_number_that_names_neither_item_is_refused(winner):
    with pytest.raises(DataError, match=r"vote 1: the winner must be 3 or 7, .* a float, such as 1.0; got"):
        conquer.fit([(3, 7, winner)])


def test_among_other_items_a_whole_number_is_a_strength():
    votes = [("tea", "mug", -1), ([1.0, 0.0], [0.0, 1.0], -1), ({"price": 1}, {"price": 2}, -1)]
    assert [vote.value for row in votes for vote in VoteReading([row])] == [-1.0] * 3


def test_one_number_and_one_text_are_not_two_ids():
    with pytest.raises(DataError, match="vote 2: the ids 1 and '1' are equal as text; use one type"):
        conquer.fit([(1, 2, 1), ("1", "3", "first")])


def test_pairs_are_a_winner_and_a_loser():
    pairs = [("tea", "mug"), ["mug", "pot"], (8, 7), ("tea", "pot", "tie")]
    assert [(vote.first, vote.second, vote.value) for vote in VoteReading(pairs)] == [
        ("tea", "mug", 1.0), ("mug", "pot", 1.0), (8, 7, 1.0), ("tea", "pot", 0.0)
    ]  # fmt: skip
    assert best(conquer.fit([("tea", "mug"), ("tea", "pot")])) == "tea"


ITEMS = {1: {"price": 1.0}, 2: {"price": 5.0}}


@pytest.mark.parametrize("by", [str, int])
@pytest.mark.parametrize("form", ["mapping", "rows", "file"])
def test_items_are_mappings_or_rows_with_an_id(form, by, tmp_path):
    rows = [{"id": by(name), **item} for name, item in ITEMS.items()]
    path = tmp_path / "items.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    items = {"mapping": {by(name): item for name, item in ITEMS.items()}, "rows": rows, "file": path}[form]
    votes = tmp_path / "votes.csv"
    votes.write_text("left,right,winner\n1,2,right\n")
    expected = conquer.fit([("1", "2", "2")], {str(name): item for name, item in ITEMS.items()}, dim=32)
    for source in ([(1, 2, 2)], [("1", "2", "second")], [(2, 1)], votes):
        session = conquer.fit(source, items, dim=32)
        assert np.array_equal(session.learner.model.weights(), expected.learner.model.weights())


def test_rows_of_items_are_refused_by_their_number():
    rows = [{"id": "tea", "text": "green tea"}, {"id": "tea", "text": "a mug"}]
    with pytest.raises(DataError, match="items, row 2: the id 'tea' occurs twice"):
        conquer.fit([("tea", "mug")], rows)
    with pytest.raises(DataError, match="items, row 2: expected an object with fields, got 7"):
        conquer.fit([("tea", "mug")], [rows[0], 7])
    with pytest.raises(DataError, match="items, row 1: no column is an id"):
        conquer.fit([("tea", "mug")], [{"text": "green tea"}])
    with pytest.raises(TypeError, match="items must be a file, {id: item} or rows with an id, got 7"):
        conquer.fit([("tea", "mug")], 7)
