"""Train, predict, evaluate from files to files, recorded answers, and what bad input gets."""

import json
import time

import numpy as np
import pytest
from parsing.treebanks import conllu, random_treebank
from typer.testing import CliRunner

from conquer import parsing
from conquer.cli import progress
from conquer.cli.parse import check_writable, commands
from conquer.data.treebank import TreebankError, read, text_of, write
from conquer.files import FileError, unpack
from conquer.parsing.edges import Features, encode
from conquer.parsing.learner import EdgeRule
from conquer.parsing.parser import dumps, load, loads
from conquer.parsing.spec import TrainSpec
from conquer.parsing.trainer import quietly
from conquer.parsing.training import Recipe, Training

SMALL = {"features": "standard", "bits": 9}


@pytest.fixture
def bank(tmp_path):
    path = tmp_path / "train.conllu"
    write(path, random_treebank(1, 80))
    return path


def train(bank, model, progress=quietly, **options):
    parser = parsing.train(bank, TrainSpec(**options), progress=progress)
    parser.save(model)
    return str(parser)


def predict(model, source, target):
    done = CliRunner().invoke(commands, ["predict", "--model", str(model), str(source), str(target)])
    if done.exception is not None:
        raise done.exception


def scores(gold, system, heads="tree"):
    return parsing.evaluate(read(gold, heads), read(system, heads))


def test_from_treebank_to_scores(tmp_path, bank):
    said = train(bank, tmp_path / "model", passes=3, **SMALL)
    assert "80 sentences with" in said
    predict(tmp_path / "model", bank, tmp_path / "out.conllu.gz")
    found = scores(bank, tmp_path / "out.conllu.gz")
    assert found.uas > 0.75
    before, after = read(bank), read(tmp_path / "out.conllu.gz")
    assert [s.forms for s in before] == [s.forms for s in after]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model", "out.conllu.gz", "train.conllu"]


def test_full_supervision_and_several_roots(tmp_path, bank):
    train(bank, tmp_path / "model", ask="full-supervision", passes=3, several_roots=True, **SMALL)
    predict(tmp_path / "model", bank, tmp_path / "out.conllu")
    assert scores(bank, tmp_path / "out.conllu", "forest").uas > 0.97


def test_the_same_command_gives_the_same_file(tmp_path, bank):
    for name in ("one", "two"):
        train(bank, tmp_path / name, seed=5, **SMALL)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize("options", [{}, {"ask": "full-supervision", "passes": 3}, {"settled": False, "passes": 2}])
def test_progress_is_reported_to_the_end_and_changes_nothing(tmp_path, bank, options):
    reported = []
    train(bank, tmp_path / "reported", progress=lambda *row: reported.append(row), **options, **SMALL)
    train(bank, tmp_path / "quiet", **options, **SMALL)
    assert (tmp_path / "reported").read_bytes() == (tmp_path / "quiet").read_bytes()
    for what in {row[0] for row in reported}:
        done = [row[2] for row in reported if row[0] == what]
        (total,) = {row[1] for row in reported if row[0] == what}
        assert done == sorted(done)
        assert done[-1] == total
    assert ("asking" in {row[0] for row in reported}) == ("ask" not in options)


def test_a_long_command_says_how_far_it_is_and_a_short_one_nothing(capsys, monkeypatch):
    with progress.showing("reading") as show:
        show("asking", 10, 3)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with progress.showing("reading") as show:
        show("asking", 10, 3)
        show("asking", 10, 4)
    assert capsys.readouterr().err == "asking: 3 of 10\n"


