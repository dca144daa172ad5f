"""`conquer measure`: the measurements beside the studies, from the command line to their tables."""

import json
import sys

import pytest

from conquer import cli
from conquer.data import synthetic


@pytest.fixture
def shop(tmp_path):
    """A file of reviews, just large enough for a study."""
    documents = synthetic.generate("books", 500)
    rows = [{"text": text, "stars": stars} for text, stars in zip(documents.texts(), documents.stars, strict=True)]
    path = tmp_path / "shop.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def measure(monkeypatch, *options):
    monkeypatch.setattr(sys, "argv", ["conquer", "measure", *map(str, options)])
    return cli.main()


def test_limits_prints_a_table(shop, monkeypatch, capsys):
    assert measure(monkeypatch, "limits", shop, "--repetitions", 1, "--features", "idf") == 0
    table = capsys.readouterr().out.splitlines()
    assert table[0].startswith("| domain | full-information | 1/2 of it |")
    assert [line.split(" | ")[0] for line in table[2:]] == ["| shop", "| mean", "| of full information"]


def test_defaults_writes_a_table(shop, tmp_path, monkeypatch, capsys):
    out = tmp_path / "table.csv"
    assert measure(monkeypatch, "defaults", shop, "--repetitions", 1, "--out", out) == 0
    assert out.read_text().startswith("features,update,algorithm,lam 0.1,")
    assert len(out.read_text().splitlines()) == 1 + 4 * (3 * 3 + 1)
    assert "The table: " in capsys.readouterr().out


def test_regret_draws_its_bound(tmp_path, monkeypatch, capsys):
    assert measure(monkeypatch, "regret", "--rounds", 150, "--out", tmp_path / "out") == 0
    assert (tmp_path / "out" / "regret.png").exists()
    assert "1 of 1 seeds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("limits", "nope"), "no such file or folder nope"),
        (("limits", "synthetic", "--features", "tf"), "features must be one of binary, counts, tfidf, idf, got 'tf'"),
        (("defaults", "synthetic", "--repetitions", 0), "repetitions must be at least 1, got 0"),
        (("regret", "--seeds", 0), "seeds must be at least 1, got 0"),
        (("boards", "--worlds", "votes", "--data", __file__), "line 1: no two columns hold the two items"),
        (("boards", "--worlds", "votes", "--data", "nope"), "no file nope"),
    ],
)
def test_mistakes_are_one_line(options, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert measure(monkeypatch, *options) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert message.replace("\\", "") in said[0]
    assert list(tmp_path.iterdir()) == []
