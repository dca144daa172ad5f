"""What cannot be learnt is named by file and line, or by item; files of skips alone stop nothing."""

import json
import math

import numpy as np
import pytest
from fits import tally_of

import conquer
from conquer.data.compression import DataError

GOOD = {"left": {"price": 1.0}, "right": {"price": 2.0}, "winner": "left"}


def written(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("model", ["full", "diagonal"])
@pytest.mark.parametrize("feature", [math.inf, math.nan, {"deep": 1}, [1.0, 2.0], 10**400])
def test_features_that_are_none_are_named_by_line(feature, model, tmp_path):
    path = written(tmp_path / "votes", [GOOD, {**GOOD, "right": {"price": feature}}])
    with pytest.raises(DataError, match=r"votes, line 2: feature 'price' must be"):
        conquer.fit(path, dim=64, model=model)


@pytest.mark.parametrize("model", ["full", "diagonal"])
def test_a_context_that_is_none_is_named_by_line(model, tmp_path):
    rows = [{**GOOD, "context": {"time": 1.0}}, {**GOOD, "context": {"time": {"deep": 1}}}]
    with pytest.raises(DataError, match=r"votes, line 2: .*'time' must be"):
        conquer.fit(written(tmp_path / "votes", rows), dim=64, context=True, model=model)


def test_weights_where_rows_cannot_be_scaled_are_named_by_line(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("left,right,winner,weight\ntea,mug,left,1\ntea,mug,left,0.5\n")
    with pytest.raises(DataError, match=r"votes.csv, line 3: weights need"):
        conquer.fit(path, model="kernel")


def test_a_judge_without_a_name_is_named_by_line(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("left,right,winner,voter,kind\ntea,mug,left,ann,person\ntea,mug,left,,judge\n")
    with pytest.raises(DataError, match=r"votes.csv, line 3: "):
        conquer.fit(path, believe="people")


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ({"x": [1.0, 2.0], "y": [1.0]}, "items, 'y': vectors must have one length"),
        ({"x": {"price": 1}, "y": {"price": math.nan}}, "items, 'y': feature 'price'"),
        ({1: [1.0], "1": [2.0]}, "items, '1': the ids 1 and '1' are equal as text"),
        ({"x": [1.0], None: [2.0]}, "items, None: "),
    ],
)
def test_items_that_are_none_are_named(items, message):
    with pytest.raises(ValueError, match=message):
        conquer.fit([("x", "y", "x")], items)


def test_items_of_a_file_that_are_none_are_named_by_line(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("id,price\nx,1\ny,nan\n")
    with pytest.raises(DataError, match=r"items.csv, line 3: feature 'price' must be a finite number"):
        conquer.fit([("x", "y", "x")], path)


def test_numpy_items_are_taken():
    session = conquer.fit([(1, 2, 1)], {1: np.array([1.0, 0.0]), 2: np.array([0.0, 1.0])})
    assert session.catalog.names == (1, 2)


@pytest.mark.parametrize(
    "how", [{"model": "diagonal"}, {"one_by_one": True}, {"content": "texts", "model": "diagonal"}]
)
def test_a_count_that_would_take_hours_is_refused_by_line(how, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("left,right,winner,votes\ntea,mug,left,1\ntea,mug,left,1000000000000\n")
    with pytest.raises(DataError, match=r"votes.csv, line 3: 1,000,000,000,000 equal votes.* at most 1,000,000"):
        conquer.fit(path, **how)
    assert conquer.fit(path).learner.answers == 10**12 + 1


def test_a_file_of_skips_alone_stops_nothing(tmp_path):
    head = "left,right,winner\n"
    skips, more = tmp_path / "skips.csv", tmp_path / "more.csv"
    skips.write_text(head + "tea,mug,skip\n" * 3)
    more.write_text(head + "tea,mug,left\n")
    tally = tally_of([skips, more])
    assert (tally.votes, tally.skips) == (1, 3)
    with pytest.raises(DataError, match=r"skips.csv: 0 votes, .*3 skipped"):
        conquer.fit(skips)
    with pytest.raises(DataError, match=r"no votes to learn from: 0 votes, .*3 skipped"):
        conquer.fit(skips, {"tea": [1.0], "mug": [2.0]})


@pytest.mark.parametrize(
    ("how", "last"), [({}, ("solving", 1, 0)), ({"model": "diagonal"}, ("learning votes", 300, 300))]
)
def test_progress_counts_votes_while_they_are_read(how, last, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("left,right,winner\n" + "tea,mug,left\n" * 300)
    calls = []
    conquer.fit(path, progress=lambda *call: calls.append(call), **how)
    reading = [
        ("reading votes", 1, 0),
        *((f"reading votes ({n})", 1, 0) for n in (256, 300)),
        ("reading votes (300)", 1, 1),
    ]
    assert calls[:4] == reading
    assert calls[-1] == last


VOTES = [("tea", "mug", "tea")] * 400 + [("mug", "tea", "mug")] * 40


def test_boards_of_summed_votes_are_those_of_votes_learnt_one_by_one():
    bulk, each = conquer.fit(VOTES), conquer.fit(VOTES, one_by_one=True)
    np.testing.assert_allclose(bulk.learner.model.weights(), each.learner.model.weights(), atol=1e-9)
    one, two = bulk.board(interval="proved"), each.board(interval="proved")
    np.testing.assert_allclose(one.high, two.high, atol=1e-9)
    assert one.better[0, 1]
    assert two.better[0, 1]


@pytest.mark.parametrize("items", [None, {"tea": [1.0, 0.0], "mug": [0.0, 1.0]}])
def test_an_eta_that_is_a_bound_is_learnt_one_by_one(items):
    tight = conquer.fit(VOTES, items, algorithm="gnc", eta="tight")
    expected = conquer.fit(VOTES, items, algorithm="gnc", eta="tight", one_by_one=True)
    assert tight.learner.model.stats.tobytes() == expected.learner.model.stats.tobytes()
    bulk = conquer.fit(VOTES, items, algorithm="gnc")
    assert tight.learner.model.stats.tobytes() != bulk.learner.model.stats.tobytes()


def test_vectors_with_an_eta_that_is_a_bound_are_learnt_one_by_one():
    votes = [([1.0, 0.0], [0.0, 1.0], "first")] * 20
    tight = conquer.fit(votes, algorithm="gnc", eta="tight")
    expected = conquer.fit(votes, algorithm="gnc", one_by_one=True)
    assert tight.learner.model.stats.tobytes() == expected.learner.model.stats.tobytes()


def test_items_that_are_crossed_with_contexts_are_not_listed():
    votes = [
        {"text_a": "green tea", "text_b": "a blue mug", "winner": "a", "prompt": time} for time in ("noon", "night")
    ]
    assert conquer.fit(votes, context=True, dim=64).catalog is None
    assert len(conquer.fit(votes, dim=64).catalog) == 2
