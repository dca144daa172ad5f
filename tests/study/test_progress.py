"""One estimate for the whole run: its totals are right, and it speaks of all that is left."""

import io
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from study.studies import Listening, tiny

from conquer.study.plots.reviews import FIGURES
from conquer.study.progress import BUILDING, READING, REPORTING, RUNNING, TUNING, Bars
from conquer.study.reviews import report
from conquer.study.reviews.run import study


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
STEPS = st.lists(st.tuples(st.floats(0.01, 1.0), st.just(0.0) | st.floats(1e-3, 1e4)), min_size=1, max_size=6)


def quiet_bars(stages: dict[str, float]) -> tuple[Bars, list[float]]:
    """Bars that nobody sees, and their clock: it stands still until it is moved."""
    now = [100.0]
    return Bars(Console(file=io.StringIO()), stages, clock=lambda: now[0]), now


@given(WORK, WORK, STEPS, STEPS)
def test_the_estimate_is_for_all_that_is_left(first: float, second: float, tuning: list, running: list) -> None:
    bars, now = quiet_bars({TUNING: math.inf, RUNNING: math.inf})
    assert bars.left() == math.inf
    bars.expect(TUNING, first)
    bars.expect(RUNNING, second)
    assert bars.left() == math.inf
    bars.begin(TUNING, first)
    done = seconds = 0.0
    for share, took in tuning:
        work = share * (first - done)
        now[0] += took
        bars.advance(work)
        done, seconds = done + work, seconds + took
        assert bars.left() == pytest.approx(seconds / done * (first - done + second), rel=1e-6, abs=1e-6 * seconds)
    pace, rest = seconds / done, first - done
    bars.begin(RUNNING, second)
    done = seconds = 0.0
    for share, took in running:
        work = share * (second - done)
        now[0] += took
        bars.advance(work)
        done, seconds = done + work, seconds + took
        wanted = pace * rest + seconds / done * (second - done)
        assert bars.left() == pytest.approx(wanted, rel=1e-6, abs=1e-6 * (seconds + pace * first))


def test_a_stage_begun_twice_keeps_its_pace() -> None:
    bars, now = quiet_bars({})
    bars.begin(READING, 4)
    for _ in range(4):
        now[0] += 0.5
        bars.advance(1)
    assert bars.left() == 0.0
    bars.begin(READING, 6)
    assert bars.left() == 3.0
    bars.expect(REPORTING, 7)
    assert bars.left() == 10.0


def test_a_file_gets_lines_where_a_terminal_has_bars() -> None:
    now, page = [0.0], io.StringIO()
    with Bars(Console(file=page, width=100), {RUNNING: math.inf}, clock=lambda: now[0]) as bars:
        bars.begin(RUNNING, 40)
        for _ in range(4):
            now[0] += 6
            bars.advance(10)
        said = page.getvalue().splitlines()
    assert said == [RUNNING, f"{RUNNING}: 50 %, left 0:00:12", f"{RUNNING}: 100 %, left 0:00:00"]


def test_the_bars_show_it() -> None:
    now = [100.0]  # a clock that stands still until it is moved
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, color_system=None)
    with Bars(console, {TUNING: math.inf, RUNNING: math.inf}, clock=lambda: now[0]) as bars:
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
    assert last.count(RUNNING) > 0
    assert "left 0:00:00" in last
