"""One estimate for the whole run: its totals are right, and it speaks of all that is left."""

import io
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from study.studies import tiny

from conquer.study import progress as outlook
from conquer.study.plots.reviews import FIGURES
from conquer.study.progress import BUILDING, READING, REPORTING, RUNNING, TUNING, Outlook
from conquer.study.reviews import report
from conquer.study.reviews.command import Bars
from conquer.study.reviews.run import study


class Listening:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str, float]] = []
        self.begun: dict[str, float] = {}
        self.done: dict[str, float] = {}
        self.stage = ""

    def expect(self, stage: str, work: float) -> None:
        self.said.append(("expect", stage, work))

    def begin(self, stage: str, work: float) -> None:
        self.said.append(("begin", stage, work))
        self.stage, self.begun[stage] = stage, work
        self.done.setdefault(stage, 0.0)

    def advance(self, work: float) -> None:
        self.done[self.stage] += work

    def expected(self, stage: str) -> float:
        """The last word on a stage before it began."""
        words = [work for what, name, work in self.said if (what, name) == ("expect", stage)]
        assert self.said.index(("expect", stage, words[-1])) < self.said.index(("begin", stage, self.begun[stage]))
        return words[-1]


def test_totals_are_right_and_known_before_the_first_cell(tmp_path: Path) -> None:
    fresh = Listening()
    finished = study(tiny(), tmp_path, progress=fresh)
    report.write(finished, "conquer study", fresh)
    assert list(fresh.begun) == [READING, TUNING, RUNNING, REPORTING]
    assert fresh.done == pytest.approx(fresh.begun)
    assert fresh.begun[READING] == 2
    assert fresh.begun[REPORTING] == len(FIGURES)
    assert fresh.expected(TUNING) == fresh.begun[TUNING] > 0
    # A cell costs its items times its domain's reviews: 2 repetitions, 4 algorithms and the ceiling, 3 + 4 items.
    reviews = sum(facts["reviews"] for facts in finished.domains.values())
    assert fresh.expected(RUNNING) == fresh.begun[RUNNING] == 2 * 5 * 7 * reviews

    more = Listening()
    study(replace(tiny(), repetitions=3, algorithms=("ttg", "gnc", "banditron", "gnt")), tmp_path, progress=more)
    assert more.begun[READING] == 0
    assert more.begun[BUILDING] == 2
    # New are gnt in three repetitions, and the third repetition of three others and the ceiling.
    assert more.expected(RUNNING) == more.begun[RUNNING] == (3 + 4) * 7 * reviews
    assert more.done == pytest.approx(more.begun)

    again = Listening()
    study(tiny(), tmp_path, progress=again)
    assert set(again.begun.values()) == {0.0}


WORK = st.floats(0.1, 1e9)
STEPS = st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.0, 1e4)), min_size=1, max_size=6)


@given(WORK, WORK, STEPS, STEPS)
def test_the_estimate_is_for_all_that_is_left(first: float, second: float, tuning: list, running: list) -> None:
    ahead = Outlook()
    ahead.expect(TUNING, math.inf)
    ahead.expect(RUNNING, math.inf)
    assert ahead.left() == math.inf
    ahead.expect(TUNING, first)
    ahead.expect(RUNNING, second)
    assert ahead.left() == math.inf
    done = seconds = 0.0
    for share, took in tuning:
        work = share * (first - done)
        ahead.advance(TUNING, work, took)
        done, seconds = done + work, seconds + took
        assert ahead.left() == pytest.approx(seconds / done * (first - done + second), rel=1e-6, abs=1e-6 * seconds)
    pace, rest = seconds / done, first - done
    done = seconds = 0.0
    for share, took in running:
        work = share * (second - done)
        ahead.advance(RUNNING, work, took)
        done, seconds = done + work, seconds + took
        wanted = pace * rest + seconds / done * (second - done)
        assert ahead.left() == pytest.approx(wanted, rel=1e-6, abs=1e-6 * (seconds + pace * first))


def test_a_stage_begun_twice_keeps_its_pace() -> None:
    ahead = Outlook()
    ahead.expect(READING, 4)
    for _ in range(4):
        ahead.advance(READING, 1, seconds=0.5)
    assert ahead.left() == 0.0
    ahead.expect(READING, 6)
    assert ahead.left() == 3.0
    ahead.expect(REPORTING, 7)
    assert ahead.left() == 10.0


def test_the_bars_show_it() -> None:
    now = [100.0]  # a clock that stands still until it is moved
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, color_system=None)
    with Bars(console, (TUNING, RUNNING), clock=lambda: now[0]) as bars:
        assert bars.left() == math.inf
        bars.expect(TUNING, 20)
        bars.expect(RUNNING, 80)
        assert bars.left() == math.inf
        bars.begin(TUNING, 20)
        now[0] += 30
        bars.advance(10)
        assert bars.left() == 270.0
        now[0] += 20
        assert bars.left() == 250.0
        now[0] += 10
        bars.advance(10)
        assert bars.left() == 240.0
        bars._progress.refresh()
        assert "20 %" in (said := screen.getvalue())
        assert "left 0:04:00" in said
        assert "left   ?" in said
        bars.begin(RUNNING, 80)
        now[0] += 1
        for _ in range(8):
            bars.advance(10)
        assert bars.left() == 0.0
    last = screen.getvalue()
    assert last.count(outlook.RUNNING) > 0
    assert "left 0:00:00" in last
