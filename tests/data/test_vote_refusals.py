"""Refusals of votes name file and line, and no row is dropped without a count."""

import gzip
import json
from contextlib import suppress

import pytest
from fits import fit_in_parts
from hypothesis import given
from hypothesis import strategies as st

import conquer
from conquer.data.compression import DataError
from conquer.data.items import read_items
from conquer.data.votes import VoteReading, read_votes

HEAD = "left,right,winner,voter,kind,weight,votes,strength\n"
GOOD = "tea,mug,left,ann,person,1,1,1\n"
BAD = {
    "tea,tea,left,,,,1,": "compared with itself",
    "tea,,left,,,,1,": "an item is missing",
    "tea,mug,pot,,,,1,": "the winner must be one of the two items",
    "tea,mug,0,,,,1,": "the winner must be",
    "tea,mug,,,,,1,": "the winner is missing",
    "tea,tie,left,,,,1,": "reserved word",
    f"tea,{'m' * 201},left,,,,1,": "at most 200 characters",
    f"tea,mug,left,{'v' * 10_000},,,1,": "voter's name has at most 200 characters, got 10,000",
    "tea,mug,left,bob,dog,,1,": "kind must be person or judge",
    "tea,mug,left,,,1.5,1,": "weight must be a number in .0, 1., got '1.5'",
    "tea,mug,left,,,-1,1,": "weight must be",
    "tea,mug,left,,,nan,1,": "weight must be",
    "tea,mug,left,,,,0,": "number of votes must be a whole number from 1",
    "tea,mug,left,,,,1.5,": "number of votes",
    "tea,mug,left,,,,1,2": "strength must be a number",
    "tea,mug,left": "expected 8 columns, got 3",
    'tea,"mug,left,,,,1,': "unexpected end of data",
}


@pytest.mark.parametrize("row", BAD)
def test_a_bad_row_is_named_by_file_and_line(row, tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(f"{HEAD}{GOOD}{row}\n")
    with pytest.raises(DataError, match=BAD[row]) as error:
        conquer.fit(path)
    assert f"{path}, line 3: " in str(error.value)
    reading = read_votes(path, strict=False)
    assert len(list(reading)) == 1
    assert reading.tally.refused == 1
    assert reading.tally.problems == [str(error.value)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"left,right,winner\n", "no vote"),
        (b"name,stars\ntea,5\n", "line 1: no two columns hold the two items"),
        (b"left,right\ntea,mug\n", "line 1: no column names the winner"),
        (b"left,right,left,winner\ntea,mug,x,left\n", "line 1: two columns are called 'left'"),
        ("left,right,winner\ntée,mug,left\n".encode() + b"tea,\xff\xfe,left\n", "line 3: column 'right' is not UTF-8"),
        (b"PK\x03\x04 a zipped workbook", "is a spreadsheet or a ZIP archive: save the sheet as CSV"),
        ("left,right,winner\n".encode("utf-16"), "UTF-16"),
        (b"left,right,winner\rtea,mug,left\r", "not in .r alone|no header"),
        (b'{"left": "tea", "right"', "line 1: not a JSON object"),
        (b'{"left": "tea", "right": "mug", "winner": "left"}\n[1]\n', "line 2: expected an object"),
        (b'[{"left": "tea", "right": "mug", "winner": "left"}', "the JSON array is broken .*line 1"),
        (b'[{"left": "tea",\n "right": "mug"\n oops', "the JSON array is broken .*line 3"),
        (b'[{"left": "tea", "right": "mug", "winner": "left"}] 3', "the JSON array is broken .Extra data"),
        (b"PAR1 no parquet", "Parquet"),
        (b"# NUMBER ALTERNATIVES: 2\n1: 1,2\n1: 1,9\n", "line 3: alternatives must be in"),
        (gzip.compress(b"left,right,winner\ntea,mug,left\n" * 99, mtime=0)[:60], "broken or cut short"),
    ],
)
def test_a_file_that_is_none_is_refused_by_name(content, message, tmp_path):
    path = tmp_path / "votes"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        conquer.fit(path)
    assert str(path) in str(error.value)


