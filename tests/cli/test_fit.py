"""`conquer fit`: files in, one file out, whole or not at all."""

import sys

import numpy as np
import pytest

import conquer
from conquer import cli


@pytest.fixture
def votes(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("left,right,winner,worker\ntea,mug,left,ann\nmug,pot,tie,bob\ntea,pot,skip,ann\n")
    return path


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["conquer", *map(str, words)])
    return cli.main()


def test_what_is_written_is_a_session_to_go_on_with(votes, tmp_path, monkeypatch, capsys):
    out = tmp_path / "model.safetensors"
    assert run(monkeypatch, "fit", votes, "--out", out, "--algorithm", "gnc", "--lam", "0.5") == 0
    said = capsys.readouterr().out
    assert "2 votes, 1 of them ties; 1 skipped" in said
    assert "3 items" in said
    session = conquer.load(out)
    assert (session.learner.name, session.learner.parameters["lam"]) == ("gnc", 0.5)
    assert np.array_equal(
        session.learner.model.weights(), conquer.fit(votes, algorithm="gnc", lam=0.5).learner.model.weights()
    )
    assert session.ask(["pot", "tea"]).shown[0] == "tea"


def test_votes_can_be_learnt_one_by_one(votes, tmp_path, monkeypatch):
    out = tmp_path / "model.safetensors"
    assert run(monkeypatch, "fit", votes, "--out", out, "--one-by-one") == 0
    expected = conquer.fit(votes, one_by_one=True).learner.model.stats
    assert np.array_equal(conquer.load(out).learner.model.stats, expected)
    assert not np.array_equal(conquer.fit(votes).learner.model.stats, expected)


def test_items_and_columns_can_be_given(tmp_path, monkeypatch):
    (tmp_path / "v.csv").write_text("one,two,who\ntea,mug,first\n")
    (tmp_path / "i.jsonl").write_text('{"id": "tea", "vector": [1, 0]}\n{"id": "mug", "vector": [0, 1]}\n')
    out = tmp_path / "m.safetensors"
    words = ("--items", tmp_path / "i.jsonl", "--columns", "first=one,second=two,winner=who", "--out", out)
    assert run(monkeypatch, "fit", tmp_path / "v.csv", *words) == 0
    assert conquer.load(out).learner.dim == 2


def test_what_is_read_is_not_written_over(votes, tmp_path, monkeypatch, capsys):
    before = votes.read_bytes()
    items = tmp_path / "items.csv"
    items.write_text("id,price\ntea,1\nmug,2\npot,3\n")
    (tmp_path / "link").symlink_to(items)
    for out in (votes, tmp_path / ".." / tmp_path.name / "votes.csv", items, tmp_path / "link"):
        assert run(monkeypatch, "fit", votes, "--items", items, "--out", out) == 2
        assert capsys.readouterr().err == f"conquer: --out would overwrite {out}, which is read\n"
    assert votes.read_bytes() == before
    assert items.read_text().startswith("id,price")


def test_a_bad_row_leaves_nothing_written(votes, tmp_path, monkeypatch, capsys):
    out = tmp_path / "model.safetensors"
    out.write_bytes(b"before")
    votes.write_text(votes.read_text() + "tea,tea,left,ann\n")
    assert run(monkeypatch, "fit", votes, "--out", out) == 2
    assert f"{votes}, line 5: an item cannot be compared with itself" in capsys.readouterr().err
    assert out.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "votes.csv"]
    assert run(monkeypatch, "fit", votes, "--out", out, "--no-strict") == 0
    said = capsys.readouterr()
    assert "1 refused" in said.out
    assert "line 5" in said.err


def test_ctrl_c_leaves_nothing_half_written(votes, tmp_path, monkeypatch):
    import conquer.fitting.warm_start as module

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "solve_pairs", interrupted)
    assert run(monkeypatch, "fit", votes, "--out", tmp_path / "model.safetensors") == 130
    assert [path.name for path in tmp_path.iterdir()] == ["votes.csv"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "no/such/folder/m"), "--out must be a file in an existing folder"),
        (("--out", "m", "--columns", "first"), "--columns must be role=name"),
        (("--out", "m", "--cluster", "tcp://127.0.0.1:9"), "no Dask scheduler"),
        (("--out", "m", "--algorithm", "confidit"), "which of two"),
    ],
)
def test_wrong_calls_are_one_line(words, message, votes, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "fit", votes, *words) == 2
    assert message in capsys.readouterr().err
