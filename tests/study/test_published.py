"""Published pages: each folder says how it was made, and a test says which no longer match the code."""

import json
from pathlib import Path

import pytest

from conquer.study import published
from conquer.study.output import clear, publish
from conquer.study.published import MANIFEST, code, hash_of, modules_of, record, stale

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
FOLDERS = sorted(path.parent for path in RESULTS.rglob(MANIFEST))
PAGES = sorted(path for path in RESULTS.rglob("*.md") if path != RESULTS / "README.md")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: str(path.relative_to(RESULTS)))
def test_the_code_of_published_results_is_the_same(folder: Path) -> None:
    """Other code may give the same numbers: `make results` runs only what is missing and signs the pages again."""
    if (why := stale(folder)) is not None:
        pytest.xfail(why)


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(RESULTS)))
def test_every_page_says_how_it_was_made(page: Path) -> None:
    found = [
        record(folder) for folder in page.parents
        if folder.is_relative_to(RESULTS) and page.relative_to(folder).as_posix() in record(folder).get("files", ())
    ]  # fmt: skip
    assert len(found) == 1, f"{page.name} must be listed in one {MANIFEST}"
    assert found[0]["command"]
    if "archived" in found[0]:
        assert "Archived" in page.read_text()[:400], "an archived page says so at its top"
    else:
        assert found[0]["code"]
        assert found[0]["command"].startswith(("conquer ", "python -m benchmarks."))


def test_no_published_file_is_left_over() -> None:
    listed = {folder / name for folder in FOLDERS for name in record(folder)["files"]}
    assert {path for path in listed if not path.exists()} == set()
    there = {path for path in RESULTS.rglob("*") if path.is_file() and path.name not in (MANIFEST, "README.md")}
    assert there - listed == set()


def test_the_hash_is_of_the_code_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "counted"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from counted import two\n\n\ndef one():\n    return two.two()\n")
    (package / "two.py").write_text("def two():\n    return 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert [*modules_of("counted.one")] == ["counted", "counted.one", "counted.two"]
    before = hash_of("counted.one")
    (package / "two.py").write_text('# A note.\ndef two():\n    """Two."""\n\n    return 2\n')
    assert hash_of("counted.one") == before
    (package / "two.py").write_text("def two():\n    return 3\n")
    assert hash_of("counted.one") != before


def test_strings_that_are_values_count() -> None:
    assert code('"""Text."""\nx = "Text."\n') == 'x = "Text."'


def test_a_report_leaves_nothing_of_the_one_before(tmp_path: Path) -> None:
    """Tables of another study in the same folder are neither kept nor published."""
    study, place = tmp_path / "out", tmp_path / "place"
    for name in ("by_pass", "claims"):
        (study / "tables").mkdir(parents=True, exist_ok=True)
        (study / "tables" / f"{name}.md").write_text(name)
    place.mkdir()
    (place / "own.md").write_text("not of the study")
    publish(study, place, ["conquer", "study", "--passes", "3"], "conquer.tickets")
    assert record(place)["files"] == ["by_pass.md", "claims.md"]
    clear(study)
    (study / "tables").mkdir()
    (study / "tables" / "claims.md").write_text("again")
    publish(study, place, ["conquer", "study"], "conquer.tickets")
    assert sorted(path.name for path in place.iterdir()) == ["claims.md", "own.md", MANIFEST]
    assert record(place)["command"] == "conquer study"
    assert stale(place) is None
    (place / MANIFEST).write_text(json.dumps(record(place) | {"code": 32 * "0"}))
    assert "has changed since `conquer study`" in stale(place)
    (place / MANIFEST).write_text(json.dumps(record(place) | {"archived": "its command was removed"}))
    assert stale(place) is None


def test_a_folder_is_signed_from_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "report.md").write_text("numbers")
    published.main(str(tmp_path), "conquer.tickets", "conquer", "parse", "study")
    assert record(tmp_path) == {
        "command": "conquer parse study", "entry": "conquer.tickets", "code": hash_of("conquer.tickets"),
        "files": ["report.md"],
    }  # fmt: skip
