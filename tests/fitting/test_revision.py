"""A fit that weighs voters revises their weights: careless voters cost little, careful ones nothing."""

import numpy as np
import pytest

import conquer
from conquer.cli import main
from conquer.fitting.revision import chances

K, VOTERS = 8, 20
WORTH = np.linspace(-1, 1, K)


def crowd(seed, careless, count=1500):
    """Votes of which `careless` voters toss coins; every vote is a question of its own."""
    rng = np.random.default_rng(seed)
    votes = []
    for number in range(count):
        one, two = rng.choice(K, 2, replace=False)
        voter = int(rng.integers(VOTERS))
        expected = 0.0 if voter < careless else (WORTH[one] - WORTH[two]) / 2
        votes.append({"first": f"i{one}", "second": f"i{two}", "voter": f"v{voter}", "question_id": number,
                      "answer": 1.0 if rng.random() < (1 + expected) / 2 else -1.0})  # fmt: skip
    return votes


def error(session):
    scores = session.scores()
    return float(np.std(np.array([scores[f"i{k}"] for k in range(K)]) - WORTH))


@pytest.mark.parametrize("careless", [0, 4, 10])
def test_careless_voters_cost_no_more_than_a_tenth_of_leaving_them_out(careless):
    """Six crowds: the mean error beside that of a fit without the careless, which only an oracle knows."""
    found, oracle, alike = [], [], []
    for seed in range(6):
        votes = crowd(seed, careless)
        found.append(error(conquer.fit(votes, believe="voters")))
        oracle.append(error(conquer.fit([v for v in votes if int(v["voter"][1:]) >= careless])))
        alike.append(error(conquer.fit(votes)))
    gap = np.mean(alike) - np.mean(oracle)
    assert np.mean(found) - np.mean(oracle) <= max(0.1 * gap, 0.003)


def test_the_report_is_that_of_all_votes_and_the_session_goes_on(tmp_path):
    votes = crowd(7, 4)
    session = conquer.fit(votes, believe="voters")
    voters = {voter.name: voter for voter in session.learner.voters()}
    assert session.learner.answers == len(votes)
    assert sum(voter.answers for voter in voters.values()) == len(votes)
    assert max(voters[f"v{k}"].weight for k in range(4)) < min(voters[f"v{k}"].weight for k in range(4, VOTERS))
    conquer.save(session, tmp_path / "m")
    again = conquer.load(tmp_path / "m")
    assert again.tell(again.ask(["i0", "i7"]), "first", voter="v5") == "learnt"
    assert conquer.fit(votes, believe="voters").scores() == session.scores()


def test_texts_and_given_weights_are_revised_too():
    votes = [{"text_a": "good tea", "text_b": "bad old mug", "winner": "a" if k % 3 else "b", "voter": f"v{k % 3}",
              "question_id": k, **({"weight": 0.25} if k % 2 else {})} for k in range(90)]  # fmt: skip
    session = conquer.fit(votes, believe="voters", dim=64, model="full")
    weights = {voter.name: voter.weight for voter in session.learner.voters()}
    assert weights["v0"] < weights["v1"]
    assert session.scores({"a": "good tea", "b": "bad mug"})["a"] > 0


def test_a_crowd_of_one_is_believed():
    assert conquer.fit([("tea", "mug", "tea")] * 3, believe="voters").learner.answers == 3
    one = [{"first": "tea", "second": "mug", "winner": "first", "voter": "ann"}] * 3
    assert conquer.fit(one, believe="voters").scores() == pytest.approx(conquer.fit(one).scores())


def test_chances_estimate_the_share_of_the_careless():
    careful, careless = np.full(30, 20.0), np.full(70, 0.0)
    found = chances(np.concatenate([careful, careless]), np.full(100, 20.0), np.ones(100))
    assert found[:30].min() > 0.99
    assert found[30:].max() < 0.01


def test_the_command_takes_believe(tmp_path, monkeypatch, capsys):
    path, out = tmp_path / "votes.csv", tmp_path / "m"
    rows = [f"{v['first']},{v['second']},{v['answer']},{v['voter']},{v['question_id']}" for v in crowd(3, 4, 600)]
    path.write_text("first,second,answer,voter,question_id\n" + "\n".join(rows) + "\n")
    monkeypatch.setattr("sys.argv", ["conquer", "fit", str(path), "--out", str(out), "--believe", "voters"])
    assert main() == 0
    assert "20 voters, " in capsys.readouterr().out
    assert conquer.load(out).learner.parameters["believe"] == "voters"
    monkeypatch.setattr("sys.argv", ["conquer", "fit", str(path), "--out", str(out), "--lam", "auto"])
    assert main() == 0
    assert "predicts each vote best; boards have delta = 0.0083" in capsys.readouterr().out


@pytest.mark.parametrize(("own", "taste"), [(0.0, 0.125), (1.5, 1.0)])
def test_the_scale_of_a_judges_taste_is_that_of_its_votes(own, taste):
    """People and a judge vote on ten items; the judge's worth of an item is people's and `own` times another."""
    rng = np.random.default_rng(5)
    people = np.linspace(-1, 1, 10)
    judge = people + own * rng.normal(size=10)
    votes = []
    for number in range(1600):
        one, two = rng.choice(10, 2, replace=False)
        kind, worth = ("person", people) if number % 2 else ("judge", judge)
        expected = np.clip((worth[one] - worth[two]) / 2, -1, 1)
        votes.append({"first": f"i{one}", "second": f"i{two}", "kind": kind, "question_id": number,
                      "voter": f"p{rng.integers(8)}" if kind == "person" else "gpt",
                      "answer": 1.0 if rng.random() < (1 + expected) / 2 else -1.0})  # fmt: skip
    session = conquer.fit(votes, believe="people")
    found = session.learner.parameters["taste"]
    assert found <= taste if own == 0 else found >= taste
    assert conquer.fit(votes, believe="people", taste=0.5).learner.parameters["taste"] == 0.5
    fixed = conquer.fit(votes, believe="people", taste=0.5).learner.worth()
    assert (session.learner.worth() > fixed) == (own == 0)