def test_the_bar_of_a_terminal_begins_after_a_while_and_leaves_nothing(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    with progress.showing("reading") as show:
        for _ in range(6000):
            show("asking", 10, 3)
            time.sleep(0.02)
            if "asking" in (seen := capsys.readouterr().err):
                break
        assert "asking" in seen


def test_the_learner_of_the_paper_from_the_command_line(tmp_path, bank):
    options = ["--ask", "confusion", "--replay", "0", "--scale", "tree", "--neither", "coin", "--no-settled"]
    files = ["--treebank", str(bank), "--model", str(tmp_path / "model")]
    assert CliRunner().invoke(commands, ["train", *files, *options]).exit_code == 0
    recipe = Recipe(rule=EdgeRule(ask="confusion", scale="tree", neither="coin"), replay=0)
    made = Training(encode(read(bank)), Features(), recipe)
    made.visit(80)
    parser = load(tmp_path / "model")
    assert np.array_equal(parser.weights, made.weights())
    assert parser.about["recipe"]["replay"] == 0
    assert not parser.about["settled"]


def test_recorded_answers(tmp_path, bank):
    train(bank, tmp_path / "asked", passes=2, save_answers=tmp_path / "answers.jsonl", error=0.05, **SMALL)
    lines = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    assert set(lines[0]) == {"sentence", "word", "heads", "answer"}
    blind = tmp_path / "blind.conllu"
    blind.write_text(
        "\n".join(
            "\t".join([*row[:6], "_", "_", *row[8:]]) if len(row := line.split("\t")) == 10 else line
            for line in bank.read_text().split("\n")
        )
    )
    train(blind, tmp_path / "model", answers=tmp_path / "answers.jsonl", passes=5, **SMALL)
    predict(tmp_path / "model", blind, tmp_path / "out.conllu")
    assert scores(bank, tmp_path / "out.conllu").uas > 0.65


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not json", "JSONDecodeError"),
        ("[]", "expected sentence, word, heads and answer"),
        ('{"sentence": "s0", "word": 1, "heads": [0, 2]}', "expected sentence, word"),
        ('{"sentence": "none", "word": 1, "heads": [0, 2], "answer": "first"}', "no sentence has the id 'none'"),
        ('{"sentence": "s0", "word": 99, "heads": [0, 2], "answer": "first"}', "expected a word from 1 to"),
        ('{"sentence": "s0", "word": 1, "heads": [1, 2], "answer": "first"}', "two heads"),
        ('{"sentence": "s0", "word": 1, "heads": [0, 0], "answer": "first"}', "two heads"),
        ('{"sentence": "s0", "word": 1, "heads": 7, "answer": "first"}', "TypeError"),
        ('{"sentence": ["s0"], "word": 1, "heads": [0, 2], "answer": "first"}', "TypeError"),
        ('{"sentence": "s0", "word": 1, "heads": [0, 2], "answer": "maybe"}', "must be one of first"),
    ],
)
def test_bad_answers_are_named_by_line(tmp_path, bank, line, message):
    path = tmp_path / "answers.jsonl"
    path.write_text("\n" + line + "\n")
    with pytest.raises(TreebankError, match=message) as caught:
        train(bank, tmp_path / "model", answers=path, **SMALL)
    assert f"{path}:2: " in str(caught.value)
    assert not (tmp_path / "model").exists()


def test_nothing_to_learn_from(tmp_path, bank):
    path = tmp_path / "answers.jsonl"
    path.write_text("")
    with pytest.raises(TreebankError, match="no answer names a head"):
        train(bank, tmp_path / "model", answers=path, **SMALL)
    empty = tmp_path / "empty.conllu"
    empty.write_text("")
    with pytest.raises(TreebankError, match="no sentences"):
        train(empty, tmp_path / "model", **SMALL)
    with pytest.raises(FileNotFoundError, match="no folder"):
        check_writable(tmp_path / "nowhere" / "model")
    with pytest.raises(ValueError, match="passes must be"):
        train(bank, tmp_path / "model", passes=0, **SMALL)
    twins = tmp_path / "twins.conllu"
    twins.write_text(2 * conllu(["a"], ["X"], [0], "same"))
    with pytest.raises(TreebankError, match="two sentences have the id same"):
        train(twins, tmp_path / "model", answers=path, **SMALL)


def test_long_short_and_headless_sentences(tmp_path, bank):
    train(bank, tmp_path / "model", **SMALL)
    rng = np.random.default_rng(0)
    size = 500
    text = conllu(["Hi"], ["INTJ"], [0], "one-word")
    text += conllu(
        [f"w{k}" for k in range(size)], rng.choice(["NOUN", "VERB", "NEW"], size), [0] + [1] * (size - 1), "long"
    )
    path = tmp_path / "in.conllu"
    path.write_text(text.replace("\t0\troot\t", "\t_\t_\t"))
    predict(tmp_path / "model", path, tmp_path / "out.conllu")
    assert [len(s.heads) for s in read(tmp_path / "out.conllu")] == [1, size]
    path.write_text("")
    predict(tmp_path / "model", path, tmp_path / "out.conllu")
    assert text_of(read(tmp_path / "out.conllu")) == ""


def test_a_bad_input_leaves_the_old_output(tmp_path, bank):
    train(bank, tmp_path / "model", **SMALL)
    target = tmp_path / "out.conllu"
    target.write_text("old")
    bad = tmp_path / "bad.conllu"
    bad.write_text("1\tonly\tthree\n")
    with pytest.raises(TreebankError, match="10 columns"):
        predict(tmp_path / "model", bad, target)
    assert target.read_text() == "old"


def test_damaged_and_foreign_models(tmp_path, bank):
    train(bank, tmp_path / "model", **SMALL)
    data = (tmp_path / "model").read_bytes()
    assert dumps(loads(data)) == data
    assert load(tmp_path / "model").about["questions"] > 0
    for broken in (b"", data[:100], data[:-5], b"x" * 50):
        (tmp_path / "broken").write_bytes(broken)
        with pytest.raises(FileError, match="broken: "):
            load(tmp_path / "broken")
    digest = unpack(data)[0]["parser"]["features"]["templates"]
    (tmp_path / "other").write_bytes(data.replace(digest.encode(), b"0" * len(digest)))
    with pytest.raises(FileError, match="other: .*trained with feature settings"):
        load(tmp_path / "other")
