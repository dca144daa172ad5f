"""Fields that come late, counts that are absent, long cells: what a file says anywhere in it is read."""

import json

import pytest
from fits import tally_of

import conquer
from conquer.data.compression import DataError
from conquer.data.tables import ROWS
from conquer.data.votes import read_votes

PLAIN = {"left": "tea", "right": "mug", "winner": "left"}


def written(path, rows, form="jsonl"):
    text = "".join(json.dumps(row) + "\n" for row in rows) if form == "jsonl" else json.dumps(rows)
    path.write_text(text)
    return path


@pytest.mark.parametrize("form", ["jsonl", "json"])
def test_fields_after_the_first_chunk_are_read(form, tmp_path):
    late = {**PLAIN, "voter": "ann", "kind": "judge", "weight": 0.5, "count": 3, "note": "x"}
    path = written(tmp_path / "votes", [PLAIN] * ROWS + [late, PLAIN], form)
    found = list(read_votes(path))
    one, last = found[ROWS], found[-1]
    assert (one.voter, one.kind, one.weight, one.count) == ("ann", "judge", 0.5, 3)
    assert (last.voter, last.kind, last.weight, last.count) == (None, "person", None, 1)
    assert conquer.fit(path).learner.answers == ROWS + 4


def test_a_late_field_that_would_change_what_was_read_is_refused(tmp_path):
    for field in ("model_a", "Label"):
        rows = [{"first": "tea", "second": "mug", "choice": "first"}] * ROWS
        late = {**rows[0], field: "tea"} | ({"model_b": "mug"} if field == "model_a" else {})
        path = written(tmp_path / "votes", [*rows, rows[0], late])
        with pytest.raises(DataError, match=rf"votes, line {ROWS + 2}: the field '{field}.* first appears here"):
            list(read_votes(path))


def test_an_absent_count_is_one_and_a_skip_counts_as_often_as_it_was_given(tmp_path):
    path = written(tmp_path / "votes", [{**PLAIN, "count": 5, "winner": "skip"}, PLAIN, {**PLAIN, "count": 2}])
    found = tally_of(path)
    assert (found.votes, found.skips) == (3, 5)
    path.write_text("left,right,winner,votes\ntea,mug,left,\ntea,mug,both_bad,4\n")
    found = tally_of(path)
    assert (found.votes, found.both_bad) == (1, 4)


@pytest.mark.parametrize("quote", ['"', ""])
def test_long_texts_in_tables_are_read(quote, tmp_path):
    path = tmp_path / "votes.csv"
    long = "word " * 40_000
    path.write_text(f"chosen,rejected\n{quote}{long}{quote},a mug\n")
    (vote,) = read_votes(path)
    assert vote.first == long


def test_two_alternatives_of_one_name_are_refused(tmp_path):
    path = tmp_path / "some.soc"
    names = "# ALTERNATIVE NAME 1: tea\n# ALTERNATIVE NAME 2: mug\n# ALTERNATIVE NAME 3: tea\n"
    path.write_text(f"# NUMBER ALTERNATIVES: 3\n{names}2: 1,2\n")
    with pytest.raises(DataError, match=r"some.soc, line 5: two alternatives have the same name"):
        conquer.fit(path)
