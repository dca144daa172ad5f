"""Real votes: Bradley-Terry against choix, and the promises about a fit of LLMFAO and of unseen topics."""

import choix
import numpy as np
import pytest

from benchmarks.arguments import (
    TextVectors,
    Topic,
    TopicResult,
    best_validated,
    left_out,
    length_alone,
    read_vectors,
    words_and_length,
)
from benchmarks.votes import ARGUMENTS, CROWD, crowd, page, strengths
from conquer.fitting.vote_sums import PairCounts
from conquer.models.full import Full


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
    assert (found.votes, found.items, found.ties) == (8931, 59, 3471)
    assert found.tau >= 0.98
    assert found.fit_without_ties >= 0.88
    half, both = ([TopicResult("t", 2, right, 1.0, 0)] * 2 for right in (1, 2))
    text = page(found, {"words and length": half, "length alone": both}, "python -m benchmarks.votes")
    assert "0.500" in text


def test_arguments_of_unseen_topics_are_told_apart(shared_data):
    """Some topics, each left out of a fit of the others: words help beyond length, and both beat a coin by far."""
    files = sorted((shared_data / "votes" / ARGUMENTS).glob("*.csv*"))[:8]
    if len(files) < 8:
        pytest.skip("no arguments")
    topics = [Topic(path) for path in files]
    both, alone = (left_out(topics, products, lambda done: None) for products in (words_and_length, length_alone))
    share = [sum(row.right for row in rows) / sum(row.votes for row in rows) for rows in (both, alone)]
    assert min(share) > 0.7


def topics_with_vectors(folder):
    """Three topics whose votes follow one direction of made-up vectors, and those vectors in a file."""
    rng, texts, vectors, topics = np.random.default_rng(3), [], [], []
    direction = rng.normal(size=4)
    for k in range(6):
        own = rng.normal(size=(8, 4))
        here = [f"topic {k}, text {place}" + place * "!" for place in range(8)]
        lines = [f"x\t{'a1' if (own[i] - own[j]) @ direction > 0 else 'a2'}\t{here[i]}\t{here[j]}\n"
                 for i in range(8) for j in range(i)]  # fmt: skip
        (folder / f"{k}.tsv").write_text("#id\tlabel\ta1\ta2\n" + "".join(lines))
        topics.append(Topic(folder / f"{k}.tsv"))
        texts, vectors = texts + here, [*vectors, *own]
    np.savez(folder / "vectors.npz", texts=np.array(texts), good=np.array(vectors), bad=rng.normal(size=(48, 4)))
    return topics


def test_vectors_of_the_user_are_told_by_name_and_chosen_on_other_topics(tmp_path):
    topics = topics_with_vectors(tmp_path)
    features = {"length alone": length_alone, **read_vectors(tmp_path / "vectors.npz")}
    assert list(features)[1:4] == ["vectors (good)", "vectors (good), rbf kernel", "vectors (good), words and length"]
    told = {name: left_out(topics, features[name], lambda done: None) for name in features if "words" not in name}
    share = {name: sum(row.right for row in rows) / (6 * 28) for name, rows in told.items()}
    assert share["vectors (good)"] > 0.9
    assert share["vectors (bad)"] < 0.75
    chosen = best_validated(list(told.values()))
    assert all(row.validated == max(rows[k].validated for rows in told.values()) for k, row in enumerate(chosen))
    assert sum(row.right for row in chosen) / (6 * 28) > 0.85


def test_products_of_vectors_are_on_the_training_texts_scale():
    vectors = TextVectors(["a", "b", "c"], np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 5.0]]))
    np.testing.assert_allclose(vectors.of(["a", "b"], ["a", "b", "c"]), [[-1, 0], [1, 0], [0, 5]])
    np.testing.assert_allclose(vectors.kernel(["a", "b"], ["a", "b"])[0, 1], np.exp(-2.0))


def test_vectors_that_cannot_be_used_are_refused(tmp_path):
    np.savez(tmp_path / "none.npz", texts=np.array(["a"]))
    with pytest.raises(ValueError, match="at least one array"):
        read_vectors(tmp_path / "none.npz")
    np.savez(tmp_path / "short.npz", texts=np.array(["a", "b"]), v=np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"2 texts, got shape \(1, 3\)"):
        read_vectors(tmp_path / "short.npz")
    with pytest.raises(ValueError, match="no vector of the text 'b'"):
        TextVectors(["a"], np.ones((1, 2))).of(["a"], ["b"])
