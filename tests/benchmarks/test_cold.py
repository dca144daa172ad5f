"""Cold starts time the programs of the documents."""

import pytest

from benchmarks import cold


def test_the_programs_are_those_of_the_documents():
    assert "drinks" in cold.first_block("README.md", "session.ask")
    assert "conquer.Rounds" in cold.first_block("docs/setting.md", "conquer.simulate")


def test_a_program_is_timed_to_its_first_output(tmp_path):
    assert cold.first_output("import time; time.sleep(0.3); print('first')", tmp_path) > 0.3
    with pytest.raises(RuntimeError, match="ended with 1"):
        cold.first_output("raise SystemExit(1)", tmp_path)
