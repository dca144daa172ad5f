"""Who won is read from the row alone: neither earlier rows nor how a file was written change it."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import conquer
from conquer.data.compression import DataError
from conquer.data.votes import VoteReading, read_votes


def votes(pairs, names=("model_a", "model_b")):
    return [dict(zip((*names, "winner"), row, strict=True)) for row in pairs]


def values(path):
    return [vote.value for vote in read_votes(path)]


@pytest.mark.parametrize("word", ["Left", "Tie", "LEFT "])
def test_an_item_called_like_a_word_wins_in_every_chunk(word, tmp_path):
    """A CSV file's first chunk has 256 rows; what was learnt of a word there is not used where it is a name."""
    path = tmp_path / "votes.csv"
    path.write_text("model_a,model_b,winner\n" + f"x,y,{word}\n" * 256 + f"y,{word.strip()},{word}\n")
    assert values(path)[-1] == -1.0
    assert values(path)[0] == (0.0 if word == "Tie" else 1.0)


@given(st.lists(st.tuples(st.permutations(["x", "y", "Left", "Tie", "tea"]),
       st.sampled_from(["Left", "LEFT", "Tie", "tie", "tea", "right"])), min_size=1, max_size=12))  # fmt: skip
def test_a_row_says_the_same_alone_and_after_others(tmp_path_factory, rows):
    lines = [f"{pair[0]},{pair[1]},{said}" for pair, said in rows]
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    path.write_text("model_a,model_b,winner\n" + "p,q,Left\np,q,Tie\np,q,LEFT\n" * 90 + "\n".join(lines) + "\n")
    together = {vote.line: vote.value for vote in read_votes(path, strict=False)}
    for place, line in enumerate(lines, 272):
        path.write_text(f"model_a,model_b,winner\n{line}\n")
        try:
            (alone,) = (vote.value for vote in read_votes(path))
        except DataError:
            alone = None
        assert together.get(place) == alone


@pytest.mark.parametrize("row", [("B", "A", "a"), ("y", "Left", "LEFT"), ("tea", "Tie", "TIE"), ("B", "A", "[[A]]")])
def test_a_winner_that_may_be_a_side_or_a_name_is_refused(row):
    with pytest.raises(DataError, match=r"vote 1: the winner .* may mean a side or"):
        list(VoteReading(votes([row])))


def test_a_winner_that_is_a_side_and_the_name_of_that_side_is_taken():
    assert [vote.value for vote in VoteReading(votes([("A", "B", "a"), ("A", "B", "b")]))] == [1.0, -1.0]


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_numbers_in_a_winner_column_mean_the_same_in_every_form(form, tmp_path):
    path = tmp_path / f"votes.{form}"

    def write(numbers):
        rows = votes([("tea", "mug", number) for number in numbers])
        if form == "parquet":
            pl.DataFrame(rows).write_parquet(path)
        elif form == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            path.write_text("model_a,model_b,winner\n" + "".join(f"tea,mug,{number:g}\n" for number in numbers))

    write([1.0, 2.0])
    assert values(path) == [1.0, -1.0]
    for wrong in (0.0, -1.0, 0.5):
        write([wrong])
        with pytest.raises(DataError, match=r"(line|row) [12]: the winner must be"):
            values(path)


def test_numpy_items_and_winners_are_taken():
    one, two = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    found = list(VoteReading([(one, two, one), (one, two, two), (one, two, "tie"), (one, two, np.int64(-1))]))
    assert [vote.value for vote in found] == [1.0, -1.0, 0.0, -1.0]
    assert found[0].first == [1.0, 0.0]
    assert conquer.fit([(one, two, one)]).learner.dim == 2
    ids = conquer.fit(votes([(np.int64(7), np.int64(8), np.int64(8)), (7, 8, "first")]))
    assert ids.catalog.names == (7, 8)
    with pytest.raises(DataError, match="vote 1: an item cannot be compared with itself"):
        conquer.fit([(one, one.copy(), "first")])
    with pytest.raises(DataError, match="vote 1: expected a list of finite numbers"):
        conquer.fit([(np.array(1.0), np.array(2.0), "first")])


def test_a_winner_given_as_a_text_with_space_around_it_is_that_text():
    rows = [{"chosen_text": 0, "text_a": " green tea\n", "text_b": "a blue mug", "winner": " green tea\n"}]
    (vote,) = VoteReading(rows)
    assert (vote.value, vote.first) == (1.0, " green tea\n")
