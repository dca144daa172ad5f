"""Every fault that the checker looks for is found where it is, and none where it is not."""

from dataclasses import replace

import msgspec
import pytest

from conquer.service.model.records import Answered, Corrected, Decision, Entry, Raw
from soak.checker import FAULTS, check
from soak.history import ACKNOWLEDGED, INDETERMINATE, REFUSED, Call


def chose(position: int, event: str, at: float, left: str = "a") -> Entry:
    body = Decision(0, 1, 1, (0, 1), ("a", "b"), left, Raw(b"[]"), [])
    return Entry(position, at, event, None, body)


def call(number: int, kind: str, event: str, outcome: str = ACKNOWLEDGED, said: str = "a b | a", **more) -> Call:
    """Sent at 10, 20, ... and answered five ticks later."""
    tick = 10 * (number + 1)
    made = Call(number, kind, "m", event, "", tick, float(tick), "", tick + 5, outcome, said)
    return replace(made, **more)


CALLS = [
    call(0, "choose", "e1"),
    call(1, "answer", "e1", INDETERMINATE, ""),
    call(2, "answer", "e1", said="a"),
    call(3, "undo", "e1", said=""),
    call(4, "choose", "e2", REFUSED, "503 storage"),
    call(5, "choose", "e2"),
    call(6, "choose", "e3", INDETERMINATE, ""),
]
ROWS = [
    chose(1, "e1", 11.0),
    Entry(2, 21.0, "e1", None, Answered("a", 1.0)),
    Entry(3, 41.0, "e1", None, Corrected(2)),
    chose(4, "e2", 61.0),
]


def test_a_history_that_happened_has_no_fault():
    counts = check(CALLS, {"m": ROWS}).counts
    assert not any(counts[name] for name in FAULTS)
    assert (counts["requests"], counts["acknowledged"], counts["refused"], counts["indeterminate"]) == (7, 4, 1, 2)
    assert (counts["indeterminate_done"], counts["indeterminate_not_done"]) == (1, 1)


BROKEN = [
    ("lost", CALLS, ROWS[:-1]),
    ("doubled", CALLS, [*ROWS, Entry(5, 70.0, "e1", None, Answered("a", 1.0))]),
    ("doubled", CALLS, [*ROWS, chose(5, "e1", 70.0)]),
    ("disordered", CALLS, [msgspec.structs.replace(ROWS[0], position=9), *ROWS[1:]]),
    ("contradicted", CALLS, [chose(1, "e1", 11.0, left="b"), *ROWS[1:]]),
    ("contradicted", [*CALLS, call(7, "choose", "e2", said="b a | a")], ROWS),
    ("contradicted", CALLS, [ROWS[0], Entry(2, 21.0, "e1", None, Answered("b", 1.0)), *ROWS[2:]]),
    ("denied", CALLS, [*ROWS[:3], chose(4, "e2", 51.0)]),
    ("denied", [*CALLS, call(7, "choose", "e4", REFUSED, "503 storage")], [*ROWS, chose(5, "e4", 81.0)]),
    ("undeleted", [*CALLS, call(7, "delete", "")], ROWS),
    ("surprising", [*CALLS, call(7, "answer", "e2", REFUSED, "404 unknown_event")], ROWS),
    ("surprising", [*CALLS, call(7, "choose", "e5", REFUSED, "500 internal")], ROWS),
]


@pytest.mark.parametrize(("fault", "calls", "rows"), BROKEN)
def test_each_fault_is_found(fault, calls, rows):
    counts = check(calls, {"m": rows}).counts
    assert counts[fault] == 1, counts
    assert sum(counts[name] for name in FAULTS) == 1, counts


def test_a_model_that_vanishes_is_lost_unless_somebody_deleted_it():
    assert check(CALLS, {}).counts["lost"] == 1
    assert check([*CALLS, call(7, "delete", "", INDETERMINATE)], {}).faults == 0
    assert check([*CALLS, call(7, "delete", "", REFUSED, "503 storage")], {}).counts["lost"] == 1
