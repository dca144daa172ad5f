"""`conquer measure limits`, from the command line to its table."""

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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("limits", "synthetic", "--repetitions", 0), "repetitions must be at least 1, got 0"),
        (("limits", "nope"), "no such file or folder nope"),
        (("limits", "synthetic", "--features", "tf"), "features must be one of binary, counts, tfidf, idf, got 'tf'"),
    ],
)
def test_mistakes_are_one_line(options, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert measure(monkeypatch, *options) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert message.replace("\\", "") in said[0]
    assert list(tmp_path.iterdir()) == []
