"""Real votes: Bradley-Terry against choix, and the promises about a fit of LLMFAO and of unseen topics."""

import choix
import numpy as np
import pytest

from conquer.fitting.counts import PairCounts
from conquer.models.full import Full
from conquer.study.votes.arguments import Topic, left_out, length_alone, words_and_length
from conquer.study.votes.bradley_terry import strengths
from conquer.study.votes.command import ARGUMENTS, CROWD, page
from conquer.study.votes.crowd import crowd


def test_strengths_are_those_of_choix():
    rng = np.random.default_rng(4)
    wins = rng.integers(1, 9, size=(6, 6)).astype(float)
    np.fill_diagonal(wins, 0)
    expected = choix.opt_pairwise(6, [(i, j) for i in range(6) for j in range(6) for _ in range(int(wins[i, j]))])
    np.testing.assert_allclose(strengths(wins), expected - expected.mean(), atol=1e-5)


def test_strengths_of_who_never_lost_are_refused():
    with pytest.raises(ArithmeticError, match="never lost"):
        strengths(np.array([[0.0, 5.0], [0.0, 0.0]]))


def test_the_dual_form_is_the_full_model(tmp_path):
    """Scores of the arguments from their products are those of a full model over the same rows."""
    path = tmp_path / "topic.tsv"
    texts = ["a", "bb is longer", "c is the longest of them", "dd dd"]
    rows = [(0, 1), (2, 1), (2, 3), (1, 3), (0, 2)]
    path.write_text("#id\tlabel\ta1\ta2\n" + "".join(f"x\ta1\t{texts[i]}\t{texts[j]}\n" for i, j in rows))
    topic = Topic(path)
    K = length_alone(topic.texts, topic.texts)
    values, vectors = np.linalg.eigh(K)
    X = vectors * np.sqrt(np.maximum(values, 0.0))
    model = Full(len(topic.texts), lam=3.0)
    for winner, loser in topic.pairs.T:
        model.update(X[[winner, loser]], {0: 0.5, 1: -0.5}, 1.0)
    L, g = topic.sums.laplacian(len(topic.texts))
    scores = K @ np.linalg.solve(3.0 * np.eye(len(K)) + L @ K, g)
    np.testing.assert_allclose(scores, model.scores(X), atol=1e-8)
    assert isinstance(topic.sums, PairCounts)


def test_a_fit_orders_models_as_bradley_terry_does(shared_data):
    path = shared_data / "votes" / CROWD
    if not path.is_file():
        pytest.skip(f"no votes at {path}")
    found = crowd(path)
    assert (found["votes"], found["items"], found["ties"]) == (8931, 59, 3471)
    assert found["tau"] >= 0.98
    assert found["tau_without_ties"] >= 0.88
    text = page(found, [{"topic": "t", "votes": 2, "right": 1, "lam": 1.0}] * 2,
                [{"topic": "t", "votes": 2, "right": 2, "lam": 1.0}] * 2,
                {"read": 1.0, "learnt": 2.0, "checked": 3.0, "fit": 4.0}, "conquer measure votes")  # fmt: skip
    assert "0.500" in text


def test_arguments_of_unseen_topics_are_told_apart(shared_data):
    """Some topics, each left out of a fit of the others: words help beyond length, and both beat a coin by far."""
    files = sorted((shared_data / "votes" / ARGUMENTS).glob("*.csv*"))[:8]
    if len(files) < 8:
        pytest.skip("no arguments")
    topics = [Topic(path) for path in files]
    both, alone = (left_out(topics, products, lambda done: None) for products in (words_and_length, length_alone))
    share = [sum(row["right"] for row in rows) / sum(row["votes"] for row in rows) for rows in (both, alone)]
    assert min(share) > 0.7
