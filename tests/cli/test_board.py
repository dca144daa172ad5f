"""`conquer board`: a table that fits, JSON, groups, stopping, and one line for what is wrong."""

import json
import sys

import pytest

import conquer
from conquer.cli import main


@pytest.fixture
def folder(tmp_path):
    learner = conquer.make("gnr", dim=64, model="full")
    session = conquer.Session(learner, seed=1)
    items = {"tea": {"hot": 1.0}, "mug": {"blue": 1.0}, "pot": {"iron": 1.0}}
    for _ in range(200):
        offer = session.ask(items)
        session.tell(offer.id, min(offer.shown, key=list(items).index))
    conquer.save(session, tmp_path / "session")
    conquer.save(learner, tmp_path / "learner")
    conquer.save(conquer.make("gnr", dim=64), tmp_path / "diagonal")
    (tmp_path / "items.csv").write_text("id,hot,blue,iron,kind\ntea,1,,,drink\nmug,,1,,thing\npot,,,1,thing\n")
    lines = [json.dumps({"id": name, "features": item}) for name, item in items.items()]
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    (tmp_path / "items.json").write_text(f"[{','.join(lines)}]")
    return tmp_path


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["conquer", "board", *map(str, words)])
    status = main()
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.mark.parametrize("model", ["session", "learner"])
@pytest.mark.parametrize("items", ["items.jsonl", "items.json"])
def test_the_table_reads_at_a_glance(folder, monkeypatch, capsys, model, items):
    status, out, _ = run(monkeypatch, capsys, folder / model, folder / items, "--stop", "2")
    lines = out.splitlines()
    assert status == 0
    assert [line.split()[1] for line in lines[1:4]] == ["tea", "mug", "pot"]
    assert max(map(len, lines)) <= 80
    assert '3 items, 200 answers, 95 % "proved"' in lines[4]
    assert lines[5].startswith("you may stop: nothing is better than tea by more than 2")


def test_json_and_groups(folder, monkeypatch, capsys):
    words = (
        folder / "session",
        folder / "items.csv",
        "--groups",
        "kind",
        "--json",
        "--interval",
        "proved",
        "--stop",
        "9",
    )
    status, out, _ = run(monkeypatch, capsys, *words)
    board = json.loads(out)
    assert status == 0
    assert [row["id"] for row in board["items"]] == ["drink", "thing"]
    assert (board["interval"], board["delta"], board["answers"]) == ("proved", 0.05, 200)
    assert board["stop"]["leader"] == "drink"
    assert board["stop"]["done"]


def test_infinite_ends_are_null(folder, monkeypatch, capsys):
    conquer.save(conquer.make("gnr", dim=64, model="full"), folder / "fresh")
    _, out, _ = run(monkeypatch, capsys, folder / "fresh", folder / "items.jsonl", "--json")
    assert [(row["low"], row["high"], row["more"]) for row in json.loads(out)["items"]] == [(None, None, None)] * 3
    _, out, _ = run(monkeypatch, capsys, folder / "fresh", folder / "items.jsonl")
    assert "<--" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("diagonal", "items.csv"), "got diagonal"),
        (("session",), "catalog"),
        (("session", "--groups", "kind"), "give that file as well"),
        (("session", "items.csv", "--groups", "colour"), "has no 'colour'"),
        (("session", "items.csv", "--delta", "2"), "delta must be"),
        (("session", "items.csv", "--interval", "wald"), "interval must be one of"),
        (("session", "items.csv", "--stop", "-1"), "tolerance must be"),
        (("session", "nowhere.csv"), "nowhere.csv"),
        (("items.csv", "items.csv"), "conquer: "),
    ],
)
def test_bad_calls_are_one_line(folder, monkeypatch, capsys, words, message):
    monkeypatch.chdir(folder)
    status, out, err = run(monkeypatch, capsys, *words)
    assert status == 2
    assert out == ""
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.fixture
def by_ids(folder):
    votes = [("tea", "mug", "tea"), ("mug", "pot", "mug"), ("tea", "pot", "tea")] * 40
    conquer.save(conquer.fit(votes), folder / "ids")
    return folder


