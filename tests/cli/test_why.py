"""`conquer board --fragile --why`: what holds a board of a file up, by the votes it was fitted on."""

import json

import pytest

from conquer.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    (tmp_path / "votes.csv").write_text(
        "left,right,winner,judge\n" + "tea,mug,left,ann\n" * 3 + "tea,mug,right,bob\n" + "mug,pot,left,bob\n" * 2
    )

    def call(*words):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("sys.argv", ["conquer", *words])
        code = main()
        said = capsys.readouterr()
        return code, said.out, said.err

    assert call("fit", "votes.csv", "--out", "m", "--contradictions")[0] == 0
    return call


def test_what_holds_the_board_up_is_printed(run):
    code, out, _ = run("board", "m", "--votes", "votes.csv", "--fragile", "--why", "tea", "--why", "mug")
    assert code == 0
    assert "of the 6 votes" in out
    assert "agreement with a fresh panel: 0." in out
    assert "votes tea > mug" in out
    assert "voter ann" in out


def test_what_holds_the_board_up_as_json(run):
    whole = json.loads(
        run("board", "m", "--json", "--votes", "votes.csv", "--fragile", "--why", "tea", "--why", "pot")[1]
    )
    assert whole["fragile"]["answers"] == 6
    assert sum(share for *_, share in whole["why"]["votes"]) == whole["why"]["gap"] > 0


def test_wrong_calls_say_what_is_missing(run):
    for words, message in [
        (("--fragile",), "need the votes"),
        (("--votes", "votes.csv", "--why", "tea"), "given twice"),
    ]:
        code, _, error = run("board", "m", *words)
        assert code == 2
        assert message in error
