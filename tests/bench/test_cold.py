"""The cold row measures what a reader of the documents would see."""

from pathlib import Path

import pytest

from conquer.bench import cold

ROOT = Path(__file__).parents[2]


def test_the_programs_are_those_of_the_documents():
    assert cold.README in (ROOT / "README.md").read_text()
    assert cold.SIMULATION in (ROOT / "docs" / "setting.md").read_text()


def test_a_program_is_timed_to_its_first_word_and_to_its_end(tmp_path):
    found = cold.program("print('first'); import time; time.sleep(0.3)", tmp_path, "auto")
    assert 0 < found["first output"] <= found["end"] - 0.3
    with pytest.raises(RuntimeError, match="ended with 1"):
        cold.program("raise SystemExit(1)", tmp_path, "auto")


def test_a_cold_server_answers_with_every_kind_of_model(tmp_path):
    found = cold.serving(tmp_path, "auto")
    assert list(found) == ["ready", *(f"first pair, {kind}" for kind in cold.KINDS), "slowest health"]
    assert found["slowest health"] > 0