def test_a_file_of_ids_is_a_part_of_what_is_known(by_ids, monkeypatch, capsys):
    (by_ids / "part.csv").write_text("id\npot\ntea\n")
    status, out, _ = run(monkeypatch, capsys, by_ids / "ids", by_ids / "part.csv", "--json")
    assert status == 0
    assert [row["id"] for row in json.loads(out)["items"]] == ["tea", "pot"]
    status, out, _ = run(monkeypatch, capsys, by_ids / "ids", by_ids / "items.csv", "--groups", "kind", "--json")
    assert status == 0
    assert [row["id"] for row in json.loads(out)["items"]] == ["drink", "thing"]
    (by_ids / "wrong.csv").write_text("id\npott\ntea\n")
    status, _, err = run(monkeypatch, capsys, by_ids / "ids", by_ids / "wrong.csv")
    assert (status, "unknown item 'pott'" in err) == (2, True)


def test_items_are_those_that_fit_has_read(folder, monkeypatch, capsys):
    (folder / "v.csv").write_text("first,second,winner\n" + "a,b,a\nb,c,b\n" * 30)
    (folder / "i.csv").write_text("name;group;size\na;x;1\nb;y;2\nc;x;3\n")
    session = conquer.fit(folder / "v.csv", folder / "i.csv", dim=64, model="full")
    conquer.save(session, folder / "fitted")
    _, out, _ = run(monkeypatch, capsys, folder / "fitted", folder / "i.csv", "--json")
    board = session.board()
    assert [row["score"] for row in json.loads(out)["items"]] == board.scores[board.order].tolist()
    _, out, _ = run(monkeypatch, capsys, folder / "fitted", folder / "i.csv", "--groups", "group", "--json")
    board = session.board(groups={"a": "x", "b": "y", "c": "x"})
    assert [row["score"] for row in json.loads(out)["items"]] == board.scores[board.order].tolist()


def test_options_reach_the_board_and_the_rest_is_the_sessions(folder, monkeypatch, capsys):
    session = conquer.load(folder / "session")
    items = {"tea": {"hot": 1.0}, "mug": {"blue": 1.0}, "pot": {"iron": 1.0}}
    _, out, _ = run(
        monkeypatch, capsys, folder / "session", folder / "items.jsonl", "--json", "--U", "7", "--tau2", "2"
    )
    board = session.board(items, U=7, tau2=2)
    assert [row["low"] for row in json.loads(out)["items"]] == board.low[board.order].tolist()
    own = conquer.Session(session.learner, board=conquer.BoardSettings(delta=0.2, interval="fixed"))
    conquer.save(own, folder / "own")
    _, out, _ = run(monkeypatch, capsys, folder / "own", folder / "items.jsonl", "--json")
    assert (json.loads(out)["delta"], json.loads(out)["interval"]) == (0.2, "fixed")


def test_half_a_character_in_an_id_is_printed(folder, monkeypatch, capsys):
    votes = [("a\ud83d", "b", "first"), ("b", "a\ud83d", "second")] * 30
    conquer.save(conquer.fit(votes), folder / "odd")
    status, out, _ = run(monkeypatch, capsys, folder / "odd", "--json", "--stop", "3")
    assert status == 0
    out.encode()
    assert [row["id"] for row in json.loads(out)["items"]] == ["a\ud83d", "b"]
    status, out, _ = run(monkeypatch, capsys, folder / "odd", "--stop", "3")
    assert status == 0
    assert "nothing is better than a  by" in out  # half a character is no character that a terminal could show


def test_summed_votes_decide_pairs(folder, monkeypatch, capsys):
    conquer.save(conquer.fit([("a", "b", "first")] * 300), folder / "summed")
    status, out, _ = run(monkeypatch, capsys, folder / "summed", "--interval", "proved")
    assert status == 0
    assert "1 may be best (*), 1 of 1 pairs decided" in out
