"""Progress: totals are right before the first cell, and the time left is for all that is left of a stage."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from study.studies import Listening, tiny

from conquer.study.progress import BUILDING, READING, REPORTING, RUNNING, Bars
from conquer.study.reviews import report, run
from conquer.study.reviews.run import study


def test_totals_are_right_and_known_before_the_first_cell(tmp_path: Path) -> None:
    fresh = Listening()
    finished = study(tiny(), tmp_path, progress=fresh)
    report.write(finished, "conquer study", fresh)
    assert list(fresh.begun) == [READING, RUNNING, REPORTING]
    assert fresh.done == pytest.approx(fresh.begun)
    assert fresh.begun[READING] == 2
    assert fresh.begun[REPORTING] == len(report.FIGURES)
    before, after = (work for stage, work in fresh.totals if stage == RUNNING)
    assert before == after
    # A cell costs its items times its domain's reviews: 2 repetitions, 4 algorithms and the ceiling, 3 + 4 items.
    reviews = sum(facts["reviews"] for facts in finished.domains.values())
    assert before > 2 * 5 * 7 * reviews

    more = Listening()
    study(replace(tiny(), repetitions=3, algorithms=("ttg", "banditron", "random")), tmp_path, progress=more)
    assert more.begun[READING] == 0
    assert more.begun[BUILDING] == 2
    # New is the third repetition of three algorithms and the ceiling.
    fixed = run._FIXED * len(finished.domains)
    assert {work for stage, work in more.totals if stage == RUNNING} == {4 * 7 * (reviews + fixed)}
    assert more.done == pytest.approx(more.begun)

    again = Listening()
    study(tiny(), tmp_path, progress=again)
    assert set(again.begun.values()) == {0.0}


def test_a_file_gets_lines_where_a_terminal_has_bars() -> None:
    now, page = [0.0], io.StringIO()
    with Bars(Console(file=page, width=100), clock=lambda: now[0]) as bars:
        bars.begin(RUNNING, 40)
        for _ in range(4):
            now[0] += 6
            bars.advance(10)
        said = page.getvalue().splitlines()
    assert said == [RUNNING, f"{RUNNING}: 50 %, 12 seconds left", f"{RUNNING}: 100 %, 0 seconds left"]


def test_a_stage_that_gets_more_work_keeps_its_pace() -> None:
    now, screen = [100.0], io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, color_system=None)
    with Bars(console, clock=lambda: now[0]) as bars:
        bars.begin(RUNNING, 100)
        now[0] += 30
        bars.advance(10)
        bars._progress.refresh()
        assert "0:04:30" in screen.getvalue()
        bars.begin(RUNNING, 190)
        bars._progress.refresh()
    assert "0:09:30" in screen.getvalue()
