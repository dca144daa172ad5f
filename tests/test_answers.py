"""What people say: every word at every query, sides, and the numbers that answers become."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.answers import (
    RESERVED,
    AnswerError,
    answer_of,
    checked_ids,
    leftmost,
    read_answer,
    shares_of,
)
from conquer.types import Query

IDS = ("a", "b", "c", "d", "e", "f")
ITEMS = (*IDS, "not shown")


@pytest.mark.parametrize("count", range(1, 7))
def test_positions_become_answers_and_shares(count):
    numbers = [answer_of(position, count) for position in (*range(count), None)]
    assert len(set(numbers)) == count + 1
    for place, value in enumerate(numbers):
        assert shares_of(value, count).tolist() == [float(k == place) for k in range(count + 1)]
    if count > 2:
        assert numbers == [*range(count), -1]
    for wrong in (-1, count):
        with pytest.raises(ValueError, match="position"):
            answer_of(wrong, count)


@given(st.integers(3, 40), st.integers(0, 39))
def test_an_answer_names_one_item_or_none(count, position):
    position = position if position < count else None
    shares = shares_of(answer_of(position, count), count)
    assert shares.sum() == 1.0
    assert shares[count if position is None else position] == 1.0


@given(st.floats(-1, 1))
def test_of_two_items_the_answer_is_the_duels(answer):
    shares = shares_of(answer, 2)
    assert math.isclose(shares[0] - shares[1], answer)
    assert math.isclose(shares.sum(), 1.0)


def test_other_numbers_are_refused():
    with pytest.raises(ValueError, match="of 4 shown items"):
        shares_of(0.9, 4)


@pytest.mark.parametrize("count", range(2, 7))
@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_every_word_in_a_duel(count, outside, ties):
    shown, none = IDS[:count], answer_of(None, count)

    def say(word):
        return read_answer(word, Query.DUEL, shown, outside=outside, ties=ties, items=ITEMS)

    assert [say(name) for name in shown] == [answer_of(place, count) for place in range(count)]
    assert say("first") == answer_of(0, count)
    assert say("second") == answer_of(1, count)
    assert say("skip") is None
    assert say(None) is None
    assert say("both_bad") == (none if outside else None)
    if not ties:  # then a tie says that none is right
        assert say("tie") == say("both_bad")
    elif count == 2:
        assert say("tie") == 0.0
    else:
        with pytest.raises(AnswerError, match="must be"):
            say("tie")
    for wrong in ("not shown", "nobody", "yes", "no", "left", "right", "", True, math.nan, 1.5, [1]):
        with pytest.raises(AnswerError, match="must be"):
            say(wrong)


def test_left_and_right_are_sides():
    def say(word, left, shown=("a", "b")):
        return read_answer(word, Query.DUEL, shown, left=left)

    assert (say("left", "a"), say("right", "a")) == (1.0, -1.0)
    assert (say("left", "b"), say("right", "b")) == (-1.0, 1.0)
    assert say("left", 8, (7, 8)) == -1.0
    assert read_answer("left", Query.DUEL, ("a", "b"), left="b", strength=0.5) == -0.5
    with pytest.raises(AnswerError, match="must be one of"):
        say("left", "a", ("a", "b", "c"))


@pytest.mark.parametrize("outside", [False, True])
def test_every_word_to_best(outside):
    def say(word):
        return read_answer(word, Query.BEST, ("a",), outside=outside, items=ITEMS)

    assert say("yes") == say("a") == say(1) == say(1.0) == 1.0
    assert say("no") == say("both_bad") == say("b") == say("not shown") == say(-1) == -1.0
    assert say("skip") is None
    for wrong in ("tie", "first", "second", 0.0, 0.5, 2, True, "nobody", math.nan):
        with pytest.raises(AnswerError, match="must be"):
            say(wrong)


def test_to_silence_there_is_nothing_to_say():
    assert read_answer("skip", Query.NONE, ("a",)) is None
    assert read_answer(None, Query.NONE, ("a",)) is None
    assert read_answer("both_bad", Query.NONE, ("a",)) is None
    assert read_answer("both_bad", Query.NONE, ("a",), outside=True) is None
    for wrong in ("a", "yes", "tie", 1.0, 0):
        with pytest.raises(AnswerError, match="this offer asks nothing and takes only 'skip'"):
            read_answer(wrong, Query.NONE, ("a",), items=ITEMS)


@given(st.floats(0, 1), st.sampled_from(["a", "b", "first", "second"]))
def test_a_strength_says_how_much_better_the_named_one_of_two_is(strength, word):
    plain = read_answer(word, Query.DUEL, ("a", "b"))
    assert read_answer(word, Query.DUEL, ("a", "b"), strength=strength) == plain * strength
    assert read_answer(plain * strength, Query.DUEL, ("a", "b")) == plain * strength
    assert read_answer("tie", Query.DUEL, ("a", "b"), strength=strength) == 0.0


def test_of_more_than_two_and_of_one_there_is_no_strength():
    assert read_answer("b", Query.DUEL, IDS[:3], strength=0.5) == answer_of(1, 3)
    with pytest.raises(AnswerError, match="strength is not allowed"):
        read_answer("a", Query.BEST, ("a",), strength=0.5)
    assert read_answer("a", Query.BEST, ("a",), strength=1.0) == 1.0


@given(st.integers(2, 6), st.floats(-1, 1))
def test_of_two_a_number_is_a_strength_and_of_more_nothing(count, value):
    if count == 2:
        assert read_answer(value, Query.DUEL, IDS[:2]) == read_answer(np.float64(value), Query.DUEL, IDS[:2]) == value
    else:
        with pytest.raises(AnswerError, match="must be one of"):
            read_answer(value, Query.DUEL, IDS[:count], outside=True)


@pytest.mark.parametrize("shown", [(0, 1), (1, 0), (7, -1), (np.int64(0), 1)])
def test_a_whole_number_names_an_item_where_ids_are_numbers(shown):
    shown = tuple(checked_ids(shown))
    for kind in (int, np.int64):
        assert read_answer(kind(shown[0]), Query.DUEL, shown) == 1.0
        assert read_answer(kind(shown[1]), Query.DUEL, shown) == -1.0
    for other in {-1, 0, 1, 2, 9} - set(shown):
        with pytest.raises(AnswerError, match="a strength as a float, got the whole number"):
            read_answer(other, Query.DUEL, shown)
    assert [read_answer(value, Query.DUEL, shown) for value in (1.0, -1.0, 0.0)] == [1.0, -1.0, 0.0]
    assert read_answer("first", Query.DUEL, shown) == 1.0
    with pytest.raises(AnswerError):
        read_answer(str(shown[0]), Query.DUEL, shown)


def test_a_whole_number_is_a_strength_where_no_id_is_a_number():
    assert [read_answer(value, Query.DUEL, ("a", "b")) for value in (1, 0, np.int64(-1))] == [1.0, 0.0, -1.0]
    assert read_answer(1, Query.DUEL, ("1", "b")) == 1.0
    for value in (0, 1, 2):  # an id, a position or a strength?
        with pytest.raises(AnswerError, match="a strength as a float"):
            read_answer(value, Query.DUEL, ("0", "2"))
    assert read_answer("2", Query.DUEL, ("0", "2")) == -1.0


def test_whole_numbers_to_best():
    assert read_answer(1, Query.BEST, (1,), items=(2, 3)) == 1.0
    assert read_answer(2, Query.BEST, (1,), items=(2, 3)) == -1.0
    assert read_answer(-1.0, Query.BEST, (1,), items=(2, 3)) == -1.0
    with pytest.raises(AnswerError, match="names no shown item"):
        read_answer(-1, Query.BEST, (1,), items=(2, 3))


@pytest.mark.parametrize("strength", [5, -0.1, math.nan, math.inf, True, "1"])
def test_a_strength_outside_its_range_is_refused(strength):
    for word in ("a", "first", "tie", "skip", None):
        with pytest.raises(AnswerError, match=r"a strength must be a number in \[0, 1\]"):
            read_answer(word, Query.DUEL, ("a", "b"), strength=strength)


def test_ids_are_strings_or_whole_numbers():
    assert checked_ids(["a", 1, np.int64(2)]) == ["a", 1, 2]
    assert type(checked_ids([np.int64(2)])[0]) is int
    for wrong in ([""], [1.5], [True], [None], ["a", "a"], [1, "1"], *[[word] for word in RESERVED]):
        with pytest.raises(ValueError, match="id"):
            checked_ids(wrong)


@pytest.mark.parametrize("count", range(1, 7))
def test_every_item_is_in_every_place_equally_often(count):
    n = 6000
    places = np.bincount([leftmost(ticket, count) for ticket in range(n)], minlength=count) / n
    margin = 4.5 * math.sqrt((count - 1) / count**2 / n)
    np.testing.assert_array_less(np.abs(places - 1 / count), margin + 1e-12)


def test_a_ticket_puts_the_same_item_on_the_left_for_ever():
    assert [leftmost(ticket, 2) for ticket in range(12)] == [1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1]
    assert [leftmost(ticket, 3) for ticket in range(12)] == [2, 2, 2, 0, 2, 2, 0, 1, 2, 2, 2, 1]
