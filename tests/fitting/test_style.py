"""What explains votes besides worth: it has columns of its own, and never enters scores."""

import json

import numpy as np
import pytest

import conquer
from conquer.cli import main
from conquer.data.compression import DataError
from conquer.fitting.style import without_style

NAMES = ("tea", "mug", "pot")


def some_votes(count=400, taste=0.8, seed=0):
    """Votes that follow length and the left side, and not the items: the mug's answers are long."""
    rng = np.random.default_rng(seed)
    votes = []
    for _ in range(count):
        one, two = rng.choice(3, 2, replace=False)
        a, b = (int(rng.integers(20, 60)) * (4 if k == 1 else 1) for k in (one, two))
        expected = taste * (a - b) / (a + b) + 0.2
        votes.append({"left": NAMES[one], "right": NAMES[two], "winner": "left" if rng.random() < (1 + expected) / 2
                      else "right", "response_a": "x" * a, "response_b": "x" * b, "voter": f"v{rng.integers(9)}",
                      "tokens_a": a, "tokens_b": b, "question_id": len(votes)})  # fmt: skip
    return votes


def by_hand(votes, columns, lam=1.0):
    """(scores of the names, weights of the columns) by ridge regression."""
    R = np.zeros((len(votes), 3 + len(columns)))
    for row, vote in zip(R, votes, strict=True):
        row[NAMES.index(vote["left"])], row[NAMES.index(vote["right"])] = 0.5, -0.5
        a, b = vote["tokens_a"], vote["tokens_b"]
        row[3:] = [{"side": 1.0, "length": (a - b) / (a + b)}[name] for name in columns]
    y = np.array([1.0 if vote["winner"] == "left" else -1.0 for vote in votes])
    w = np.linalg.solve(lam * np.eye(R.shape[1]) + R.T @ R, R.T @ y)
    return dict(zip(NAMES, w, strict=False)), w[3:]


def test_style_is_learnt_beside_the_items_and_explains_what_they_would():
    votes = some_votes()
    session = conquer.fit(votes, style=["length", "side"])
    scores, weights = by_hand(votes, ["length", "side"])
    assert session.scores() == pytest.approx(scores, abs=1e-9)
    assert [weight for weight, _ in session.style.values()] == pytest.approx(weights, abs=1e-9)
    assert session.style["length"][0] == pytest.approx(0.8, abs=3 * session.style["length"][1])
    assert session.style["side"][0] == pytest.approx(0.2, abs=3 * session.style["side"][1])
    plain = conquer.fit(votes)
    assert plain.scores()["mug"] > 0.5 > abs(session.scores()["mug"])
    named = conquer.fit(votes, style=["tokens_a/tokens_b", "side"])
    assert named.scores() == pytest.approx(session.scores(), abs=1e-9)
    assert session.learner.answers == plain.learner.answers == len(votes)
    assert session.ask(["mug", "pot"]).asks  # style is unknown, and 0


def test_without_style_it_is_the_fit_without_style(tmp_path):
    votes = some_votes()
    conquer.save(conquer.fit(votes, style=["length", "side"]), tmp_path / "m")
    plain, expected = without_style(conquer.load(tmp_path / "m")), conquer.fit(votes)
    assert plain.scores() == pytest.approx(expected.scores(), abs=1e-9)
    np.testing.assert_allclose(plain.learner.model.inverse, expected.learner.model.inverse, atol=1e-9)
    np.testing.assert_allclose(plain.learner.model.stats, expected.learner.model.stats, atol=1e-7)
    with pytest.raises(ValueError, match="not fitted with style="):
        without_style(expected)


def test_a_board_with_style_knows_its_votes():
    votes = some_votes(60)
    board = conquer.fit(votes, style=["length", "side"]).board(interval="fixed")
    found = board.why("tea", "mug")
    assert sum(share for *_, share in found.votes) == sum(share for _, share in found.voters) == found.gap
    assert {name for name, _ in found.features} == {"tea", "mug"}
    fragile = board.fragile()
    assert fragile.rival >= 0
    assert 0 < fragile.votes < 60


def test_the_length_of_texts_explains_votes_and_does_not_count():
    rng = np.random.default_rng(0)
    words = ["good", "bad"]
    votes = []
    for _ in range(200):
        one, two = (f"{words[rng.integers(2)]} {'x ' * rng.integers(1, 60)}" for _ in range(2))
        if len(one) != len(two):
            votes.append({"text_a": one, "text_b": two, "winner": "a" if len(one) > len(two) else "b"})
    for how in ({}, {"model": "full", "dim": 256}):
        session, counting = conquer.fit(votes, style=["length"], **how), conquer.fit(votes, **how)
        long, short = "good " + "x " * 59, "good x "
        gaps = []
        for one in (counting, session):
            scores = one.scores({"a": long, "b": short})
            gaps.append(scores["a"] - scores["b"])
        column = counting.learner.model.weights()[-1]
        weighed = conquer.Featurizer(dim=2**20, length=True)([long, short]).csr()[:, [-1]].toarray()
        assert gaps[0] - gaps[1] == pytest.approx(column * (weighed[0, 0] - weighed[1, 0]))
        assert session.style["length"][0] == pytest.approx(column / 2)
        assert column > 0.1
        assert not session.catalog.rows.csr()[:, [-1]].toarray().any()


@pytest.mark.parametrize(
    ("style", "message"),
    [
        ([], "style must be a list"),
        (["length", "length"], "style must be a list"),
        (["width"], "no column 'width' for the style"),
        (["tokens_a/width"], "no column 'tokens_a/width'"),
        (["response_a"], "vote 1: style 'response_a': could not convert"),
    ],
)
def test_a_style_that_the_votes_do_not_have_is_refused(style, message):
    with pytest.raises((ValueError, DataError), match=message):
        conquer.fit(some_votes(3), style=style)


def test_style_needs_what_it_needs():
    votes = some_votes(20)
    short = [{key: value for key, value in vote.items() if "response" not in key} for vote in votes]
    with pytest.raises(ValueError, match="no columns hold the two texts"):
        conquer.fit(short, style=["length"])
    for wrong in ({"model": "diagonal"}, {"one_by_one": True}, {"lam": "auto"}, {"believe": "voters"}):
        with pytest.raises(ValueError, match="style needs a full model"):
            conquer.fit(votes, style=["side"], **wrong)
    with pytest.raises(ValueError, match="style is for votes between ids"):
        conquer.fit(votes, {name: {"a": 1.0} for name in NAMES}, style=["side"])


def test_the_command_says_style_and_shows_the_board_with_and_without(tmp_path, monkeypatch, capsys):
    path, out = tmp_path / "votes.jsonl", tmp_path / "m"
    path.write_text("".join(json.dumps(vote) + "\n" for vote in some_votes()))
    monkeypatch.setattr("sys.argv", ["conquer", "fit", str(path), "--out", str(out), "--style", "length,side"])
    assert main() == 0
    assert "style length: +0.806 in the answer" in capsys.readouterr().out
    boards = []
    for more in ([], ["--no-style"]):
        monkeypatch.setattr("sys.argv", ["conquer", "board", str(out), "--json", *more])
        assert main() == 0
        boards.append({row["id"]: row["score"] for row in json.loads(capsys.readouterr().out)["items"]})
    assert boards[1]["mug"] > 0.5 > abs(boards[0]["mug"])
