"""The rows of a log: what earlier versions wrote is read as it was meant."""

import pytest

from conquer.service.log.event import Event
from conquer.service.log.records import Entry, decoded, seal
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