def test_an_unknown_item_is_refused(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("left,right,winner\ntea,mug,left\ntea,can,left\n")
    with pytest.raises(DataError, match="line 3: unknown item 'can'"):
        conquer.fit(path, {"tea": "green tea", "mug": "a mug"})


@pytest.mark.parametrize(
    "rows",
    [
        [("tea", "mug", "tea"), ({"a": 1}, {"a": 2}, "first")],
        [({"a": 1}, {"a": 2}, "first"), ("tea", "mug", "tea")],
        [([1.0], [2.0], "first"), ([1.0, 2.0], [2.0, 1.0], "first")],
        [([1.0], ["x"], "first"), ([1.0], [2.0], "first")],
        [("tea", "mug", "tea"), ("tea", None, "tea")],
        [("tea", "mug", "tea"), ("tea", "mug", "tea", "ann")],
        [("tea", "mug", "tea"), 7],
        [("tea", "mug", True), ("tea", "mug", "tea")],
        [("tea", "mug", 1.5)],
        [("tea", "mug", float("nan"))],
    ],
)
def test_python_rows_are_refused_by_their_number(rows):
    with pytest.raises(DataError, match=r"^vote [12]: "):
        conquer.fit(rows)


CLASH = [
    "tea,mug,left,ann,p1",
    "tea,mug,left,bob,p1",
    "mug,tea,right,ann,p1",
    "tea,mug,right,ann,p2",
    "mug,tea,left,,p1",
    "mug,tea,left,ann,p1",
]


def test_contradictions_of_one_voter_are_refused_unless_they_are_votes(tmp_path):
    path, other = tmp_path / "votes.csv", tmp_path / "more.csv"
    head = "left,right,winner,voter,prompt\n"
    path.write_text(head + "\n".join(CLASH) + "\n")
    clash = r"votes.csv, line 7: this voter gave a different answer to the same question at .*votes.csv, line 2"
    for options in ({}, {"model": "diagonal"}):
        with pytest.raises(DataError, match=clash):
            conquer.fit(path, **options)
    with pytest.raises(DataError, match=clash):
        fit_in_parts(20, path)
    assert conquer.fit(path, contradictions=True).learner.answers == 6
    path.write_text(head + "\n".join(CLASH[:-1]) + "\n")
    other.write_text(head + CLASH[-1] + "\n")
    assert conquer.fit(path).learner.answers == 5
    with pytest.raises(DataError, match=r"more.csv, line 2: .*votes.csv, line 2"):
        conquer.fit([path, other])


def test_questions_with_numbers_of_their_own_are_told_apart(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("question_id,model_a,model_b,winner,judge\n1,tea,mug,model_a,ann\n2,tea,mug,model_b,ann\n")
    assert conquer.fit(path).learner.answers == 2


def test_a_winner_that_may_be_a_name_or_a_place_is_not_guessed():
    rows = [{"left": "1", "right": "3", "winner": "1"}, {"left": "3", "right": "1", "winner": "1"}]
    assert [vote.value for vote in VoteReading(rows)] == [1.0, -1.0]
    with pytest.raises(DataError, match="vote 3: .*an item's own id"):
        list(VoteReading([*rows, {"left": "3", "right": "4", "winner": "1"}]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,text\ntea,green\ntea,blue\n", "line 3: the id 'tea' occurs twice"),
        ("text\ngreen\n", "line 2: no column is an id"),
        ("id\ntea\n", "line 2: no column says what an item is"),
        ("id,text\ntea,\n", "line 2: an item is missing"),
        ('{"id": "tea", "vector": [1, 2]}\n{"id": "mug", "vector": [1]}\n', "line 2: vectors must have one length"),
    ],
)
def test_items_are_refused_by_line(content, message, tmp_path):
    path = tmp_path / "items"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        read_items(path)


@given(st.binary(max_size=300))
def test_any_bytes_are_votes_or_a_clear_refusal(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "votes"
    path.write_bytes(data)
    with suppress(ValueError):
        list(read_votes(path))


SEEDS = [
    f"{HEAD}{GOOD}tea,pot,tie,bob,judge,0.5,2,\n".encode(),
    json.dumps([{"left": "tea", "right": [1, 2], "winner": "left"}]).encode(),
    b'{"chosen": "green tea", "rejected": {"a": 1}}\n{"chosen": 1, "rejected": "x"}\n',
    b"# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: tea\n2: 1,{2,3}\n",
    b'{"kind": "open"}\n{"kind": "choose", "event_id": "e", "body": {"names": ["a", "b"], "items": [{"id": "a"}]}}\n'
    b'{"kind": "answer", "event_id": "e", "position": 2, "body": {"winner": "a", "value": 1.0}}\n',
]


@given(st.sampled_from(SEEDS), st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=4)), min_size=1, max_size=4))
def test_damaged_files_are_votes_or_a_clear_refusal(tmp_path_factory, seed, changes):
    data = bytearray(seed)
    for place, new in changes:
        at = place % (len(data) + 1)
        data[at : at + len(new)] = new
    path = tmp_path_factory.mktemp("fuzz") / "votes"
    path.write_bytes(bytes(data))
    for strict in (True, False):
        with suppress(ValueError):
            list(read_votes(path, strict=strict))
