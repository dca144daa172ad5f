"""The runner of all studies: it runs missing cells, stores finished ones, and reports progress."""

import pytest
from study.studies import Listening, squares

from conquer.study.backends import choose, processes, serial
from conquer.study.output import markdown, write_page
from conquer.study.runner import CellStore, CellTask, key, missing, run


def tasks(*groups):
    return [CellTask(group, tuple(key("square", n) for n in group), float(sum(group))) for group in groups]


@pytest.mark.parametrize("backend", [serial, processes(2)])
def test_what_is_missing_is_run_the_longest_first(tmp_path, backend):
    cells, told = CellStore(tmp_path), Listening()
    plan = missing(tasks((1, 2), (5,), (3, 4)), cells)
    rows = run(squares, plan, cells, "squares", backend, told)
    assert {row["number"]: row["square"] for row in rows.values()} == {1: 1, 2: 4, 3: 9, 4: 16, 5: 25}
    assert told.begun == told.done == {"squares": 15.0}
    again = missing(tasks((1, 2), (5,), (3, 4), (6,)), cells)
    assert [task.content for task in again.tasks] == [(6,)]
    assert run(squares, again, cells, "squares").keys() == rows.keys() | {key("square", 6)}


def test_one_process_takes_the_longest_first(tmp_path):
    order = []

    def remembered(numbers):
        order.append(numbers)
        return squares(numbers)

    run(remembered, missing(tasks((1,), (9,), (5,)), CellStore(tmp_path)), CellStore(tmp_path), "squares")
    assert order == [(9,), (5,), (1,)]


def test_a_task_that_fails_loses_nothing_that_was_done(tmp_path):
    cells = CellStore(tmp_path)

    def failing(numbers):
        if numbers == (1,):
            raise ArithmeticError("one")
        return squares(numbers)

    with pytest.raises(ArithmeticError, match="one"):
        run(failing, missing(tasks((1,), (2,)), cells), cells, "squares")
    assert [task.content for task in missing(tasks((1,), (2,)), cells).tasks] == [(1,)]


def test_a_function_that_makes_too_few_rows_is_an_error(tmp_path):
    cells = CellStore(tmp_path)
    with pytest.raises(ValueError, match="shorter"):
        run(lambda numbers: [], missing(tasks((1,)), cells), cells, "squares")


def test_a_damaged_cell_is_missing(tmp_path):
    cells = CellStore(tmp_path)
    cells.put("ab12", {"a": 1})
    (path,) = tmp_path.rglob("*.json")
    for damage in (b"", b'{"a": ', b"\xff\xfe"):
        path.write_bytes(damage)
        assert cells.get("ab12") is None
    assert list(tmp_path.rglob(".*")) == []


def test_names_are_the_same_on_every_machine():
    assert key("cell", {"a": 1.5}, [1, None]) == "d5534f6e4bb5ce8cd161b868ac9fbedd"


def test_a_page_escapes_what_it_shows(tmp_path):
    template = tmp_path / "template.html"
    template.write_text("<p>{{ text }} {{ value | number }}</p>\n")
    page = write_page(tmp_path / "page.html", template, text="<b>&", value=0.12345)
    assert page.read_text().strip() == "<p>&lt;b&gt;&amp; 0.123</p>"


def test_markdown_of_a_frame():
    import polars as pl

    assert (
        markdown(pl.DataFrame({"a": [1, None], "b": [0.5, 0.25]}))
        == "| a | b |\n|---|---|\n| 1 | 0.500 |\n|  | 0.250 |\n"
    )


def test_choosing_where_to_run():
    assert choose(1, None) is serial
    with pytest.raises(ValueError, match="jobs must be at least 1, got -1"):
        choose(-1, None)
