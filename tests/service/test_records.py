"""The rows of a log: what earlier versions wrote is read as it was meant."""

import random

import msgspec
import pytest

from conquer.service.model.records import Decision, Entry, Event, Raw, decoded, seal
from conquer.service.model.schemas import ModelSettings
from conquer.service.model.state import ModelState, OutOfTurnError
from conquer.service.model.tally import Tally
from conquer.tickets import stream, ticket
from conquer.types import Choice, Query

OLD = (
    '{"ordinal":3,"ticket":7,"query":1,"shown":[2,0],"names":["c","a"],"left":"a","items":[{"id":"a"}],'
    '"scores":[0.5,0.0,1.0],"memo":{"chance":0.25},"chance":0.25%s}'
)
PARSE = (
    '{"ordinal":0,"ticket":7,"query":1,"shown":[1,2],"names":["0","3"],"left":"0","items":[{"id":"s"}],"scores":[],'
    '"memo":{"word":2,"heads":[0,3],"chance":null,"sentence":"s"}}'
)


def event(body: str) -> Event:
    return Event.of(Entry(1, 0.0, "e", None, decoded("choose", body)))


@pytest.mark.parametrize(("more", "chance"), [("", 0.25), (',"planted":"e0"', None)])
def test_a_chance_that_was_stored_twice_is_read_once(more, chance):
    chosen = decoded("choose", OLD % more)
    assert chosen.choice == Choice((2, 0), Query.DUEL, 7, {"chance": 0.25})
    assert chosen.chance == chance
    entry = Entry(1, 0.0, "e", None, chosen)
    seal(entry)
    assert entry.text.count(b"chance") == 1
    assert decoded("choose", entry.text.decode()) == chosen


def test_what_a_question_is_about():
    assert event(OLD % "").about is None
    assert event(OLD % "").subjects == event(OLD % "").labels == ("c", "a")
    parse = event(PARSE)
    assert (parse.about, parse.subjects) == (("s", 2), ("s",))
    assert parse.labels == ("s: 2 < 0", "s: 2 < 3")


@pytest.mark.parametrize(
    "items", [b"[]", b"null", b'[{"id":"\\"items\\":null","text":"\xc3\xa9"}]', b'[ {"id" : "a"} ]']
)
def test_items_stand_in_their_row_as_they_came(items):
    """Whatever the names before them say, and the memo behind them."""
    chosen = Decision(
        0,
        7,
        1,
        (0, 1),
        ('"items":null', 'b\\"'),
        '"items":null',
        Raw(items),
        [0.5],
        memo={"items": None, "chance": 0.5},
    )
    entry = Entry(1, 0.0, "e", None, chosen)
    seal(entry)
    assert entry.text == msgspec.json.encode(chosen)
    assert decoded("choose", entry.text.decode()) == chosen


@pytest.mark.parametrize("score", [float("inf"), float("nan")])
def test_a_decision_that_would_not_be_read_as_it_was_is_not_sealed(score):
    chosen = Decision(0, 7, 1, (0, 1), ("a", "b"), "a", Raw(b"[]"), [score])
    with pytest.raises(ValueError, match="Expected `float`, got `null`"):
        seal(Entry(1, 0.0, "e", None, chosen))


def test_tickets_are_those_of_their_ordinals_in_any_order():
    state = ModelState(1, "m", ModelSettings(seed=5), None, 0, Tally())
    for ordinal in (0, 1, 2, 63, 64, 65, 1000, 3, 2**40):
        state.tally.ordinal = ordinal
        assert state.tickets(1)[0] == ticket(stream("policy", 5), ordinal)


def test_the_curve_holds_every_round_while_it_halves_its_resolution():
    rng, tally = random.Random(4), Tally()
    for number in range(3000):
        tally.choice(number, rng.random() < 0.8)
        assert sum(here.rounds for here in tally.curve) == tally.rounds == tally.ordinal == number + 1
        assert sum(here.questions for here in tally.curve) == tally.questions
    assert tally.width > 16


def test_a_row_that_does_not_follow_is_refused():
    state = ModelState(1, "m", ModelSettings(), None, 7, Tally())
    chosen = Decision(0, 7, 1, (0, 1), ("a", "b"), "a", Raw(b"[1]"), [0.5])
    with pytest.raises(OutOfTurnError, match="row 7 cannot follow position 7"):
        state.apply(Entry(7, 2.5, "e", "ann", chosen))
