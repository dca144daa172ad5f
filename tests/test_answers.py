"""What people say: every word at every query, sides, and the numbers that answers become."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conquer.answers import (
    RESERVED,
    AnswerError,
    checked_ids,
    decode,
    encode,
    left_is_second,
    leftmost,
    read_answer,
)
from conquer.types import Query

IDS = ("a", "b", "c", "d", "e", "f")
ITEMS = (*IDS, "not shown")


@pytest.mark.parametrize("count", range(1, 7))
def test_encode_and_decode_go_round(count):
    numbers = [encode(position, count) for position in (*range(count), None)]
    assert all(-1 <= value <= 1 for value in numbers)
    assert len(set(numbers)) == count + 1
    for place, value in enumerate(numbers):
        assert decode(value, count).tolist() == [float(k == place) for k in range(count + 1)]
    assert numbers[0] == 1.0
    assert numbers[count - 1] == (-1.0 if count > 1 else 1.0)
    for wrong in (-1, count):
        with pytest.raises(ValueError, match="position"):
            encode(wrong, count)


@given(st.integers(3, 40), st.integers(0, 39))
def test_an_answer_names_one_item_or_none(count, position):
    position = position if position < count else None
    shares = decode(encode(position, count), count)
    assert shares.sum() == 1.0
    assert shares[count if position is None else position] == 1.0


@given(st.floats(-1, 1))
def test_of_two_items_the_answer_is_the_duels(answer):
    shares = decode(answer, 2)
    assert math.isclose(shares[0] - shares[1], answer)
    assert math.isclose(shares.sum(), 1.0)


def test_other_numbers_are_refused():
    with pytest.raises(ValueError, match="of 4 shown items"):
        decode(0.9, 4)


@pytest.mark.parametrize("count", range(2, 7))
@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_every_word_in_a_duel(count, outside, ties):
    shown, none = IDS[:count], encode(None, count)

    def say(word):
        return read_answer(word, Query.DUEL, shown, outside=outside, ties=ties, items=ITEMS)

    assert [say(name) for name in shown] == [encode(place, count) for place in range(count)]
    assert say("first") == 1.0
    assert say("second") == encode(1, count)
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
    for wrong in ("a", "yes", "tie", 1.0, 0):
        with pytest.raises(AnswerError, match="only 'skip': this offer asked nothing"):
            read_answer(wrong, Query.NONE, ("a",), items=ITEMS)


@given(st.floats(0, 1), st.sampled_from(["a", "b", "first", "second"]))
def test_a_strength_says_how_much_better_the_named_one_of_two_is(strength, word):
    plain = read_answer(word, Query.DUEL, ("a", "b"))
    assert read_answer(word, Query.DUEL, ("a", "b"), strength=strength) == plain * strength
    assert read_answer(plain * strength, Query.DUEL, ("a", "b")) == plain * strength
    assert read_answer("tie", Query.DUEL, ("a", "b"), strength=strength) == 0.0


def test_of_more_than_two_and_of_one_there_is_no_strength():
    assert read_answer("b", Query.DUEL, IDS[:3], strength=0.5) == encode(1, 3)
    with pytest.raises(AnswerError, match="no strength"):
        read_answer("a", Query.BEST, ("a",), strength=0.5)
    assert read_answer("a", Query.BEST, ("a",), strength=1.0) == 1.0


@given(st.integers(2, 6), st.floats(-1, 1))
def test_numbers_name_an_item_or_of_two_a_strength(count, value):
    shown = IDS[:count]
    named = {encode(place, count) for place in range(count)}
    if count == 2 or value in named:
        assert read_answer(value, Query.DUEL, shown) == value
    else:
        with pytest.raises(AnswerError):
            read_answer(value, Query.DUEL, shown)
    for place in range(count):
        assert read_answer(np.float64(encode(place, count)), Query.DUEL, shown) == encode(place, count)


@pytest.mark.parametrize("count", range(3, 7))
def test_none_of_several_is_a_number_only_where_the_learner_has_an_answer_for_it(count):
    none = encode(None, count)
    assert read_answer(none, Query.DUEL, IDS[:count], outside=True) == none
    with pytest.raises(AnswerError):
        read_answer(none, Query.DUEL, IDS[:count])


def test_ids_are_strings_of_their_own():
    assert checked_ids(["a", "b"]) == ["a", "b"]
    for wrong in ([""], [1], ["a", "a"], *[[word] for word in RESERVED]):
        with pytest.raises(ValueError, match="id"):
            checked_ids(wrong)


@pytest.mark.parametrize("count", range(1, 7))
def test_every_item_is_in_every_place_equally_often(count):
    n = 6000
    places = np.bincount([leftmost(ticket, count) for ticket in range(n)], minlength=count) / n
    margin = 4.5 * math.sqrt((count - 1) / count**2 / n)
    np.testing.assert_array_less(np.abs(places - 1 / count), margin + 1e-12)


def test_of_two_the_left_one_is_a_coin():
    assert [left_is_second(t) for t in range(100)] == [leftmost(t, 2) == 1 for t in range(100)]
